//! The tunings that come with Rookery, and those of studies.

use super::*;

const MIB: f64 = 1_048_576.0;

fn guest(vcpus: f64, memory_mib: f64) -> Variables {
    Variables {
        vcpus,
        memory_bytes: memory_mib * MIB,
        users: 10.0,
        guests: 4.0,
        callers: 1.0,
    }
}

fn tuned(name: &str, overrides: &[(&str, &str)]) -> Result<Tuned, TuningError> {
    let overrides: Vec<(String, String)> = overrides
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    Tuned::evaluate(Family::Lamp, name, &overrides, &guest(2.0, 5120.0))
}

fn value(tuned: &Tuned, server: WebServer, key: &str) -> Option<String> {
    let mut found = tuned
        .settings
        .iter()
        .filter(|setting| setting.key() == key && setting.server.is_none_or(|only| only == server));
    let value = found.next().map(|setting| setting.value.clone());
    assert!(found.next().is_none(), "{key} is set twice");
    value
}

fn refusal(key: &str, value: &str) -> String {
    let error = tuned("stock", &[(key, value)]).expect_err("refused");
    rookery_diagnosis::ErrorFields::new(&error).to_string()
}

#[test]
fn every_tuning_has_a_value_for_every_guest_and_sets_nothing_twice() {
    for name in Family::Lamp.names() {
        for (vcpus, memory) in [(0.05, 64.0), (0.25, 160.0), (1.0, 2560.0), (16.0, 40_960.0)] {
            let tuned =
                Tuned::evaluate(Family::Lamp, name, &[], &guest(vcpus, memory)).expect("valid");
            assert_eq!(tuned.name, name);
            for server in [WebServer::Prefork, WebServer::Event] {
                for setting in &tuned.settings {
                    value(&tuned, server, &setting.key());
                    assert!(setting.reason.len() > 10, "{setting:?}");
                }
            }
        }
    }
}

#[test]
fn pureflex_follows_the_formulas_of_the_paper() {
    let of = |vcpus, memory| {
        Tuned::evaluate(Family::Lamp, "pureflex", &[], &guest(vcpus, memory)).expect("valid")
    };
    let mib = |mib: u64| Some((mib << 20).to_string());
    let check = |vcpus, memory, pool, workers: &str| {
        let tuned = of(vcpus, memory);
        assert_eq!(
            value(
                &tuned,
                WebServer::Prefork,
                "mariadb.innodb_buffer_pool_size"
            ),
            mib(pool)
        );
        for key in ["MaxRequestWorkers", "ServerLimit", "StartServers"] {
            assert_eq!(
                value(&tuned, WebServer::Prefork, &format!("apache.{key}")).as_deref(),
                Some(workers)
            );
        }
    };
    // The paper's guests: 2.5 GB has 1536 MB, the others 80 %.
    check(1.0, 2560.0, 1536, "256");
    check(2.0, 5120.0, 4096, "256");
    check(8.0, 20_480.0, 16_384, "512");
    check(16.0, 40_960.0, 32_768, "1024");
    check(0.25, 160.0, 96, "256");
    assert_eq!(
        value(
            &of(2.0, 5120.0),
            WebServer::Prefork,
            "mariadb.innodb_log_file_size"
        ),
        mib(204),
        "4096 / 40 * 2, whole MiB"
    );
    assert!(
        of(1.0, 2560.0)
            .gone
            .iter()
            .any(|gone| gone.former.contains("innodb_thread_concurrency"))
    );
}

#[test]
fn modern_leaves_memory_for_everything() {
    for memory in [160.0, 640.0, 2560.0, 40_960.0] {
        let tuned =
            Tuned::evaluate(Family::Lamp, "modern", &[], &guest(1.0, memory)).expect("valid");
        let number = |key: &str| {
            value(&tuned, WebServer::Prefork, key)
                .and_then(|value| value.parse::<f64>().ok())
                .expect("a number")
        };
        let used = number("mariadb.innodb_buffer_pool_size") / MIB
            + 4.0 * number("apache.MaxRequestWorkers")
            + 48.0;
        assert!(used <= memory * 0.85, "{used} of {memory}");
        assert_eq!(
            number("mariadb.max_connections"),
            number("apache.MaxRequestWorkers") + 8.0
        );
    }
}

#[test]
fn a_database_has_connections_for_the_workers_of_all_that_call_it() {
    for (tuning, expected) in [("modern", 3 * 56 + 8), ("pureflex", 3 * 256 + 8)] {
        let variables = Variables {
            callers: 3.0,
            ..guest(1.0, 640.0)
        };
        let tuned = Tuned::evaluate(Family::Lamp, tuning, &[], &variables).expect("valid");
        let connections = value(&tuned, WebServer::Prefork, "mariadb.max_connections");
        assert_eq!(connections, Some(expected.to_string()), "{tuning}");
    }
}

