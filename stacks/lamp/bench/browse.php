<?php
// What a search costs at least: the query of dsbrowse.php and nothing around it, as one would write it for a benchmark.
$settings = require __DIR__ . '/../ds2/config.php';
$database = mysqli_init();
$database->real_connect('localhost', $settings['user'], $settings['password'], $settings['database'], null, $settings['socket']);
$text = fn (string $name): string => $database->real_escape_string($_GET[$name]);
$limit = (int) $_GET['limit_num'];
$where = match ($_GET['browsetype']) {
    'title' => "MATCH(TITLE) AGAINST('" . $text('browse_title') . "')",
    'actor' => "MATCH(ACTOR) AGAINST('" . $text('browse_actor') . "')",
    'category' => 'CATEGORY = ' . (int) $_GET['browse_category'] . ' AND SPECIAL = 1',
};
$found = $database->query("SELECT PROD_ID, TITLE, ACTOR, PRICE FROM PRODUCTS WHERE $where LIMIT $limit")->fetch_all();
echo '<HTML><H1>DVD Store</H1><TABLE><TR></TR>';
foreach ($found as [$id, $title, $actor, $price]) {
    echo "<TR><TD><INPUT NAME=selected_item[] TYPE=CHECKBOX VALUE=$id></TD><TD>$title</TD><TD>$actor</TD><TD>$price</TD></TR>";
}
echo '</TABLE></HTML>';
