<?php
// Log in: the form, the welcome with the latest purchases, the refusal.

declare(strict_types=1);

require __DIR__ . '/common.php';

const TITLE = 'DVD Store Login Page';
const HISTORY_ROWS = 10;

answer(function (): string {
    $username = text('username');
    if ($username === '') {
        return page(TITLE, login_form());
    }
    $customer = row('SELECT CUSTOMERID FROM CUSTOMERS WHERE USERNAME = ? AND PASSWORD = ?', $username, text('password'));
    return page(TITLE, $customer === null ? refusal() : welcome($customer['CUSTOMERID']));
});

// Wrong name or password. Must not hold the name of the customer's field: this is how the original driver tells.
function refusal(): string
{
    return "<H2>Username/password incorrect. Please re-enter your username and password</H2>\n" . login_form();
}

function welcome(int $customer): string
{
    return "<H2>Welcome to the DVD Store - Click below to begin shopping</H2>\n" . history($customer)
        . form('dsbrowse') . hidden('customerid', $customer) . submit('Start Shopping');
}

// The latest purchases; the title of what others liked takes one more query for each, as in the original.
function history(int $customer): string
{
    $purchases = rows(
        'SELECT p.TITLE, p.ACTOR, p.COMMON_PROD_ID FROM CUST_HIST h JOIN PRODUCTS p ON p.PROD_ID = h.PROD_ID
         WHERE h.CUSTOMERID = ? ORDER BY h.ORDERID DESC, p.TITLE LIMIT ' . HISTORY_ROWS,
        $customer,
    );
    if ($purchases === []) {
        return '';
    }
    $html = "<H3>Your previous purchases:</H3>\n<TABLE border=2>\n"
        . "<TR><TH>Title</TH><TH>Actor</TH><TH>People who liked this DVD also liked</TH></TR>\n";
    foreach ($purchases as $purchase) {
        $related = row('SELECT TITLE FROM PRODUCTS WHERE PROD_ID = ?', $purchase['COMMON_PROD_ID']);
        $html .= '<TR><TD>' . h($purchase['TITLE']) . '</TD><TD>' . h($purchase['ACTOR']) . '</TD><TD>' . h($related['TITLE'] ?? '')
            . "</TD></TR>\n";
    }
    return "$html</TABLE>\n<BR>\n";
}
