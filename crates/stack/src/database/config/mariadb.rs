//! Configuration of MariaDB as a guest of its own.

use std::collections::BTreeSet;

use rookery_study::StorageRole;

use super::{Software, SupervisedService};
use crate::{
    lamp::config::{
        BUILDING, HEAD, PLACES, bootstrap_script, initialising, mariadb_service, role_places,
    },
    tuning::{Component, Tuned},
};

/// MariaDB's socket in the data directory.
pub(in crate::database) const SOCKET: &str = "mysql.sock";

/// The network of the guest, and room for the prepared statements of a thousand terminals: the
/// usual 16382 are used up by 390.
const SERVING: &str = "\
bind_address = {address}
port = {port}
max_prepared_stmt_count = 1048576
";

/// Addresses that are set aside at least for a pool that grows, bytes: servers that know the
/// setting would else never exceed their first size. Not many more: they cost a little memory.
const ADDRESSES: u64 = 8 << 30;
/// How far a pool may grow.
const GROWTH: u64 = 4;

/// Servers before these take sizes of the pool in steps of their chunks, 128 MiB usually.
const FINE_STEPS: [(u32, u32, u32); 3] = [(10, 11, 12), (11, 4, 6), (11, 8, 2)];

pub(super) fn guest(
    software: &Software,
    tuned: &Tuned,
    resizable: bool,
    roles: &BTreeSet<StorageRole>,
) -> SupervisedService {
    let mut text = format!("{PLACES}{}{SERVING}", role_places(roles));
    if takes_chunks(&software.version) {
        text += "innodb_buffer_pool_chunk_size = 1048576\n";
    }
    if resizable {
        text += &format!(
            "loose_innodb_buffer_pool_size_max = {}\n",
            largest_pool(tuned)
        );
    }
    // A pool in huge pages keeps its size.
    let kept = |name: &str| !(resizable && name == "large_pages");
    for setting in tuned
        .component(Component::Mariadb)
        .filter(|setting| kept(&setting.name))
    {
        text += &format!("{} = {}\n", setting.name, setting.value);
    }
    SupervisedService::new([
        (
            "services.toml",
            format!("{HEAD}{}", mariadb_service(&software.server)),
        ),
        ("mariadb.cnf", text),
    ])
}

pub(super) fn builder(software: &Software) -> SupervisedService {
    making(software, &BTreeSet::new(), BUILDING)
}

pub(super) fn loading(
    software: &Software,
    tuned: &Tuned,
    roles: &BTreeSet<StorageRole>,
) -> SupervisedService {
    let settings: String = tuned
        .component(Component::Mariadb)
        .map(|setting| format!("{} = {}\n", setting.name, setting.value))
        .collect();
    making(software, roles, &settings)
}

/// An empty database, and then the server with these settings.
fn making(software: &Software, roles: &BTreeSet<StorageRole>, settings: &str) -> SupervisedService {
    let places = role_places(roles);
    SupervisedService::new([
        (
            "services.toml",
            format!(
                "{HEAD}{}{}",
                initialising("mysql"),
                mariadb_service(&software.server)
            ),
        ),
        (
            "initialise.sh",
            bootstrap_script(&software.server, &software.initial),
        ),
        (
            "mariadb.cnf",
            format!("{PLACES}{places}skip_networking\nlocal_infile = ON\n{settings}"),
        ),
    ])
}

fn largest_pool(tuned: &Tuned) -> u64 {
    let pool = tuned
        .component(Component::Mariadb)
        .find(|setting| setting.name == "innodb_buffer_pool_size");
    let bytes: u64 = pool
        .and_then(|setting| setting.value.parse().ok())
        .unwrap_or(0);
    bytes.saturating_mul(GROWTH).max(ADDRESSES)
}

/// Whether the version, such as `1:10.11.6-0+deb12u1`, is known to be one of those.
fn takes_chunks(version: &str) -> bool {
    let version = version.split_once(':').map_or(version, |(_, rest)| rest);
    let mut numbers = version
        .split(|c: char| !c.is_ascii_digit())
        .map_while(|part| part.parse::<u32>().ok());
    let (Some(major), Some(minor), Some(patch)) = (numbers.next(), numbers.next(), numbers.next())
    else {
        return false;
    };
    let first = FINE_STEPS
        .iter()
        .find(|(fine_major, fine_minor, _)| (major, minor) <= (*fine_major, *fine_minor));
    first.is_some_and(|fine| (major, minor, patch) < *fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_servers_get_small_chunks() {
        for old in [
            "1:10.11.6-0+deb12u1",
            "10.5.2",
            "1:11.4.5-1",
            "11.8.1",
            "11.0.3",
        ] {
            assert!(takes_chunks(old), "{old}");
        }
        for new in [
            "1:10.11.19-0+deb12u1",
            "11.4.6",
            "11.8.2",
            "12.0.1",
            "",
            "of its own",
        ] {
            assert!(!takes_chunks(new), "{new}");
        }
    }
}
