<?php
// Log out.

declare(strict_types=1);

require __DIR__ . '/common.php';

serve(function (): ?string {
    end_session(account()['id']);
    return redirect('/cms/index.php');
});
