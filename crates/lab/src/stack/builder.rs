//! The guest that makes a template's database: it is started once, filled, stopped in order, and its files become a layer.

use std::{
    fmt::Display,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rookery_guest::{
    Guest, GuestError, GuestSpec, GuestState, Kind, Lab, Site, Template, open_lab,
};
use rookery_host::RunId;

use super::{Place, Service, copy::copy};

/// How long a server may take to write everything out.
const STOP_LIMIT: Duration = Duration::from_secs(600);
/// How often a server that starts is asked.
const LOOK: Duration = Duration::from_millis(20);
/// How much of the guest's log goes into an error.
const LOG_BYTES: usize = 2048;

/// Let `make` work on a guest that runs `service` on the template `empty`. Whatever becomes of it, the guest is removed.
///
/// # Errors
/// When a step fails; the guest's own words are in the error.
pub(super) fn build(
    place: &Place<'_>,
    empty: &Template,
    service: Service,
    make: impl FnOnce(&mut dyn Guest) -> Result<(), String>,
) -> Result<(), String> {
    let spec = GuestSpec {
        number: 1,
        name: "template".to_owned(),
        cpus: Vec::new(),
        cpu_limit: None,
        memory_mib: None,
        pids: None,
        args: service.args,
        port: service.port,
        health: service.health,
        files: service.files,
        user: service.user,
        sockets: service.sockets,
    };
    let mut own = own_lab(place).map_err(|error| error.to_string())?;
    let made = build_in(own.as_deref().unwrap_or(place.lab), empty, &spec, make);
    let closed = own
        .as_mut()
        .map_or(Ok(()), |lab| lab.close())
        .map_err(|error| error.to_string());
    if own.is_some() && made.is_ok() {
        // Its log tells nothing that anybody would miss.
        let _ = std::fs::remove_dir_all(own_dir(place));
    }
    made.and(closed)
}

/// Databases of machines are made in a container: the root is the same, and nothing is translated. Its lab stands beside the machines' own.
fn own_lab(place: &Place<'_>) -> Result<Option<Box<dyn Lab>>, GuestError> {
    if place.lab.kind() != Kind::Vm {
        return Ok(None);
    }
    let run = builder_run(&place.site.run);
    let dir = own_dir(place);
    let templates = place.site.templates.clone();
    open_lab(
        Kind::Container,
        Site {
            run,
            dir,
            templates,
        },
    )
    .map(Some)
}

fn own_dir(place: &Place<'_>) -> PathBuf {
    place.site.dir.with_file_name("builder")
}

/// The label of the lab in which a run of machines builds.
pub(crate) fn builder_run(run: &RunId) -> RunId {
    // Ids of runs are seven letters and digits, and may have ten.
    RunId::try_from(format!("{run}b")).unwrap_or_else(|_| run.clone())
}

fn build_in(
    lab: &dyn Lab,
    empty: &Template,
    spec: &GuestSpec,
    make: impl FnOnce(&mut dyn Guest) -> Result<(), String>,
) -> Result<(), String> {
    let mut guest = lab.create(empty, spec).map_err(|error| error.to_string())?;
    let made = make(guest.as_mut());
    let made = made.map_err(|what| {
        format!(
            "{what}\n  the guest's log ends with:\n{}",
            guest.log_tail(LOG_BYTES)
        )
    });
    let removed = guest.remove().map_err(|error| error.to_string());
    made.and(removed)
}

/// Start a guest and wait until `connect` reaches its `server`.
///
/// # Errors
/// When the guest ends, its server does not answer within `limit`, or the user wants no more.
pub(super) fn start<T, E: Display>(
    place: &Place<'_>,
    guest: &mut dyn Guest,
    server: &dyn Display,
    limit: Duration,
    connect: impl Fn(&dyn Guest) -> Result<T, E>,
) -> Result<T, String> {
    guest.start().map_err(|error| error.to_string())?;
    let deadline = Instant::now() + limit;
    loop {
        let refused = match connect(guest) {
            Ok(connected) => return Ok(connected),
            Err(refused) => refused,
        };
        if let GuestState::Ended(reason) = guest.state() {
            return Err(format!("{server} ended before it answered: {reason}"));
        }
        if place.go_on().is_break() {
            return Err("stopped, as asked".to_owned());
        }
        if Instant::now() > deadline {
            return Err(format!(
                "{server} did not answer within {} s: {refused}",
                limit.as_secs()
            ));
        }
        thread::sleep(LOOK);
    }
}

/// Stop a filled guest in order, and copy the `directory` of its data to `data`.
///
/// # Errors
/// When its `server` does not end as it should, or the copy fails.
pub(super) fn stop_and_copy(
    place: &Place<'_>,
    guest: &mut dyn Guest,
    server: &dyn Display,
    directory: &str,
    data: &Path,
) -> Result<(), String> {
    guest.stop(STOP_LIMIT).map_err(|error| error.to_string())?;
    match guest.state() {
        GuestState::Ended(reason) if reason == "exit code 0" => {}
        GuestState::Ended(reason) => {
            return Err(format!("{server} did not stop in order: {reason}"));
        }
        GuestState::Created | GuestState::Running => return Err(format!("{server} did not stop")),
    }
    copy(&guest.data_dir().join(directory), data, &|| place.go_on())
}
