//! `bench guests`: many guests of the embedded stack from clone to healthy, and away again; and all
//! clones at once.

use std::{
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU16, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rookery_guest::{
    CalledBy, Fill, FillError, Guest, GuestSpec, Kind, Lab, Recipe, RunDirs, Template, open_lab,
    remove_all, start_all,
};
use rookery_host::{RealHost, RunId};
use rookery_stack::embedded::{self, Pages};
use rookery_workload::dvdstore::{Size, WordLists};

use crate::root;

const USAGE: &str = "\
usage: cargo xtask bench guests [--guests N] [--start N] [--rounds N] [--kind container|bare|vm] \
                     [--size SIZE] [--program FILE]
                              [--templates DIR]
  --guests   guests per round, 1 to 250 (default 40)
  --start    how many of them are started (default all; of machines 2, for their processors may be \
                     translated)
  --rounds   rounds, 1 or more (default 5)
  --kind     kind of guest (default container, which needs root and runc; vm builds its system \
                     first)
  --size     database of the template (default 10MB)
  --program  the rookery executable (default target/release/rookery)
  --templates  directory of templates that stays (default one of the bench's own, which goes with \
                     it)";

/// Time for all guests of a round to become healthy.
const DEADLINE: Duration = Duration::from_secs(120);
/// What must hold on two cores (docs and README quote it).
const READY_LIMIT_S: f64 = 5.0;
const REMOVED_LIMIT_S: f64 = 2.0;
const CLONE_LIMIT_MS: f64 = 10.0;
/// A machine's clone is a file of its own, made by a program of its own.
const MACHINE_CLONE_LIMIT_MS: f64 = 200.0;
/// Threads that make clones at the same time.
const CLONERS: usize = 8;
/// Machines that are started where nobody says how many.
const MACHINES_STARTED: u16 = 2;

struct Options {
    guests: u16,
    start: Option<u16>,
    rounds: usize,
    kind: Kind,
    size: Size,
    program: PathBuf,
    templates: Option<PathBuf>,
}

impl Options {
    /// How many guests of a round are started.
    fn started(&self) -> u16 {
        let usual = if self.kind == Kind::Vm {
            MACHINES_STARTED
        } else {
            self.guests
        };
        self.start.unwrap_or(usual).min(self.guests)
    }
}

/// One round.
struct Round {
    /// Every clone alone, ms.
    clones_ms: Vec<f64>,
    /// All clones, made by several threads, s.
    together_s: f64,
    /// First clone to last healthy, s.
    ready_s: f64,
    /// Kill and remove all, s.
    removed_s: f64,
}

/// Measures and prints: each round, and the medians beside their limits.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let options = parse(args)?;
    if !options.program.is_file() {
        return Err(format!(
            "there is no {}; build it: cargo build --release --package rookery",
            options.program.display()
        ));
    }
    // Templates and clones belong on the same disk as real ones, and out of the way.
    let dir = root::target().join(format!("bench-guests-{}", std::process::id()));
    let measured = measure(&options, &dir);
    // The lab is closed by now: what is left are logs and the template.
    let removed = fs::remove_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()));
    let rounds = measured?;
    removed?;
    print(&options, &rounds);
    Ok(())
}

