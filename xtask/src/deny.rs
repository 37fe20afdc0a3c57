//! What third-party crates are let in: licences, sources, bans and duplicate versions, by the rules
//! of `deny.toml`. That file is cargo-deny's; ADR 14 says why its rules are checked here.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use serde_json::Value;
use toml::Table;

/// The platform that Rookery is built for.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// What `deny.toml` says.
#[derive(Debug)]
struct Rules {
    licences: BTreeSet<String>,
    registries: BTreeSet<String>,
    banned: BTreeSet<String>,
    /// Crates that may come in several versions.
    twins: BTreeSet<String>,
}

/// A third-party crate.
#[derive(Clone, Debug)]
struct Package {
    name: String,
    version: String,
    licence: Option<String>,
    source: String,
}

/// Check every third-party crate that the lock file holds for Linux.
///
/// # Errors
/// All breaches, in words.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let path = root.join("deny.toml");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let rules = rules(&text)?;
    let packages = packages(root)?;
    let breaches = breaches(&rules, &packages);
    for breach in &breaches {
        eprintln!("deny: {breach}");
    }
    if breaches.is_empty() {
        println!(
            "deny: licences, sources, bans and duplicates of {} third-party crates hold; advisories \
             are not checked, there is no database of them here",
            packages.len()
        );
        Ok(())
    } else {
        Err(format!("{} breaches of deny.toml", breaches.len()))
    }
}

fn rules(text: &str) -> Result<Rules, String> {
    let table: Table = text
        .parse()
        .map_err(|error| format!("deny.toml: {error}"))?;
    let list = |section: &str, key: &str| -> Result<BTreeSet<String>, String> {
        let found = table.get(section).and_then(|section| section.get(key));
        let list = found
            .and_then(toml::Value::as_array)
            .ok_or_else(|| format!("deny.toml: [{section}] has no list {key}"))?;
        let entry = |entry: &toml::Value| {
            let name = entry.as_str().or_else(|| entry.get("crate")?.as_str());
            name.map(ToOwned::to_owned)
                .ok_or_else(|| format!("deny.toml: [{section}] {key}: {entry} names nothing"))
        };
        list.iter().map(entry).collect()
    };
    Ok(Rules {
        licences: list("licenses", "allow")?,
        registries: list("sources", "allow-registry")?,
        banned: list("bans", "deny")?,
        twins: list("bans", "skip")?,
    })
}

fn packages(root: &Path) -> Result<Vec<Package>, String> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version=1", "--locked"])
        .args(["--filter-platform", PLATFORM])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(format!("cargo metadata: {words}"));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("cargo metadata: {error}"))?;
    let all = metadata["packages"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
    // A crate without a source is our own.
    Ok(all
        .filter_map(|package| {
            Some(Package {
                name: text(&package["name"])?,
                version: text(&package["version"])?,
                licence: text(&package["license"]),
                source: text(&package["source"])?,
            })
        })
        .collect())
}

fn breaches(rules: &Rules, packages: &[Package]) -> Vec<String> {
    let mut breaches = Vec::new();
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages {
        let Package { name, version, .. } = package;
        versions.entry(name).or_default().insert(version);
        let licence = package.licence.as_deref().unwrap_or_default();
        if !allowed(licence, &rules.licences) {
            breaches.push(format!(
                "{name} {version}: the licence `{licence}` is not allowed"
            ));
        }
        let registry = package.source.strip_prefix("registry+").unwrap_or_default();
        if !rules.registries.contains(registry) {
            breaches.push(format!("{name} {version} comes from {}", package.source));
        }
        if rules.banned.contains(name) {
            breaches.push(format!("{name} {version} is banned"));
        }
    }
    for (name, versions) in &versions {
        if versions.len() > 1 && !rules.twins.contains(*name) {
            let versions: Vec<&str> = versions.iter().copied().collect();
            breaches.push(format!(
                "{name} is there in several versions: {}; take one, or list it in deny.toml with a \
                 reason",
                versions.join(", ")
            ));
        }
    }
    for twin in &rules.twins {
        if versions
            .get(twin.as_str())
            .is_none_or(|versions| versions.len() < 2)
        {
            breaches.push(format!(
                "{twin} is there once at most: take it out of deny.toml"
            ));
        }
    }
    breaches
}

