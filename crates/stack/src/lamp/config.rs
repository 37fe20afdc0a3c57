//! What a LAMP guest runs and reads: its services and their configuration files.
//!
//! Paths stand as placeholders in the texts: `{data}`, `{conf}`, `{run}`, `{listen}`, and `{log}`
//! and `{temporary}` where these have volumes of their own. Nothing outside of them is written, and
//! nothing below `/etc` is read but the list of file types.

mod apache;
mod mariadb;
mod php;
mod services;

use std::collections::BTreeSet;

use rookery_study::StorageRole;
pub use rookery_study::WebServer;

use super::{Component, Software, Tuned, pages};
use crate::{SupervisedService, http_server::PemPair, tier::TierAccess, tuning::is_on};

pub use mariadb::initialise;
pub(crate) use mariadb::{
    BUILDING, PLACES, bootstrap_script, config as mariadb_config, role_places,
};
pub(crate) use php::base as php_base;
pub(crate) use services::{HEAD, initialising, mariadb as mariadb_service};

/// Port of the web server.
pub const PORT: u16 = 8080;
/// Directory of the pages in URLs.
pub const DIRECTORY: &str = "ds2";
/// Path that answers 200 when the whole stack works.
pub const HEALTH_PATH: &str = "/health.php";

/// What a study chooses besides the tuning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How Apache serves PHP.
    pub server: WebServer,
    /// Whether the pages have the known defects of the original.
    pub faithful: bool,
    /// Which of the servers run.
    pub servers: Servers,
}

/// Which of the stack's servers a guest runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Servers {
    /// All of them.
    All,
    /// Apache and PHP alone: only pages that need no database answer 200.
    WithoutDatabase,
    /// Apache and PHP, whose pages use the database of another guest.
    Web,
    /// MariaDB alone, for the pages of other guests.
    Database,
}

impl Servers {
    /// Whether MariaDB is among them.
    #[must_use]
    pub fn has_database(self) -> bool {
        matches!(self, Self::All | Self::Database)
    }

    /// Whether Apache and PHP are among them.
    #[must_use]
    pub fn has_pages(self) -> bool {
        self != Self::Database
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            server: WebServer::Prefork,
            faithful: false,
            servers: Servers::All,
        }
    }
}

/// The service of a guest that serves the pages, with the pages; the database is its own, or none.
#[must_use]
pub fn guest(software: &Software, tuned: &Tuned, options: &Options) -> SupervisedService {
    let pages = php::page_config(options.faithful, persistent(tuned, options));
    with_pages(software, tuned, options, pages)
}

/// The service of a guest whose pages use the database of another guest.
#[must_use]
pub(crate) fn web(
    software: &Software,
    tuned: &Tuned,
    options: &Options,
    tier: &TierAccess,
) -> SupervisedService {
    let pages = php::page_config_of_tier(options.faithful, persistent(tuned, options), tier);
    with_pages(software, tuned, options, pages)
}

/// The service of a guest that is the database of others, who log in with this password.
#[must_use]
pub(crate) fn database(
    software: &Software,
    tuned: &Tuned,
    options: &Options,
    password: &str,
) -> SupervisedService {
    SupervisedService::new([
        (
            "services.toml",
            format!("{HEAD}{}", mariadb_service(&software.mariadbd)),
        ),
        (
            mariadb::CONFIG,
            mariadb::config_of_tier(tuned, options.server),
        ),
        (mariadb::ACCOUNTS, mariadb::accounts_of_tier(password)),
    ])
}

/// The same service with what its MariaDB keeps beside its data on volumes of their own.
#[must_use]
pub(crate) fn with_roles(
    mut service: SupervisedService,
    roles: &BTreeSet<StorageRole>,
) -> SupervisedService {
    let mut files = service.files.iter_mut();
    if let Some((_, text)) = files.find(|(path, _)| path == mariadb::CONFIG) {
        *text += &role_places(roles);
    }
    service
}

/// Whether a PHP process keeps its connection to the database.
fn persistent(tuned: &Tuned, options: &Options) -> bool {
    tuned
        .of_component(Component::Pages, options.server)
        .any(|setting| setting.name == "persistent" && is_on(&setting.value))
}

