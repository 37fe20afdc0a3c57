<?php
// Lets Drupal 10 or 11 install itself, by its own installer, and gives those who log in the right to create.
$lab = require '/conf/htdocs/site/config.php';
// A site that gives up says so on a page and ends well: only the end of this script is success.
$done = false;
register_shutdown_function(static function () use (&$done): void {
    if (!$done) {
        exit(1);
    }
});
// What it writes lies in the data of the guest.
@mkdir('/data/files/config', 0755, true);

chdir($lab['documents']);
$autoloader = require $lab['documents'] . '/autoload.php';
require_once $lab['documents'] . '/core/includes/install.core.inc';

install_drupal($autoloader, [
    'interactive' => false,
    'site_path' => 'sites/default',
    'parameters' => ['profile' => 'standard', 'langcode' => 'en'],
    'forms' => [
        'install_configure_form' => [
            'site_name' => 'A site of the lab',
            'site_mail' => 'site@site.invalid',
            'account' => ['name' => 'admin', 'mail' => 'admin@site.invalid', 'pass' => ['pass1' => 'password', 'pass2' => 'password']],
            // Boxes of a form that are not ticked.
            'enable_update_status_module' => null,
            'enable_update_status_emails' => null,
        ],
    ],
]);
user_role_grant_permissions('authenticated', ['create article content', 'create page content']);
$done = true;
