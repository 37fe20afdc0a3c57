<?php
// The pages of support, which know no sessions.

declare(strict_types=1);

require __DIR__ . '/common.php';

function support(string $name): Page
{
    $page = new Page($name, "Support: $name");
    match ($name) {
        'home' => home($page),
        'search' => search($page),
        'catalog' => catalog($page),
        'product' => product($page),
        'fileCatalog' => file_catalog($page),
        'file' => one_file($page),
    };
    return $page;
}

function home(Page $page): void
{
    query();
    $page->rows = needed(1);
    $page->html = "<h1>Categories</h1>\n";
    $page->table($page->rows);
    $page->html .= "<form action=\"/support/search.php\"><input name=\"q\"></form>\n";
}

function search(Page $page): void
{
    $words = explode(' ', matching(query(), 'q', '[a-z]{1,20}( [a-z]{1,20}){0,2}'));
    $found = needed(2, ...$words);
    $page->title = 'Support: search ' . implode(' ', $words);
    $page->html = "<h1>Results</h1>\n";
    $page->table($found);
    $page->row(...$words);
    $page->row(...array_column($found, 0));
}

function catalog(Page $page): void
{
    $category = (string) number(query(), 'id', 1, 12);
    $products = needed(3, $category);
    $page->html = "<h1>Products</h1>\n";
    $page->table($products);
    $page->row($category);
    $page->row(...array_column($products, 0));
}

function product(Page $page): void
{
    $product = (string) number(query(), 'id', 1, 240);
    [[$name], $languages, $systems, $categories] = needed(4, $product);
    $page->html = '<h1>' . escaped($name) . "</h1>\n<form action=\"/support/fileCatalog.php\">\n";
    foreach (['lang' => $languages, 'os' => $systems, 'category' => $categories] as $field => $options) {
        $page->html .= "<select name=\"$field\">\n";
        foreach ($options as $option) {
            $page->html .= '<option>' . escaped($option) . "</option>\n";
        }
        $page->html .= "</select>\n";
    }
    $page->html .= "</form>\n";
    $page->row($product, $name);
    $page->row(...array_map(fn ($list) => (string) count($list), [$languages, $systems, $categories]));
}

function file_catalog(Page $page): void
{
    $numbers = array_map(strval(...), [
        number(query(), 'id', 1, 240),
        number(query(), 'category', 1, 20),
        number(query(), 'os', 1, 10),
        number(query(), 'lang', 1, 30),
    ]);
    $page->html = "<h1>Files</h1>\n";
    $page->row(...$numbers);
    foreach (needed(5, ...$numbers) as [$id, $name, $size, $line]) {
        $page->html .= "<p><a href=\"/support/file.php?id=$id\">" . escaped($name) . "</a> $size " . escaped($line) . "</p>\n";
        $page->row($id, $size);
    }
}

function one_file(Page $page): void
{
    $id = (string) number(query(), 'id', 0, 999999999);
    [[$path, $size, $name, $text]] = needed(6, $id);
    $page->html = '<h1>' . escaped($name) . "</h1>\n<p>" . escaped($text) . "</p>\n<a href=\"" . escaped($path) . "\">download</a>\n";
    $page->row($id, $size, $path);
}
