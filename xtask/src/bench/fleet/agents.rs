//! Many agents and their controller over one NATS server. Agents are threads of a process of their
//! own, which is this benchmark again; each has one driver thread and one user a second. The server
//! and all processes share this machine, so that starts are later than on machines of their own.

use std::{
    fmt::Write as _,
    fs,
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::atomic::AtomicBool,
    thread,
    time::{Duration, Instant},
};

use rookery_cast::count_u32;
use rookery_driver::{Load, Phases};
use rookery_fleet::{
    Agent, Fleet, HostsFile, LEASE, Lent, RemoteAgent,
    bus::{Bus, StreamBus},
};
use rookery_host::RunId;
use rookery_lab::{DrivenPart, GroupPart, PartOrder, RemoteDriver, RemoteError};
use rookery_stats::Pacing;
use rookery_testkit::StallingServer;
use rookery_web::{Assignment, Config, Limits, Part, Script, workloads::page::PageScript};
use rookery_workload::DelayDistribution;

use crate::bench::{driver::client::resident_kib, lamp::say};

/// Where the NATS server listens.
const NATS: &str = "127.0.0.1:24222";
/// From the decision to start until the first user.
const UNTIL_START: Duration = Duration::from_secs(5);
/// How long the load lasts.
const STEADY: Duration = Duration::from_secs(10);

/// A process that ends with this.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Measure so many agents.
pub(super) fn run(agents: u32) -> Result<(), String> {
    let place = tempfile::tempdir().map_err(|error| error.to_string())?;
    let _server = nats_server(place.path())?;
    let page = StallingServer::start(Duration::ZERO, None, None)
        .map_err(|error| format!("cannot start a server of pages: {error}"))?;
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let serving = Command::new(own)
        .args([
            "bench",
            "fleet",
            "serve",
            &address.to_string(),
            &agents.to_string(),
        ])
        .arg(place.path())
        .stdin(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot start the agents: {error}"))?;
    let _serving = Ended(serving);
    let buses = (0..agents).map(|_| -> Result<Box<dyn Bus>, std::io::Error> {
        let (stream, _) = listener.accept()?;
        Ok(Box::new(StreamBus::new(stream.try_clone()?, stream)?))
    });
    let buses = buses
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| error.to_string())?;
    let text = hosts_file(agents);
    let hosts = HostsFile::parse("HOSTS.toml", &text).map_err(|problems| problems.to_string())?;
    let fleet = Fleet::new(&hosts).map_err(|error| error.to_string())?;
    let before_kib = resident_kib();
    let adopted = fleet
        .adopt(buses)
        .map_err(|errors| errors.first().map_or_else(String::new, ToString::to_string))?;
    let config = config(&page, agents);
    let (cpu, began) = (own_cpu(), Instant::now());
    let (parts, per_s) = drive(&adopted, &config)?;
    let spent = (own_cpu() - cpu).as_secs_f64();
    let (seconds, held_kib) = (began.elapsed().as_secs_f64(), resident_kib());
    let skews = skews(&parts);
    let bound = parts
        .iter()
        .filter_map(|part| Some(part.clock?.bound_us))
        .max();
    let whole = Config {
        cpus: vec![0; adopted.len()],
        ..config
    };
    let recordings = parts.into_iter().flat_map(|part| part.recordings).collect();
    let merging = Instant::now();
    let merged = rookery_web::merge(&whole, recordings).map_err(|error| error.to_string())?;
    let merged_ms = 1e3 * merging.elapsed().as_secs_f64();
    let connections = merged.driver.connections;
    let per_agent = |cpu: f64| 1e6 * cpu / f64::from(agents);
    say(&format!(
        "{agents} agents over NATS, all on this machine: the controller took {spent:.2} s of CPU in \
         {seconds:.1} s; {:.0} us per agent and second while the load went on; {:.1} MiB more of \
         memory",
        per_agent(per_s),
        (held_kib.saturating_sub(before_kib)) as f64 / 1024.0
    ))?;
    say(&format!(
        "starts: skew p50 {} us, p99 {} us, max {} us of {} CPUs, known to {} us; what they recorded of \
         {connections} connections was merged in {merged_ms:.1} ms",
        percentile(&skews, 50),
        percentile(&skews, 99),
        percentile(&skews, 100),
        skews.len(),
        bound.unwrap_or(0)
    ))
}

