//! The guest that makes a template's database: it is started once, filled, stopped in order, and
//! its files become a layer.

use std::{
    fmt::Display,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use rookery_guest::{
    CalledBy, CpuTime, Guest, GuestError, GuestSpec, GuestState, Kind, Lab, RunDirs, Template,
    open_lab,
};
use rookery_host::{RealHost, RunId};

use super::copy::copy;
use crate::{StackContext, StackError, service::Service};

/// How long a server may take to write everything out.
const STOP_LIMIT: Duration = Duration::from_secs(600);
/// How often a server that starts is asked.
const LOOK: Duration = Duration::from_millis(20);
/// How much of the guest's log goes into an error.
const LOG_BYTES: usize = 2048;

/// How a guest ends that ends well.
const DONE: &str = "exit code 0";

/// Let `make` work on a guest that runs `service` on the template `empty`. Whatever becomes of it,
/// the guest is removed.
///
/// # Errors
/// When a step fails; the guest's own words are in the error.
pub(crate) fn build<T>(
    context: &StackContext<'_>,
    empty: &Template,
    service: Service,
    make: impl FnOnce(&mut dyn Guest) -> Result<T, StackError>,
) -> Result<T, StackError> {
    let spec = GuestSpec {
        number: 1,
        name: "template".to_owned(),
        cpus: Vec::new(),
        cpu_time: CpuTime::Unlimited,
        cpu_weight: None,
        packet_cpus: Vec::new(),
        called_by: CalledBy::Users,
        memory_mib: None,
        swap: rookery_study::Swap::None,
        pids: None,
        args: service.args,
        port: service.port,
        health: service.health,
        files: service.files,
        user: Some(service.user),
        sockets: service.sockets,
    };
    let mut own = own_lab(context)?;
    let made = build_in(own.as_deref().unwrap_or(context.lab), empty, &spec, make);
    let closed = own.as_mut().map_or(Ok(()), |lab| lab.close());
    if own.is_some() && made.is_ok() {
        // Its log says nothing that is of use later.
        let _ = std::fs::remove_dir_all(own_dir(context));
    }
    let made = made?;
    closed?;
    Ok(made)
}

/// Databases of machines are made in a container: the root is the same, and nothing is translated.
/// Its lab stands beside the machines' own.
fn own_lab(context: &StackContext<'_>) -> Result<Option<Box<dyn Lab>>, GuestError> {
    if context.lab.kind() != Kind::Vm {
        return Ok(None);
    }
    let run = builder_run(&context.dirs.run);
    let dir = own_dir(context);
    let templates = context.dirs.templates.clone();
    let dirs = RunDirs {
        run,
        dir,
        templates,
    };
    open_lab(&Kind::Container.into(), dirs, Arc::new(RealHost)).map(Some)
}

fn own_dir(context: &StackContext<'_>) -> PathBuf {
    context.dirs.dir.with_file_name("builder")
}

/// The label of the lab in which a run of machines builds.
#[must_use]
pub fn builder_run(run: &RunId) -> RunId {
    // Ids of runs are seven letters and digits, and may have ten.
    RunId::try_from(format!("{run}b")).unwrap_or_else(|_| run.clone())
}

fn build_in<T>(
    lab: &dyn Lab,
    empty: &Template,
    spec: &GuestSpec,
    make: impl FnOnce(&mut dyn Guest) -> Result<T, StackError>,
) -> Result<T, StackError> {
    let mut guest = lab.create(empty, spec)?;
    let made = make(guest.as_mut()).map_err(|error| StackError::Builder {
        source: Box::new(error),
        log: guest.log_tail(LOG_BYTES),
    });
    let removed = guest.remove();
    let made = made?;
    removed?;
    Ok(made)
}

/// Start a guest and wait until `connect` reaches its `server`.
///
/// # Errors
/// When the guest ends, its server does not answer within `limit`, or the user wants no more.
pub(crate) fn start<T, E: Into<StackError>>(
    context: &StackContext<'_>,
    guest: &mut dyn Guest,
    server: &dyn Display,
    limit: Duration,
    connect: impl Fn(&dyn Guest) -> Result<T, E>,
) -> Result<T, StackError> {
    guest.start()?;
    let deadline = Instant::now() + limit;
    loop {
        let refused = match connect(guest) {
            Ok(connected) => return Ok(connected),
            Err(refused) => refused,
        };
        if let GuestState::Ended(reason) = guest.state() {
            return Err(StackError::Ended {
                server: server.to_string(),
                reason,
            });
        }
        if context.go_on().is_break() {
            return Err(StackError::Stopped);
        }
        if Instant::now() > deadline {
            return Err(StackError::Late {
                server: server.to_string(),
                seconds: limit.as_secs(),
                source: Box::new(refused.into()),
            });
        }
        thread::sleep(LOOK);
    }
}

/// Start a guest that makes something and ends, and wait for its end.
///
/// # Errors
/// When it ends otherwise than well, does not end within `limit`, or the user wants no more.
pub(crate) fn await_end(
    context: &StackContext<'_>,
    guest: &mut dyn Guest,
    what: &'static str,
    limit: Duration,
) -> Result<(), StackError> {
    guest.start()?;
    let deadline = Instant::now() + limit;
    loop {
        match guest.state() {
            GuestState::Ended(reason) if reason == DONE => return Ok(()),
            GuestState::Ended(reason) => return Err(StackError::NotMade { what, reason }),
            GuestState::Created | GuestState::Running => {}
        }
        if context.go_on().is_break() {
            return Err(StackError::Stopped);
        }
        if Instant::now() > deadline {
            let reason = format!("it was not done within {} s", limit.as_secs());
            return Err(StackError::NotMade { what, reason });
        }
        thread::sleep(LOOK);
    }
}

/// Stop a filled guest in order. Gives how long that took, seconds.
///
/// # Errors
/// When its `server` does not end as it should.
pub(crate) fn stop_in_order(
    guest: &mut dyn Guest,
    server: &dyn Display,
) -> Result<f64, StackError> {
    let began = Instant::now();
    guest.stop(STOP_LIMIT)?;
    let took = began.elapsed().as_secs_f64();
    let reason = match guest.state() {
        GuestState::Ended(reason) => reason,
        GuestState::Created | GuestState::Running => "it still runs".to_owned(),
    };
    if reason == DONE {
        return Ok(took);
    }
    Err(StackError::NotStopped {
        server: server.to_string(),
        reason,
    })
}

/// Copy the `directory` of a stopped guest's data to `data`.
///
/// # Errors
/// When the copy fails, or the user wants no more.
pub(crate) fn copy_out(
    context: &StackContext<'_>,
    guest: &dyn Guest,
    directory: &str,
    data: &Path,
) -> Result<(), StackError> {
    copy(&guest.data_dir().join(directory), data, &|| context.go_on())
}
