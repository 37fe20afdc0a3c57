<?php
// Whether this guest can serve the shop: 200 when the database answers the pages' account, else 503 and the reason.
// Where the settings name neither a socket nor a host, the guest is Apache and PHP alone, and PHP answering is all there is to know.

declare(strict_types=1);

header('Content-Type: text/plain; charset=utf-8');
$settings = require __DIR__ . '/ds2/config.php';
try {
    if ($settings['socket'] !== null || isset($settings['host'])) {
        $database = mysqli_init();
        $host = $settings['host'] ?? 'localhost';
        $database->real_connect($host, $settings['user'], $settings['password'], $settings['database'], $settings['port'] ?? null, $settings['socket']);
        $database->query('SELECT CATEGORY FROM CATEGORIES LIMIT 1');
    }
    echo "ok\n";
} catch (mysqli_sql_exception $error) {
    http_response_code(503);
    echo 'the database does not answer: ', $error->getMessage(), "\n";
}
