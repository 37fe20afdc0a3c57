//! The loaded template: a server is started once in a guest of its own, filled, stopped, and its
//! files become a layer.

use std::{
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rookery_guest::{Guest, Health, Template};
use rookery_oltp::Progress;
use rookery_stats::DatabaseLoad;

use crate::{
    StackContext, StackError,
    database::{
        Account, DATABASE, Engine, EngineFacts as _, Server, Software, USER as TERMINALS, builder,
        counters, prepare, settle,
    },
    template::{self, build, copy_out, data_layer, empty_layer, stop_in_order},
    workloads::DatabaseContent,
};

/// Raised when the same words give another template.
const VERSION: u32 = 1;
/// How long a server may take until it answers: making its system tables, or its recovery, on a
/// busy host included.
const START_LIMIT: Duration = Duration::from_secs(300);
/// How often it is looked whether the load goes on.
const LOOK: Duration = Duration::from_millis(50);
/// How often progress is reported.
const REPORT_EVERY: Duration = Duration::from_millis(500);

/// The template of a database with this content, built or found. `root` is that of container
/// guests.
///
/// # Errors
/// When a step fails; the guest's own words are in the error.
pub(super) fn loaded(
    context: &StackContext<'_>,
    root: Option<&Template>,
    software: &Software,
    content: &impl DatabaseContent,
) -> Result<Template, StackError> {
    let empty = empty(context, root, software)?;
    data_layer(context, root, description(software, content), |directory| {
        fill(context, &empty, software, content, directory).map(Some)
    })
}

/// The template of guests without a database, built or found.
///
/// # Errors
/// When it cannot be made.
pub(super) fn empty(
    context: &StackContext<'_>,
    root: Option<&Template>,
    software: &Software,
) -> Result<Template, StackError> {
    let what = format!("{} without data {VERSION}", software.engine.key());
    empty_layer(context, root, what)
}

/// Everything that decides the content.
fn description(software: &Software, content: &impl DatabaseContent) -> String {
    format!(
        "{}, {} {}",
        content.description(),
        software.engine.key(),
        software.version,
    )
}

/// Make the database in `directory`.
fn fill(
    context: &StackContext<'_>,
    empty: &Template,
    software: &Software,
    content: &impl DatabaseContent,
    directory: &Path,
) -> Result<DatabaseLoad, StackError> {
    let engine = software.engine;
    let service = builder(software).in_guest(engine.port(), health(engine), Vec::new());
    build(context, empty, service, |guest| {
        let load = load_in(context, guest, software, content)?;
        copy_out(context, guest, engine.directory(), directory)?;
        Ok(load)
    })
}

/// Load the content of a database into a guest without data, and stop the guest in order.
///
/// # Errors
/// When a step fails.
pub(super) fn load_in(
    context: &StackContext<'_>,
    guest: &mut dyn Guest,
    software: &Software,
    content: &impl DatabaseContent,
) -> Result<DatabaseLoad, StackError> {
    let engine = software.engine;
    let what = content.what();
    context.building(&what, &format!("starting {engine}"));
    let began = Instant::now();
    let mut server = start(context, guest, engine, Account::Administrator)?;
    prepare(&mut server, software, content.collation())?;
    drop(server);
    let created = began.elapsed();
    let loaded = watched_load(context, guest, engine, content, &what)?;
    let mut server = Server::connect(engine, guest.sockets_dir(), Account::Owner)?;
    let bytes = counters(&mut server)?.database_bytes.unwrap_or(0);
    settle(&mut server)?;
    drop(server);
    context.building(&what, &format!("stopping {engine}"));
    let close_s = stop_in_order(guest, &engine)?;
    Ok(DatabaseLoad {
        close_s,
        bytes,
        ..loaded.created_within(created)
    })
}

/// How far a load is, for the thread that watches it.
struct LoadState {
    rows: AtomicU64,
    moved: Mutex<Instant>,
}

impl LoadState {
    fn add(&self, step: Progress) {
        self.rows.fetch_add(step.rows, Ordering::Relaxed);
        *self.moved.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn still_for(&self) -> Duration {
        self.moved
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .elapsed()
    }
}

/// Load, and end the guest under a load that stands still or that the user has stopped: a database
/// that hangs answers nothing else.
fn watched_load(
    context: &StackContext<'_>,
    guest: &mut dyn Guest,
    engine: Engine,
    content: &impl DatabaseContent,
    what: &str,
) -> Result<DatabaseLoad, StackError> {
    let target = engine.inside(guest.sockets_dir());
    let connections = thread::available_parallelism().map_or(1, usize::from);
    let (total, steps) = content.steps();
    let limit = content.still_limit();
    let state = LoadState {
        rows: AtomicU64::new(0),
        moved: Mutex::new(Instant::now()),
    };
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let loading = thread::Builder::new()
            .name("load".to_owned())
            .spawn_scoped(scope, || {
                content.load(&target, connections, &stop, &|step| state.add(step))
            })
            .map_err(|source| StackError::Io {
                what: "starting a thread for the load".to_owned(),
                source,
            })?;
        let mut late = None;
        let mut reported = Instant::now();
        while !loading.is_finished() {
            if reported.elapsed() > REPORT_EVERY {
                let rows = state.rows.load(Ordering::Relaxed);
                context.building(what, &format!("{steps} {rows} of about {total}"));
                reported = Instant::now();
            }
            let unwanted = context.go_on().is_break();
            if late.is_none() && (unwanted || state.still_for() > limit) {
                late = Some(if unwanted {
                    StackError::Stopped
                } else {
                    StackError::LoadStalled {
                        seconds: limit.as_secs(),
                    }
                });
                stop.store(true, Ordering::Relaxed);
                guest.kill()?;
            }
            thread::sleep(LOOK);
        }
        let loaded = loading
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match late {
            Some(late) => Err(late),
            None => loaded,
        }
    })
}

