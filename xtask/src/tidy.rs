//! The house rules as a check: dependencies point downwards, pure crates stay pure, files stay small.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Layers of the house, lowest first. A crate may depend on lower layers, and within a layer only on the crates before it.
const LAYERS: &[&[&str]] = &[
    &[
        "rookery-workload",
        "rookery-stats",
        "rookery-study",
        "rookery-model",
    ],
    &[
        "rookery-host",
        "rookery-guest",
        "rookery-driver",
        "rookery-oltp",
        "rookery-stack",
        "rookery-monitor",
        "rookery-store",
    ],
    &["rookery-judge"],
    &["rookery-lab"],
    &["rookery-report", "rookery"],
];

/// Crates that read stored runs and never touch a guest.
const STORE_READERS: &[&str] = &["rookery-judge", "rookery-report"];

/// Crates outside the layers: tests and tasks.
const OUTSIDE: &[&str] = &["rookery-testkit", "xtask"];

const PURE: &[&str] = &["workload", "stats", "study", "model"];
const EFFECTS: &[&str] = &[
    "std::fs",
    "std::net::Tcp",
    "std::net::Udp",
    "std::process",
    "std::env",
    "Instant::now",
    "SystemTime::now",
    "std::thread",
    "println!",
];

const MAX_FILE_LINES: usize = 800;
const MAX_MAIN_LINES: usize = 60;

/// Check every rule and report all breaches.
pub(crate) fn run() -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .ok_or("xtask has no parent directory")?;
    let mut breaches = layer_breaches(root)?;
    let files = rust_files(root)?;
    for file in &files {
        let text =
            fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let name = file
            .strip_prefix(root)
            .unwrap_or(file)
            .display()
            .to_string();
        breaches.extend(file_breaches(&name, &text));
    }
    if breaches.is_empty() {
        println!("tidy: {} files, every rule holds", files.len());
        return Ok(());
    }
    for breach in &breaches {
        eprintln!("tidy: {breach}");
    }
    Err(format!("{} breaches of the house rules", breaches.len()))
}

fn layer_breaches(root: &Path) -> Result<Vec<String>, String> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version=1", "--no-deps"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("cargo metadata: {error}"))?;
    let rank: BTreeMap<&str, (usize, usize)> = LAYERS
        .iter()
        .enumerate()
        .flat_map(|(layer, crates)| {
            crates
                .iter()
                .enumerate()
                .map(move |(place, name)| (*name, (layer, place)))
        })
        .collect();
    let mut breaches = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        if OUTSIDE.contains(&name) {
            continue;
        }
        let Some(own) = rank.get(name) else {
            breaches.push(format!(
                "crate {name} has no place in the layers of xtask/src/tidy.rs"
            ));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let on = dependency["name"].as_str().unwrap_or_default();
            let for_tests = dependency["kind"].as_str() == Some("dev");
            match rank.get(on) {
                Some(other) if !points_down(*own, *other) && !for_tests => {
                    breaches.push(format!("{name} depends upwards on {on}"))
                }
                Some(other)
                    if STORE_READERS.contains(&name)
                        && other.0 > 0
                        && !["rookery-store", "rookery-judge"].contains(&on) =>
                {
                    breaches.push(format!("{name} reads the store alone but depends on {on}"));
                }
                None if OUTSIDE.contains(&on) && !for_tests => {
                    breaches.push(format!("{name} depends on {on} outside tests"))
                }
                _ => {}
            }
        }
    }
    Ok(breaches)
}

fn points_down(own: (usize, usize), other: (usize, usize)) -> bool {
    other.0 < own.0 || (other.0 == own.0 && (other.1 < own.1 || own.0 == 0))
}

fn file_breaches(name: &str, text: &str) -> Vec<String> {
    let mut breaches = Vec::new();
    let lines = text.lines().count();
    let limit = if name.ends_with("src/main.rs") {
        MAX_MAIN_LINES
    } else {
        MAX_FILE_LINES
    };
    if lines > limit {
        breaches.push(format!(
            "{name}: {lines} lines, more than {limit}: split it"
        ));
    }
    if !text.starts_with("//!") && !text.starts_with("#!") {
        breaches.push(format!("{name}: does not open with a module comment"));
    }
    if name.starts_with("xtask/src/tidy.rs") {
        return breaches;
    }
    let pure = PURE
        .iter()
        .any(|krate| name.starts_with(&format!("crates/{krate}/src/")));
    for (number, line) in text.lines().enumerate() {
        let at = format!("{name}:{}", number + 1);
        if line.trim_start().starts_with("#[cfg(test)]") {
            break; // tests may do what the code may not
        }
        if ["todo!(", "unimplemented!(", "#[ignore"]
            .iter()
            .any(|word| line.contains(word))
        {
            breaches.push(format!("{at}: unfinished: {}", line.trim()));
        }
        if pure && !line.trim_start().starts_with("//") {
            breaches.extend(
                EFFECTS
                    .iter()
                    .filter(|word| line.contains(**word))
                    .map(|word| format!("{at}: a pure crate uses {word}")),
            );
        }
    }
    breaches
}

fn rust_files(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut open = vec![root.join("crates"), root.join("xtask")];
    while let Some(directory) = open.pop() {
        for entry in
            fs::read_dir(&directory).map_err(|error| format!("{}: {error}", directory.display()))?
        {
            let path = entry.map_err(|error| error.to_string())?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_up_and_across_are_breaches() {
        assert!(points_down((1, 3), (0, 2)));
        assert!(points_down((1, 1), (1, 0)), "guest may use host");
        assert!(!points_down((1, 0), (1, 1)), "host may not use guest");
        assert!(!points_down((1, 0), (2, 0)));
    }

    #[test]
    fn a_clock_in_a_pure_crate_is_a_breach() {
        let text = "//! Doc.\nfn now() { Instant::now(); }\n";
        assert_eq!(file_breaches("crates/stats/src/x.rs", text).len(), 1);
        assert!(file_breaches("crates/lab/src/x.rs", text).is_empty());
        assert!(
            file_breaches(
                "crates/stats/src/x.rs",
                "//! Doc.\n#[cfg(test)]\nmod t { Instant::now(); }\n"
            )
            .is_empty()
        );
    }

    #[test]
    fn long_files_are_breaches() {
        let long = format!("//! Doc.\n{}", "\n".repeat(MAX_FILE_LINES));
        assert_eq!(file_breaches("crates/lab/src/x.rs", &long).len(), 1);
    }
}
