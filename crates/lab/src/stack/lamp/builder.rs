//! The loaded template: MariaDB is started once in a guest of its own, filled, stopped, and its files become a layer.

use std::{path::Path, thread, time::Duration};

use rookery_guest::{Fill, Guest, GuestFile, Health, Template};
use rookery_stack::lamp::{self, Software, sql::Database};
use rookery_workload::dvdstore::{Size, WordLists};

use super::database;
use crate::{
    LabError,
    stack::{
        Place, Service,
        builder::{self, build, stop_and_copy},
        layers::{USER, layer, own},
    },
};

/// Raised when the same words give another template.
const VERSION: u32 = 1;
/// How long MariaDB may take until it answers: making its system tables on a busy host included.
const START_LIMIT: Duration = Duration::from_secs(180);

/// The template of guests without a database, built or found. `root` is that of container guests.
///
/// # Errors
/// When a step fails.
pub(super) fn empty(place: &Place<'_>, root: Option<&Template>) -> Result<Template, LabError> {
    let owned = |data: &Path| own(root, data);
    layer(
        place,
        root,
        format!("lamp without data {VERSION}"),
        Fill::DataOnly(&owned),
    )
}

/// The template of a database of `size`, built or found. `root` is that of container guests.
///
/// # Errors
/// When a step fails; the guest's own words are in the error.
pub(super) fn loaded(
    place: &Place<'_>,
    root: Option<&Template>,
    software: &Software,
    size: Size,
) -> Result<Template, LabError> {
    let empty = empty(place, root)?;
    let fill = |data: &Path| {
        own(root, data)?;
        fill(place, &empty, software, size, data)
    };
    let versions = software
        .versions
        .iter()
        .map(|(name, version)| format!("{name} {version}"));
    let versions = versions.collect::<Vec<_>>().join(", ");
    let description = format!("lamp dvdstore {size}, own words, schema {VERSION}, {versions}");
    layer(place, root, description, Fill::DataOnly(&fill))
}

/// Make the database of `size` in `data`.
fn fill(
    place: &Place<'_>,
    empty: &Template,
    software: &Software,
    size: Size,
    data: &Path,
) -> Result<(), String> {
    let service = lamp::builder(software);
    let service = Service {
        args: service.args,
        files: service
            .files
            .into_iter()
            .map(|(path, text)| GuestFile { path, text })
            .collect(),
        user: Some(USER),
        port: lamp::PORT,
        health: Health::Http(lamp::HEALTH_PATH.to_owned()),
        sockets: Vec::new(),
    };
    build(place, empty, service, |guest| {
        make(place, guest, size, data)
    })
}

fn make(place: &Place<'_>, guest: &mut dyn Guest, size: Size, data: &Path) -> Result<(), String> {
    let what = format!("database of {size}");
    place.building(&what, "starting MariaDB".to_owned());
    let mut database = start(place, guest)?;
    let streams = thread::available_parallelism().map_or(1, usize::from);
    let loaded = lamp::load(
        &mut database,
        size,
        WordLists::own(),
        streams,
        &|progress| {
            place.building(
                &what,
                format!("{} {} of {}", progress.step, progress.done, progress.total),
            );
            place.go_on()
        },
    );
    loaded.map_err(|error| error.to_string())?;
    lamp::settle(&mut database).map_err(|error| error.to_string())?;
    drop(database);
    place.building(&what, "stopping MariaDB".to_owned());
    stop_and_copy(place, guest, &"MariaDB", "mysql", data)
}

/// Start a guest and wait until its MariaDB answers.
///
/// # Errors
/// When it ends or does not answer in time.
pub(super) fn start(place: &Place<'_>, guest: &mut dyn Guest) -> Result<Database, String> {
    builder::start(place, guest, &"MariaDB", START_LIMIT, database)
}
