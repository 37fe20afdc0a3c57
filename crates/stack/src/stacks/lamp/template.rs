//! The loaded template: MariaDB is started once in a guest of its own, filled, stopped, and its
//! files become a layer.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rookery_guest::{Guest, Health, Template};
use rookery_stats::DatabaseLoad;
use rookery_workload::dvdstore::{Size, WordLists};

use crate::{
    StackContext, StackError,
    lamp::{
        HEALTH_PATH, PORT, Software, builder, load, settle,
        sql::{Account, Database, SqlError},
    },
    template::{self, build, copy_out, data_layer, empty_layer, stop_in_order},
};

/// MariaDB's socket in the data directory.
pub(super) const SOCKET: &str = "mysql.sock";

/// Raised when the same words give another template.
const VERSION: u32 = 1;
/// How long MariaDB may take until it answers: making its system tables on a busy host included.
const START_LIMIT: Duration = Duration::from_secs(180);

/// The template of guests without a database, built or found. `root` is that of container guests.
///
/// # Errors
/// When a step fails.
pub(in crate::stacks) fn empty(
    context: &StackContext<'_>,
    root: Option<&Template>,
) -> Result<Template, StackError> {
    empty_layer(context, root, format!("lamp without data {VERSION}"))
}

/// The template of a database of `size`, built or found. `root` is that of container guests.
///
/// # Errors
/// When a step fails; the guest's own words are in the error.
pub(super) fn loaded(
    context: &StackContext<'_>,
    root: Option<&Template>,
    software: &Software,
    size: Size,
) -> Result<Template, StackError> {
    let empty = empty(context, root)?;
    let versions = software
        .versions
        .iter()
        .map(|(name, version)| format!("{name} {version}"));
    let versions = versions.collect::<Vec<_>>().join(", ");
    let description = format!("lamp dvdstore {size}, own words, schema {VERSION}, {versions}");
    data_layer(context, root, description, |data| {
        fill(context, &empty, software, size, data).map(Some)
    })
}

/// Make the database of `size` in `data`.
fn fill(
    context: &StackContext<'_>,
    empty: &Template,
    software: &Software,
    size: Size,
    data: &Path,
) -> Result<DatabaseLoad, StackError> {
    let health = Health::Http(HEALTH_PATH.to_owned());
    let service = builder(software).in_guest(PORT, health, Vec::new());
    build(context, empty, service, |guest| {
        let load = load_in(context, guest, size)?;
        copy_out(context, guest, "mysql", data)?;
        Ok(load)
    })
}

/// Load a database of `size` into a guest without data, and stop the guest in order.
///
/// # Errors
/// When a step fails.
pub(super) fn load_in(
    context: &StackContext<'_>,
    guest: &mut dyn Guest,
    size: Size,
) -> Result<DatabaseLoad, StackError> {
    let what = format!("database of {size}");
    context.building(&what, "starting MariaDB");
    let began = Instant::now();
    let mut database = start(context, guest)?;
    let started = began.elapsed();
    let streams = thread::available_parallelism().map_or(1, usize::from);
    let summary = load(
        &mut database,
        size,
        WordLists::own(),
        streams,
        &|progress| {
            context.building(
                &what,
                &format!("{} {} of {}", progress.step, progress.done, progress.total),
            );
            context.go_on()
        },
    )?;
    settle(&mut database)?;
    drop(database);
    context.building(&what, "stopping MariaDB");
    let close_s = stop_in_order(guest, &"MariaDB")?;
    Ok(DatabaseLoad {
        close_s,
        ..summary.parts.created_within(started)
    })
}

/// Start a guest and wait until its MariaDB answers.
///
/// # Errors
/// When it ends or does not answer in time.
pub(super) fn start(
    context: &StackContext<'_>,
    guest: &mut dyn Guest,
) -> Result<Database, StackError> {
    template::start(context, guest, &"MariaDB", START_LIMIT, database)
}

/// The database of a living guest.
pub(super) fn database(guest: &dyn Guest) -> Result<Database, SqlError> {
    Database::connect(&guest.sockets_dir().join(SOCKET), Account::Root)
}
