//! Configuration of Apache.

use super::{
    CERTIFICATE, Component, DocumentRoot, EncryptedPort, HEALTH_PATH, KEY, SETTINGS_PAGE, Site,
    Software, Tuned, WebServer,
};
use crate::{http_server::COMMON_NAME, lamp::software::MODULES};

/// Who may read the settings in force: the guest itself, and the lab, whose networks are loopback
/// and private ones.
const LAB: &str = "Require ip 127.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16";

/// Where the server lives.
const PLACES: &str = "\
ServerRoot \"{run}\"
DefaultRuntimeDir \"{run}\"
PidFile \"{run}/apache.pid\"
Mutex \"file:{run}\" default
Listen {listen}
ServerName {listen}
ServerTokens Prod
UseCanonicalName Off
TraceEnable Off
HostnameLookups Off
ErrorLog /dev/stderr
LogLevel warn
";

/// The whole configuration: nothing of the distribution's is included.
pub(super) fn config(software: &Software, tuned: &Tuned, server: WebServer, site: &Site) -> String {
    let mut text = PLACES.to_owned();
    for name in MODULES.iter().filter(|name| wants(server, site, name)) {
        text += &load(software, name, &format!("mod_{name}.so"));
    }
    if server == WebServer::Prefork {
        text += &load(software, "php", &software.php_module);
    }
    text += &documents(software);
    text += &document_root(&site.root);
    text += &directories(site);
    text += match server {
        WebServer::Prefork => {
            "PHPIniDir \"{conf}/php\"\n<FilesMatch \"\\.php$\">\n    SetHandler \
             application/x-httpd-php\n</FilesMatch>\n"
        }
        WebServer::Event => {
            // Connections to PHP are not kept: an idle one would hold a process of the pool.
            "<FilesMatch \"\\.php$\">\n    \
             SetHandler \"proxy:unix:{run}/php-fpm.sock|fcgi://localhost\"\n</FilesMatch>\n"
        }
    };
    for setting in tuned.of_component(Component::Apache, server) {
        text += &format!("{} {}\n", setting.name, setting.value);
    }
    if let Some(encrypted) = &site.encrypted {
        text += &encrypted_host(encrypted);
    }
    text
}

/// The same site at another port, where it is encrypted. Sessions are resumed by tickets, whose
/// keys all processes have in common, so that the server keeps nothing of them: that it has no
/// cache is worth no warning.
fn encrypted_host(encrypted: &EncryptedPort) -> String {
    let port = encrypted.port;
    format!(
        "LogLevel warn ssl:error\nListen {{address}}:{port}\n<VirtualHost {{address}}:{port}>\n    \
         ServerName {COMMON_NAME}:{port}\n    SSLEngine on\n    \
         SSLProtocol -all +TLSv1.2 +TLSv1.3\n    SSLCertificateFile \
         \"{{conf}}/{CERTIFICATE}\"\n    SSLCertificateKeyFile \"{{conf}}/{KEY}\"\n\
         </VirtualHost>\n"
    )
}

/// Whether a configuration loads a module.
fn wants(server: WebServer, site: &Site, module: &str) -> bool {
    match module {
        "alias" => !site.aliases.is_empty() || matches!(site.root, DocumentRoot::Tree(_)),
        "ssl" => site.encrypted.is_some(),
        "mpm_prefork" => server == WebServer::Prefork,
        "mpm_event" | "proxy" | "proxy_fcgi" => server == WebServer::Event,
        _ => true,
    }
}

fn load(software: &Software, name: &str, file: &str) -> String {
    format!(
        "LoadModule {name}_module \"{}\"\n",
        software.apache_modules.join(file).display()
    )
}

/// What is served at the root, and below which conditions.
fn document_root(root: &DocumentRoot) -> String {
    let documents = "<Directory \"{conf}/htdocs\">\n    Require all granted\n</Directory>\n";
    match root {
        DocumentRoot::Documents => {
            format!("DocumentRoot \"{{conf}}/htdocs\"\n{documents}DirectoryIndex index.html\n")
        }
        DocumentRoot::Tree(directory) => {
            let own = [HEALTH_PATH.to_owned(), format!("/{SETTINGS_PAGE}")];
            let aliases = own.map(|path| format!("Alias \"{path}\" \"{{conf}}/htdocs{path}\"\n"));
            format!(
                "DocumentRoot \"{directory}\"\n{documents}{}<Directory \"{directory}\">\n    Require \
                 all granted\n    DirectoryIndex index.php\n    FallbackResource \
                 /index.php\n</Directory>\n",
                aliases.concat()
            )
        }
    }
}

/// Files outside of the document root, and what is in it for its own pages alone.
fn directories(site: &Site) -> String {
    let aliases = site.aliases.iter().map(|(url, directory)| {
        format!(
            "Alias \"{url}\" \"{directory}\"\n<Directory \"{directory}\">\n    Require all \
             granted\n</Directory>\n"
        )
    });
    let private = site.private.iter().map(|directory| {
        format!(
            "<Directory \"{{conf}}/htdocs/{directory}\">\n    Require all denied\n</Directory>\n"
        )
    });
    aliases.chain(private).collect()
}

fn documents(software: &Software) -> String {
    // The module insists on a list of types; an empty one will do.
    let types = software
        .mime_types
        .as_deref()
        .map_or("/dev/null".into(), |path| path.display().to_string());
    format!(
        r#"TypesConfig "{types}"
AddType text/html .html
AddDefaultCharset Off
<Directory "/">
    Options FollowSymLinks
    AllowOverride None
    Require all denied
</Directory>
<Files "config.php">
    Require all denied
</Files>
<Files "rookery-settings.php">
    {LAB}
</Files>
<Location "/server-info">
    SetHandler server-info
    {LAB}
</Location>
<Location "/server-status">
    SetHandler server-status
    {LAB}
</Location>
ExtendedStatus Off
"#
    )
}
