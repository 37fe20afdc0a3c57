//! Speed of the simulator on one core: events per second for few and for very many users.
//!
//! Numbers are of this machine only. The goal is 10 million events/s up to 1000 users: a search
//! over a model plays millions of transactions for each answer.

use std::{fs, time::Instant};

use rookery_model::{
    queue::Capacity,
    simulate::{Discipline, Network, Population, SimulatedStation, Times, simulate},
};

/// Populations that are played.
const USERS: [u32; 4] = [10, 80, 1_000, 200_000];
/// Transactions of one measurement; each is three events.
const TRANSACTIONS: u64 = 2_000_000;
/// The goal, and up to how many users it holds.
const GOAL: (f64, u32) = (10e6, 1_000);

const USAGE: &str = "usage: cargo xtask bench simulate [--repeats N]";

/// Run `bench simulate`.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let repeats: usize = match words.as_slice() {
        [] => 5,
        ["--repeats", number] => number
            .parse()
            .map_err(|_| format!("`{number}` is not a whole number\n{USAGE}"))?,
        _ => return Err(USAGE.to_owned()),
    };
    println!(
        "Simulator, one core of {}: million events/s, median of {repeats}",
        machine()
    );
    println!(
        "Two stations of 100 and 150 ms behind exponential think times; 90 % = the busier one is \
         busy for 90 %, full = think time 4 s"
    );
    println!(
        "{:>8}  {:>12}{:>12}{:>12}{:>12}",
        "users", "queue 90 %", "shared 90 %", "queue full", "shared full"
    );
    let mut missed = Vec::new();
    for users in USERS {
        let relaxed = f64::from(users) * 0.15 / 0.9;
        let mut cells = String::new();
        for think in [relaxed, 4.0] {
            for shared in [false, true] {
                let speed = median(repeats, &network(users, think, shared))?;
                if users <= GOAL.1 && speed < GOAL.0 {
                    missed.push(format!("{users} users at {:.1}", speed / 1e6));
                }
                cells.push_str(&format!("{:>12.1}", speed / 1e6));
            }
        }
        println!("{users:>8}  {cells}");
    }
    if missed.is_empty() {
        println!(
            "Goal of {:.0} million events/s up to {} users: kept",
            GOAL.0 / 1e6,
            GOAL.1
        );
    } else {
        println!(
            "Goal of {:.0} million events/s up to {} users: missed by {}",
            GOAL.0 / 1e6,
            GOAL.1,
            missed.join(", ")
        );
    }
    Ok(())
}

fn network(users: u32, think: f64, shared: bool) -> Network {
    let station = |service: f64| SimulatedStation {
        service,
        times: Times::Exponential,
        discipline: if shared {
            Discipline::Shared(Capacity::Servers(1))
        } else {
            Discipline::FirstCome { servers: 1 }
        },
    };
    Network {
        population: Population::Closed {
            users,
            think,
            times: Times::Exponential,
        },
        stations: vec![station(0.1), station(0.15)],
    }
}

/// Events per second, the middle of several seeds.
fn median(repeats: usize, network: &Network) -> Result<f64, String> {
    let mut speeds = Vec::new();
    for seed in 0..repeats.max(1) as u64 {
        let start = Instant::now();
        let outcome =
            simulate(network, seed, 0, 0, TRANSACTIONS).map_err(|error| error.to_string())?;
        speeds.push(outcome.events as f64 / start.elapsed().as_secs_f64());
    }
    speeds.sort_by(f64::total_cmp);
    Ok(speeds[speeds.len() / 2])
}

/// The processor's name.
fn machine() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(
        || "an unknown processor".to_owned(),
        |(_, name)| name.trim().to_owned(),
    )
}
