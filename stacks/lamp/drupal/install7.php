<?php
// Lets Drupal 7 install itself, by its own installer, and gives those who log in the right to create.
$lab = require '/conf/htdocs/site/config.php';
// A site that gives up says so on a page and ends well: only the end of this script is success.
$done = false;
register_shutdown_function(static function () use (&$done): void {
    if (!$done) {
        exit(1);
    }
});
// What it writes lies in the data of the guest.
@mkdir('/data/files', 0755, true);

$_SERVER += ['HTTP_HOST' => 'localhost', 'REMOTE_ADDR' => '127.0.0.1', 'SERVER_SOFTWARE' => 'lab', 'REQUEST_METHOD' => 'GET'];
$_SERVER['REQUEST_URI'] = '/install.php';
$_SERVER['SCRIPT_NAME'] = '/install.php';
chdir($lab['documents']);
define('DRUPAL_ROOT', getcwd());
define('MAINTENANCE_MODE', 'install');
require_once DRUPAL_ROOT . '/includes/install.core.inc';

install_drupal([
    'parameters' => ['profile' => 'standard', 'locale' => 'en'],
    'forms' => [
        'install_configure_form' => [
            'site_name' => 'A site of the lab',
            'site_mail' => 'site@site.invalid',
            'account' => ['name' => 'admin', 'mail' => 'admin@site.invalid', 'pass' => ['pass1' => 'password', 'pass2' => 'password']],
            // Boxes of a form that are not ticked.
            'update_status_module' => [1 => null, 2 => null],
            'clean_url' => true,
        ],
    ],
]);
user_role_grant_permissions(DRUPAL_AUTHENTICATED_RID, ['create article content', 'create page content']);
// Words of errors would be rows that no user wrote.
db_truncate('watchdog')->execute();
$done = true;
