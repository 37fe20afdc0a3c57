//! The small site of content management in PHP: `stacks/lamp/pages/cms`, embedded.
//!
//! It keeps the page contract of the embedded site. Sessions are rows of the database. What sites
//! of this kind are tuned by are switches of the pages, `pages.NAME` in a study:
//!
//! * `persistent`: a PHP process keeps its connection to the database;
//! * `anonymous_sessions`: visitors who are not logged in have sessions too, and every request
//!   writes to one, as in Drupal 6;
//! * `page_cache`: pages that are read without a login are kept in a table, which every creation
//!   empties;
//! * `compression`: pages are compressed for users who take it;
//! * `login_limits`: logins are refused where too many have failed, as in Drupal 7.

pub(crate) mod drupal;
mod load;

use std::{ops::ControlFlow, time::Instant};

use rookery_stats::DatabaseLoad;
use rookery_study::WebServer;
use rookery_workload::cms::{CmsData, LoadMode};

use super::{
    Component, LoadError, Software, Tuned,
    config::{Site, mariadb_config, mariadb_service, serving},
    sql::Database,
};
use crate::{
    SupervisedService,
    cms::{SiteNodes, small_tables},
    tuning::is_on,
};

pub(crate) use load::SiteLoad;

/// What the pages can be told.
pub(crate) const SWITCHES: [&str; 5] = [
    "persistent",
    "anonymous_sessions",
    "page_cache",
    "compression",
    "login_limits",
];

/// The database that the site lives in.
pub(crate) const DATABASE: &str = "CMS";

/// Where its nodes and accounts are.
pub(crate) const NODES: SiteNodes = SiteNodes {
    nodes: "CMS.nodes",
    accounts: "CMS.accounts",
};

/// Database, tables, and the account of the pages; nothing may be there yet.
pub const TABLES: &str = include_str!("../../../../stacks/lamp/schema/cms.sql");

/// Makes the database of the site and loads it, as its template does.
///
/// `database` must be connected as root, and hold no site yet.
///
/// # Errors
/// When the server refuses a step, or does not hold afterwards what was sent.
pub fn make_database(
    database: &mut Database,
    data: &CmsData,
    mode: LoadMode,
) -> Result<DatabaseLoad, LoadError> {
    let began = Instant::now();
    database.execute_script(TABLES)?;
    let load = SiteLoad {
        schema: DATABASE,
        tables: &small_tables(),
        data,
        mode,
    };
    load.load(database, began.elapsed(), &|_| ControlFlow::Continue(()))
}

/// Path of the pages' settings below the document root.
const SETTINGS_FILE: &str = "cms/config.php";

/// The pages' files: path below the document root, and text.
const FILES: [(&str, &str); 8] = [
    (
        "health.php",
        include_str!("../../../../stacks/lamp/pages/cms/health.php"),
    ),
    (
        "cms/common.php",
        include_str!("../../../../stacks/lamp/pages/cms/common.php"),
    ),
    (
        "cms/index.php",
        include_str!("../../../../stacks/lamp/pages/cms/index.php"),
    ),
    (
        "cms/node.php",
        include_str!("../../../../stacks/lamp/pages/cms/node.php"),
    ),
    (
        "cms/login.php",
        include_str!("../../../../stacks/lamp/pages/cms/login.php"),
    ),
    (
        "cms/user.php",
        include_str!("../../../../stacks/lamp/pages/cms/user.php"),
    ),
    (
        "cms/create.php",
        include_str!("../../../../stacks/lamp/pages/cms/create.php"),
    ),
    (
        "cms/logout.php",
        include_str!("../../../../stacks/lamp/pages/cms/logout.php"),
    ),
];

/// The service of a guest that serves the site from its own database.
#[must_use]
pub(crate) fn service(software: &Software, tuned: &Tuned, server: WebServer) -> SupervisedService {
    let files = FILES.map(|(path, text)| (path.to_owned(), text.to_owned()));
    let mut documents = files.to_vec();
    documents.push((SETTINGS_FILE.to_owned(), settings(tuned, server)));
    let site = Site {
        documents,
        first: mariadb_service(&software.mariadbd),
        files: vec![("mariadb.cnf".to_owned(), mariadb_config(tuned, server))],
        ..Site::default()
    };
    serving(software, tuned, server, site)
}

/// What the pages read: where the database is, and their switches. A socket whose path is too long
/// for an address is named from its directory.
fn settings(tuned: &Tuned, server: WebServer) -> String {
    let switches = switches(&SWITCHES, tuned, server);
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
    'database' => '{DATABASE}',
{switches}];
"
    )
}

/// Switches as the entries of an array, on or off.
fn switches(all: &[&str], tuned: &Tuned, server: WebServer) -> String {
    let entries = all.iter().map(|switch| {
        let mut asked = tuned.of_component(Component::Pages, server);
        let on = asked.any(|setting| setting.name == *switch && is_on(&setting.value));
        format!("    '{switch}' => {on},\n")
    });
    entries.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuning::Family;
    use rookery_study::Variables;

    fn tuned(asked: &[(&str, &str)]) -> Tuned {
        let guest = Variables {
            vcpus: 1.0,
            memory_bytes: 640.0 * 1_048_576.0,
            users: 20.0,
            guests: 1.0,
            callers: 1.0,
        };
        let asked: Vec<(String, String)> = asked
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        Tuned::evaluate(Family::Lamp, "stock", &asked, &guest).expect("valid")
    }

    #[test]
    fn switches_reach_the_pages() {
        let asked = [("pages.anonymous_sessions", "on")];
        insta::assert_snapshot!(settings(&tuned(&asked), WebServer::Prefork), @r"
        <?php
        $socket = '{data}/mysql.sock';
        if (strlen($socket) > 107) {
            chdir('{data}');
            $socket = 'mysql.sock';
        }
        return [
            'socket' => $socket,
            'user' => 'web',
            'password' => 'web',
            'database' => 'CMS',
            'persistent' => false,
            'anonymous_sessions' => true,
            'page_cache' => false,
            'compression' => false,
            'login_limits' => false,
        ];
        ");
    }

    #[test]
    fn every_switch_is_read_by_the_pages_and_read_back() {
        let common = FILES.iter().map(|(_, text)| *text).collect::<String>();
        let settings_page = include_str!("../../../../stacks/lamp/conf/rookery-settings.php");
        for switch in SWITCHES {
            // `persistent` is read where the connection is made.
            assert!(common.contains(&format!("'{switch}'")), "{switch}");
            assert!(settings_page.contains(&format!("'{switch}'")), "{switch}");
        }
    }

    #[test]
    fn pages_hold_nothing_that_a_guest_would_replace() {
        for (path, text) in FILES {
            for word in [
                "data", "shared", "conf", "run", "program", "address", "port", "listen",
            ] {
                assert!(
                    !text.contains(&format!("{{{word}}}")),
                    "{path} holds {{{word}}}"
                );
            }
        }
    }
}
