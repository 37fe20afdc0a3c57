//! `rookery plan` and `check`: scales, and plans that this host cannot run.

use std::path::Path;

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
