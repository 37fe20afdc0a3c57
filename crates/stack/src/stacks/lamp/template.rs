//! The loaded template: MariaDB is started once in a guest of its own, filled, stopped, and its
//! files become a layer.

use std::time::{Duration, Instant};

use rookery_guest::{Guest, Health, Template};
use rookery_stats::DatabaseLoad;

use crate::{
    StackContext, StackError, SupervisedService,
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

/// What makes a database in a guest whose server has none yet.
type Fill<'f> = &'f (dyn Fn(&dyn Guest, &mut Database) -> Result<DatabaseLoad, StackError> + Sync);

/// A database that a template holds.
pub(in crate::stacks) struct Loading<'f> {
    /// What decides its content.
    pub(in crate::stacks) description: String,
    /// Its name for people.
    pub(in crate::stacks) what: String,
    /// What the guest runs in which it is made.
    pub(in crate::stacks) service: SupervisedService,
    /// What of that guest's data the template has.
    pub(in crate::stacks) directories: &'static [&'static str],
    /// What makes it.
    pub(in crate::stacks) fill: Fill<'f>,
}

impl<'f> Loading<'f> {
    /// A database that MariaDB alone is enough for.
    pub(in crate::stacks) fn of_mariadb(
        description: String,
        what: String,
        software: &Software,
        fill: Fill<'f>,
    ) -> Self {
        Self {
            description,
            what,
            service: builder(software),
            directories: &["mysql"],
            fill,
        }
    }
}

/// The template of a database, built or found; `root` is that of container guests.
///
/// # Errors
/// When a step fails; the guest's own words are in the error.
pub(in crate::stacks) fn loaded(
    context: &StackContext<'_>,
    root: Option<&Template>,
    software: &Software,
    loading: &Loading<'_>,
) -> Result<Template, StackError> {
    let empty = empty(context, root)?;
    let versions = software
        .versions
        .iter()
        .map(|(name, version)| format!("{name} {version}"));
    let versions = versions.collect::<Vec<_>>().join(", ");
    let description = format!("{}, {versions}", loading.description);
    data_layer(context, root, description, |data| {
        let health = Health::Http(HEALTH_PATH.to_owned());
        let service = loading.service.clone().in_guest(PORT, health, Vec::new());
        build(context, &empty, service, |guest| {
            let load = load_in(context, guest, &loading.what, loading.fill)?;
            for directory in loading.directories {
                copy_out(context, guest, directory, data)?;
            }
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
    let load = fill(guest, &mut database)?;
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
