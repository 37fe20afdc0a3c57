//! Configuration of PHP, of its FastCGI server and of the pages.

use super::{Component, Software, Tuned, WebServer};
use crate::{tier::TierAccess, tuning::Setting};

/// What prints the settings in force, for the lab to read back.
pub(super) const SETTINGS_PAGE: &str =
    include_str!("../../../../../stacks/lamp/conf/rookery-settings.php");

/// The health page of guests without MariaDB.
pub(super) const HEALTH_WITHOUT_DATABASE: &str =
    "<?php\nheader('Content-Type: text/plain');\necho \"ok\\n\";\n";

/// The base of `php.ini`: what Debian's says where it differs from PHP's own defaults and matters
/// to pages, and private places.
const BASE: &str = "\
display_errors = Off
log_errors = On
error_reporting = E_ALL
html_errors = Off
expose_php = Off
register_argc_argv = Off
auto_globals_jit = On
variables_order = \"GPCS\"
date.timezone = UTC
sys_temp_dir = \"{run}\"
upload_tmp_dir = \"{run}\"
session.save_path = \"{run}\"
opcache.lockfile_path = \"{run}\"
";

/// The text of `php.ini`. No other directory is scanned, so all extensions are named here.
pub(super) fn ini(software: &Software, tuned: &Tuned, server: WebServer) -> String {
    let mut text = base(software);
    for setting in tuned
        .of_component(Component::Php, server)
        .filter(|setting| !is_of_pool(setting))
    {
        text += &format!("{} = \"{}\"\n", setting.name, setting.value);
    }
    text
}

/// The same before any tuning.
pub(crate) fn base(software: &Software) -> String {
    let mut text = BASE.to_owned();
    text += &format!(
        "extension_dir = \"{}\"\n",
        software.php_extensions.display()
    );
    for name in ["mysqlnd", "mysqli"].iter().chain(software.more_extensions) {
        text += &format!("extension = {name}.so\n");
    }
    if software.opcache_is_extension() {
        text += "zend_extension = opcache.so\n";
    }
    text
}

/// The text of `php-fpm.conf`.
pub(super) fn fpm(tuned: &Tuned) -> String {
    let mut text = "\
[global]
error_log = /proc/self/fd/2
daemonize = no

[www]
listen = {run}/php-fpm.sock
listen.backlog = 511
catch_workers_output = yes
decorate_workers_output = no
"
    .to_owned();
    for setting in tuned
        .of_component(Component::Php, WebServer::Event)
        .filter(|setting| is_of_pool(setting))
    {
        text += &format!("{} = {}\n", setting.name, setting.value);
    }
    text
}

/// Settings of the pool begin with `pm`; all others are PHP's.
fn is_of_pool(setting: &Setting) -> bool {
    setting.name == "pm" || setting.name.starts_with("pm.")
}

/// The same where the database is in another guest, reached over the lab's network.
pub(super) fn page_config_of_tier(faithful: bool, persistent: bool, tier: &TierAccess) -> String {
    let (host, port) = (tier.address.ip(), tier.address.port());
    let password = tier.password();
    format!(
        "<?php
return [
    'socket' => null,
    'host' => '{host}',
    'port' => {port},
    'user' => 'web',
    'password' => '{password}',
    'database' => 'DS2',
    'faithful' => {faithful},
    'persistent' => {persistent},
];
"
    )
}

/// What the pages read: where the database is and how they behave. A socket whose path is too long
/// for an address is named from its directory.
pub(super) fn page_config(faithful: bool, persistent: bool) -> String {
    format!(
        "<?php
$socket = '{{data}}/mysql.sock';
if (strlen($socket) > 107) {{
    chdir('{{data}}');
    $socket = 'mysql.sock';
}}
return [
    'socket' => $socket,
    'user' => 'web',
    'password' => 'web',
    'database' => 'DS2',
    'faithful' => {faithful},
    'persistent' => {persistent},
];
"
    )
}
