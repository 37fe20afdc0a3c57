<?php
// The settings of a Drupal 7 in a guest. Nothing runs beside what users ask for, and all guests are alike.
$lab = require '/conf/htdocs/site/config.php';

$databases['default']['default'] = [
    'driver' => 'mysql',
    'database' => 'drupal',
    'username' => 'web',
    'password' => 'web',
    'host' => 'localhost',
    'unix_socket' => '/data/mysql.sock',
    'prefix' => '',
    'charset' => 'utf8mb4',
    'collation' => 'utf8mb4_general_ci',
];
$drupal_hash_salt = 'a guest of the lab';
$update_free_access = false;

ini_set('session.gc_probability', '0');
ini_set('session.gc_maxlifetime', '200000');
ini_set('session.cookie_lifetime', '2000000');

$conf['cron_safe_threshold'] = 0;
$conf['drupal_http_request_fails'] = false;
$conf['error_level'] = 0;
$conf['clean_url'] = 1;

$conf['cache'] = (int) $lab['page_cache'];
$conf['block_cache'] = (int) $lab['block_cache'];
$conf['page_compression'] = (int) $lab['compression'];
$conf['preprocess_css'] = (int) $lab['aggregation'];
$conf['preprocess_js'] = (int) $lab['aggregation'];
// All users of a driver have one address.
if (!$lab['login_limits']) {
    $conf['user_failed_login_ip_limit'] = 1000000;
    $conf['user_failed_login_user_limit'] = 1000000;
}
