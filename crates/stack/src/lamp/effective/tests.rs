//! What servers say of their settings, understood and compared.

use proptest::prelude::*;
use rookery_study::Variables;

use super::*;
use crate::tuning::Family;

const CONFIG_PAGE: &str = r#"<dl><dt><strong>Configuration:</strong>
<dd><tt><strong>In file: /conf/apache.conf</strong></tt></dd>
<dd><tt>&nbsp;&nbsp;15:&nbsp;TypesConfig <i>/dev/null</i></tt></dd>
<dd><tt>&nbsp;&nbsp;18:&nbsp;StartServers <i>3</i></tt></dd>
<dd><tt>&nbsp;&nbsp;19:&nbsp;MaxRequestWorkers <i>300</i></tt></dd>
<dd><tt>&nbsp;&nbsp;20:&nbsp;KeepAlive <i>Off</i></tt></dd>
<dd><tt>&nbsp;&nbsp;27:&nbsp;&lt;FilesMatch &quot;\.php$&quot;&gt;</tt></dd>
<dd><tt>&nbsp;&nbsp;28:&nbsp;&nbsp;&nbsp;SetHandler <i>&quot;x&quot;</i></tt></dd>
"#;
const LIMITS_PAGE: &str = "<dt><strong>Timeouts:</strong> <tt>connection: 60 &nbsp;&nbsp; \
                           keep-alive: 5</tt></dt><dt><strong>MPM Name:</strong> \
     <tt>prefork</tt></dt>\n<dt><strong>MPM Information:</strong> <tt>Max Daemons: 200 Threaded: \
                           no Forked: yes</tt></dt>";
const STATUS_PAGE: &str =
    "ServerVersion: Apache/2.4.1\nServerMPM: prefork\nBusyWorkers: 1\nScoreboard: __W.......\n";
const PHP_PAGE: &str = r#"{"version":"8.2.1","sapi":"apache2handler","settings":{"memory_limit":"128M","opcache.enable":"1","x":null},
     "opcache":true,"pool":null,"pages":{"persistent":true}}"#;

fn bodies() -> BTreeMap<String, String> {
    [
        (CONFIG, CONFIG_PAGE),
        (LIMITS, LIMITS_PAGE),
        (STATUS, STATUS_PAGE),
        (SETTINGS, PHP_PAGE),
    ]
    .map(|(path, body)| (path.to_owned(), body.to_owned()))
    .into()
}

fn tuned(overrides: &[(&str, &str)]) -> Tuned {
    let guest = Variables {
        vcpus: 1.0,
        memory_bytes: 1e9,
        users: 1.0,
        guests: 1.0,
        callers: 1.0,
    };
    let overrides: Vec<(String, String)> = overrides
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let mut tuned = Tuned::evaluate(Family::Lamp, "stock", &overrides, &guest).expect("valid");
    let own = tuned.settings.len() - overrides.len();
    tuned.settings.drain(..own);
    tuned
}

/// The rows of the settings asked for: name, in force, differs.
fn rows(read: &ReadBack, overrides: &[(&str, &str)]) -> Vec<(String, Option<String>, bool)> {
    let rows = read.compare(&tuned(overrides), WebServer::Prefork);
    let asked = rows.into_iter().filter(|row| row.asked.is_some());
    asked
        .map(|row| (row.name, row.effective, row.differs))
        .collect()
}

fn row(name: &str, effective: &str, differs: bool) -> (String, Option<String>, bool) {
    (name.to_owned(), Some(effective.to_owned()), differs)
}

