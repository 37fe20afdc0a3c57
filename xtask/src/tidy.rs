//! The house rules as a check: dependencies point downwards, pure crates stay pure, files stay
//! small, modules in cycles become fewer, the name of a workload stays in its rooms, and processes
//! are started in one way.

mod cycles;
mod processes;
#[cfg(test)]
mod purity_tests;
mod rooms;
mod source;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Layers of the house, lowest first. A crate may depend on lower layers, and within a layer only
/// on the crates before it.
const LAYERS: &[&[&str]] = &[
    &[
        "rookery-cast",
        "rookery-text",
        "rookery-diagnosis",
        "rookery-workload",
        "rookery-stats",
        "rookery-model",
        "rookery-study",
    ],
    &[
        "rookery-host",
        "rookery-image",
        "rookery-guest",
        "rookery-driver",
        "rookery-web",
        "rookery-oltp",
        "rookery-stack",
        "rookery-monitor",
        "rookery-store",
    ],
    &["rookery-analysis"],
    &["rookery-lab"],
    &["rookery-fleet"],
    &[
        "rookery-report",
        "rookery-export",
        "rookery-live",
        "rookery",
    ],
];

/// Crates that read stored runs and never touch a guest.
const STORE_READERS: &[&str] = &["rookery-analysis", "rookery-report", "rookery-export"];

/// Crates outside the layers: tests and tasks.
const OUTSIDE: &[&str] = &["rookery-fuzzing", "rookery-testkit", "xtask"];

/// Crates without I/O, clock or thread: each has [`PURE_RULES`] as its `clippy.toml`. `analysis`
/// reads stored runs, through `store` alone.
const PURE: &[&str] = &[
    "cast",
    "text",
    "diagnosis",
    "workload",
    "stats",
    "study",
    "model",
    "analysis",
];
/// What clippy refuses in a pure crate.
const PURE_RULES: &str = include_str!("../pure.clippy.toml");

const MAX_FILE_LINES: usize = 800;
const MAX_MAIN_LINES: usize = 60;

/// Check every rule and report all breaches; with `shrink` the committed lists of what is not yet
/// right lose what is gone.
pub(crate) fn run(shrink: bool) -> Result<(), String> {
    let root = &crate::root::directory();
    let mut breaches = layer_breaches(root)?;
    let files = rust_files(root)?;
    for file in &files {
        breaches.extend(file_breaches(&relative(root, file), &read(file)?));
    }
    breaches.extend(purity_breaches(root));
    breaches.extend(cycle_breaches(root, shrink)?);
    breaches.extend(product_breaches(root, &files, shrink)?);
    breaches.extend(crate::docs::stale(root)?);
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
                        && !["rookery-store", "rookery-analysis"].contains(&on) =>
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
    other.0 < own.0 || (other.0 == own.0 && other.1 < own.1)
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
    if name.starts_with("xtask/src/tidy") {
        return breaches;
    }
    for (number, line) in text.lines().enumerate() {
        if ["todo!(", "unimplemented!(", "#[ignore"]
            .iter()
            .any(|word| line.contains(word))
        {
            breaches.push(format!(
                "{name}:{}: unfinished: {}",
                number + 1,
                line.trim()
            ));
        }
    }
    breaches
}

/// Each pure crate is checked by clippy with the same rules.
fn purity_breaches(root: &Path) -> Vec<String> {
    let unlike = |krate: &&&str| {
        let rules = fs::read_to_string(root.join(format!("crates/{krate}/clippy.toml")));
        rules.ok().as_deref() != Some(PURE_RULES)
    };
    PURE.iter()
        .filter(unlike)
        .map(|krate| {
            format!("crates/{krate}/clippy.toml is not xtask/pure.clippy.toml: copy it there")
        })
        .collect()
}