fn with_pages(
    software: &Software,
    tuned: &Tuned,
    options: &Options,
    page_config: String,
) -> SupervisedService {
    // The health page asks the database; without one it is enough that PHP answers.
    let text = |path: &str, text: &str| {
        let alone = options.servers == Servers::WithoutDatabase && path == "health.php";
        if alone {
            php::HEALTH_WITHOUT_DATABASE
        } else {
            text
        }
        .to_owned()
    };
    let mut site = Site {
        documents: vec![(pages::SETTINGS_FILE.to_owned(), page_config)],
        ..Site::default()
    };
    let documents = pages::FILES.map(|(path, page)| (path.to_owned(), text(path, page)));
    site.documents.extend(documents);
    if options.servers.has_database() {
        site.first = mariadb_service(&software.mariadbd);
        site.files = vec![(
            mariadb::CONFIG.to_owned(),
            mariadb::config(tuned, options.server),
        )];
    }
    serving(software, tuned, options.server, site)
}

/// What lies at the root of a site.
#[derive(Clone, Debug, Default)]
pub(crate) enum DocumentRoot {
    /// The documents that the guest is given.
    #[default]
    Documents,
    /// This directory of the guest, whose `index.php` answers whatever is no file in it. The
    /// documents are in front of it, each by its path.
    Tree(String),
}

/// What Apache and PHP serve in a guest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Site {
    /// What lies at its root.
    pub(crate) root: DocumentRoot,
    /// Files below the document root: path and text.
    pub(crate) documents: Vec<(String, String)>,
    /// Directories of the document root that its pages alone read.
    pub(crate) private: Vec<String>,
    /// Files elsewhere: path in URLs, and directory.
    pub(crate) aliases: Vec<(String, String)>,
    /// Where the same is served encrypted, too.
    pub(crate) encrypted: Option<EncryptedPort>,
    /// Services that are started before, as a services file has them.
    pub(crate) first: String,
    /// Configuration of these services: path and text.
    pub(crate) files: Vec<(String, String)>,
}

/// A port at which Apache encrypts.
#[derive(Clone, Debug)]
pub(crate) struct EncryptedPort {
    pub(crate) port: u16,
    pub(crate) certificate: PemPair,
}

/// Files of a certificate and its key below the configuration.
const CERTIFICATE: &str = "tls/certificate.pem";
const KEY: &str = "tls/key.pem";

/// The service of a guest whose Apache and PHP serve a site.
#[must_use]
pub(crate) fn serving(
    software: &Software,
    tuned: &Tuned,
    server: WebServer,
    site: Site,
) -> SupervisedService {
    let mut files = vec![
        (
            "services.toml".to_owned(),
            services::serving(software, server, &site.first),
        ),
        (
            "apache.conf".to_owned(),
            apache::config(software, tuned, server, &site),
        ),
        ("php/php.ini".to_owned(), php::ini(software, tuned, server)),
        (
            format!("htdocs/{SETTINGS_PAGE}"),
            php::SETTINGS_PAGE.to_owned(),
        ),
    ];
    if server == WebServer::Event {
        files.push(("php-fpm.conf".to_owned(), php::fpm(tuned)));
    }
    if let Some(EncryptedPort { certificate, .. }) = &site.encrypted {
        files.push((CERTIFICATE.to_owned(), certificate.certificate.clone()));
        files.push((KEY.to_owned(), certificate.key.clone()));
    }
    let documents = site.documents.into_iter();
    files.extend(documents.map(|(path, text)| (format!("htdocs/{path}"), text)));
    files.extend(site.files);
    SupervisedService::new(files)
}

/// Path of what tells the settings in force of PHP, below the document root.
pub(crate) const SETTINGS_PAGE: &str = "rookery-settings.php";

/// The service of the guest in which the template of a database is made: an empty database is
/// initialised, then MariaDB runs alone.
#[must_use]
pub fn builder(software: &Software) -> SupervisedService {
    SupervisedService::new([
        ("services.toml", services::building(software)),
        (
            "initialise.sh",
            mariadb::bootstrap_script(&software.mariadbd, &software.mariadb_share),
        ),
        (mariadb::CONFIG, mariadb::builder_config()),
    ])
}

/// The service of a guest whose database is loaded under the clock: as [`builder`], but with the
/// settings of a tuning.
#[must_use]
pub fn loading(software: &Software, tuned: &Tuned, server: WebServer) -> SupervisedService {
    SupervisedService::new([
        ("services.toml", services::building(software)),
        (
            "initialise.sh",
            mariadb::bootstrap_script(&software.mariadbd, &software.mariadb_share),
        ),
        (mariadb::CONFIG, mariadb::config(tuned, server)),
    ])
}

#[cfg(test)]
mod tests;
