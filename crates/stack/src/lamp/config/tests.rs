//! What guests are given, word by word.

use std::{collections::BTreeMap, path::PathBuf};

use rookery_study::Variables;

use super::*;
use crate::{lamp::PhpVersion, tuning::Family};

/// Debian 12, as it is found.
fn software() -> Software {
    Software {
        mariadbd: "/usr/sbin/mariadbd".into(),
        mariadb_share: "/usr/share/mysql".into(),
        apache: "/usr/sbin/apache2".into(),
        apache_modules: "/usr/lib/apache2/modules".into(),
        php_module: "libphp8.2.so".into(),
        php_fpm: "/usr/sbin/php-fpm8.2".into(),
        php_extensions: "/usr/lib/php/20220829".into(),
        more_extensions: &[],
        php: PhpVersion { major: 8, minor: 2 },
        mime_types: None::<PathBuf>,
        versions: BTreeMap::new(),
    }
}

fn tuned(name: &str) -> Tuned {
    let guest = Variables {
        vcpus: 1.0,
        memory_bytes: 640.0 * 1_048_576.0,
        users: 20.0,
        guests: 1.0,
        callers: 1.0,
    };
    Tuned::evaluate(Family::Lamp, name, &[], &guest).expect("valid")
}

fn file(service: &SupervisedService, path: &str) -> String {
    let found = service.files.iter().find(|(name, _)| name == path);
    found.unwrap_or_else(|| panic!("no file {path}")).1.clone()
}

fn with(server: WebServer) -> Options {
    Options {
        server,
        ..Options::default()
    }
}

#[test]
fn the_files_of_both_servers() {
    let prefork = guest(&software(), &tuned("modern"), &with(WebServer::Prefork));
    insta::assert_snapshot!("apache_prefork", file(&prefork, "apache.conf"));
    insta::assert_snapshot!("mariadb", file(&prefork, "mariadb.cnf"));
    insta::assert_snapshot!("services_prefork", file(&prefork, "services.toml"));
    insta::assert_snapshot!("php_ini", file(&prefork, "php/php.ini"));
    insta::assert_snapshot!("page_config", file(&prefork, "htdocs/ds2/config.php"));
    let event = guest(&software(), &tuned("modern"), &with(WebServer::Event));
    insta::assert_snapshot!("apache_event", file(&event, "apache.conf"));
    insta::assert_snapshot!("php_fpm", file(&event, "php-fpm.conf"));
    insta::assert_snapshot!("services_event", file(&event, "services.toml"));
}