/// The modules in cycles of every crate, against the list; `shrink` writes the list without what is
/// gone.
fn cycle_breaches(root: &Path, shrink: bool) -> Result<Vec<String>, String> {
    let mut found = cycles::Cycles::new();
    for (name, crate_root) in crate_roots(root)? {
        found.extend(cycles::of_crate(&name, &crate_root)?);
    }
    let path = root.join(cycles::LIST);
    let mut listed = cycles::parse_list(&fs::read_to_string(&path).unwrap_or_default());
    if shrink {
        if listed.is_empty() {
            listed.clone_from(&found);
        }
        for (holder, modules) in &mut listed {
            modules.retain(|module| {
                found
                    .get(holder)
                    .is_some_and(|in_it| in_it.contains(module))
            });
        }
        listed.retain(|_, modules| !modules.is_empty());
        write(&path, &cycles::print_list(&listed))?;
    }
    Ok(cycles::breaches(&found, &listed))
}

/// Every crate's folder name with its root file.
fn crate_roots(root: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    let folder = root.join("crates");
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut roots = vec![("xtask".to_owned(), root.join("xtask/src/main.rs"))];
    for entry in entries {
        let entry = entry.map_err(|error| error.to_string())?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let files = ["src/lib.rs", "src/main.rs"].map(|file| entry.path().join(file));
        roots.extend(
            files
                .into_iter()
                .find(|file| file.exists())
                .map(|file| (name, file)),
        );
    }
    roots.sort();
    Ok(roots)
}

/// What product code must not hold: the name of a workload outside its rooms (against the list), a
/// process that is started in another way than all.
fn product_breaches(root: &Path, files: &[PathBuf], shrink: bool) -> Result<Vec<String>, String> {
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for file in files {
        let name = relative(root, file);
        if name.starts_with("crates/") && name.contains("/src/") {
            texts.insert(name, read(file)?);
        }
    }
    let mut for_tests: BTreeSet<String> = BTreeSet::new();
    for (name, text) in &texts {
        let folder = match name
            .strip_suffix("/mod.rs")
            .or(name.strip_suffix("/lib.rs"))
        {
            Some(folder) => folder.to_owned(),
            None => name.trim_end_matches(".rs").to_owned(),
        };
        for module in source::test_modules(text).map_err(|error| format!("{name}: {error}"))? {
            for_tests.insert(format!("{folder}/{module}.rs"));
            for_tests.insert(format!("{folder}/{module}/"));
        }
    }
    let tested = |name: &str| {
        for_tests
            .iter()
            .any(|test| name == test || (test.ends_with('/') && name.starts_with(test)))
    };
    let mut found = Vec::new();
    let mut breaches = Vec::new();
    for (name, text) in &texts {
        if tested(name) {
            continue;
        }
        let product = source::without_tests(text).map_err(|error| format!("{name}: {error}"))?;
        breaches.extend(processes::breaches(name, &product));
        if !rooms::is_generic(name) {
            continue;
        }
        if let Some((line, workload)) = rooms::names_a_workload(&product) {
            found.push((name.clone(), line, workload));
        }
    }
    let path = root.join(rooms::LIST);
    let mut list = fs::read_to_string(&path).unwrap_or_default();
    if shrink {
        let listed: BTreeSet<&str> = list.lines().collect();
        let kept: Vec<_> = found
            .iter()
            .filter(|(file, ..)| listed.is_empty() || listed.contains(file.as_str()))
            .cloned()
            .collect();
        list = rooms::print_list(&kept);
        write(&path, &list)?;
    }
    breaches.extend(rooms::breaches(&found, &list));
    Ok(breaches)
}

fn relative(root: &Path, file: &Path) -> String {
    let inside = file.strip_prefix(root).unwrap_or(file);
    inside.display().to_string()
}

fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
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
        assert!(
            !points_down((0, 2), (0, 3)),
            "pure crates have an order too"
        );
    }

    #[test]
    fn long_files_are_breaches() {
        let long = format!("//! Doc.\n{}", "\n".repeat(MAX_FILE_LINES));
        assert_eq!(file_breaches("crates/lab/src/x.rs", &long).len(), 1);
    }
}