fn measure(options: &Options, dir: &Path) -> Result<Vec<Round>, String> {
    let words = |error: rookery_guest::GuestError| error.to_string();
    let run = RunId::try_from(format!("bench{}", std::process::id() % 100_000))
        .map_err(|error| error.to_string())?;
    let site = RunDirs {
        run,
        dir: dir.join("run"),
        templates: options
            .templates
            .clone()
            .unwrap_or_else(|| dir.join("templates")),
    };
    let mut lab = open_lab(&options.kind.into(), site, Arc::new(RealHost)).map_err(words)?;
    let begin = Instant::now();
    let template = template(&*lab, options).map_err(words)?;
    println!(
        "template with a database of {}: {:.2} s",
        options.size,
        begin.elapsed().as_secs_f64()
    );
    let begin = Instant::now();
    lab.prepare(&template, &|_, _| {}, &rookery_guest::patient)
        .map_err(words)?;
    println!(
        "what guests need besides: {:.2} s",
        begin.elapsed().as_secs_f64()
    );
    println!(
        "{:>5}  {:>16}  {:>16}  {:>16}  {:>16}",
        "round", "clone alone ms", "all together s", "clone-healthy s", "kill+remove s"
    );
    let mut rounds = Vec::new();
    for number in 1..=options.rounds {
        let round = round(&*lab, &template, options.guests, options.started()).map_err(words)?;
        println!(
            "{number:>5}  {:>16.2}  {:>16.2}  {:>16.2}  {:>16.2}",
            median(round.clones_ms.clone()),
            round.together_s,
            round.ready_s,
            round.removed_s
        );
        rounds.push(round);
    }
    lab.close().map_err(words)?;
    Ok(rounds)
}

fn template(lab: &dyn Lab, options: &Options) -> Result<Template, rookery_guest::GuestError> {
    let fill = |data: &Path| {
        let database = data.join(embedded::DATABASE_FILE);
        embedded::load(&database, options.size, WordLists::own(), &|_| {
            ControlFlow::Continue(())
        })
        .map(|summary| Some(summary.parts))
        .map_err(FillError::from)
    };
    let description = format!("bench guests, embedded dvdstore {}", options.size);
    let recipe = Recipe {
        description,
        program: options.program.clone(),
        base: None,
        fill: Fill::Data(&fill),
    };
    lab.template(&recipe, &rookery_guest::patient)
}

fn round(
    lab: &dyn Lab,
    template: &Template,
    count: u16,
    started: u16,
) -> Result<Round, rookery_guest::GuestError> {
    let together_s = together(lab, template, count)?;
    let begin = Instant::now();
    let mut clones_ms = Vec::new();
    let mut guests: Vec<Box<dyn Guest>> = Vec::new();
    for number in 1..=count {
        let clone = Instant::now();
        guests.push(lab.create(template, &spec(number))?);
        clones_ms.push(clone.elapsed().as_secs_f64() * 1e3);
    }
    start_all(
        &mut guests[..usize::from(started)],
        lab,
        DEADLINE,
        &|_| (),
        &AtomicBool::new(false),
    )?;
    let ready_s = begin.elapsed().as_secs_f64();
    let removed_s = remove_all(&mut guests)?.as_secs_f64();
    Ok(Round {
        clones_ms,
        together_s,
        ready_s,
        removed_s,
    })
}

/// The time of `count` clones that several threads make, s. They are removed again.
fn together(
    lab: &dyn Lab,
    template: &Template,
    count: u16,
) -> Result<f64, rookery_guest::GuestError> {
    let next = AtomicU16::new(1);
    let work = || {
        let mut guests = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number > count {
                return Ok(guests);
            }
            guests.push(lab.create(template, &spec(number))?);
        }
    };
    let begin = Instant::now();
    let made: Vec<Result<Vec<Box<dyn Guest>>, _>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..CLONERS).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    });
    let took = begin.elapsed().as_secs_f64();
    for guests in made {
        remove_all(&mut guests?)?;
    }
    Ok(took)
}

fn spec(number: u16) -> GuestSpec {
    GuestSpec {
        number,
        name: format!("g{number}"),
        cpus: Vec::new(),
        cpu_time: rookery_guest::CpuTime::cap(1.0),
        cpu_weight: None,
        packet_cpus: Vec::new(),
        called_by: CalledBy::Users,
        memory_mib: Some(256),
        swap: rookery_study::Swap::None,
        pids: Some(64),
        args: embedded::guest_args(1, Pages::Corrected, Duration::ZERO),
        port: embedded::PORT,
        health: rookery_guest::Health::Http(embedded::HEALTH_PATH.to_owned()),
        files: Vec::new(),
        user: None,
        sockets: Vec::new(),
    }
}

