//! `rookery fleet`: other machines.

use std::{fs::File, io::Read as _, path::Path};

use rookery_diagnosis::ErrorFields;
use rookery_fleet::{
    ClockOffset, Fleet, FleetError, Hello, HostError, HostState, HostStatus, HostsFile,
    LocalDriver, RemoteAgent, Removed, SeenHosts, expect_one_role,
};
use rookery_lab::{LabError, RemoteLab};
use rookery_study::HostFacts;
use rookery_text::Table;

use crate::{
    cli::{FleetArgs, FleetCommand, FleetLogsArgs},
    exit::{Code, Failure},
    output,
};

/// Most bytes that are read of a hosts file: more than its grammar takes.
const MOST_BYTES: u64 = 2 << 20;

pub(crate) fn run(command: &FleetCommand) -> Result<Code, Failure> {
    match command {
        FleetCommand::Up(args) => up(args),
        FleetCommand::Status(args) => status(args),
        FleetCommand::Logs(args) => logs(args),
        FleetCommand::Down(args) => down(args),
        FleetCommand::Key(args) => key(&args.file),
    }
}

/// The hosts that a file names.
pub(crate) fn hosts(path: &Path) -> Result<HostsFile, Failure> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text));
    read.map_err(|source| {
        let path = path.to_owned();
        Failure::from_error(Code::Usage, &FleetError::Unreadable { path, source })
    })?;
    HostsFile::parse(&path.display().to_string(), &text)
        .map_err(|problems| Failure::from_errors(Code::Usage, &problems.0))
}

fn fleet(hosts: &HostsFile) -> Result<Fleet<'_>, Failure> {
    Fleet::new(hosts).map_err(|error| Failure::from_error(Code::Host, &error))
}

/// The agents of the hosts that perform trials, and of those that drive users, each of this very
/// build. No machine is both.
pub(crate) fn agents<'h>(
    labs: Option<&'h HostsFile>,
    drivers: Option<&'h HostsFile>,
) -> Result<[Vec<RemoteAgent<'h>>; 2], Failure> {
    let seen = |hosts| -> Result<_, Failure> {
        let fleet = fleet(hosts)?;
        let seen = fleet.look().map_err(refused)?;
        Ok((fleet, seen))
    };
    let labs = labs.map(seen).transpose()?;
    let drivers = drivers.map(seen).transpose()?;
    if let (Some((_, labs)), Some((_, drivers))) = (&labs, &drivers) {
        expect_one_role(labs, drivers).map_err(refused)?;
    }
    let begun = |place: Option<(Fleet<'h>, SeenHosts<'h>)>| match place {
        Some((fleet, seen)) => fleet.agents(seen).map_err(refused),
        None => Ok(Vec::new()),
    };
    Ok([begun(labs)?, begun(drivers)?])
}

fn refused(errors: Vec<HostError>) -> Failure {
    Failure::from_errors(Code::Host, &errors)
}

/// So many drivers of this machine, for guests on other ones; `runs` is where runs are kept.
pub(crate) fn local_drivers(runs: &Path, count: usize) -> Result<Vec<LocalDriver>, Failure> {
    LocalDriver::share(runs, count).map_err(|error| Failure::from_error(Code::Host, &error))
}

/// What a plan must know of hosts that are to perform the same trials: the CPUs of the first, and
/// of memory and disk what all have.
pub(crate) fn facts(labs: &[&dyn RemoteLab]) -> Result<HostFacts, Failure> {
    let mut all = labs.iter().map(|lab| &lab.host().facts);
    let first = all.next().cloned();
    let mut facts = first.ok_or_else(|| Failure::from(LabError::NoLabLeft))?;
    for other in all {
        facts.memory_mib = facts.memory_mib.min(other.memory_mib);
        facts.disk_free_mib = facts.disk_free_mib.min(other.disk_free_mib);
        facts.root &= other.root;
    }
    Ok(facts)
}

fn up(args: &FleetArgs) -> Result<Code, Failure> {
    let hosts = hosts(&args.hosts)?;
    let up = fleet(&hosts)?.up();
    let up = up.map_err(refused)?;
    if args.json {
        return output::json(&up);
    }
    output::result(table(&up));
    remark_on_kinds(&up);
    Ok(Code::Done)
}

fn status(args: &FleetArgs) -> Result<Code, Failure> {
    let hosts = hosts(&args.hosts)?;
    let (found, errors) = apart(fleet(&hosts)?.status());
    if args.json {
        output::json(&serde_json::json!({ "hosts": found, "errors": fields(&errors) }))?;
    } else {
        if !found.is_empty() {
            output::result(table(&found));
        }
        remark_on_errors(&errors);
    }
    let ready = found.iter().all(|host| host.state == HostState::Ready);
    Ok(if ready && errors.is_empty() {
        Code::Done
    } else {
        Code::Host
    })
}

fn logs(args: &FleetLogsArgs) -> Result<Code, Failure> {
    let hosts = hosts(&args.hosts)?;
    let (logs, errors) = apart(fleet(&hosts)?.logs(args.bytes));
    for host in logs {
        print_log(&host.host, &host.agent);
        if let Some(log) = &host.server {
            print_log(&format!("{} nats-server", host.host), log);
        }
    }
    remark_on_errors(&errors);
    Ok(code_of(&errors))
}