/// Start a guest and wait until its server lets `account` in.
///
/// # Errors
/// When it ends or does not answer in time.
pub(super) fn start(
    context: &StackContext<'_>,
    guest: &mut dyn Guest,
    engine: Engine,
    account: Account,
) -> Result<Server, StackError> {
    template::start(context, guest, &engine, START_LIMIT, |guest| {
        Server::connect(engine, guest.sockets_dir(), account)
    })
}

/// How a guest is seen to serve.
pub(super) fn health(engine: Engine) -> Health {
    match engine {
        Engine::Mariadb => Health::Mysql,
        Engine::Postgresql => Health::Postgresql {
            user: TERMINALS.to_owned(),
            database: DATABASE.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use rookery_study::OrderentryData;
    use rookery_workload::orderentry::{Dialect, Scale};

    use super::*;
    use crate::workloads::OrderentryContent;

    /// What any study of order entry asks for.
    fn wanted() -> rookery_study::OrderentryUse {
        let text = "title = \"t\"\n[workload]\nkind = \"orderentry\"\n[stack]\nkind = \
                    \"postgresql\"\n[load]\nusers = 1\n[[layout]]\nname = \"one\"\n";
        let document = rookery_study::Document::parse("s.toml", text);
        let document = document.unwrap_or_else(|problems| panic!("{problems}"));
        let wanted = document.study().workload.orderentry().cloned();
        wanted.expect("order entry")
    }

    #[test]
    fn a_template_is_known_by_all_that_decides_its_content() {
        let software = Software {
            engine: Engine::Postgresql,
            server: "/usr/lib/postgresql/15/bin/postgres".into(),
            initial: "/usr/lib/postgresql/15/bin/initdb".into(),
            prewarm: true,
            version: "15.18-0".to_owned(),
        };
        let data = OrderentryData {
            scale: Scale::new(2, 100).expect("a scale"),
            seed: 7,
            dialect: Dialect::Postgresql,
            foreign_keys: false,
            history_pk: true,
        };
        let content = |data| OrderentryContent {
            wanted: wanted(),
            data,
        };
        let words = description(&software, &content(data));
        for word in [
            "2 warehouses of 1/100",
            "seed 7",
            "postgresql 15.18-0",
            "history key true",
        ] {
            assert!(words.contains(word), "{word} in {words}");
        }
        let other = OrderentryData {
            foreign_keys: true,
            ..data
        };
        assert_ne!(words, description(&software, &content(other)));
    }
}
