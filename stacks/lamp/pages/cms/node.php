<?php
// One node.

declare(strict_types=1);

require __DIR__ . '/common.php';

const CACHEABLE = true;

serve(function (): string {
    $node = row(
        'SELECT n.id, n.kind, n.title, n.body, n.created, a.name FROM nodes n JOIN accounts a ON a.id = n.author WHERE n.id = ?',
        number('id'),
    ) ?? throw not_found();
    $html = "<article id=\"node-{$node['id']}\" class=\"{$node['kind']}\"><h1>" . escaped($node['title']) . "</h1>\n" . byline($node)
        . filtered($node['body']) . "\n</article>\n";
    return page($node['title'], visitor()['name'] ?? null, $html);
});
