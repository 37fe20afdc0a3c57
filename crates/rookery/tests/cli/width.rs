//! What every command prints in 80 columns: no line is longer, unless it is one word, and no word
//! is broken.

use std::fmt::Write as _;

use crate::common::{Place, templates, text};

const WIDTH: usize = 80;

/// Every command that explains itself.
const COMMANDS: &[&[&str]] = &[
    &[],
    &["run"],
    &["check"],
    &["plan"],
    &["rehearse"],
    &["studies"],
    &["new"],
    &["demo-lab"],
    &["reference"],
    &["runs"],
    &["report"],
    &["compare"],
    &["export"],
    &["predict"],
    &["fit"],
    &["drive", "dvdstore"],
    &["drive", "orderentry"],
    &["drive", "http"],
    &["workload"],
    &["workload", "check"],
    &["workload", "from-har"],
    &["app", "dvdstore"],
    &["app", "orderentry"],
    &["data", "dvdstore"],
    &["data", "orderentry"],
    &["load", "orderentry"],
    &["verify", "orderentry"],
    &["guests"],
    &["clean"],
    &["template"],
    &["template", "build"],
    &["template", "list"],
    &["template", "remove"],
    &["host"],
    &["host", "audit"],
    &["host", "apply"],
    &["host", "revert"],
    &["host", "storage"],
    &["completions"],
    &["man"],
];

/// All that a command prints on a terminal of 80 columns.
fn printed(place: &Place, args: &[&str]) -> String {
    let output = place
        .rookery(args)
        .env("COLUMNS", WIDTH.to_string())
        .output()
        .expect("rookery starts");
    // Where they are is another place in every test.
    (text(&output.stdout) + &text(&output.stderr))
        .replace(&place.runs().display().to_string(), "RUNS")
        .replace(&templates().display().to_string(), "TEMPLATES")
}

/// A line that a terminal would break has a single word, and maybe what leads to it.
fn assert_fits(args: &[&str], printed: &str) {
    for line in printed.lines() {
        assert!(fits_alone(line), "{args:?}: {line}\n\n{printed}");
    }
}

fn fits_alone(line: &str) -> bool {
    line.chars().count() <= WIDTH || line.split_whitespace().count() <= 2
}

#[test]
fn every_help_fits_80_columns() {
    let place = Place::new();
    let mut all = String::new();
    for command in COMMANDS {
        let args = [command, &["--help"][..]].concat();
        let help = printed(&place, &args);
        assert_fits(&args, &help);
        let _ = writeln!(all, "$ rookery {}\n{}", args.join(" "), help.trim_end());
    }
    insta::assert_snapshot!("help", all);
}

#[test]
fn what_commands_say_of_studies_and_runs_fits_80_columns() {
    let place = Place::new();
    let fits = |args: &[&str]| {
        let text = printed(&place, args);
        assert_fits(args, &text);
        text
    };
    let broken = place.study(
        "broken.toml",
        "titel = \"a title that is long enough to fill the whole line of a terminal of 80\"\n\
         [guest]\nkind = \"docker\"\n[qos]\nerrors = \"0.1%\"\n[load]\nsteady = \"1m\"\n",
    );
    let shown = fits(&["check", "--file-only", &broken]).replace(&broken, "broken.toml");
    insta::assert_snapshot!("check", shown);
    fits(&["demo-lab"]);
    fits(&["demo-lab"]);
    let runs = std::fs::read_dir(place.runs()).expect("runs");
    let mut runs: Vec<String> = runs
        .map(|run| run.expect("a run").path())
        .filter(|run| run.join("run.sqlite").exists() && !run.is_symlink())
        .map(|run| run.display().to_string())
        .collect();
    runs.sort();
    let [one, other] = &runs[..] else {
        panic!("two runs: {runs:?}")
    };
    let mut wide = Vec::new();
    for args in [
        &["plan", "@quick"][..],
        &["studies"],
        &["runs"],
        &["report", one],
        &["compare", one, other],
        &["predict", one],
        &["predict", one, "--pack"],
        &["predict", one, "--holdout"],
        &["guests"],
        &["clean", "--dry-run"],
        &["host"],
        &["host", "audit"],
        &["template", "list"],
        &["reference"],
        &["run", "no-such-study.toml"],
        &["report", "no-such-run"],
        &["version"],
    ] {
        let text = printed(&place, args);
        assert!(!text.trim().is_empty(), "{args:?} says nothing");
        let lines = text.lines().filter(|line| !fits_alone(line));
        wide.extend(lines.map(|line| format!("{args:?}: {line}")));
    }
    assert!(wide.is_empty(), "{wide:#?}");
}
