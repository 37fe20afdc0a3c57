<?php
// Placing an order: the corrected way, and the original's with its defects.

declare(strict_types=1);

// Largest quantity of one line, the range of its column.
const MAX_QUANTITY = 32767;

// How often a transaction that lost against another is tried, and error numbers of the database.
const ATTEMPTS = 5;
const LOCK_WAIT_TIMEOUT = 1205;
const DEADLOCK = 1213;
const MISSING_REFERENCE = 1452;
const OUT_OF_RANGE = 1264;

// Net amount, tax of 8.25 % (half a cent rounded up) and total of an order, in cents.
function amounts(array $lines): array
{
    $net = 0;
    foreach ($lines as $line) {
        $net += $line['price'] * $line['quantity'];
    }
    $tax = intdiv($net * 825 + 5000, 10000);
    return ['net' => $net, 'tax' => $tax, 'total' => $net + $tax];
}

// Store an order in one transaction, history included. Answers its number, or null and the reason.
//
// Stock is taken relatively and checked by the database, in the order of product ids: two orders never wait for each other in a circle. Should a
// deadlock come about by other means the transaction is tried again; when that does not help either, the failure goes to the caller.
function place(int $customer, array $lines, array $amounts): array
{
    for ($attempt = 1; ; $attempt++) {
        try {
            return attempt($customer, $lines, $amounts);
        } catch (mysqli_sql_exception $error) {
            database()->rollback();
            $code = $error->getCode();
            if (in_array($code, [MISSING_REFERENCE, OUT_OF_RANGE], true)) {
                return unknown_customer();
            }
            if (!in_array($code, [DEADLOCK, LOCK_WAIT_TIMEOUT], true) || $attempt === ATTEMPTS) {
                throw $error;
            }
            // Whoever lost begins again at another moment than the others.
            usleep(random_int(0, 2000 * 2 ** $attempt));
        }
    }
}

function attempt(int $customer, array $lines, array $amounts): array
{
    database()->begin_transaction();
    $order = insert_order($customer, $amounts);
    $short = take_stock($lines);
    if ($short !== []) {
        database()->rollback();
        return shortage($short);
    }
    insert_lines($order, $lines);
    insert_history($customer, $order, $lines);
    database()->commit();
    return ['order' => $order, 'reason' => null];
}

// Take every line out of stock, going on after one that fails, as the original does. Answers the products that fall short, in the order's order.
function take_stock(array $lines): array
{
    $short = [];
    $sorted = $lines;
    uasort($sorted, fn (array $one, array $other): int => $one['product'] <=> $other['product']);
    foreach ($sorted as $at => $line) {
        run(
            'UPDATE INVENTORY SET QUAN_IN_STOCK = QUAN_IN_STOCK - ?, SALES = SALES + ? WHERE PROD_ID = ? AND QUAN_IN_STOCK >= ?',
            $line['quantity'],
            $line['quantity'],
            $line['product'],
            $line['quantity'],
        );
        if (database()->affected_rows === 0) {
            $short[$at] = $line['product'];
        }
    }
    ksort($short);
    return $short;
}

// As the original: stock is read without a lock and written back as an absolute number, a deadlock passes for a shortage, and the history is
// written after the transaction, whatever became of it.
function place_faithfully(int $customer, array $lines, array $amounts): array
{
    database()->begin_transaction();
    try {
        $order = insert_order($customer, $amounts);
    } catch (mysqli_sql_exception $error) {
        database()->rollback();
        if (in_array($error->getCode(), [MISSING_REFERENCE, OUT_OF_RANGE], true)) {
            return unknown_customer();
        }
        throw $error;
    }
    $reasons = '';
    foreach ($lines as $line) {
        if (!write_stock($line)) {
            $reasons .= insufficient($line['product']);
        }
    }
    try {
        insert_lines($order, $lines);
    } catch (mysqli_sql_exception $error) {
        $reasons .= '<P>Insert into ORDERLINES table failed:  ' . h($error->getMessage()) . "</P>\n";
    }
    $reasons === '' ? database()->commit() : database()->rollback();
    try {
        insert_history($customer, $order, $lines);
    } catch (mysqli_sql_exception) {
        // Nobody looks at this result either.
    }
    return ['order' => $reasons === '' ? $order : null, 'reason' => $reasons];
}

// Read the stock and write it back lessened; false when it does not suffice. An error of the database is not looked at: after a deadlock the
// transaction is gone, and what follows runs without one.
function write_stock(array $line): bool
{
    try {
        $stock = row('SELECT QUAN_IN_STOCK, SALES FROM INVENTORY WHERE PROD_ID = ?', $line['product']);
        if ($stock === null || $stock['QUAN_IN_STOCK'] < $line['quantity']) {
            return false;
        }
        run(
            'UPDATE INVENTORY SET QUAN_IN_STOCK = ?, SALES = ? WHERE PROD_ID = ?',
            $stock['QUAN_IN_STOCK'] - $line['quantity'],
            $stock['SALES'] + $line['quantity'],
            $line['product'],
        );
    } catch (mysqli_sql_exception) {
        return true;
    }
    return true;
}

function insert_order(int $customer, array $amounts): int
{
    run(
        'INSERT INTO ORDERS (ORDERDATE, CUSTOMERID, NETAMOUNT, TAX, TOTALAMOUNT) VALUES (CURDATE(), ?, ? / 100, ? / 100, ? / 100)',
        $customer,
        $amounts['net'],
        $amounts['tax'],
        $amounts['total'],
    );
    return database()->insert_id;
}

function insert_lines(int $order, array $lines): void
{
    $values = [];
    foreach ($lines as $at => $line) {
        array_push($values, $at + 1, $order, $line['product'], $line['quantity']);
    }
    $rows = implode(', ', array_fill(0, count($lines), '(?, ?, ?, ?, CURDATE())'));
    run("INSERT INTO ORDERLINES (ORDERLINEID, ORDERID, PROD_ID, QUANTITY, ORDERDATE) VALUES $rows", ...$values);
}

function insert_history(int $customer, int $order, array $lines): void
{
    $values = [];
    foreach ($lines as $line) {
        array_push($values, $customer, $order, $line['product']);
    }
    $rows = implode(', ', array_fill(0, count($lines), '(?, ?, ?)'));
    run("INSERT INTO CUST_HIST (CUSTOMERID, ORDERID, PROD_ID) VALUES $rows", ...$values);
}

function shortage(array $products): array
{
    return ['order' => null, 'reason' => implode('', array_map(insufficient(...), $products))];
}

function insufficient(int $product): string
{
    return "<P>Insufficient quantity for prod $product</P>\n";
}

function unknown_customer(): array
{
    return ['order' => null, 'reason' => '<P>Insert into ORDERS table failed:  there is no such customer</P>'];
}
