<?php
// The switches that are in force, as Drupal 7 itself knows them.
$lab = require __DIR__ . '/config.php';
chdir($lab['documents']);
define('DRUPAL_ROOT', getcwd());
require_once DRUPAL_ROOT . '/includes/bootstrap.inc';
drupal_bootstrap(DRUPAL_BOOTSTRAP_VARIABLES);

return [
    'page_cache' => (bool) variable_get('cache', 0),
    'block_cache' => (bool) variable_get('block_cache', 0),
    'compression' => (bool) variable_get('page_compression', 1),
    'aggregation' => variable_get('preprocess_css', 0) && variable_get('preprocess_js', 0),
    'login_limits' => variable_get('user_failed_login_ip_limit', 50) < 1000000,
];