/// Each line with whose it is.
fn print_log(whose: &str, log: &[u8]) {
    let text = String::from_utf8_lossy(log);
    let lines = text.lines();
    let lines = lines.map(|line| format!("{whose}: {}", output::printable(line)));
    output::result(lines.collect::<Vec<_>>().join("\n"));
}

fn down(args: &FleetArgs) -> Result<Code, Failure> {
    let hosts = hosts(&args.hosts)?;
    let (removed, errors) = apart(fleet(&hosts)?.down());
    if args.json {
        output::json(&serde_json::json!({ "hosts": removed, "errors": fields(&errors) }))?;
        return Ok(code_of(&errors));
    }
    for host in &removed {
        output::text(sentence(host));
        for thing in &host.things {
            output::text(format!("  removed {}", output::printable(thing)));
        }
    }
    remark_on_errors(&errors);
    Ok(code_of(&errors))
}

fn key(file: &Path) -> Result<Code, Failure> {
    let public = rookery_fleet::make_key(file);
    output::result(public.map_err(|error| Failure::from_error(Code::Host, &error))?);
    Ok(Code::Done)
}

fn sentence(removed: &Removed) -> String {
    match removed.was_up {
        true => format!(
            "{}: the program and its directory are removed",
            removed.host
        ),
        false => format!("{}: there was no program", removed.host),
    }
}

/// What was done, and what was not.
fn apart<T>(results: Vec<Result<T, HostError>>) -> (Vec<T>, Vec<HostError>) {
    let (mut done, mut errors) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(value) => done.push(value),
            Err(error) => errors.push(error),
        }
    }
    (done, errors)
}

fn fields(errors: &[HostError]) -> Vec<ErrorFields> {
    errors.iter().map(|error| ErrorFields::new(error)).collect()
}

fn remark_on_errors(errors: &[HostError]) {
    for error in errors {
        output::remark(ErrorFields::new(error));
    }
}

fn code_of(errors: &[HostError]) -> Code {
    if errors.is_empty() {
        Code::Done
    } else {
        Code::Host
    }
}

fn table(hosts: &[HostStatus]) -> String {
    let heads = [
        "host", "address", "state", "program", "kernel", "CPUs", "memory", "guests", "clock",
    ];
    let rows = hosts.iter().map(row).collect();
    let table = Table::new(heads.map(str::to_owned).to_vec(), rows).render(output::width());
    let servers = hosts.iter().filter_map(|host| {
        let server = host.server.as_ref()?;
        let (name, url, process) = (&host.host, &server.url, server.process);
        Some(format!("\nNATS server on {name}: {url}, process {process}"))
    });
    table + &servers.collect::<String>()
}

fn row(host: &HostStatus) -> Vec<String> {
    let agent = host.agent.as_ref();
    let of_agent = |of: &dyn Fn(&Hello) -> String| agent.map_or_else(|| "-".to_owned(), of);
    let state = match host.state {
        HostState::Ready => "ready",
        HostState::Busy => "busy",
        HostState::OtherBuild => "other build",
        HostState::Absent => "not up",
        HostState::NoServer => "no NATS server",
    };
    let program = of_agent(&|agent| {
        let copied = if host.copied { ", copied" } else { "" };
        output::printable(&format!("{}{copied}", agent.build))
    });
    vec![
        host.host.clone(),
        format!("{}:{}", host.address, host.port),
        state.to_owned(),
        program,
        of_agent(&|agent| output::printable(&agent.host.kernel)),
        of_agent(&|agent| agent.host.facts.cpus.len().to_string()),
        of_agent(&|agent| format!("{} MiB", agent.host.facts.memory_mib)),
        of_agent(&kinds),
        host.clock.as_ref().map_or_else(|| "-".to_owned(), clock),
    ]
}

/// The kinds of guests that can be made there.
fn kinds(agent: &Hello) -> String {
    let able = agent.kinds.iter().filter(|kind| kind.lacks.is_none());
    let able: Vec<String> = able.map(|kind| output::printable(&kind.kind)).collect();
    match able.is_empty() {
        true => "none".to_owned(),
        false => able.join(", "),
    }
}

/// How far a clock is ahead, and how wrong that may be: `+0.12 ms ± 0.21 ms`.
fn clock(offset: &ClockOffset) -> String {
    let ms = |us: i64| us as f64 / 1000.0;
    let stepped = if offset.stepped { ", stepped" } else { "" };
    format!(
        "{:+.2} ms \u{b1} {:.2} ms{stepped}",
        ms(offset.offset_us),
        ms(offset.bound_us)
    )
}

/// Say what hosts lack for kinds of guests.
fn remark_on_kinds(hosts: &[HostStatus]) {
    for host in hosts {
        for kind in host.agent.iter().flat_map(|agent| &agent.kinds) {
            if let Some(lacks) = &kind.lacks {
                let text = format!("{}: no guests of kind {}: {lacks}", host.host, kind.kind);
                output::remark(output::printable(&text));
            }
        }
    }
}
