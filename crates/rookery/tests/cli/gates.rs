//! A gate that tests nothing does not pass.

use crate::common::{Place, code, text};

#[test]
fn runs_without_a_common_point_are_no_comparison() {
    let place = Place::new();
    let run = |study: &str| {
        let output = place
            .rookery(&["run", study, "--quiet"])
            .output()
            .expect("rookery starts");
        let out = text(&output.stdout);
        assert!(out.contains("report.html"), "{out}{}", text(&output.stderr));
        let report = out
            .lines()
            .last()
            .expect("a path")
            .trim_start_matches("report: ")
            .to_owned();
        report.trim_end_matches("/report.html").to_owned()
    };
    let studies = ["demo.toml", "other.toml"].map(|file| {
        let path = place.study(file, "");
        std::fs::remove_file(&path).expect("removed");
        let output = place
            .rookery(&["demo-lab", "--study", &path])
            .output()
            .expect("rookery starts");
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
        path
    });
    let text_of = std::fs::read_to_string(&studies[1]).expect("a study");
    let think = text_of
        .lines()
        .find(|line| line.starts_with("think_time"))
        .expect("a think time");
    let changed = text_of.replace(think, "think_time = \"3333ms\"");
    std::fs::write(&studies[1], changed).expect("written");
    let [one, other] = [run(&studies[0]), run(&studies[1])];
    let output = place
        .rookery(&["compare", &one, &other])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&output), 11, "{}", text(&output.stdout));
}