/// Whether an SPDX expression can be met with the allowed licences. `A WITH E` is one licence; the
/// old `A/B` means `A OR B`.
fn allowed(expression: &str, licences: &BTreeSet<String>) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace(" WITH ", "+WITH+");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    either(&mut rest, licences) == Some(true) && rest.is_empty()
}

fn either(words: &mut &[&str], licences: &BTreeSet<String>) -> Option<bool> {
    let mut met = both(words, licences)?;
    while words.first() == Some(&"OR") {
        *words = &words[1..];
        met |= both(words, licences)?;
    }
    Some(met)
}

fn both(words: &mut &[&str], licences: &BTreeSet<String>) -> Option<bool> {
    let mut met = single(words, licences)?;
    while words.first() == Some(&"AND") {
        *words = &words[1..];
        met &= single(words, licences)?;
    }
    Some(met)
}

fn single(words: &mut &[&str], licences: &BTreeSet<String>) -> Option<bool> {
    let (first, rest) = words.split_first()?;
    *words = rest;
    match *first {
        "(" => {
            let met = either(words, licences)?;
            let (close, rest) = words.split_first()?;
            *words = rest;
            (*close == ")").then_some(met)
        }
        ")" | "OR" | "AND" => None,
        licence => Some(licences.contains(&licence.replace("+WITH+", " WITH "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Rules {
        rules(
            r#"
            [licenses]
            allow = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"]
            [sources]
            allow-registry = ["https://example.org/index"]
            [bans]
            deny = [{ crate = "openssl", reason = "C" }]
            skip = [{ crate = "twin", reason = "two users" }]
            "#,
        )
        .expect("rules")
    }

    fn package(name: &str, version: &str, licence: &str) -> Package {
        Package {
            name: name.to_owned(),
            version: version.to_owned(),
            licence: Some(licence.to_owned()),
            source: "registry+https://example.org/index".to_owned(),
        }
    }

    #[test]
    fn expressions_of_licences_are_understood() {
        let licences = sample().licences;
        for met in [
            "MIT",
            "MIT OR GPL-3.0",
            "GPL-3.0/MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "GPL-3.0 OR Apache-2.0 WITH LLVM-exception",
            "GPL-3.0 AND X OR MIT",
        ] {
            assert!(allowed(met, &licences), "{met}");
        }
        for not_met in [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "MIT WITH Classpath-exception",
            "(MIT",
            "MIT MIT",
            "OR MIT",
        ] {
            assert!(!allowed(not_met, &licences), "{not_met}");
        }
    }

    #[test]
    fn each_rule_is_checked() {
        let good = [
            package("twin", "1.0.0", "MIT"),
            package("twin", "2.0.0", "MIT"),
        ];
        assert!(breaches(&sample(), &good).is_empty());
        let more = |package: Package| {
            let all: Vec<Package> = good.iter().cloned().chain([package]).collect();
            breaches(&sample(), &all)
        };
        let elsewhere = Package {
            source: "git+https://example.org/x".to_owned(),
            ..package("x", "1.0.0", "MIT")
        };
        for (bad, word) in [
            (package("x", "1.0.0", "GPL-3.0"), "is not allowed"),
            (package("openssl", "1.0.0", "MIT"), "is banned"),
            (elsewhere, "comes from git+"),
        ] {
            let said = more(bad);
            assert!(said.len() == 1 && said[0].contains(word), "{said:?}");
        }
        let single = [
            package("twin", "1.0.0", "MIT"),
            package("x", "1.0.0", "MIT"),
        ];
        assert!(breaches(&sample(), &single)[0].contains("take it out"));
        let twins = [package("x", "1.0.0", "MIT"), package("x", "2.0.0", "MIT")];
        let said = breaches(&sample(), &[&good[..], &twins[..]].concat());
        assert!(
            said[0].contains("several versions: 1.0.0, 2.0.0"),
            "{said:?}"
        );
    }
}
