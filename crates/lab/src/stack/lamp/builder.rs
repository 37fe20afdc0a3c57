//! The loaded template: MariaDB is started once in a guest of its own, filled, stopped, and its files become a layer.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rookery_guest::{Fill, Guest, GuestFile, GuestSpec, GuestState, Health, Template};
use rookery_stack::lamp::{self, Software, sql::Database};
use rookery_workload::dvdstore::{Size, WordLists};

use super::database;
use crate::{
    LabError,
    stack::{
        Place,
        copy::copy,
        layers::{USER, layer, own},
    },
};

/// Raised when the same words give another template.
const VERSION: u32 = 1;
/// How long MariaDB may take until it answers: making its system tables on a busy host included.
const START_LIMIT: Duration = Duration::from_secs(180);
/// How long it may take to write everything out.
const STOP_LIMIT: Duration = Duration::from_secs(600);
/// How much of the guest's log goes into an error.
const LOG_BYTES: usize = 2048;

/// The template of guests without a database, built or found. `root` is that of container guests.
///
/// # Errors
/// When a step fails.
pub(super) fn empty(place: &Place<'_>, root: Option<&Template>) -> Result<Template, LabError> {
    let owned = |data: &Path| own(root, data);
    layer(place, root, format!("lamp without data {VERSION}"), Fill::DataOnly(&owned))
}

/// The template of a database of `size`, built or found. `root` is that of container guests.
///
/// # Errors
/// When a step fails; the guest's own words are in the error.
pub(super) fn loaded(place: &Place<'_>, root: Option<&Template>, software: &Software, size: Size) -> Result<Template, LabError> {
    let empty = empty(place, root)?;
    let fill = |data: &Path| {
        own(root, data)?;
        fill(place, &empty, software, size, data)
    };
    let versions = software.versions.iter().map(|(name, version)| format!("{name} {version}"));
    let versions = versions.collect::<Vec<_>>().join(", ");
    let description = format!("lamp dvdstore {size}, own words, schema {VERSION}, {versions}");
    layer(place, root, description, Fill::DataOnly(&fill))
}

/// Make the database of `size` in `data`.
fn fill(place: &Place<'_>, empty: &Template, software: &Software, size: Size, data: &Path) -> Result<(), String> {
    let service = lamp::builder(software);
    let spec = GuestSpec {
        number: 1,
        name: "template".to_owned(),
        cpus: Vec::new(),
        cpu_limit: None,
        memory_mib: None,
        pids: None,
        args: service.args,
        port: lamp::PORT,
        health: Health::Http(lamp::HEALTH_PATH.to_owned()),
        files: service.files.into_iter().map(|(path, text)| GuestFile { path, text }).collect(),
        user: Some(USER),
    };
    let mut guest = place.lab.create(empty, &spec).map_err(|error| error.to_string())?;
    let made = make(place, guest.as_mut(), size, data);
    let made = made.map_err(|what| format!("{what}\n  the guest's log ends with:\n{}", guest.log_tail(LOG_BYTES)));
    let removed = guest.remove().map_err(|error| error.to_string());
    made.and(removed)
}

fn make(place: &Place<'_>, guest: &mut dyn Guest, size: Size, data: &Path) -> Result<(), String> {
    let what = format!("database of {size}");
    place.building(&what, "starting MariaDB".to_owned());
    let mut database = start(place, guest)?;
    let streams = thread::available_parallelism().map_or(1, usize::from);
    let loaded = lamp::load(&mut database, size, WordLists::own(), streams, &|progress| {
        place.building(&what, format!("{} {} of {}", progress.step, progress.done, progress.total));
        place.go_on()
    });
    loaded.map_err(|error| error.to_string())?;
    lamp::settle(&mut database).map_err(|error| error.to_string())?;
    drop(database);
    place.building(&what, "stopping MariaDB".to_owned());
    guest.stop(STOP_LIMIT).map_err(|error| error.to_string())?;
    match guest.state() {
        GuestState::Ended(reason) if reason == "exit code 0" => {}
        GuestState::Ended(reason) => return Err(format!("MariaDB did not stop in order: {reason}")),
        GuestState::Created | GuestState::Running => return Err("MariaDB did not stop".to_owned()),
    }
    copy(&guest.data_dir().join("mysql"), data, &|| place.go_on())
}

/// Start a guest and wait until its MariaDB answers.
///
/// # Errors
/// When it ends or does not answer in time.
pub(super) fn start(place: &Place<'_>, guest: &mut dyn Guest) -> Result<Database, String> {
    guest.start().map_err(|error| error.to_string())?;
    let deadline = Instant::now() + START_LIMIT;
    loop {
        let refused = match database(guest) {
            Ok(database) => return Ok(database),
            Err(refused) => refused,
        };
        if let GuestState::Ended(reason) = guest.state() {
            return Err(format!("MariaDB ended before it answered: {reason}"));
        }
        if place.go_on().is_break() {
            return Err("stopped, as asked".to_owned());
        }
        if Instant::now() > deadline {
            return Err(format!("MariaDB did not answer within {} s: {refused}", START_LIMIT.as_secs()));
        }
        thread::sleep(Duration::from_millis(20));
    }
}
