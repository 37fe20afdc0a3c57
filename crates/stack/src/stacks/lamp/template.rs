//! The loaded template: MariaDB is started once in a guest of its own, filled, stopped, and its
//! files become a layer.

use std::time::{Duration, Instant};

use rookery_guest::{Guest, Health, Template};
use rookery_stats::DatabaseLoad;

use crate::{
    StackContext, StackError,
    lamp::{
        HEALTH_PATH, PORT, Software, builder, settle,
        sql::{Account, Database, SqlError},
    },
    template::{self, build, copy_out, data_layer, empty_layer, stop_in_order},
};

/// MariaDB's socket in the data directory.
pub(in crate::stacks) const SOCKET: &str = "mysql.sock";

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

/// What makes a database on a server that has none yet.
type Fill<'f> = &'f (dyn Fn(&mut Database) -> Result<DatabaseLoad, StackError> + Sync);

/// The template of a database that `fill` makes, built or found. `description` tells what decides
/// its content, `what` names it to people; `root` is that of container guests.
///
/// # Errors
/// When a step fails; the guest's own words are in the error.
pub(in crate::stacks) fn loaded(
    context: &StackContext<'_>,
    root: Option<&Template>,
    software: &Software,
    description: &str,
    what: &str,
    fill: Fill<'_>,
) -> Result<Template, StackError> {
    let empty = empty(context, root)?;
    let versions = software
        .versions
        .iter()
        .map(|(name, version)| format!("{name} {version}"));
    let versions = versions.collect::<Vec<_>>().join(", ");
    let description = format!("{description}, {versions}");
    data_layer(context, root, description, |data| {
        let health = Health::Http(HEALTH_PATH.to_owned());
        let service = builder(software).in_guest(PORT, health, Vec::new());
        build(context, &empty, service, |guest| {
            let load = load_in(context, guest, what, fill)?;
            copy_out(context, guest, "mysql", data)?;
            Ok(Some(load))
        })
    })
}

/// Makes a database in a guest without data, and stops the guest in order.
///
/// # Errors
/// When a step fails.
pub(in crate::stacks) fn load_in(
    context: &StackContext<'_>,
    guest: &mut dyn Guest,
    what: &str,
    fill: Fill<'_>,
) -> Result<DatabaseLoad, StackError> {
    context.building(what, "starting MariaDB");
    let began = Instant::now();
    let mut database = start(context, guest)?;
    let started = began.elapsed();
    let load = fill(&mut database)?;
    settle(&mut database)?;
    drop(database);
    context.building(what, "stopping MariaDB");
    let close_s = stop_in_order(guest, &"MariaDB")?;
    Ok(DatabaseLoad {
        close_s,
        ..load.created_within(started)
    })
}

/// Start a guest and wait until its MariaDB answers.
///
/// # Errors
/// When it ends or does not answer in time.
pub(in crate::stacks) fn start(
    context: &StackContext<'_>,
    guest: &mut dyn Guest,
) -> Result<Database, StackError> {
    template::start(context, guest, &"MariaDB", START_LIMIT, database)
}

/// The database of a living guest.
pub(in crate::stacks) fn database(guest: &dyn Guest) -> Result<Database, SqlError> {
    Database::connect(&guest.sockets_dir().join(SOCKET), Account::Root)
}
