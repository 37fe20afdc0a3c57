//! Layouts with groups: guests that differ in one trial, tiles, and tiers.

use std::process::Child;

use serde_json::Value;

use crate::common::{Place, code, lamp_tests, root_tests, text};

/// What all studies here begin with.
const HEAD: &str = r#"
title = "groups"
seed = 7
[workload.shop]
kind = "dvdstore"
database = "1MB per guest"
think_time = "20ms"
[workload.orders]
kind = "orderentry"
profile = "mini"
[load]
ramp_up = "200ms"
settle = "300ms"
steady = "2s"
ramp_down = "100ms"
timeout = "10s"
repeats = 1
retry_void = 0
[stack]
kind = "embedded"
[guest]
kind = "bare"
memory = "256MiB"
[host]
overcommit = 6
"#;

/// A shop and a database of order entry.
const TILE: &str = r#"
[[layout]]
name = "tile"
tiles = [1, 2]
[[layout.group]]
name = "shop"
workload = "shop"
users = 4
qos.p95 = "9s"
[[layout.group]]
name = "orders"
workload = "orders"
stack.kind = "sqlite"
users = 2
"#;

/// Web servers whose database is in a guest of its own.
fn tiers(web_guests: u32) -> String {
    format!(
        r#"
title = "tiers"
seed = 7
workload = {{ kind = "dvdstore", database = "1MB per guest", think_time = "20ms" }}
load = {{ ramp_up = "300ms", settle = "500ms", steady = "3s", timeout = "20s", repeats = 1, retry_void = 0 }}
stack = {{ kind = "lamp", tuning = "modern" }}
guest = {{ kind = "container", memory = "400MiB" }}
host = {{ overcommit = 6 }}
[[layout]]
name = "two tiers"
[[layout.group]]
name = "web"
guests = {web_guests}
users = 3
[[layout.group]]
name = "database"
tier_of = "web"
"#
    )
}

/// Every database holds exactly what users were told; how many were audited.
fn audited(run: &Value) -> Vec<String> {
    let audits = run["audits"].as_array().expect("audits");
    for audit in audits {
        assert_eq!(audit["consistent"], true, "{audit}");
        assert_eq!(audit["found"], audit["acknowledged"], "{audit}");
        assert!(audit["found"].as_u64() > Some(0), "{audit}");
    }
    let guests = audits.iter().map(|audit| audit["guest"].to_string());
    guests.collect()
}

/// No guest, namespace, mount or registration of a run of this place, under any of its labels.
fn nothing_is_left(place: &Place) {
    let output = place.rookery(&["guests"]).output().expect("rookery starts");
    let there = text(&output.stdout);
    let runs = std::fs::read_dir(place.runs()).expect("runs");
    for run in runs {
        let name = run
            .expect("a run")
            .file_name()
            .to_string_lossy()
            .into_owned();
        let id = name.rsplit('-').next().expect("an id");
        assert!(!there.contains(id), "{there}");
    }
}

/// The analysis of the newest run.
fn analysis(place: &Place) -> Value {
    let output = place
        .rookery(&["report", "latest", "--json"])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("an analysis")
}

fn rows<'r>(run: &'r Value, table: &str) -> &'r [Value] {
    run[table].as_array().expect("a table")
}

