//! `rookery plan` and `check`: scales, and plans that this host cannot run.

use std::{fs, path::Path};

use crate::common::{Place, code, text};

fn pureflex() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/pureflex-dvdstore.toml");
    path.display().to_string()
}

/// Whatever the host: the table is shown, and its problems are the same as without `--anyway`.
#[test]
fn a_plan_is_shown_anyway() {
    let place = Place::new();
    let run = |args: &[&str]| {
        let output = place.rookery(args).output().expect("rookery starts");
        (code(&output), text(&output.stdout), text(&output.stderr))
    };
    let study = pureflex();
    let (strict_code, strict_out, strict_err) = run(&["plan", &study, "--scale", "original"]);
    let (anyway_code, anyway_out, anyway_err) =
        run(&["plan", &study, "--scale", "original", "--anyway"]);
    assert_eq!((anyway_code, &anyway_err), (strict_code, &strict_err));
    assert_eq!(strict_out.is_empty(), strict_code != 0);
    let rows = anyway_out.lines().filter(|line| line.contains("0GB "));
    assert_eq!(rows.count(), 15, "{anyway_out}");
    let (_, json, _) = run(&["plan", &study, "--scale", "original", "--anyway", "--json"]);
    let plan: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(plan["points"].as_array().map(Vec::len), Some(15));
    assert_eq!(plan["variants"][0]["study"]["stack"]["tuning"], "pureflex");
}

#[test]
fn scales_are_known_by_name() {
    let place = Place::new();
    for command in [vec!["plan"], vec!["check", "--file-only"]] {
        let study = pureflex();
        let args = [command.as_slice(), &[&study, "--scale", "orignal"]].concat();
        let output = place.rookery(&args).output().expect("rookery starts");
        let err = text(&output.stderr);
        assert_eq!(code(&output), 3, "{err}");
        assert!(
            err.contains("no scale `orignal`") && err.contains("--scale original"),
            "{err}"
        );
    }
    let study = pureflex();
    let fine = place
        .rookery(&["check", "--file-only", &study, "--scale", "original"])
        .output();
    assert_eq!(code(&fine.expect("rookery starts")), 0);
}

/// The studies that the guides show are without problems, and say what they run.
#[test]
fn studies_of_the_guides_can_be_planned() {
    let place = Place::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/http");
    for (study, head) in [
        (
            "shop-study.toml",
            "http on the embedded stack in bare guests, seed 1",
        ),
        (
            "pair/pair.toml",
            "dvdstore on the embedded stack in bare guests; http on the embedded stack in bare \
             guests; seed 1",
        ),
    ] {
        let path = examples.join(study).display().to_string();
        let output = place.rookery(&["plan", &path]).output();
        let output = output.expect("rookery starts");
        assert_eq!(code(&output), 0, "{study}: {}", text(&output.stderr));
        let words: Vec<String> = text(&output.stdout)
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        assert!(words.join(" ").contains(head), "{study}: {words:?}");
    }
}

/// What comments of the studies tell people to type: the study is planned in place of being
/// performed, and every option that is spoken of is one.
#[test]
fn commands_in_studies_are_understood() {
    let place = Place::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let help: String = ["run", "plan", "rehearse", "app sample"]
        .map(|command| {
            let args: Vec<&str> = command.split(' ').chain(["--help"]).collect();
            text(
                &place
                    .rookery(&args)
                    .output()
                    .expect("rookery starts")
                    .stdout,
            )
        })
        .concat();
    let mut planned = 0;
    for entry in fs::read_dir(root.join("studies"))
        .expect("studies")
        .flatten()
    {
        let Ok(study) = fs::read_to_string(entry.path()) else {
            continue;
        };
        let comments = study.lines().filter_map(|line| line.split_once('#'));
        for (_, comment) in comments {
            for word in comment
                .split([' ', '`'])
                .filter(|word| word.starts_with("--"))
            {
                let known = help.split([' ', ',', '\n']).any(|other| other == word);
                assert!(known, "{}: {comment}", entry.path().display());
            }
            let Some(command) = comment.strip_prefix("   rookery ") else {
                continue;
            };
            let command = command.split("  ").next().expect("a part");
            let mut words = command
                .split(' ')
                .filter(|word| *word != "--without-database");
            let verb = words.next();
            assert!(
                matches!(verb, Some("run" | "plan" | "rehearse")),
                "{comment}"
            );
            let args: Vec<&str> = ["plan"].into_iter().chain(words).collect();
            let mut plan = place.rookery(&args);
            let output = plan.current_dir(&root).output().expect("rookery starts");
            // This host may be too small, or lack what a study needs.
            assert!(
                matches!(code(&output), 0 | 4 | 5),
                "{comment}: {}",
                text(&output.stderr)
            );
            planned += 1;
        }
    }
    assert!(planned > 20, "{planned}");
}
