//! Any bytes as a study file: every problem has a line and a help, a valid study survives writing
//! and planning.

use rookery_study::{Document, HostFacts, Plan, Problems, Study, render_plan};

pub(crate) fn file(bytes: &[u8]) {
    let document = match Document::parse_bytes("fuzz.toml", bytes) {
        Ok(document) => document,
        Err(problems) => return check(&problems),
    };
    for variant in document.variants() {
        let again = Study::parse("again.toml", &variant.study.to_toml());
        assert_eq!(again.as_ref().ok(), Some(&variant.study));
    }
    let host = HostFacts {
        cpus: (0..16).collect(),
        memory_mib: 65_536,
        disk_free_mib: 1 << 20,
        root: true,
        places: Vec::new(),
    };
    let (plan, problems) = Plan::anyway(&document, &host);
    assert!(!render_plan(&plan, document.study(), 80).is_empty());
    problems.iter().for_each(check);
}

fn check(problems: &Problems) {
    assert!(!problems.list().is_empty());
    for problem in problems.list() {
        assert!((1..=problems.lines_of_file()).contains(&problem.line));
        assert!(!problem.message.is_empty() && !problem.help.is_empty());
    }
    assert!(!problems.to_string().is_empty());
}
