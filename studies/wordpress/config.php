<?php
// The site of the lab. No password: MariaDB asks the kernel who connects to its socket.
define('DB_NAME', 'wordpress');
define('DB_USER', 'www-data');
define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:/run/mysqld.sock');
define('DB_CHARSET', 'utf8mb4');
define('WP_CONTENT_DIR', '/var/lib/wordpress/wp-content');
define('WPMU_PLUGIN_DIR', '/srv/lab/plugins');
define('WP_DEFAULT_THEME', 'twentytwentyone');
// A guest is asked at the address that it has.
define('WP_HOME', 'http://' . $_SERVER['HTTP_HOST']);
define('WP_SITEURL', WP_HOME);
// Nothing runs or is fetched beside what users ask for.
define('DISABLE_WP_CRON', true);
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('WP_POST_REVISIONS', false);
// The same in all guests: a cookie of one trial is as long as that of another.
define('COOKIEHASH', 'lab');
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $use) {
    define($use . '_KEY', 'key of the lab for ' . $use);
    define($use . '_SALT', 'salt of the lab for ' . $use);
}
$table_prefix = 'wp_';