#[test]
fn a_shop_and_a_database_run_side_by_side_in_one_tile_and_in_two() {
    let place = Place::new();
    let (_, run) = place.done("tile.toml", &format!("{HEAD}{TILE}"));
    // Two points, two groups each.
    let trials = rows(&run, "trials");
    assert_eq!(trials.len(), 4, "{trials:#?}");
    let guests: Vec<(String, String)> = rows(&run, "guests")
        .iter()
        .map(|guest| (guest["group"].to_string(), guest["workload"].to_string()))
        .collect();
    let of = |group: &str, workload: &str| {
        let own = (format!("\"{group}\""), format!("\"{workload}\""));
        guests.iter().filter(|guest| **guest == own).count()
    };
    assert_eq!((of("shop", "dvdstore"), of("orders", "orderentry")), (3, 3));
    assert_eq!(audited(&run).len(), 6);
    // Limits are judged group by group: that of the shop is the shop's alone.
    let group_of = |limit: &Value| {
        let own =
            |guest: &&Value| guest["trial"] == limit["trial"] && guest["guest"] == limit["guest"];
        let guest = rows(&run, "guests").iter().find(own);
        guest.expect("a guest")["group"].clone()
    };
    let limits = rows(&run, "limits").iter();
    let of_shop: Vec<&Value> = limits.filter(|limit| limit["limit_ms"] == 9000.0).collect();
    assert!(!of_shop.is_empty());
    assert!(of_shop.iter().all(|limit| group_of(limit) == "shop"));
    let analysis = analysis(&place);
    let tiles = analysis["tiles"].as_array().expect("tiles");
    let counts: Vec<(u64, usize)> = tiles
        .iter()
        .map(|tile| {
            (
                tile["tiles"].as_u64().expect("a number"),
                tile["groups"].as_array().map_or(0, Vec::len),
            )
        })
        .collect();
    assert_eq!(counts, [(1, 2), (2, 2)]);
    let told = place.tables();
    for words in ["group=shop", "group=orders", "fairness of tiles"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    nothing_is_left(&place);
}

#[test]
fn a_container_runs_beside_bare_guests() {
    if !root_tests() {
        return;
    }
    let place = Place::new();
    let mixed = TILE
        .replace("tiles = [1, 2]\n", "")
        .replace("users = 4", "users = 4\nkind = \"container\"");
    let (_, run) = place.done("mixed.toml", &format!("{HEAD}{mixed}"));
    let kinds: Vec<&Value> = rows(&run, "groups")
        .iter()
        .map(|group| &group["kind"])
        .collect();
    assert_eq!(kinds, ["container", "bare"]);
    assert_eq!(audited(&run).len(), 2);
    nothing_is_left(&place);
}

/// Kills a run under load, and lets it go on.
fn killed_and_resumed(place: &Place, study: &str) -> Value {
    let (mut child, events): (Child, _) = place.under_load(study);
    child.kill().expect("killed");
    child.wait().expect("waited for");
    drop(events);
    let output = place
        .rookery(&["run", "--resume", "latest"])
        .output()
        .expect("rookery starts");
    assert!(
        matches!(code(&output), 0 | 6),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    place.export()
}

#[test]
fn a_tile_that_was_killed_goes_on() {
    let place = Place::among_others();
    let run = killed_and_resumed(&place, &format!("{HEAD}{TILE}"));
    let trials = rows(&run, "trials");
    assert!(
        trials
            .iter()
            .all(|trial| trial["status"] == "done" || trial["status"] == "void"),
        "{trials:#?}"
    );
    let notes = run["notes"].to_string();
    assert!(
        notes.contains("was interrupted and is run again"),
        "{notes}"
    );
    assert_eq!(audited(&run).len(), 6);
    nothing_is_left(&place);
}

#[test]
fn web_servers_share_the_database_of_another_guest() {
    if !(root_tests() && lamp_tests()) {
        return;
    }
    for web_guests in [1, 2] {
        let place = Place::among_others();
        let (_, run) = place.done("tiers.toml", &tiers(web_guests));
        // The database is the last guest, and holds what the users of all others were told.
        let last = format!("\"g{}\"", web_guests + 1);
        assert!(
            audited(&run).iter().all(|guest| *guest == last),
            "{}",
            run["audits"]
        );
        // Connections for the 35 workers of each web server, and eight more.
        let connections = rows(&run, "tunings").iter().find(|row| {
            format!("{}", row["guest"]) == last && row["name"] == "mariadb.max_connections"
        });
        let connections = connections.expect("the setting is read back");
        assert_eq!(connections["effective"], (35 * web_guests + 8).to_string());
        let analysis = analysis(&place);
        let groups = &analysis["tiles"][0]["groups"];
        assert_eq!(groups[1]["called_by"], "web");
        for group in [&groups[0], &groups[1]] {
            assert!(group["cores"].as_f64() > Some(0.0), "{group}");
        }
        place.no_password_is_logged();
        nothing_is_left(&place);
    }
}

#[test]
fn tiers_that_were_killed_go_on() {
    if !(root_tests() && lamp_tests()) {
        return;
    }
    let place = Place::among_others();
    let run = killed_and_resumed(&place, &tiers(1));
    let status = &rows(&run, "trials")[0]["status"];
    assert!(status == "done" || status == "void", "{run}");
    audited(&run);
    nothing_is_left(&place);
}
