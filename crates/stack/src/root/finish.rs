//! What a root needs after its packages are unpacked, and what is in it.

use std::{collections::BTreeMap, fs, io, os::unix::fs::PermissionsExt, path::Path};

use super::RootRecipe;
use crate::packages::package_versions;

/// File with the names of the fetched packages, written by mmdebstrap's hook, below the root.
pub(super) const ARCHIVES: &str = ".rookery-archives";
/// The user of the services, in every Debian.
const USER: &str = "www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin";

/// Write what the packages' scripts would have written; gives the versions.
///
/// # Errors
/// When the disk fails.
pub(super) fn finish(root: &Path, recipe: &RootRecipe) -> io::Result<BTreeMap<String, String>> {
    let archives = root.join(ARCHIVES);
    let mut versions = match recipe.kind.installs() {
        true => installed(root, recipe),
        false => versions(&fs::read_to_string(&archives)?),
    };
    versions.insert("suite".to_owned(), recipe.suite.clone());
    fs::remove_file(&archives)?;
    let etc = root.join("etc");
    fs::create_dir_all(&etc)?;
    if !recipe.kind.installs() {
        accounts(root, &etc)?;
    }
    write(&etc.join("hosts"), "127.0.0.1 localhost\n::1 localhost\n")?;
    // The host's own, which mmdebstrap copies: a guest has neither its name nor its resolver.
    for file in ["hostname", "resolv.conf"] {
        match fs::remove_file(etc.join(file)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(versions)
}

/// The versions of the packages that were asked for.
fn installed(root: &Path, recipe: &RootRecipe) -> BTreeMap<String, String> {
    let all = package_versions(&root.join("var/lib/dpkg/status"));
    let asked = |name: &String| recipe.packages.contains(name);
    all.into_iter().filter(|(name, _)| asked(name)).collect()
}

/// The users and groups that packages would have made.
fn accounts(root: &Path, etc: &Path) -> io::Result<()> {
    let accounts = [
        ("passwd", "root:x:0:0:root:/root:/bin/sh", USER),
        ("group", "root:x:0:", "www-data:x:33:"),
    ];
    for (file, first, user) in accounts {
        let master = fs::read_to_string(root.join(format!("usr/share/base-passwd/{file}.master")))
            .unwrap_or_else(|_| format!("{first}\n"));
        write(&etc.join(file), &with_user(&master, user))?;
    }
    Ok(())
}

/// Readable for every user, whatever the umask.
fn write(path: &Path, text: &str) -> io::Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o644))
}

/// The lines with the user among them. The passwords of Debian's own lines (`*`) let nobody in.
fn with_user(lines: &str, user: &str) -> String {
    let name = user.split_inclusive(':').next().unwrap_or_default();
    if lines.lines().any(|line| line.starts_with(name)) {
        lines.to_owned()
    } else {
        format!("{lines}{user}\n")
    }
}

/// Versions of the servers, from names such as
/// `mariadb-server-core_1%3a10.11.6-0+deb12u1_amd64.deb`.
fn versions(archives: &str) -> BTreeMap<String, String> {
    let known = |package: &str| match package {
        "mariadb-server-core" => Some("mariadb"),
        "apache2-bin" => Some("apache"),
        other => {
            let php = other
                .strip_prefix("php")
                .and_then(|rest| rest.strip_suffix("-common"))
                .map(|version| ("php", version));
            let (name, version) =
                php.or_else(|| Some(("postgresql", other.strip_prefix("postgresql-")?)))?;
            let digits_and_points =
                version.starts_with(|c: char| c.is_ascii_digit()) && !version.contains('-');
            digits_and_points.then_some(name)
        }
    };
    let named = archives.lines().filter_map(|line| {
        let mut parts = line.split('_');
        let (package, version) = (parts.next()?, parts.next()?);
        Some((known(package)?.to_owned(), version.replace("%3a", ":")))
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_the_names_of_archives() {
        let archives = "lock\nlibc6_2.36-9_amd64.deb\nmariadb-server-core_1%3a10.11.6-0+deb12u1_amd64.deb\nphp-common_2%3a93_all.deb\n\
                        php8.2-common_8.2.20-1~deb12u1_amd64.deb\napache2-bin_2.4.61-1~deb12u1_amd64.deb\npartial\n";
        let expected = [
            ("apache", "2.4.61-1~deb12u1"),
            ("mariadb", "1:10.11.6-0+deb12u1"),
            ("php", "8.2.20-1~deb12u1"),
        ];
        assert_eq!(
            versions(archives),
            expected
                .map(|(name, version)| (name.into(), version.into()))
                .into()
        );
    }

    #[test]
    fn the_user_is_there_once() {
        assert_eq!(
            with_user("root:x:0:\n", "www-data:x:33:"),
            "root:x:0:\nwww-data:x:33:\n"
        );
        assert_eq!(
            with_user("www-data:*:33:\n", "www-data:x:33:"),
            "www-data:*:33:\n"
        );
    }
}
