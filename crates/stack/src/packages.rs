//! What the package database of a root says.

use std::{
    fs::File,
    io::{BufRead as _, BufReader},
    path::Path,
};

/// Debian named the package by version until release 11: `mariadb-server-core-10.5`.
pub(crate) fn is_package(name: &str, wanted: &str) -> bool {
    let rest = name.strip_prefix(wanted);
    rest.is_some_and(|rest| {
        rest.is_empty()
            || rest
                .strip_prefix('-')
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    })
}

/// Installed packages and their versions from dpkg's status file; empty where there is none.
pub(crate) fn package_versions(status: &Path) -> Vec<(String, String)> {
    let Ok(file) = File::open(status) else {
        return Vec::new();
    };
    let mut packages = Vec::new();
    let (mut package, mut installed) = (String::new(), false);
    for line in BufReader::new(file).lines().map_while(Result::ok) {
        if let Some(name) = line.strip_prefix("Package: ") {
            (package, installed) = (name.to_owned(), false);
        } else if let Some(status) = line.strip_prefix("Status: ") {
            // A root in which packages were only unpacked runs as well.
            installed = status.ends_with(" installed") || status.ends_with(" unpacked");
        } else if let Some(version) = line.strip_prefix("Version: ").filter(|_| installed) {
            packages.push((std::mem::take(&mut package), version.to_owned()));
        }
    }
    packages
}
