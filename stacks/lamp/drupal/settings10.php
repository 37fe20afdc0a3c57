<?php
// The settings of a Drupal 10 or 11 in a guest. Nothing runs beside what users ask for, and all guests are alike.
$lab = require '/conf/htdocs/site/config.php';

$databases['default']['default'] = [
    'driver' => 'mysql',
    'namespace' => 'Drupal\\mysql\\Driver\\Database\\mysql',
    'autoload' => 'core/modules/mysql/src/Driver/Database/mysql/',
    'database' => 'drupal',
    'username' => 'web',
    'password' => 'web',
    'host' => 'localhost',
    'unix_socket' => '/data/mysql.sock',
    'prefix' => '',
    'collation' => 'utf8mb4_general_ci',
];
$settings['hash_salt'] = 'a guest of the lab';
$settings['config_sync_directory'] = '/data/files/config';
$settings['update_free_access'] = false;
$settings['skip_permissions_hardening'] = true;

ini_set('session.gc_probability', '0');

$config['automated_cron.settings']['interval'] = 0;
$config['system.logging']['error_level'] = 'hide';
$config['system.performance']['css']['preprocess'] = $lab['aggregation'];
$config['system.performance']['js']['preprocess'] = $lab['aggregation'];
if (!$lab['page_cache']) {
    // The module is there all the same, and keeps nothing.
    $settings['cache']['bins']['page'] = 'cache.backend.memory';
}
// All users of a driver have one address.
if (!$lab['login_limits']) {
    $config['user.flood']['ip_limit'] = 1000000;
    $config['user.flood']['user_limit'] = 1000000;
}
