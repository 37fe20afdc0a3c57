//! Built-in studies, the list of runs, and what shells and `man` are given.

use serde_json::Value;

use crate::common::{Place, code, text};

/// What a command that must succeed prints.
fn printed(place: &Place, args: &[&str]) -> String {
    let output = place.rookery(args).output().expect("rookery starts");
    assert_eq!(code(&output), 0, "{args:?}\n{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn a_built_in_study_is_listed_printed_checked_and_run() {
    let place = Place::new();
    let list: Value = serde_json::from_str(&printed(&place, &["studies", "--json"])).expect("JSON");
    let names: Vec<&str> = list
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|study| study["name"].as_str())
        .collect();
    assert!(
        names.contains(&"quick") && names.contains(&"demo-lab"),
        "{names:?}"
    );
    for study in list.as_array().expect("a list") {
        assert!(!study["title"].as_str().unwrap_or("").is_empty(), "{study}");
    }
    for name in names {
        let checked = printed(&place, &["check", "--file-only", &format!("@{name}")]);
        assert_eq!(checked, format!("@{name}: no problems\n"));
    }
    let quick = printed(&place, &["studies", "quick"]);
    assert!(quick.contains("title = "), "{quick}");
    printed(&place, &["run", "@demo-lab", "--quiet"]);
    let runs: Value = serde_json::from_str(&printed(&place, &["runs", "--json"])).expect("JSON");
    assert_eq!(runs.as_array().map(Vec::len), Some(1), "{runs}");
    let run = &runs[0];
    assert!(
        run["name"]
            .as_str()
            .is_some_and(|name| name.starts_with("demo-lab-")),
        "{run}"
    );
    assert_eq!(
        (&run["state"], &run["trials"]["left"]),
        (&"ended".into(), &0.into()),
        "{run}"
    );
    people_read_times_in_their_zone(&place);
}

#[test]
fn a_built_in_study_is_written_with_all_files_that_it_names() {
    let place = Place::new();
    let list: Value = serde_json::from_str(&printed(&place, &["studies", "--json"])).expect("JSON");
    let mut with_files = 0;
    for study in list.as_array().expect("a list") {
        let name = study["name"].as_str().expect("a name");
        let into = place.dir.path().join(name);
        let into = into.to_str().expect("text");
        let write = ["studies", name, "--into", into];
        let said = printed(&place, &write);
        let path = format!("{into}/{name}.toml");
        assert!(said.contains("is written; `rookery plan "), "{said}");
        let checked = printed(&place, &["check", "--file-only", &path]);
        assert_eq!(checked, format!("{path}: no problems\n"));
        if said.contains("that it names") {
            with_files += 1;
            printed(&place, &["plan", "--anyway", &path]);
        }
        // What is there stays.
        std::fs::write(&path, "changed").expect("written");
        let refused = place.rookery(&write).output().expect("rookery starts");
        assert_eq!(code(&refused), 2);
        let said = text(&refused.stderr);
        assert!(
            said.contains("exists, and is not overwritten") && said.contains("help: name a dir"),
            "{said}"
        );
        assert_eq!(std::fs::read_to_string(&path).expect("there"), "changed");
    }
    assert!(with_files >= 2, "{list}");
}

/// The zone is named by a rule, so that none needs to be installed.
fn people_read_times_in_their_zone(place: &Place) {
    let stored = |args: &[&str], zone: &str| {
        let output = place.rookery(args).env("TZ", zone).output();
        text(&output.expect("rookery starts").stdout)
    };
    for command in [&["runs"][..], &["report", "latest"]] {
        let (near, far) = (stored(command, "UTC0"), stored(command, "HERE-9"));
        assert!(near.contains(" UTC") && !near.contains(" HERE"), "{near}");
        assert!(far.contains(" HERE") && !far.contains(" UTC"), "{far}");
    }
    let page = std::fs::read_dir(place.runs())
        .expect("runs")
        .map(|run| run.expect("a run").path().join("report.html"))
        .find_map(|page| std::fs::read_to_string(page).ok())
        .expect("a report");
    assert!(page.contains(" HERE</span>"), "the head of the page");
    let json = stored(&["runs", "--json"], "HERE-9");
    assert!(json.contains("Z\"") && !json.contains("HERE"), "{json}");
}

#[test]
fn the_list_of_runs_goes_on_past_a_store_that_cannot_be_read() {
    let place = Place::new();
    assert!(printed(&place, &["runs"]).starts_with("no runs in "));
    let broken = place.runs().join("broken-abc");
    std::fs::create_dir_all(&broken).expect("made");
    std::fs::write(broken.join("run.sqlite"), "no database \u{1b}[31m").expect("written");
    let list = printed(&place, &["runs"]);
    assert!(list.contains("broken-abc  unreadable"), "{list}");
    assert!(!list.contains('\u{1b}'), "{list:?}");
}

#[test]
fn shells_and_man_know_every_command() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            printed(&place, &["completions", shell]).contains("rehearse"),
            "{shell}"
        );
    }
    let pages = place.dir.path().join("man");
    printed(&place, &["man", &pages.display().to_string()]);
    let page = std::fs::read_to_string(pages.join("rookery-run.1")).expect("a page");
    assert!(page.contains("resume"), "{page}");
}
