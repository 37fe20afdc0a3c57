<?php
// The front page, and the pages of the list behind it: what was promoted, the newest first.

declare(strict_types=1);

require __DIR__ . '/common.php';

const CACHEABLE = true;

serve(function (): string {
    $number = number('page', 0);
    $nodes = rows(
        'SELECT STRAIGHT_JOIN n.id, n.title, n.body, n.created, a.name FROM nodes n JOIN accounts a ON a.id = n.author
         WHERE n.promoted = 1 ORDER BY n.created DESC, n.id DESC LIMIT ' . NODES_PER_PAGE . ' OFFSET ?',
        $number * NODES_PER_PAGE,
    );
    $html = "<div id=\"list-$number\">\n";
    foreach ($nodes as $node) {
        $html .= "<article><h2><a href=\"/cms/node.php?id={$node['id']}\">" . escaped($node['title']) . "</a></h2>\n"
            . byline($node) . filtered(teaser($node['body'])) . "</article>\n";
    }
    if ($number > 0) {
        $html .= '<a href="/cms/index.php?page=' . ($number - 1) . "\">Newer</a>\n";
    }
    $html .= '<a href="/cms/index.php?page=' . ($number + 1) . "\">Older</a>\n</div>\n";
    return page('A small site', visitor()['name'] ?? null, $html);
});

// The first paragraph.
function teaser(string $body): string
{
    $end = strpos($body, '</p>');
    return $end === false ? $body : substr($body, 0, $end + 4);
}
