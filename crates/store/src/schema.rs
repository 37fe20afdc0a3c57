//! The schema of `run.sqlite`.
//!
//! | table | one row per | holds |
//! |---|---|---|
//! | `run` | run | label, study text, study and plan as JSON, host, versions |
//! | `points` | point | what the plan says of it, for queries |
//! | `trials` | trial | where it stands |
//! | `attempts` | begin of a trial | journal: begin, end, and how it ended |
//! | `records` | ended trial | outcome and the time until all guests were healthy |
//! | `reasons` | reason | why a trial is void or failed: a code for programs (`lag`, `guest-died`), and words |
//! | `measurements` | measured trial | loop type, window, and the driver's evidence about itself |
//! | `guests` | guest of a trial | its group, users, busy and idle time, and its workload's counters as JSON |
//! | `metrics` | metric of a guest | what its counters yield; for queries, not read back |
//! | `operations` | operation of a guest | counts and both histograms as HDR V2 blobs |
//! | `seconds` | second of a guest | the time series |
//! | `errors`, `error_examples` | class of failures | counts and first examples |
//! | `verdicts`, `rules` | judged trial, its rules | limits, values, outcomes |
//! | `resources` | sample | CPU, memory and I/O of host, driver and guests; rates of I/O, parts of CPU, throttling and what became of memory are NULL where nobody tells |
//! | `machines` | look at a virtual machine | its counters from outside, and from inside (NULL where the guest did not answer) |
//! | `other_programs` | program beside a trial | CPU, disk and memory that it used, the most CPU first |
//! | `kernel_counts` | counter of the kernel of a trial | by how much it grew inside the window, of a state its value at the end |
//! | `audits` | guest of a trial | whether it holds what its users were told |
//! | `proofs` | kind of record of a guest | records found against those acknowledged |
//! | `loads` | database of a trial | how long it took to create, load and index it, in a guest of the trial or in a template |
//! | `tunings` | setting of a guest | asked, effective, at the end |
//! | `logs` | guest of a trial | tail of its log |
//! | `outputs` | guest that another program measured | its name and what it said, such as the JSON of iperf3 |
//! | `hosts` | host of a fleet | what it is, as far as it was lent |
//! | `trial_hosts` | host of a fleet that performed a trial, or its part of one | which, and how far its clock was ahead (NULL where it was not heard) |
//! | `files` | file that the study names | where it lay, its size and SHA-256 |
//! | `pools` | point with a hit ratio to hold | the buffer pool that calibration found, and its rounds as JSON |
//! | `notes` | remark | remarks on the whole run |
//!
//! Units stand at the end of column names. A number that could not be computed is NULL. The columns
//! `service_*_us` of `operations` repeat what the histogram says, for queries; they are not read
//! back. Seeds are text, because SQLite has no unsigned 64-bit integers. `levels` names a point's
//! level of each factor, as in `stack.tuning=stock; host.settings=none`.
//!
//! Where the guests of a point differ, `vcpus`, `memory_mib` and `database` of `points` are those
//! of its first group; the plan has each.
//!
//! `part` is the place of a group of guests in its point, from 0; points without groups have part 0
//! alone. Tiers, which have no users, have no rows in `measurements`, `guests` and `verdicts`.
//!
//! `search` names the search that tried a point, NULL for a point of the study itself. The plan may
//! grow while a run is under way: searches and repeats for an interval append points and trials.
//!
//! `PRAGMA application_id` is [`APPLICATION_ID`], `PRAGMA user_version` is [`VERSION`]. A store of
//! an older version is brought forward by the migrations (`migrations`), one of a newer version is
//! refused.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use rusqlite::Connection;

use crate::migrations::{self, BASE, MIGRATIONS, Migration, Step};

/// Marks the file as ours: `ROOK`.
pub const APPLICATION_ID: i64 = 0x524f_4f4b;
/// Version of the schema.
pub const VERSION: i64 = migrations::newest(MIGRATIONS);
/// The oldest version that is read.
pub const OLDEST: i64 = migrations::OLDEST;

/// Make the tables of a version, [`OLDEST`] to [`VERSION`], in an empty database.
///
/// # Errors
/// When the database refuses.
pub(crate) fn install(connection: &Connection, version: i64) -> rusqlite::Result<()> {
    install_from(connection, MIGRATIONS, version)
}

pub(crate) fn install_from(
    connection: &Connection,
    migrations: &[Migration],
    version: i64,
) -> rusqlite::Result<()> {
    connection.execute_batch(BASE)?;
    let count = usize::try_from(version - OLDEST).unwrap_or(0);
    for step in migrations.iter().take(count).flat_map(|next| next.steps) {
        if let Step::Sql(sql) = step {
            connection.execute_batch(sql)?;
        }
    }
    Ok(())
}

/// Every object of a schema as `sqlite_schema` tells it.
pub(crate) fn objects(connection: &Connection) -> rusqlite::Result<Objects> {
    let mut statement =
        connection.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY name LIMIT 1000")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    rows.collect()
}

/// What [`objects`] gives.
type Objects = Vec<(String, String, Option<String>)>;

/// The objects of the schema of a version. Made once: many stores are read one after another.
fn model(version: i64) -> rusqlite::Result<Arc<Objects>> {
    static MODELS: Mutex<BTreeMap<i64, Arc<Objects>>> = Mutex::new(BTreeMap::new());
    let lock = || MODELS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = lock().get(&version) {
        return Ok(Arc::clone(known));
    }
    let model = Connection::open_in_memory()?;
    install(&model, version)?;
    let made = Arc::new(objects(&model)?);
    lock().insert(version, Arc::clone(&made));
    Ok(made)
}

/// The first way in which the schema of `connection` differs from that of `version`; views and
/// triggers could make reading endless.
///
/// # Errors
/// When the schema cannot be read.
pub(crate) fn difference(
    connection: &Connection,
    version: i64,
) -> rusqlite::Result<Option<String>> {
    let (ours, theirs) = (model(version)?, objects(connection)?);
    let missing = ours.iter().find(|object| !theirs.contains(object));
    let foreign = theirs.iter().find(|object| !ours.contains(object));
    Ok(match (missing, foreign) {
        (Some((kind, name, _)), _) => {
            Some(format!("the {kind} {name} is missing or of another shape"))
        }
        (None, Some((kind, name, _))) => Some(format!("it holds a foreign {kind}, {name}")),
        (None, None) => None,
    })
}
