//! Every file in `studies/` is valid, can be planned on two CPUs, and agrees with the committed
//! schema.

#![allow(
    clippy::disallowed_methods,
    reason = "the tests read the studies that come with Rookery"
)]

use std::{fs, path::PathBuf};

use rookery_study::{
    Choices, Companion, CompanionContent, Document, HostFacts, Plan, companion_names, json_schema,
    names_in_companion, render_plan,
};

use crate::common::assert_plan;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../studies")
}

fn studies() -> Vec<(String, String)> {
    let mut studies: Vec<(String, String)> = fs::read_dir(folder())
        .expect("studies/ is in the repository")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .map(|path| {
            let text = fs::read_to_string(&path).expect("a readable study");
            (
                path.file_name()
                    .expect("a file")
                    .to_string_lossy()
                    .into_owned(),
                text,
            )
        })
        .collect();
    studies.sort();
    assert!(
        studies.len() >= 4,
        "studies/ holds the two quick studies and the two of LAMP"
    );
    studies
}

fn two_cpus() -> HostFacts {
    HostFacts {
        cpus: vec![0, 1],
        memory_mib: 7900,
        disk_free_mib: 20_000,
        root: true,
        places: Vec::new(),
    }
}

/// The files that a study names, from its folder, and those that they name.
fn files_of(text: &str) -> Vec<Companion> {
    let mut names = companion_names(text);
    let mut files: Vec<Companion> = Vec::new();
    while let Some(name) = names.pop() {
        if files.iter().any(|file| file.name == name) {
            continue;
        }
        let text = fs::read_to_string(folder().join(&name)).expect("a readable file");
        names.extend(names_in_companion(&name, &text));
        let content = CompanionContent::Text(text);
        files.push(Companion {
            name,
            place: None,
            content,
        });
    }
    files
}

/// A study with the files that it names, in a scale.
fn document(name: &str, text: &str, scale: Option<&str>) -> Document {
    let files = files_of(text);
    let choices = Choices {
        scale,
        files: &files,
        ..Choices::default()
    };
    Document::parse_with(name, text, choices).unwrap_or_else(|problems| panic!("{problems}"))
}

fn to_json(text: &str) -> serde_json::Value {
    let value: toml::Value = toml::from_str(text).expect("TOML");
    serde_json::to_value(value).expect("TOML fits into JSON")
}

fn text_of(name: &str) -> String {
    studies()
        .into_iter()
        .find(|(file, _)| file == name)
        .expect("the study exists")
        .1
}

fn plan_of(name: &str) -> (Plan, String) {
    let text = text_of(name);
    let document = document(name, &text, None);
    let plan = Plan::of(&document, &two_cpus()).unwrap_or_else(|problems| panic!("{problems}"));
    let rendered = render_plan(&plan, document.study(), 80);
    (plan, rendered)
}

#[test]
fn every_study_is_valid_and_runs_on_two_cpus() {
    for (name, text) in studies() {
        let document = document(&name, &text, None);
        let plan = Plan::of(&document, &two_cpus()).unwrap_or_else(|problems| panic!("{problems}"));
        assert!(!plan.trials.is_empty(), "{name}");
    }
}

/// The names of the scales of a study; parsing the study in any scale checks all of them.
fn scales(text: &str) -> Vec<String> {
    let value: toml::Value = toml::from_str(text).expect("TOML");
    let scales = value.get("scale").and_then(toml::Value::as_table);
    scales
        .into_iter()
        .flatten()
        .map(|(name, _)| name.clone())
        .collect()
}

#[test]
fn every_scale_is_valid() {
    let mut count = 0;
    for (name, text) in studies() {
        for scale in scales(&text) {
            let document = document(&name, &text, Some(&scale));
            let (plan, _) = Plan::anyway(&document, &two_cpus());
            let planned = plan.points.len() + plan.searches.len();
            assert!(planned > 0, "{name}, {scale}");
            count += 1;
        }
    }
    assert!(count >= 1, "the PureFlex study has its original scale");
}

/// A layout that says one level of a factor, and nothing else of its own, is compared with those
/// that have all.
#[test]
fn a_layout_may_say_one_level_of_a_factor() {
    let text: String = text_of("pureflex-dvdstore.toml")
        .lines()
        .filter(|line| !line.starts_with("kind = \"bare\""))
        .map(|line| format!("{line}\n"))
        .collect();
    let document = document("pureflex-dvdstore.toml", &text, None);
    let plan = Plan::of(&document, &two_cpus()).unwrap_or_else(|problems| panic!("{problems}"));
    assert_plan(document.study(), &plan);
    assert_eq!(plan.variants.len(), 3);
}