/// Have every agent carry its part; what came of them, and the CPU time of this process for a
/// second of the load, s.
fn drive(agents: &[RemoteAgent<'_>], config: &Config) -> Result<(Vec<DrivenPart>, f64), String> {
    let run = RunId::try_from("benchfl".to_owned()).map_err(|error| error.to_string())?;
    let start = Instant::now() + UNTIL_START;
    let of = count_u32(agents.len());
    let carry = |(before, agent): (u32, &'_ RemoteAgent<'_>)| {
        let part = GroupPart {
            lab: run.clone(),
            config: config.clone(),
            part: Part { before, of },
            way: None,
        };
        agent.drive(&PartOrder {
            groups: &[part],
            start,
            stop: &|| false,
        })
    };
    let carry = &carry;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .zip(agents)
            .map(|one| scope.spawn(move || carry(one)))
            .collect();
        // The begin and the end of a load are not those of control.
        let margin = STEADY / 5;
        thread::sleep((start + margin).saturating_duration_since(Instant::now()));
        let before = own_cpu();
        let observed = STEADY - 2 * margin;
        thread::sleep(observed);
        let per_s = (own_cpu() - before).as_secs_f64() / observed.as_secs_f64();
        let lost = |_| {
            let reason = "its thread panicked".to_owned();
            Err(RemoteError::Lost { reason })
        };
        let ended = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(lost));
        let parts = ended.collect::<Result<Vec<_>, _>>();
        Ok((parts.map_err(|error| format!("{error:?}"))?, per_s))
    })
}

/// How far each begin was from the common start, ascending, us.
fn skews(parts: &[DrivenPart]) -> Vec<u64> {
    let late = parts.iter().flat_map(|part| {
        let recordings = part.recordings.iter();
        let late = recordings.flat_map(|recording| recording.first_late_us());
        late.map(|late| late.saturating_add_signed(part.start_shift_us))
    });
    let mut skews: Vec<u64> = late.collect();
    skews.sort_unstable();
    skews
}

/// The nearest rank of ascending values; 0 of none.
fn percentile(values: &[u64], percent: usize) -> u64 {
    let rank = (percent * values.len()).div_ceil(100);
    values.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

/// One user for each agent.
fn config(page: &StallingServer, agents: u32) -> Config {
    let second = Duration::from_secs(1);
    Config {
        assignments: vec![Assignment {
            guest: "server".to_owned(),
            target: page.address(),
            users: agents,
            script: Script::Page(PageScript {
                path: "/".to_owned(),
            }),
        }],
        network: None,
        cpus: vec![0],
        load: Load::Closed,
        phases: Phases {
            ramp_up: Duration::ZERO,
            settle: second,
            steady: STEADY - second,
            ramp_down: Duration::ZERO,
            drain: 3 * second,
        },
        pacing: Pacing::Think,
        think_time: second,
        think_distribution: DelayDistribution::Uniform,
        timeout: 10 * second,
        limits: Limits::default(),
        seed: 1,
        confirmed_targets: Vec::new(),
    }
}

/// Hosts that no one logs in to: their agents are there already.
fn hosts_file(agents: u32) -> String {
    let mut text = format!("[nats]\nurl = \"nats://{NATS}\"\n");
    for number in 0..agents {
        let _ = write!(
            text,
            "[[host]]\nname = \"h{number}\"\naddress = \"127.0.1.{number}\"\n"
        );
    }
    text
}

fn nats_server(place: &Path) -> Result<Ended, String> {
    let config = place.join("nats.conf");
    fs::write(&config, format!("listen: \"{NATS}\"\n")).map_err(|error| error.to_string())?;
    let server = Command::new("nats-server")
        .arg("-c")
        .arg(&config)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let server = Ended(server.map_err(|error| format!("nats-server (apt install): {error}"))?);
    let began = Instant::now();
    while TcpStream::connect(NATS).is_err() {
        if began.elapsed() > Duration::from_secs(10) {
            return Err(format!("no NATS server answers at {NATS}"));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(server)
}

/// CPU time of this process.
fn own_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.cast_unsigned(),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// The agents: one thread each, until their controller is gone.
pub(super) fn serve(address: &str, agents: &str, place: &str) -> Result<(), String> {
    let agents: u32 = agents
        .parse()
        .map_err(|_| "no number of agents".to_owned())?;
    let served: Vec<Result<(), String>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..agents)
            .map(|number| scope.spawn(move || serve_one(address, Path::new(place), number)))
            .collect();
        let panicked = |_| Err("an agent panicked".to_owned());
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(panicked))
            .collect()
    });
    served.into_iter().collect()
}

fn serve_one(address: &str, place: &Path, number: u32) -> Result<(), String> {
    let words = |error: std::io::Error| error.to_string();
    let directory = place.join(format!("agent-{number}"));
    fs::create_dir(&directory).map_err(words)?;
    let stream = TcpStream::connect(address).map_err(words)?;
    let first = StreamBus::new(stream.try_clone().map_err(words)?, stream).map_err(words)?;
    let bus = rookery_fleet::dial(&first).map_err(|error| error.to_string())?;
    let agent = Agent {
        bus: &bus,
        directory,
        lent: Lent::default(),
        lease: LEASE,
        stop: &AtomicBool::new(false),
    };
    agent.serve().map(drop).map_err(|error| error.to_string())
}