fn print(options: &Options, rounds: &[Round]) {
    let clone = median(
        rounds
            .iter()
            .flat_map(|round| round.clones_ms.iter().copied())
            .collect(),
    );
    let ready = median(rounds.iter().map(|round| round.ready_s).collect());
    let removed = median(rounds.iter().map(|round| round.removed_s).collect());
    println!(
        "\nmedians of {} rounds of {} guests ({:?}):",
        rounds.len(),
        options.guests,
        options.kind
    );
    let machines = options.kind == Kind::Vm;
    let limit = if machines {
        MACHINE_CLONE_LIMIT_MS
    } else {
        CLONE_LIMIT_MS
    };
    let together = median(rounds.iter().map(|round| round.together_s).collect());
    let started = options.started();
    println!("  a clone alone      {clone:>7.2} ms  (limit {limit} ms)");
    println!("  all clones         {together:>7.2} s   ({CLONERS} threads)");
    if machines {
        println!("  clone to healthy   {ready:>7.2} s   ({started} started)");
        println!("  kill and remove    {removed:>7.2} s");
    } else {
        println!(
            "  clone to healthy   {ready:>7.2} s   (limit {READY_LIMIT_S} s for 40 on 2 cores; \
             {started} started)"
        );
        println!("  kill and remove    {removed:>7.2} s   (limit {REMOVED_LIMIT_S} s for 40)");
    }
}

fn parse(args: &[String]) -> Result<Options, String> {
    let program = root::target().join("release/rookery");
    let mut options = Options {
        guests: 40,
        start: None,
        rounds: 5,
        kind: Kind::Container,
        size: Size::Mb(10),
        program,
        templates: None,
    };
    let mut words = args.iter();
    while let Some(flag) = words.next() {
        let value = words
            .next()
            .ok_or_else(|| format!("{flag} takes a value\n{USAGE}"))?;
        let bad = || format!("`{value}` is no value of {flag}\n{USAGE}");
        match flag.as_str() {
            "--guests" => {
                options.guests = value
                    .parse()
                    .ok()
                    .filter(|count| (1..=250).contains(count))
                    .ok_or_else(bad)?
            }
            "--start" => options.start = Some(value.parse().map_err(|_| bad())?),
            "--rounds" => {
                options.rounds = value
                    .parse()
                    .ok()
                    .filter(|count| *count >= 1)
                    .ok_or_else(bad)?
            }
            "--kind" => {
                options.kind = [
                    ("container", Kind::Container),
                    ("bare", Kind::Bare),
                    ("vm", Kind::Vm),
                ]
                .into_iter()
                .find(|k| k.0 == value)
                .ok_or_else(bad)?
                .1
            }
            "--size" => options.size = value.parse().map_err(|_| bad())?,
            "--program" => options.program = PathBuf::from(value),
            "--templates" => options.templates = Some(PathBuf::from(value)),
            _ => return Err(USAGE.to_owned()),
        }
    }
    Ok(options)
}

/// Middle value, or the mean of the two middle ones; NaN without any.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match (values.len(), values.get(values.len() / 2)) {
        (0, _) | (_, None) => f64::NAN,
        (n, Some(upper)) if n % 2 == 0 => (values[n / 2 - 1] + upper) / 2.0,
        (_, Some(middle)) => *middle,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(Vec::new()).is_nan());
    }

    #[test]
    fn flags() {
        let parsed = |text: &str| {
            parse(
                &text
                    .split_whitespace()
                    .map(str::to_owned)
                    .collect::<Vec<_>>(),
            )
        };
        let options = parsed("--guests 7 --kind bare --size 1GB").expect("valid");
        assert_eq!(
            (options.guests, options.kind, options.size),
            (7, Kind::Bare, Size::Gb(1))
        );
        assert_eq!(parsed("--kind vm --start 3").expect("valid").kind, Kind::Vm);
        for bad in ["--guests 0", "--guests", "--kind ship", "--speed 9"] {
            assert!(parsed(bad).is_err(), "{bad}");
        }
    }
}
