//! How long databases take to be made: by trials that do nothing else, and by builders of
//! templates.

use serde_json::Value;

use crate::common::{
    Place, code,
    orderentry::{database_tests, tiny},
    text, tiny_study,
};

/// The tiny study without its users: two sizes of database, loaded and nothing else.
fn study() -> String {
    tiny_study("bare", "1", "")
        .replace("users = \"6 per guest\"\n", "")
        .replace("repeats = 1", "repeats = 2")
        .replace(
            "\"1MB per guest\"",
            "[\"1MB per guest\", \"2MB per guest\"]",
        )
        .replace("[load]", "[measure]\nload_time = true\n\n[load]")
}

fn rows<'r>(run: &'r Value, table: &str) -> &'r [Value] {
    run[table].as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn databases_are_loaded_and_nothing_else() {
    let place = Place::among_others();
    let file = place.study("load.toml", &study());
    for _ in 0..2 {
        let output = place
            .rookery(&["run", &file])
            .output()
            .expect("rookery starts");
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
        let told = text(&output.stdout);
        assert!(told.contains("The shortest load took"), "{told}");
        let lines = text(&output.stderr);
        assert!(
            lines.contains(": done, loaded in ")
                && lines.contains(" rows/s")
                && !lines.contains("limits not judged"),
            "{lines}"
        );
    }
    let run = place.export();
    // Two sizes x one and two guests x two repeats.
    assert_eq!(rows(&run, "trials").len(), 8);
    assert!(
        rows(&run, "trials")
            .iter()
            .all(|trial| trial["status"] == "done")
    );
    assert_eq!(rows(&run, "measurements").len(), 0, "there were no users");
    let loads = rows(&run, "loads");
    assert_eq!(loads.len(), 12, "one for each guest of each trial");
    for load in loads {
        assert!(
            load["guest"].is_string() && load["template"].is_null(),
            "{load}"
        );
        assert_eq!(load["built"], true);
        let parts: f64 = ["create_s", "rows_s", "index_s"]
            .map(|part| load[part].as_f64().expect("a time"))
            .iter()
            .sum();
        let whole = load["load_s"].as_f64().expect("a time");
        assert!((whole - parts).abs() < 1e-9 && whole > 0.0, "{load}");
    }
    let sizes = |database: &str| -> Vec<u64> {
        let own = loads.iter().filter(|load| load["database"] == database);
        own.filter_map(|load| load["rows"].as_u64()).collect()
    };
    let (small, large) = (sizes("1MB"), sizes("2MB"));
    assert!(
        small.iter().all(|rows| *rows == small[0]),
        "the same data each time"
    );
    assert!(large[0] > small[0]);
    let results = rows(&run, "results").iter();
    assert_eq!(
        results.filter(|row| row["metric"] == "load_time").count(),
        4
    );

    let report = place.tables();
    assert!(report.contains("load time, s"), "{report}");
    assert!(
        report.contains("`workload.database = 2MB per guest` against `1MB per guest`"),
        "{report}"
    );
    assert!(report.contains("% load time"), "{report}");
    let runs = std::fs::read_dir(place.runs()).expect("runs").flatten();
    let mut runs: Vec<String> = runs.map(|run| run.path().display().to_string()).collect();
    runs.retain(|run| std::path::Path::new(run).join("run.sqlite").exists());
    let output = place
        .rookery(&["compare", &runs[0], &runs[1]])
        .output()
        .expect("rookery starts");
    let compared = text(&output.stdout);
    assert!(
        compared.contains("load time"),
        "{compared}{}",
        text(&output.stderr)
    );
    assert!(!compared.contains("orders/min"), "{compared}");
}

#[test]
fn servers_are_loaded_in_their_guests_and_in_templates() {
    if !database_tests() {
        return;
    }
    let place = Place::among_others();
    let with_users = tiny("mariadb", "bare", 1);
    let alone = with_users.replace("[load]", "[measure]\nload_time = true\n\n[load]");
    let (_, run) = place.done("alone.toml", &alone);
    let guests: Vec<&Value> = rows(&run, "loads").iter().collect();
    assert!(!guests.is_empty());
    for load in &guests {
        assert!(load["guest"].is_string(), "{load}");
        for part in ["create_s", "rows_s", "index_s", "check_s", "close_s"] {
            assert!(
                load[part].as_f64().is_some_and(|time| time > 0.0),
                "{part} of {load}"
            );
        }
        assert!(
            load["bytes"].as_u64().is_some_and(|bytes| bytes > 1 << 20),
            "{load}"
        );
    }
    let (_, run) = place.done("with-users.toml", &with_users);
    let templates = rows(&run, "loads");
    assert_eq!(templates.len(), rows(&run, "trials").len());
    for load in templates {
        assert!(
            load["guest"].is_null() && load["template"].is_string(),
            "{load}"
        );
        assert_eq!(load["rows"], guests[0]["rows"], "the same data");
    }
    let found = templates
        .iter()
        .filter(|load| load["built"] == false)
        .count();
    assert!(found + 1 >= templates.len(), "it is built once at most");
    assert!(place.tables().contains("template "), "{}", place.tables());
}
