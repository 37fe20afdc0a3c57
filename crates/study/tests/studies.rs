//! Every file in `studies/` is valid, can be planned on two CPUs, and agrees with the committed schema.

use std::{fs, path::PathBuf};

use rookery_study::{Document, HostFacts, Plan, json_schema, render_plan};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../studies")
}

fn studies() -> Vec<(String, String)> {
    let mut studies: Vec<(String, String)> = fs::read_dir(folder())
        .expect("studies/ is in the repository")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| {
            let text = fs::read_to_string(&path).expect("a readable study");
            (path.file_name().expect("a file").to_string_lossy().into_owned(), text)
        })
        .collect();
    studies.sort();
    assert!(studies.len() >= 2, "studies/ holds at least the two quick studies");
    studies
}

fn two_cpus() -> HostFacts {
    HostFacts {
        cpus: vec![0, 1],
        memory_mib: 3900,
        disk_free_mib: 10_000,
        root: true,
    }
}

fn to_json(text: &str) -> serde_json::Value {
    let value: toml::Value = toml::from_str(text).expect("TOML");
    serde_json::to_value(value).expect("TOML fits into JSON")
}

fn plan_of(name: &str) -> (Plan, String) {
    let (_, text) = studies().into_iter().find(|(file, _)| file == name).expect("the study exists");
    let document = Document::parse(name, &text).unwrap_or_else(|problems| panic!("{problems}"));
    let plan = Plan::of(&document, &two_cpus()).unwrap_or_else(|problems| panic!("{problems}"));
    let rendered = render_plan(&plan, document.study());
    (plan, rendered)
}

#[test]
fn every_study_is_valid_and_runs_on_two_cpus() {
    for (name, text) in studies() {
        let document = Document::parse(&name, &text).unwrap_or_else(|problems| panic!("{problems}"));
        let plan = Plan::of(&document, &two_cpus()).unwrap_or_else(|problems| panic!("{problems}"));
        assert!(!plan.trials.is_empty(), "{name}");
    }
}

#[test]
fn the_quick_study_needs_no_root_and_little_time() {
    let (plan, rendered) = plan_of("quick.toml");
    let load = Document::parse(
        "quick.toml",
        &studies().into_iter().find(|(name, _)| name == "quick.toml").expect("exists").1,
    )
    .expect("valid")
    .study()
    .load
    .clone();
    let phases = (load.ramp_up + load.settle + load.steady + load.ramp_down) * plan.trials.len() as u32;
    assert!(phases.as_secs() <= 75, "{phases:?}");
    assert!(
        plan.points
            .iter()
            .filter(|point| point.guests > 1)
            .all(|point| point.baseline.is_some())
    );
    insta::assert_snapshot!(rendered);
}

#[test]
fn the_quick_study_has_the_same_points_on_any_host() {
    let (small, _) = plan_of("quick.toml");
    let (_, text) = studies()
        .into_iter()
        .find(|(name, _)| name == "quick.toml")
        .expect("the study exists");
    let document = Document::parse("quick.toml", &text).expect("valid");
    let host = HostFacts {
        cpus: (0..64).collect(),
        root: false,
        ..two_cpus()
    };
    let large = Plan::of(&document, &host).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(small.points, large.points);
}

#[test]
fn the_container_study_shares_a_core_in_quarters() {
    let (plan, rendered) = plan_of("quick-containers.toml");
    assert!(
        plan.points
            .iter()
            .filter(|point| point.guests > 1)
            .all(|point| point.baseline.is_some())
    );
    insta::assert_snapshot!(rendered);
}

#[test]
fn the_committed_schema_is_current() {
    let path = folder().join("rookery-study.schema.json");
    let current = serde_json::to_string_pretty(&json_schema()).expect("JSON") + "\n";
    if std::env::var_os("ROOKERY_UPDATE").is_some() {
        fs::write(&path, &current).expect("a writable folder");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == current,
        "studies/rookery-study.schema.json is out of date: run `ROOKERY_UPDATE=1 cargo test -p rookery-study` and commit it"
    );
}

#[test]
fn every_study_validates_against_the_schema() {
    let validator = jsonschema::validator_for(&json_schema()).expect("a valid schema");
    for (name, text) in studies() {
        let errors: Vec<String> = validator.iter_errors(&to_json(&text)).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
}

#[test]
fn defaults_written_out_validate_too() {
    let validator = jsonschema::validator_for(&json_schema()).expect("a valid schema");
    for (name, text) in studies() {
        let written = Document::parse(&name, &text).expect("valid").study().to_toml();
        let errors: Vec<String> = validator.iter_errors(&to_json(&written)).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}\n{written}");
    }
}

#[test]
fn broken_studies_do_not_validate() {
    let validator = jsonschema::validator_for(&json_schema()).expect("a valid schema");
    let good = "title = \"t\"\n[workload]\nkind = \"dvdstore\"\n[load]\nusers = 5\n[[layout]]\nname = \"one\"\n";
    assert!(validator.is_valid(&to_json(good)));
    for (from, to) in [
        ("title = \"t\"\n", ""),
        ("title = \"t\"", "titel = \"t\""),
        ("users = 5", "users = 0"),
        ("users = 5", "users = []"),
        ("users = 5", "users = \"5 per cow\""),
        ("users = 5", "users = 5\nsteady = 60"),
        ("users = 5", "users = 5\nsteady = \"60\""),
        ("users = 5", "users = 5\nrepeats = 0"),
        ("users = 5", "users = 5\norder = \"backwards\""),
        ("users = 5", "users = 5\nstedy = \"60s\""),
        ("kind = \"dvdstore\"", "kind = \"tpcc\""),
        ("kind = \"dvdstore\"", "kind = \"dvdstore\"\nnew_customers = 20"),
        ("kind = \"dvdstore\"", "kind = \"dvdstore\"\ndatabase = \"10MiB\""),
        ("[[layout]]", "[guest]\nmemory = \"640\"\n[[layout]]"),
        ("[[layout]]", "[qos.checkout]\np95 = \"1s\"\n[[layout]]"),
        ("[[layout]]", "[layout]"),
        ("name = \"one\"", "guests = 2"),
        ("name = \"one\"", "name = \"one\"\nguests = -1"),
    ] {
        let broken = good.replace(from, to);
        assert_ne!(broken, good, "{from}");
        assert!(!validator.is_valid(&to_json(&broken)), "{broken}");
    }
}
