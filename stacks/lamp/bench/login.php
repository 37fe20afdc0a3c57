<?php
// What a login costs at least: the queries of dslogin.php and nothing around them, as one would write it for a benchmark.
$settings = require __DIR__ . '/../ds2/config.php';
$database = mysqli_init();
$database->real_connect('localhost', $settings['user'], $settings['password'], $settings['database'], null, $settings['socket']);
$found = $database->query("SELECT CUSTOMERID FROM CUSTOMERS WHERE USERNAME = '" . $database->real_escape_string($_GET['username'])
    . "' AND PASSWORD = '" . $database->real_escape_string($_GET['password']) . "'")->fetch_row();
if ($found === null) {
    exit('incorrect');
}
$purchases = $database->query("SELECT p.TITLE, p.ACTOR, p.COMMON_PROD_ID FROM CUST_HIST h JOIN PRODUCTS p ON p.PROD_ID = h.PROD_ID
    WHERE h.CUSTOMERID = $found[0] ORDER BY h.ORDERID DESC, p.TITLE LIMIT 10")->fetch_all();
echo '<HTML><H1>DVD Store</H1><TABLE><TR></TR>';
foreach ($purchases as [$title, $actor, $common]) {
    $related = $database->query("SELECT TITLE FROM PRODUCTS WHERE PROD_ID = $common")->fetch_row();
    echo "<TR><TD>$title</TD><TD>$actor</TD><TD>$related[0]</TD></TR>";
}
echo "</TABLE><INPUT TYPE=HIDDEN NAME=customerid VALUE=$found[0]></HTML>";