#[test]
fn apache_tells_what_it_corrected() {
    let found = apache(CONFIG_PAGE, LIMITS_PAGE, STATUS_PAGE);
    assert_eq!(found["maxrequestworkers"], "200", "not the 300 of its file");
    assert_eq!(found["keepalivetimeout"], "5");
    assert_eq!(found["timeout"], "60");
    assert_eq!(found["sethandler"], "\"x\"");
    assert_eq!(found["mpm"], "prefork");
    let threaded = LIMITS_PAGE.replace(
        "Max Daemons: 200 Threaded: no",
        "Max Daemons: 1 Threaded: yes",
    );
    let workers = |asked: u32| {
        let config = format!(
            "ServerLimit <i>3</i>\nThreadsPerChild <i>2</i>\nMaxRequestWorkers <i>{asked}</i>"
        );
        apache(&config, &threaded, "")["maxrequestworkers"].clone()
    };
    assert_eq!(
        [workers(4), workers(5), workers(100)],
        ["4", "4", "6"],
        "whole processes, three at most"
    );
}

#[test]
fn asked_and_in_force_stand_side_by_side() {
    let mariadb = BTreeMap::from([
        ("innodb_io_capacity", "200"),
        ("innodb_buffer_pool_size", "8388608"),
        ("version", "10.11"),
    ]);
    let mariadb = mariadb
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let read = ReadBack::parse(Some(mariadb), &bodies());
    let asked = [
        ("mariadb.innodb_buffer_pool_size", "8MiB"),
        ("mariadb.innodb_io_capacity", "1000"),
        ("mariadb.no_such_variable", "1"),
        ("apache.ListenBacklog", "5"),
        ("php.post_max_size", "1"),
        ("pages.persistent", "true"),
    ];
    let expected = [
        row("mariadb.innodb_buffer_pool_size", "8388608", false),
        row("mariadb.innodb_io_capacity", "200", true),
        ("mariadb.no_such_variable".to_owned(), None, true),
        ("apache.ListenBacklog".to_owned(), None, true),
        ("php.post_max_size".to_owned(), None, true),
        row("pages.persistent", "ON", false),
    ];
    assert_eq!(rows(&read, &asked), expected);
    let all = read.compare(&tuned(&asked), WebServer::Prefork);
    let unasked: Vec<&str> = all
        .iter()
        .filter(|row| row.asked.is_none())
        .map(|row| row.name.as_str())
        .collect();
    assert_eq!(
        unasked,
        [
            "mariadb.version",
            "apache.MPM",
            "apache.ServerVersion",
            "php.version",
            "php.sapi",
            "php.opcache"
        ]
    );
}

#[test]
fn a_guest_that_does_not_answer_is_unknown_not_different() {
    let read = ReadBack::parse(None, &BTreeMap::new());
    let expected = [
        ("mariadb.x".to_owned(), None, false),
        ("apache.ListenBacklog".to_owned(), None, false),
    ];
    assert_eq!(
        rows(&read, &[("mariadb.x", "1"), ("apache.ListenBacklog", "5")]),
        expected
    );
}

#[test]
fn a_static_pool_tells_its_size_and_a_dynamic_one_is_silent() {
    let page = |manager: &str| {
        let pool = format!(r#"{{"process-manager":"{manager}","total-processes":7}}"#);
        BTreeMap::from([(
            SETTINGS.to_owned(),
            PHP_PAGE.replace("\"pool\":null", &format!("\"pool\":{pool}")),
        )])
    };
    let children = |manager: &str| {
        let read = ReadBack::parse(None, &page(manager));
        let rows = read.compare(
            &tuned(&[("php.pm.max_start", "9"), ("php.pm.spare", "8")]),
            WebServer::Event,
        );
        assert!(rows.iter().all(|row| !row.differs), "{rows:?}");
        read.php.and_then(|php| php.get("pm.max_children").cloned())
    };
    assert_eq!(children("static").as_deref(), Some("7"));
    assert_eq!(children("dynamic"), None);
}

proptest! {
    #[test]
    fn whatever_a_server_says_is_survived(config in any::<String>(), limits in any::<String>(), status in any::<String>(), settings in any::<String>()) {
        let bodies = [(CONFIG, config), (LIMITS, limits), (STATUS, status), (SETTINGS, settings)];
        let bodies = bodies.map(|(path, body)| (path.to_owned(), body)).into();
        let rows = ReadBack::parse(None, &bodies).compare(&tuned(&[]), WebServer::Event);
        prop_assert!(rows.iter().all(|row| !row.differs));
    }
}
