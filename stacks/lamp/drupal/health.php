<?php
// Whether this guest can serve the site: 200 when the database answers the site's account, else 503 and the reason.

declare(strict_types=1);

header('Content-Type: text/plain; charset=utf-8');
try {
    $database = new mysqli(null, 'web', 'web', 'drupal', null, '/data/mysql.sock');
    $database->query('SELECT uid FROM users LIMIT 1');
    echo "ok\n";
} catch (mysqli_sql_exception $error) {
    http_response_code(503);
    echo 'the database does not answer: ', $error->getMessage(), "\n";
}