#[test]
fn an_encrypted_port_serves_the_same_site() {
    let of = |encrypted: Option<EncryptedPort>| {
        let site = Site {
            encrypted,
            ..Site::default()
        };
        serving(&software(), &tuned("modern"), WebServer::Event, site)
    };
    assert!(!file(&of(None), "apache.conf").contains("ssl"));
    let encrypted = of(Some(EncryptedPort {
        port: 8443,
        certificate: PemPair {
            certificate: "a certificate".to_owned(),
            key: "a key".to_owned(),
        },
    }));
    let config = file(&encrypted, "apache.conf");
    assert!(config.contains("LoadModule ssl_module \""), "{config}");
    let (_, host) = config
        .split_once("Listen {address}")
        .expect("a second port");
    insta::assert_snapshot!(host, @r#"
    :8443
    <VirtualHost {address}:8443>
        ServerName rookery:8443
        SSLEngine on
        SSLProtocol -all +TLSv1.2 +TLSv1.3
        SSLCertificateFile "{conf}/tls/certificate.pem"
        SSLCertificateKeyFile "{conf}/tls/key.pem"
    </VirtualHost>
    "#);
    assert_eq!(file(&encrypted, "tls/certificate.pem"), "a certificate");
    assert_eq!(file(&encrypted, "tls/key.pem"), "a key");
}

#[test]
fn the_builder_initialises_and_runs_mariadb_alone() {
    let builder = builder(&software());
    insta::assert_snapshot!("services_builder", file(&builder, "services.toml"));
    insta::assert_snapshot!("initialise", file(&builder, "initialise.sh"));
    assert!(file(&builder, "mariadb.cnf").contains("skip_networking"));
}

#[test]
fn every_services_file_is_one_that_the_supervisor_understands() {
    for (server, database) in [
        (WebServer::Prefork, true),
        (WebServer::Event, true),
        (WebServer::Event, false),
    ] {
        let options = Options {
            server,
            servers: if database {
                Servers::All
            } else {
                Servers::WithoutDatabase
            },
            faithful: false,
        };
        let service = guest(&software(), &tuned("stock"), &options);
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("services.toml");
        std::fs::write(&path, file(&service, "services.toml")).expect("written");
        let services = crate::supervise::Services::read(&path).expect("understood");
        assert!(services.guest.user_namespace);
        let names: Vec<&str> = services
            .services
            .iter()
            .map(|service| service.name.as_str())
            .collect();
        let expected = match (server, database) {
            (WebServer::Prefork, _) => vec!["mariadb", "apache"],
            (WebServer::Event, true) => vec!["mariadb", "php-fpm", "apache"],
            (WebServer::Event, false) => vec!["php-fpm", "apache"],
        };
        assert_eq!(names, expected);
    }
}

#[test]
fn switches_reach_the_pages() {
    let faithful = Options {
        faithful: true,
        ..Options::default()
    };
    let text = file(
        &guest(&software(), &tuned("stock"), &faithful),
        "htdocs/ds2/config.php",
    );
    assert!(
        text.contains("'faithful' => true") && text.contains("'persistent' => false"),
        "{text}"
    );
    let without = Options {
        servers: Servers::WithoutDatabase,
        ..Options::default()
    };
    let service = guest(&software(), &tuned("modern"), &without);
    assert!(file(&service, "htdocs/ds2/config.php").contains("'persistent' => true"));
    assert_eq!(
        file(&service, "htdocs/health.php"),
        php::HEALTH_WITHOUT_DATABASE
    );
    assert!(service.files.iter().all(|(name, _)| name != "mariadb.cnf"));
}

#[test]
fn paths_of_files_are_relative_and_plain() {
    for server in [WebServer::Prefork, WebServer::Event] {
        for (path, _) in guest(&software(), &tuned("modern"), &with(server)).files {
            assert!(
                path.split('/')
                    .all(|part| !part.is_empty() && part != ".." && part != "."),
                "{path}"
            );
        }
    }
}

#[test]
fn a_tier_is_mariadb_alone_and_its_callers_find_it() {
    let tier = database(&software(), &tuned("modern"), &Options::default(), "s3cret");
    let config = file(&tier, "mariadb.cnf");
    for line in [
        "bind_address = {address}\n",
        "port = {port}\n",
        "init_file = {conf}/accounts.sql\n",
    ] {
        assert!(config.contains(line), "{config}");
    }
    assert!(!config.contains("skip_networking"), "{config}");
    assert!(file(&tier, "accounts.sql").contains("'web'@'%' IDENTIFIED BY 's3cret'"));
    assert!(!file(&tier, "services.toml").contains("apache"));
    let access = TierAccess::of_tests(std::net::SocketAddr::from(([10, 77, 0, 3], 3306)), "s3cret");
    let options = Options {
        servers: Servers::Web,
        ..Options::default()
    };
    let front = web(&software(), &tuned("modern"), &options, &access);
    insta::assert_snapshot!(file(&front, "htdocs/ds2/config.php"), @r"
    <?php
    return [
        'socket' => null,
        'host' => '10.77.0.3',
        'port' => 3306,
        'user' => 'web',
        'password' => 's3cret',
        'database' => 'DS2',
        'faithful' => false,
        'persistent' => true,
    ];
    ");
    assert!(!file(&front, "services.toml").contains("mariadb"));
    assert!(front.files.iter().all(|(name, _)| name != "mariadb.cnf"));
}