#[test]
fn settings_of_the_study_replace_and_add() {
    let tuned = tuned(
        "modern",
        &[
            ("mariadb.innodb-buffer-pool-size", "8.5MiB"),
            ("apache.MaxClients", "2"),
            ("php.memory_limit", "1 + 1"),
            ("apache.KeepAlive", "true"),
        ],
    );
    let tuned = tuned.expect("valid");
    assert_eq!(
        value(
            &tuned,
            WebServer::Prefork,
            "mariadb.innodb_buffer_pool_size"
        )
        .as_deref(),
        Some("8388608"),
        "whole MiB"
    );
    assert_eq!(
        tuned.settings[0].key(),
        "mariadb.innodb_buffer_pool_size",
        "where the other stood"
    );
    for server in [WebServer::Prefork, WebServer::Event] {
        assert_eq!(
            value(&tuned, server, "apache.MaxRequestWorkers").as_deref(),
            Some("2")
        );
        assert_eq!(
            value(&tuned, server, "apache.KeepAlive").as_deref(),
            Some("ON")
        );
    }
    let last = tuned.settings.last().expect("settings");
    assert_eq!(
        (
            last.key().as_str(),
            last.value.as_str(),
            last.formula.as_deref()
        ),
        ("php.memory_limit", "2", Some("1 + 1"))
    );
    let workers = tuned
        .settings
        .iter()
        .find(|setting| setting.former.as_deref() == Some("MaxClients") && setting.value == "2");
    assert!(workers.is_some_and(|setting| setting.reason.contains("renamed")));
}

#[test]
fn values_are_formulas_words_or_quoted_text() {
    let read = |text: &str| {
        tuned("stock", &[("mariadb.x", text)])
            .map(|tuned| tuned.settings.last().expect("one").value.clone())
    };
    let ok = |text: &str| read(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(ok("8MiB"), "8388608");
    assert_eq!(ok("max(1, vcpus)"), "2");
    assert_eq!(ok("0.5"), "0.5");
    assert_eq!(ok("-1"), "-1");
    assert_eq!(ok("7 / 2"), "3");
    assert_eq!(ok("vcpus"), "2");
    assert_eq!(ok("O_DIRECT"), "O_DIRECT");
    assert_eq!(ok("pool-of-threads"), "pool-of-threads");
    assert_eq!(ok("ibdata1:5M:autoextend"), "ibdata1:5M:autoextend");
    assert_eq!(ok("'E_ALL & ~E_NOTICE'"), "E_ALL & ~E_NOTICE");
    assert_eq!(ok("false"), "OFF");
    for wrong in [
        "",
        "''",
        "max(1, vcpu)",
        "1 +",
        "1G",
        "a\nb",
        "'a\nsocket=/x'",
        "'a\"b'",
        "'a#b'",
        "'{data}'",
        "1/0",
        "1e300",
    ] {
        assert!(read(wrong).is_err(), "{wrong:?} gave {:?}", read(wrong));
    }
}

#[test]
fn wrong_keys_say_what_and_how_to_help() {
    assert!(refusal("innodb_x", "1").contains("COMPONENT.NAME"));
    assert!(refusal("mysql.x", "1").contains("mariadb, apache, php, pages"));
    assert!(refusal("mariadb.a b", "1").contains("no name"));
    assert!(refusal("apache.Max\nUser root", "1").contains("no name"));
    assert!(refusal("pages.faithful", "1").contains("pages.persistent"));
    assert!(refusal("mariadb.socket", "x").contains("Rookery sets this"));
    assert!(refusal("apache.listen", "80").contains("Rookery sets this"));
    assert!(refusal("mariadb.innodb_thread_concurrency", "20").contains("does not exist any more"));
    let unknown = tuned("sotck", &[]).expect_err("unknown");
    let unknown = rookery_diagnosis::ErrorFields::new(&unknown).to_string();
    assert!(
        unknown.contains("stock, pureflex, sun2009, modern"),
        "{unknown}"
    );
}

#[test]
fn the_plan_shows_value_formula_reason_and_what_is_gone() {
    let rows = describe(&tuned("pureflex", &[]).expect("valid"));
    let row = |key: &str| {
        rows.iter()
            .find(|row| row[0].contains(key))
            .expect("a row")
            .join(" | ")
    };
    insta::assert_snapshot!(row("apache.MaxRequestWorkers [prefork]"), @"apache.MaxRequestWorkers \
        [prefork] | 256 | = max(256, 64 * vcpus); 64 for each vCPU, not below the default of 256 \
        (was MaxClients)");
    insta::assert_snapshot!(row("innodb_thread_concurrency"), @"mariadb.innodb_thread_concurrency \
        = 20 | gone | removed in MariaDB 10.6: InnoDB admits every thread; it has no successor");
}
