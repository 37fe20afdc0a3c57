<?php
// The page of a user, for users.

declare(strict_types=1);

require __DIR__ . '/common.php';

serve(function (): string {
    $id = number('id');
    $visitor = account();
    $name = row('SELECT name FROM accounts WHERE id = ?', $id)['name'] ?? throw not_found();
    return page($name, $visitor['name'], notice($name, 'A user of this site.'));
});
