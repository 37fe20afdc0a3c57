<?php
// Browse: the search form, the results, the cart.
//
// The table of results is the last that has <TR>: the original driver reads every further one as a product.

declare(strict_types=1);

require __DIR__ . '/common.php';

// Most rows of one search, as the original driver has room for, and those of a search that does not say how many.
const MAX_ROWS = 100;
const USUAL_ROWS = 10;

answer(function (): string {
    $customer = number('customerid');
    if ($customer === null) {
        return not_logged_in();
    }
    $limit = number('limit_num') ?? USUAL_ROWS;
    $found = search(text('browsetype'), max(0, min(MAX_ROWS, $limit)));
    $cart = cart();
    $carried = hidden('customerid', $customer);
    foreach ($cart as [$product]) {
        $carried .= hidden('item[]', $product);
    }
    $body = search_form($limit, $carried);
    if ($found === []) {
        $body .= "<H2>No DVDs Found</H2>\n";
    } elseif ($found !== null) {
        $body .= results($found, $carried);
    }
    return page('DVD Store Browse Page', $body . ($cart === [] ? '' : cart_form($cart, $carried)));
});

// The products found; null when no search was asked for.
function search(string $type, int $limit): ?array
{
    $columns = 'SELECT PROD_ID, TITLE, ACTOR, PRICE FROM PRODUCTS WHERE';
    return match ($type) {
        '' => null,
        'title' => rows("$columns MATCH(TITLE) AGAINST(?) LIMIT ?", search_text('browse_title'), $limit),
        'actor' => rows("$columns MATCH(ACTOR) AGAINST(?) LIMIT ?", search_text('browse_actor'), $limit),
        'category' => rows("$columns CATEGORY = ? AND SPECIAL = 1 LIMIT ?", number('browse_category') ?? 0, $limit),
        default => [],
    };
}

// The text to search for; no product has a longer one, and no text makes a search of unbounded cost.
function search_text(string $name): string
{
    return cut(text($name), 4 * MAX_TEXT);
}

// Product and title of everything in the cart that exists; one query for each, as in the original.
function cart(): array
{
    $cart = [];
    foreach ([...numbers('item'), ...numbers('selected_item')] as $product) {
        $found = $product === null ? null : row('SELECT TITLE FROM PRODUCTS WHERE PROD_ID = ?', $product);
        if ($found !== null) {
            $cart[] = [$product, $found['TITLE']];
        }
    }
    return $cart;
}

function search_form(int $limit, string $carried): string
{
    $type = text('browsetype');
    $radio = fn (string $value, string $label): string =>
        "<INPUT NAME=browsetype TYPE=RADIO VALUE=\"$value\"" . ($type === $value ? ' CHECKED' : '') . ">$label\n";
    $words = fn (string $name): string => "<INPUT NAME=$name TYPE=TEXT SIZE=15 VALUE=\"" . h(text($name)) . "\"><BR>\n";
    $names = array_combine(range(1, count(CATEGORIES)), CATEGORIES);
    return "<H2>Select Type of Search</H2>\n" . form('dsbrowse')
        . $radio('title', 'Title') . $words('browse_title')
        . $radio('actor', 'Actor') . $words('browse_actor')
        . $radio('category', 'Category') . "<SELECT NAME=browse_category>\n" . options($names, number('browse_category'))
        . "</SELECT><BR>\nNumber of search results to return\n<SELECT NAME=limit_num>\n"
        . options(array_combine(range(1, 10), range(1, 10)), $limit)
        . "</SELECT><BR>\n" . $carried . submit('Search');
}

function results(array $found, string $carried): string
{
    $html = "<H2>Search Results</H2>\n" . form('dsbrowse')
        . "<TABLE border=2>\n<TR><TH>Add to Shopping Cart</TH><TH>Title</TH><TH>Actor</TH><TH>Price</TH></TR>\n";
    foreach ($found as $product) {
        $html .= "<TR><TD><INPUT NAME=selected_item[] TYPE=CHECKBOX VALUE={$product['PROD_ID']}></TD><TD>" . h($product['TITLE'])
            . '</TD><TD>' . h($product['ACTOR']) . "</TD><TD>{$product['PRICE']}</TD></TR>\n";
    }
    return "$html</TABLE>\n<BR>\n$carried" . submit('Update Shopping Cart');
}

// The rows open with <TD>, without <TR>, as the original's do.
function cart_form(array $cart, string $carried): string
{
    $html = "<H2>Shopping Cart</H2>\n" . form('dspurchase') . "<TABLE border=2>\n<TH>Item</TH><TH>Title</TH></TR>\n";
    foreach ($cart as $at => [, $title]) {
        $html .= '<TD>' . ($at + 1) . '</TD><TD>' . h($title) . "</TD></TR>\n";
    }
    return "$html</TABLE>\n<BR>\n$carried" . submit('Checkout');
}
