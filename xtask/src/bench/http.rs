//! What users of workload files cost: CPU per request against `wrk` and `h2load`, and CPU and
//! memory against `k6` and `locust` with the same five operations; how late users are when there
//! are many.
//!
//! nginx is on CPU 0, the client on CPU 1. Clients are interleaved in random order, because a
//! machine drifts; ratios are worth quoting. A peer that is not installed is said and left out.

mod client;
mod load;
mod peers;
mod scripts;

use std::time::Duration;

use self::{
    load::{Site, What},
    peers::Peer,
};
use super::{
    driver::{nginx::Nginx, quartiles},
    lamp::shuffle,
};

const USAGE: &str = "usage: cargo xtask bench http [--repeats N] [--seconds S]";
/// Connections of every client.
const CONNECTIONS: u32 = 64;
/// Users of the smaller and of the larger population whose memory is compared.
const POPULATIONS: [u32; 2] = [20, 220];
/// The same of users with a long pause: few of them load their page at a time.
const PAUSING_POPULATIONS: [u32; 2] = [100, 1_100];
/// Users whose punctuality is measured, and their pause.
const MANY_USERS: u32 = 10_000;
const LONG_PAUSE_S: u64 = 10;

/// Run `bench http`.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    // The benchmark starts itself again as the process whose CPU time and memory are measured.
    if let ["client", file] = words[..] {
        return client::run(file);
    }
    let (mut repeats, mut seconds) = (5, 3);
    for option in words.chunks(2) {
        let number = |text: &str| {
            text.parse()
                .map_err(|_| format!("`{text}` is no number\n{USAGE}"))
        };
        match option {
            ["--repeats", text] => repeats = number(text)?,
            ["--seconds", text] => seconds = number(text)?,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let nginx = Nginx::with_tls(&load::PAGES.map(|(name, bytes)| (name, load::page(bytes))))?;
    say(&format!(
        "nginx (1 process, CPU 0), {CONNECTIONS} users or connections on CPU 1, {repeats} repeats \
         of {seconds} s in random order"
    ))?;
    for comparison in COMPARISONS {
        compare(&nginx, comparison, repeats, seconds)?;
    }
    memory(&nginx, seconds)?;
    lag(&nginx)
}

/// A load of ours beside those of others.
struct Comparison {
    name: &'static str,
    ours: What,
    peers: &'static [Peer],
}

const COMPARISONS: [Comparison; 4] = [
    Comparison {
        name: "1 KB, matrix, captures, checks",
        ours: What::Matrix("/1k", Site::Plain),
        peers: &[Peer::Wrk("/1k", Site::Plain)],
    },
    Comparison {
        name: "30 KB, matrix, captures, checks",
        ours: What::Matrix("/30k", Site::Plain),
        peers: &[Peer::Wrk("/30k", Site::Plain)],
    },
    Comparison {
        name: "1 KB over TLS",
        ours: What::Matrix("/1k", Site::Tls),
        peers: &[Peer::Wrk("/1k", Site::Tls), Peer::H2load("/1k")],
    },
    Comparison {
        name: "five operations with captures",
        ours: What::Five,
        peers: &[Peer::K6, Peer::Locust],
    },
];

/// CPU per request of ours and of the peers that are installed, us.
fn compare(
    nginx: &Nginx,
    comparison: Comparison,
    repeats: u32,
    seconds: u32,
) -> Result<(), String> {
    let mut costs: Vec<(Option<Peer>, Vec<f64>)> = vec![(None, Vec::new())];
    for peer in comparison.peers {
        if peer.is_installed() {
            costs.push((Some(*peer), Vec::new()));
        } else {
            say(&format!("{}: {}", comparison.name, peer.missing()))?;
        }
    }
    for _ in 0..repeats {
        let mut order: Vec<usize> = (0..costs.len()).collect();
        shuffle(&mut order);
        for index in order {
            let cost = match costs[index].0 {
                None => client::cost(nginx, comparison.ours, CONNECTIONS, seconds)?,
                Some(peer) => peer.cost(nginx, CONNECTIONS, seconds)?,
            };
            costs[index].1.push(cost);
        }
    }
    let mut ours = f64::NAN;
    for (peer, costs) in &mut costs {
        let [low, middle, high] = quartiles(costs);
        let name = peer.map_or("rookery", |peer| peer.name());
        let ratio = match peer {
            None => {
                ours = middle;
                String::new()
            }
            Some(_) => format!(", rookery takes {:.3} of it", ours / middle),
        };
        say(&format!(
            "{}: {name} {middle:.2} CPU us/request (quartiles {low:.2} to {high:.2}){ratio}",
            comparison.name
        ))?;
    }
    Ok(())
}

/// Memory of a further user: of ours and of the peers in the five operations with a second of
/// pause, of ours with a cookie and a cache of 50 objects with a long pause.
fn memory(nginx: &Nginx, seconds: u32) -> Result<(), String> {
    let [few, many] = POPULATIONS;
    let per_user = |few_kib: f64, many_kib: f64| (many_kib - few_kib) / f64::from(many - few);
    let time = Duration::from_secs(seconds.max(3).into());
    let of_ours = |what, [few, many]: [u32; 2], pause_s| {
        let pause = Duration::from_secs(pause_s);
        let few_kib = client::resident_kib(nginx, what, few, pause)?;
        let many_kib = client::resident_kib(nginx, what, many, pause)?;
        Ok::<f64, String>((many_kib - few_kib) / f64::from(many - few))
    };
    let ours = of_ours(What::Five, POPULATIONS, 1)?;
    say(&format!("memory of a further user: rookery {ours:.1} KiB"))?;
    say(&format!(
        "memory of a further user with a session and a cache of 50 objects: rookery {:.1} KiB",
        of_ours(What::Cached, PAUSING_POPULATIONS, LONG_PAUSE_S)?
    ))?;
    for peer in [Peer::K6, Peer::Locust] {
        if !peer.is_installed() {
            say(&format!("memory of a further user: {}", peer.missing()))?;
            continue;
        }
        let theirs = per_user(
            peer.peak_kib(nginx, few, time)?,
            peer.peak_kib(nginx, many, time)?,
        );
        say(&format!(
            "memory of a further user: {} {theirs:.1} KiB, rookery takes {:.4} of it",
            peer.name(),
            ours / theirs
        ))?;
    }
    Ok(())
}

/// Many users with a long pause on one CPU.
fn lag(nginx: &Nginx) -> Result<(), String> {
    let found = client::lag(nginx, MANY_USERS, LONG_PAUSE_S, 20)?;
    say(&format!(
        "{MANY_USERS} users with a pause of {LONG_PAUSE_S} s on one CPU: {:.0} requests/s, the \
         99th percentile of lag is {:.2} ms, the driver uses {:.0} % of the CPU",
        found.requests_per_s,
        found.p99_ms,
        100.0 * found.cpu_share
    ))
}

/// Print one line of the result.
fn say(line: &str) -> Result<(), String> {
    use std::io::Write;
    writeln!(std::io::stdout(), "{line}")
        .map_err(|error| format!("cannot write to standard output: {error}"))
}
