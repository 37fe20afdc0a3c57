<?php
// Buy: the review before, and what became of the order.

declare(strict_types=1);

require __DIR__ . '/common.php';
require __DIR__ . '/order.php';

const TITLE = 'DVD Store Purchase Page';

answer(function (): string {
    $customer = number('customerid');
    if ($customer === null) {
        return not_logged_in();
    }
    $lines = lines();
    return page(TITLE, text('confirmpurchase') === '' ? review($customer, $lines) : complete($customer, $lines));
});

// The lines of the order, without the dropped ones, each with its product; a product that does not exist costs nothing.
function lines(): array
{
    $quantities = numbers('quan');
    $dropped = numbers('drop');
    $lines = [];
    foreach (numbers('item') as $at => $product) {
        if (in_array($at, $dropped, true)) {
            continue;
        }
        $product ??= 0;
        $found = row('SELECT PROD_ID, TITLE, ACTOR, PRICE FROM PRODUCTS WHERE PROD_ID = ?', $product);
        $lines[] = [
            'product' => $product,
            'quantity' => max(1, min(MAX_QUANTITY, $quantities[$at] ?? 1)),
            'title' => $found['TITLE'] ?? '',
            'actor' => $found['ACTOR'] ?? '',
            'price' => cents($found['PRICE'] ?? '0.00'),
        ];
    }
    return $lines;
}

// The order before it is placed: quantities may be changed, lines dropped.
function review(int $customer, array $lines): string
{
    $html = "<H2>Selected Items: specify quantity desired; click purchase when finished</H2>\n" . form('dspurchase')
        . "<TABLE border=2>\n<TR><TH>Item</TH><TH>Quantity</TH><TH>Title</TH><TH>Actor</TH><TH>Price</TH><TH>Remove From Order?</TH></TR>\n";
    $items = $order = '';
    foreach ($lines as $at => $line) {
        $html .= '<TR><TD>' . ($at + 1) . "</TD><TD><INPUT NAME=quan[] TYPE=TEXT SIZE=10 VALUE={$line['quantity']}></TD>" . product($line)
            . "<TD><INPUT NAME=drop[] TYPE=CHECKBOX VALUE=$at></TD></TR>\n";
        $items .= hidden('item[]', $line['product']);
        $order .= hidden('item[]', $line['product']) . hidden('quan[]', $line['quantity']);
    }
    return $html . sums(amounts($lines)) . "</TABLE>\n<BR>\n" . hidden('customerid', $customer) . $items
        . submit('Update and Recalculate Total') . form('dspurchase') . "<INPUT TYPE=HIDDEN NAME=confirmpurchase VALUE=yes>\n"
        . hidden('customerid', $customer) . $order . submit('Purchase');
}

// After an attempt to buy. As in the original the heading says `Purchase complete` whatever became of it; the truth is below.
function complete(int $customer, array $lines): string
{
    $amounts = amounts($lines);
    $html = "<H2>Purchase complete</H2>\n<TABLE border=2>\n"
        . "<TR><TH>Item</TH><TH>Quantity</TH><TH>Title</TH><TH>Actor</TH><TH>Price</TH></TR>\n";
    foreach ($lines as $at => $line) {
        $html .= '<TR><TD>' . ($at + 1) . "</TD><TD>{$line['quantity']}</TD>" . product($line) . "</TR>\n";
    }
    $html .= sums($amounts) . "</TABLE>\n<BR>\n";
    if ($lines === []) {
        return $html . refused('<P>Insert into ORDERLINES table failed:  the order has no line</P>');
    }
    $outcome = settings()['faithful'] ? place_faithfully($customer, $lines, $amounts) : place($customer, $lines, $amounts);
    if ($outcome['order'] === null) {
        return $html . refused($outcome['reason']);
    }
    return $html . charged($customer, $amounts) . "<H2>Order Completed Successfully --- ORDER NUMBER:  {$outcome['order']}</H2><BR>\n";
}

function product(array $line): string
{
    return '<TD>' . h($line['title']) . '</TD><TD>' . h($line['actor']) . '</TD><TD>$' . money($line['price']) . '</TD>';
}

function sums(array $amounts): string
{
    $html = '';
    foreach (['Subtotal' => 'net', 'Tax (8.25%)' => 'tax', 'Total' => 'total'] as $label => $name) {
        $html .= "<TR><TD COLSPAN=4>$label</TD><TD>\$" . money($amounts[$name]) . "</TD></TR>\n";
    }
    return $html;
}

// What the order is charged to. The order is stored already: a database that fails now must not make it look otherwise.
function charged(int $customer, array $amounts): string
{
    try {
        $card = row('SELECT CREDITCARDTYPE, CREDITCARD, CREDITCARDEXPIRATION FROM CUSTOMERS WHERE CUSTOMERID = ?', $customer);
    } catch (mysqli_sql_exception) {
        return '';
    }
    if ($card === null) {
        return '';
    }
    return '<H3>$' . money($amounts['total']) . ' charged to credit card ' . h($card['CREDITCARD']) . ' ('
        . (CARD_TYPES[$card['CREDITCARDTYPE']] ?? 'unknown') . '), expiration ' . h($card['CREDITCARDEXPIRATION']) . "</H3><BR>\n";
}

function refused(string $reason): string
{
    return "$reason\n<H2>Insufficient stock - order not processed</H2>\n";
}
