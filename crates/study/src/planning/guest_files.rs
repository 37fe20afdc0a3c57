//! What guests have on disk beside their databases. Planning figures.

use crate::{GuestKind, StackKind, Study};

/// Root file system of a container template with the stack's program, MiB.
const CONTAINER_ROOT_MIB: u64 = 64;

/// Root file system of a container template with Apache, PHP and MariaDB, MiB.
const LAMP_ROOT_MIB: u64 = 260;

/// Redo log, undo and temporary tablespaces, logs and sockets of a LAMP guest, MiB.
const LAMP_GUEST_FILES_MIB: u64 = 100;

/// Root file system of a container template with MariaDB or PostgreSQL alone, MiB.
pub(super) const DATABASE_ROOT_MIB: u64 = 230;

/// Redo or write-ahead log, undo, catalogue and temporary files of a database guest, MiB.
const DATABASE_GUEST_FILES_MIB: u64 = 160;

/// Root file system of an image of a few packages, MiB: what they hold is known when they are
/// there.
const IMAGE_ROOT_MIB: u64 = 400;

/// What the servers of an image write, MiB.
const IMAGE_GUEST_FILES_MIB: u64 = 100;

/// Logs and sockets of a guest, MiB.
const GUEST_FILES_MIB: u64 = 2;

/// The root file system that the guests of a study share: what it holds, and its size in MiB.
pub(super) fn root(study: &Study) -> (&'static str, u64) {
    match (study.stack.kind(), study.guest.kind()) {
        (StackKind::Embedded, GuestKind::Container | GuestKind::Vm) => {
            ("embedded", CONTAINER_ROOT_MIB)
        }
        (StackKind::Embedded, GuestKind::Bare | GuestKind::Fake | GuestKind::External) => {
            ("embedded", 0)
        }
        (StackKind::Lamp, GuestKind::Container | GuestKind::Vm) => ("lamp", LAMP_ROOT_MIB),
        (StackKind::Lamp, GuestKind::Bare | GuestKind::Fake | GuestKind::External) => ("lamp", 0),
        (StackKind::Mariadb, GuestKind::Container | GuestKind::Vm) => {
            ("mariadb", DATABASE_ROOT_MIB)
        }
        (StackKind::Mariadb, GuestKind::Bare | GuestKind::Fake | GuestKind::External) => {
            ("mariadb", 0)
        }
        (StackKind::Postgresql, GuestKind::Container | GuestKind::Vm) => {
            ("postgresql", DATABASE_ROOT_MIB)
        }
        (StackKind::Postgresql, GuestKind::Bare | GuestKind::Fake | GuestKind::External) => {
            ("postgresql", 0)
        }
        (StackKind::Sqlite, GuestKind::Container | GuestKind::Vm) => ("sqlite", CONTAINER_ROOT_MIB),
        (StackKind::Sqlite, GuestKind::Bare | GuestKind::Fake | GuestKind::External) => {
            ("sqlite", 0)
        }
        (StackKind::Bundled, GuestKind::Container | GuestKind::Vm) => {
            ("bundled", CONTAINER_ROOT_MIB)
        }
        (StackKind::Bundled, GuestKind::Bare | GuestKind::Fake | GuestKind::External) => {
            ("bundled", 0)
        }
        (StackKind::External, _) => ("external", 0),
        (StackKind::Image, _) => ("image", IMAGE_ROOT_MIB),
        (StackKind::Simulated, _) => ("simulated", 0),
    }
}

/// Logs, sockets and files of its servers that a guest adds, MiB.
pub(super) fn guest_files_mib(study: &Study) -> u64 {
    match study.stack.kind() {
        StackKind::Embedded => GUEST_FILES_MIB,
        StackKind::Lamp => LAMP_GUEST_FILES_MIB,
        StackKind::Mariadb | StackKind::Postgresql => DATABASE_GUEST_FILES_MIB,
        StackKind::Sqlite | StackKind::Bundled => GUEST_FILES_MIB,
        StackKind::Image => IMAGE_GUEST_FILES_MIB,
        StackKind::External | StackKind::Simulated => 0,
    }
}