/// On two cores most of the table contradicts the host; it is shown all the same, with the
/// problems.
#[test]
fn a_plan_that_cannot_run_is_shown_when_asked_for() {
    let text = text_of("pureflex-dvdstore.toml");
    let document = Document::parse_scaled("p.toml", &text, Some("original"))
        .unwrap_or_else(|problems| panic!("{problems}"));
    let (plan, problems) = Plan::anyway(&document, &two_cpus());
    assert_eq!(plan.points.len(), 15);
    assert!(problems.expect("two cores are too few").list().len() > 2);
    assert!(Plan::of(&document, &two_cpus()).is_err());
    insta::assert_snapshot!(render_plan(&plan, document.study(), 80));
}

#[test]
fn the_pureflex_study_takes_25_minutes_on_two_cores() {
    let (plan, rendered) = plan_of("pureflex-dvdstore.toml");
    assert!(
        (22..=27).contains(&(plan.estimate.duration.as_secs() / 60)),
        "{:?}",
        plan.estimate
    );
    assert!(
        plan.points
            .iter()
            .filter(|point| point.guests() > 1)
            .all(|point| point.baseline.is_some())
    );
    insta::assert_snapshot!(rendered);
}

#[test]
fn the_tunings_study_screens_five_settings() {
    let (plan, rendered) = plan_of("tunings-lamp.toml");
    assert_eq!((plan.factors.len(), plan.variants.len()), (5, 16));
    assert!(
        plan.estimate.duration.as_secs() <= 16 * 60,
        "{:?}",
        plan.estimate
    );
    insta::assert_snapshot!(rendered);
}

#[test]
fn the_quick_study_needs_no_root_and_little_time() {
    let (plan, rendered) = plan_of("quick.toml");
    let load = Document::parse(
        "quick.toml",
        &studies()
            .into_iter()
            .find(|(name, _)| name == "quick.toml")
            .expect("exists")
            .1,
    )
    .expect("valid")
    .study()
    .load
    .clone();
    let phases = (load.ramp_up.lasting(0, 1) + load.settle + load.steady + load.ramp_down)
        * plan.trials.len() as u32;
    assert!(phases.as_secs() <= 110, "{phases:?}");
    assert!(
        plan.points
            .iter()
            .filter(|point| point.guests() > 1)
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
            .filter(|point| point.guests() > 1)
            .all(|point| point.baseline.is_some())
    );
    insta::assert_snapshot!(rendered);
}

#[test]
fn the_committed_schema_is_current() {
    let path = folder().join("../docs/study-schema.json");
    let current = serde_json::to_string_pretty(&json_schema()).expect("JSON") + "\n";
    if std::env::var_os("ROOKERY_UPDATE").is_some() {
        fs::write(&path, &current).expect("a writable folder");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == current,
        "docs/study-schema.json is out of date: run `ROOKERY_UPDATE=1 cargo test -p \
         rookery-study` and commit it"
    );
}

#[test]
fn every_study_validates_against_the_schema() {
    let validator = jsonschema::validator_for(&json_schema()).expect("a valid schema");
    for (name, text) in studies() {
        let errors: Vec<String> = validator
            .iter_errors(&to_json(&text))
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
}

#[test]
fn defaults_written_out_validate_too() {
    let validator = jsonschema::validator_for(&json_schema()).expect("a valid schema");
    for (name, text) in studies() {
        let written = document(&name, &text, None).study().to_toml();
        let errors: Vec<String> = validator
            .iter_errors(&to_json(&written))
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:?}\n{written}");
    }
}

#[test]
fn broken_studies_do_not_validate() {
    let validator = jsonschema::validator_for(&json_schema()).expect("a valid schema");
    let good = "title = \"t\"\n[workload]\nkind = \"dvdstore\"\n[load]\nusers = \
                5\n[[layout]]\nname = \"one\"\n";
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
        (
            "kind = \"dvdstore\"",
            "kind = \"dvdstore\"\nnew_customers = 20",
        ),
        (
            "kind = \"dvdstore\"",
            "kind = \"dvdstore\"\ndatabase = \"10MiB\"",
        ),
        ("[[layout]]", "[guest]\nmemory = \"640\"\n[[layout]]"),
        ("[[layout]]", "[qos.checkout]\np42 = \"1s\"\n[[layout]]"),
        ("[[layout]]", "[layout]"),
        ("users = 5", "users = 5\nrepeats = [2, 3]"),
        ("users = 5", "users = 5\nsteady = [\"5s\", \"5\"]"),
        ("users = 5", "users = 5\nsteady = []"),
        (
            "[[layout]]",
            "[scale.large.load]\nsteady = \"60\"\n[[layout]]",
        ),
        (
            "[[layout]]",
            "[scale.large.laod]\nsteady = \"60s\"\n[[layout]]",
        ),
        ("[[layout]]", "[stack]\ntuning = \"fast\"\n[[layout]]"),
        ("name = \"one\"", "guests = 2"),
        ("name = \"one\"", "name = \"one\"\nguests = -1"),
    ] {
        let broken = good.replace(from, to);
        assert_ne!(broken, good, "{from}");
        assert!(!validator.is_valid(&to_json(&broken)), "{broken}");
    }
}
