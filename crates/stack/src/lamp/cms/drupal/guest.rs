//! What guests of a Drupal run and read, and by what it is installed.

use rookery_study::WebServer;

use super::{super::switches as entries, Generation, SiteTree};
use crate::{
    SupervisedService,
    lamp::{
        Software,
        config::{DocumentRoot, Site, mariadb_config, mariadb_service, php_base, serving},
    },
    tuning::Tuned,
};

/// The database that the site lives in.
pub(crate) const DATABASE: &str = "drupal";

/// The database and the account of the site; its installer makes the tables.
pub(crate) const CREATE: &str = "\
CREATE DATABASE drupal CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE OR REPLACE USER 'web'@'localhost' IDENTIFIED BY 'web';
GRANT ALL ON drupal.* TO 'web'@'localhost';
";

/// Extensions of PHP that Drupal wants, in the order in which they depend on each other.
pub(crate) const EXTENSIONS: [&str; 14] = [
    "ctype",
    "fileinfo",
    "gd",
    "iconv",
    "mbstring",
    "pdo",
    "pdo_mysql",
    "posix",
    "tokenizer",
    "xml",
    "dom",
    "simplexml",
    "xmlreader",
    "xmlwriter",
];

/// The name of the tree below `/srv` of a guest.
pub(super) const DIRECTORY: &str = "site";
/// The directory of a guest's data in which the site keeps what it writes.
pub(crate) const FILES: &str = "files";
/// Its settings below the document root, and what tells those that are in force.
const SETTINGS_FILE: &str = "site/config.php";
const IN_FORCE_FILE: &str = "site/in-force.php";
/// The files of the guest that installs.
const INSTALL_FILE: &str = "install.php";
const INI_FILE: &str = "php.ini";

/// What the site can be told, by release.
pub(crate) fn switches(generation: Generation) -> &'static [&'static str] {
    match generation {
        Generation::Seven => &[
            "page_cache",
            "block_cache",
            "compression",
            "aggregation",
            "login_limits",
        ],
        Generation::Ten => &["page_cache", "aggregation", "login_limits"],
    }
}

/// The settings that lie in the tree. What may differ from guest to guest they read in the guest's
/// configuration.
pub(super) fn settings(generation: Generation) -> &'static str {
    match generation {
        Generation::Seven => include_str!("../../../../../../stacks/lamp/drupal/settings7.php"),
        Generation::Ten => include_str!("../../../../../../stacks/lamp/drupal/settings10.php"),
    }
}

/// The documents in a guest.
fn documents(tree: &SiteTree) -> String {
    let below = tree.documents.trim_end_matches('/');
    match below {
        "" => format!("/srv/{DIRECTORY}"),
        below => format!("/srv/{DIRECTORY}/{below}"),
    }
}

/// What the settings read: the switches, all off before any tuning.
fn config(tree: &SiteTree, tuned: Option<(&Tuned, WebServer)>) -> String {
    let all = switches(tree.generation);
    let switches: String = match tuned {
        Some((tuned, server)) => entries(all, tuned, server),
        None => all
            .iter()
            .map(|switch| format!("    '{switch}' => false,\n"))
            .collect(),
    };
    format!(
        "<?php\nreturn [\n    'documents' => '{}',\n{switches}];\n",
        documents(tree)
    )
}

/// The service of a guest that serves the site from its own database.
pub(crate) fn service(
    tree: &SiteTree,
    software: &Software,
    tuned: &Tuned,
    server: WebServer,
) -> SupervisedService {
    let in_force = match tree.generation {
        Generation::Seven => include_str!("../../../../../../stacks/lamp/drupal/in-force7.php"),
        Generation::Ten => include_str!("../../../../../../stacks/lamp/drupal/in-force10.php"),
    };
    let health = include_str!("../../../../../../stacks/lamp/drupal/health.php");
    let site = Site {
        root: DocumentRoot::Tree(documents(tree)),
        documents: vec![
            ("health.php".to_owned(), health.to_owned()),
            (
                SETTINGS_FILE.to_owned(),
                config(tree, Some((tuned, server))),
            ),
            (IN_FORCE_FILE.to_owned(), in_force.to_owned()),
        ],
        first: mariadb_service(&software.mariadbd),
        files: vec![("mariadb.cnf".to_owned(), mariadb_config(tuned, server))],
        ..Site::default()
    };
    serving(software, tuned, server, site)
}

/// The same service of a guest without a site, with what installs it.
pub(crate) fn installer(
    tree: &SiteTree,
    software: &Software,
    service: SupervisedService,
) -> SupervisedService {
    let install = match tree.generation {
        Generation::Seven => include_str!("../../../../../../stacks/lamp/drupal/install7.php"),
        Generation::Ten => include_str!("../../../../../../stacks/lamp/drupal/install10.php"),
    };
    let mut service = service;
    service.files.extend([
        (INSTALL_FILE.to_owned(), install.to_owned()),
        (INI_FILE.to_owned(), php_base(software)),
        (format!("htdocs/{SETTINGS_FILE}"), config(tree, None)),
    ]);
    service
}

/// The command that installs the site in such a guest.
pub(crate) fn install_command(software: &Software) -> Vec<String> {
    // No other configuration of PHP is read. The installer needs more memory than a page, and only
    // what ends it is worth its words.
    let options = [
        "memory_limit=1G",
        "log_errors=0",
        "display_errors=stderr",
        "error_reporting=1",
    ];
    let mut words = vec![
        software.php_cli(),
        "-c".to_owned(),
        format!("/conf/{INI_FILE}"),
    ];
    for option in options {
        words.extend(["-d".to_owned(), option.to_owned()]);
    }
    words.push(format!("/conf/{INSTALL_FILE}"));
    words
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn tree(generation: Generation, documents: &'static str) -> SiteTree {
        SiteTree {
            path: PathBuf::from("/srv/mine"),
            is_archive: false,
            version: "1".to_owned(),
            generation,
            top: String::new(),
            documents,
            digest: String::new(),
        }
    }

    #[test]
    fn switches_are_off_unless_a_tuning_says_otherwise() {
        insta::assert_snapshot!(config(&tree(Generation::Ten, "web/"), None), @r"
        <?php
        return [
            'documents' => '/srv/site/web',
            'page_cache' => false,
            'aggregation' => false,
            'login_limits' => false,
        ];
        ");
    }

    #[test]
    fn every_switch_is_read_by_the_settings_and_told_by_the_site() {
        for (generation, in_force) in [
            (
                Generation::Seven,
                include_str!("../../../../../../stacks/lamp/drupal/in-force7.php"),
            ),
            (
                Generation::Ten,
                include_str!("../../../../../../stacks/lamp/drupal/in-force10.php"),
            ),
        ] {
            let page = include_str!("../../../../../../stacks/lamp/conf/rookery-settings.php");
            for switch in switches(generation) {
                let quoted = format!("'{switch}'");
                for text in [settings(generation), in_force, page] {
                    assert!(text.contains(&quoted), "{generation:?} {switch}");
                }
            }
        }
    }
}
