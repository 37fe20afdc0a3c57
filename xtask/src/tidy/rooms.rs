//! The name of a workload stays in its rooms: files and folders named after it, and one registry
//! for each crate.

use std::{collections::BTreeSet, path::Path};

/// Crates whose product code is generic.
const GENERIC: [&str; 8] = [
    "study", "lab", "stats", "store", "analysis", "report", "driver", "rookery",
];
/// Names of workloads, as they are written in any case.
const NAMES: [&str; 10] = [
    "orderentry",
    "order_entry",
    "dvdstore",
    "shop",
    "web2005",
    "webbanking",
    "webecommerce",
    "websupport",
    "cms",
    "netstream",
];
/// How code names the sample workload, in any case. Its name alone is a word of statistics: only
/// paths, variants and types that cannot mean anything else are refused.
const SAMPLE_NAMES: [&str; 10] = [
    "::sample(",
    "kind::sample",
    "samplecounters",
    "sampledata",
    "sampleguests",
    "sampleoperation",
    "samplescript",
    "sampleuse",
    "workload::sample",
    "\"sample\"",
];
/// The one other file of a crate that may name a workload, from its `src`.
const REGISTRIES: [&str; 3] = ["workloads/mod.rs", "workloads.rs", "registry.rs"];
/// The committed list of files that still do.
pub(super) const LIST: &str = "xtask/rooms.txt";

/// Whether the file `name` (from the root of the repository) must not name a workload.
pub(super) fn is_generic(name: &str) -> bool {
    let Some((krate, inside)) = name
        .strip_prefix("crates/")
        .and_then(|rest| rest.split_once("/src/"))
    else {
        return false;
    };
    GENERIC.contains(&krate) && !is_room(inside) && !REGISTRIES.contains(&inside)
}

/// A folder or file whose name holds the name of a workload. That of the sample workload counts
/// among the workloads alone.
fn is_room(inside: &str) -> bool {
    if inside == "workloads/sample.rs" || inside.starts_with("workloads/sample/") {
        return true;
    }
    Path::new(inside).components().any(|part| {
        let part = part.as_os_str().to_string_lossy().to_lowercase();
        names(&part).next().is_some()
    })
}

fn names(text: &str) -> impl Iterator<Item = &'static str> {
    let all = NAMES.into_iter().chain(SAMPLE_NAMES);
    all.filter(move |name| text.contains(name))
}

/// The first line of product code that names a workload.
pub(super) fn names_a_workload(product: &str) -> Option<(usize, &'static str)> {
    product.lines().enumerate().find_map(|(number, line)| {
        let name = names(&line.to_lowercase()).next()?;
        Some((number + 1, name))
    })
}

/// What differs from the list, in words. `found` are the files that name a workload, with the
/// line and the name.
pub(super) fn breaches(found: &[(String, usize, &'static str)], list: &str) -> Vec<String> {
    let listed: BTreeSet<&str> = list
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let new = found
        .iter()
        .filter(|(file, ..)| !listed.contains(file.as_str()))
        .map(|(file, line, name)| {
            format!(
                "{file}:{line}: names the workload `{name}` outside its rooms: move it into a \
                 folder or file of that name, or let the workload say it as data"
            )
        });
    let gone = listed
        .iter()
        .filter(|listed| !found.iter().any(|(file, ..)| file == *listed))
        .map(|file| format!("{file} names no workload any more: take it out of {LIST}"));
    new.chain(gone).collect()
}

/// The list as it is committed.
pub(super) fn print_list(found: &[(String, usize, &'static str)]) -> String {
    let mut text = String::from(
        "# Files outside the rooms of workloads that still name one.\n\
         # `cargo xtask tidy` refuses new ones; take out what is gone. The list only shrinks.\n",
    );
    for (file, ..) in found {
        text += &format!("{file}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_and_the_registry_may_name_a_workload() {
        for room in [
            "crates/lab/src/workloads/dvdstore.rs",
            "crates/rookery/src/commands/orderentry/drive.rs",
            "crates/report/src/order_entry_tables.rs",
            "crates/stats/src/workloads/mod.rs",
            "crates/stack/src/lamp.rs",
            "crates/lab/src/workloads/sample.rs",
            "crates/study/src/workloads/sample/keys.rs",
            "crates/lab/tests/runs.rs",
        ] {
            assert!(!is_generic(room), "{room}");
        }
        assert!(is_generic("crates/lab/src/trial.rs"));
        assert!(is_generic("crates/analysis/src/layers/sample.rs"));
        assert!(is_generic("crates/lab/src/other/workloads/mod.rs"));
    }

    #[test]
    fn a_name_is_found_in_any_case_and_with_its_line() {
        assert_eq!(
            names_a_workload("fn a() {}\n// of OrderEntry\n"),
            Some((2, "orderentry"))
        );
        assert_eq!(names_a_workload("struct ShopCounters;"), Some((1, "shop")));
        assert_eq!(names_a_workload("counters.metrics()"), None);
        assert_eq!(
            names_a_workload("match kind {\n    WorkloadKind::Sample => 1,"),
            Some((2, "kind::sample"))
        );
        assert_eq!(
            names_a_workload("if kind.name() == \"sample\" {"),
            Some((1, "\"sample\""))
        );
        assert_eq!(
            names_a_workload("let sample = Sample::from_trial(site);"),
            None
        );
    }

    #[test]
    fn the_list_only_shrinks() {
        let found = [("crates/lab/src/a.rs".to_owned(), 3, "shop")];
        assert!(breaches(&found, "# words\ncrates/lab/src/a.rs\n").is_empty());
        assert!(breaches(&found, "")[0].contains("crates/lab/src/a.rs:3"));
        assert!(breaches(&[], "crates/lab/src/a.rs\n")[0].contains("take it out"));
        assert!(breaches(&found, &print_list(&found)).is_empty());
    }
}
