//! What the PHP pages cost: requests per second of login and browse against minimal pages that do
//! the same queries.
//!
//! Apache (prefork, `mod_php`, OPcache) and MariaDB share one processor, `wrk` has another; pages
//! take turns in random order.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    ops::ControlFlow,
    process::Command,
    time::Duration,
};

use rookery_stack::{
    lamp::{self, HEALTH_PATH, Options, load, settle},
    tuning::{Family, Tuned},
};
use rookery_study::Variables;
use rookery_workload::dvdstore::{PageSite, Search, Size, WordLists};

use super::lamp::{Place, median, say, shuffle, software};

const USAGE: &str = "usage: cargo xtask bench pages [--repeats N] [--seconds S]";
const ADDRESS: &str = "127.77.200.2:8080";
/// Keep-alive connections: enough that Apache never waits, few enough that each has a process.
const CONNECTIONS: u32 = 4;
const SERVER_CPU: u32 = 0;
const CLIENT_CPU: u32 = 1;
/// Requests of a page that take turns.
const REQUESTS: u32 = 300;

/// Page of the shop, and the minimal one with the same queries.
const PAGES: [(&str, &str, &str); 2] = [
    (
        "dslogin.php",
        "login.php",
        include_str!("../../../stacks/lamp/bench/login.php"),
    ),
    (
        "dsbrowse.php",
        "browse.php",
        include_str!("../../../stacks/lamp/bench/browse.php"),
    ),
];

/// Run `bench pages`.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (mut repeats, mut seconds) = (10, 3);
    for option in args.chunks(2) {
        match option {
            [name, value] if name == "--repeats" => repeats = number(value)?,
            [name, value] if name == "--seconds" => seconds = number(value)?,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let (software, place) = (software()?, Place::new()?);
    fill(&place, &software)?;
    let variables = Variables {
        vcpus: 1.0,
        memory_bytes: 1e9,
        users: f64::from(CONNECTIONS),
        guests: 1.0,
        callers: 1.0,
    };
    let tuned = Tuned::evaluate(Family::Lamp, "modern", &[], &variables)
        .map_err(|error| error.to_string())?;
    for (_, minimal, text) in PAGES {
        place.write(&format!("htdocs/bench/{minimal}"), text)?;
    }
    let mut server = place.start(
        &lamp::guest(&software, &tuned, &Options::default()),
        ADDRESS,
        Some(SERVER_CPU),
    )?;
    server.wait(|| (status(HEALTH_PATH)? == 200).then_some(()))?;
    say(&format!(
        "prefork, mod_php, OPcache and MariaDB on CPU {SERVER_CPU}; wrk with {CONNECTIONS} \
         connections on CPU {CLIENT_CPU}; {repeats} repeats of {seconds} s in random order"
    ))?;
    let mut rates = [const { Vec::new() }; 4];
    for repeat in 0..=repeats {
        let mut order = [0, 1, 2, 3];
        shuffle(&mut order);
        for at in order {
            let (page, minimal, _) = PAGES[at / 2];
            let path = if at % 2 == 0 {
                format!("/ds2/{page}")
            } else {
                format!("/bench/{minimal}")
            };
            let rate = wrk(&place, at / 2, &path, seconds)?;
            // The first round fills caches.
            if repeat > 0 {
                rates[at].push(rate);
            }
        }
    }
    for (at, (page, minimal, _)) in PAGES.iter().enumerate() {
        let (ours, peer) = (median(&rates[2 * at]), median(&rates[2 * at + 1]));
        say(&format!(
            "{page:<13} {ours:7.0} requests/s; minimal {minimal:<10} {peer:7.0}; ratio {:.3} (must \
             be at least 0.9)",
            ours / peer
        ))?;
    }
    Ok(())
}

fn number(text: &str) -> Result<u32, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is not a whole number\n{USAGE}"))
}

/// A database of 10 MB.
fn fill(place: &Place, software: &lamp::Software) -> Result<(), String> {
    let mut server = place.start(&lamp::builder(software), ADDRESS, None)?;
    let mut database = server.wait(|| place.database().ok())?;
    load(&mut database, Size::Mb(10), WordLists::own(), 2, &|_| {
        ControlFlow::Continue(())
    })
    .map_err(|error| error.to_string())?;
    settle(&mut database).map_err(|error| error.to_string())
}

/// Status of a page; `None` when nobody answers.
fn status(path: &str) -> Option<u16> {
    let mut stream = TcpStream::connect(ADDRESS).ok()?;
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: guest\r\n\r\n").ok()?;
    let mut text = Vec::new();
    stream.read_to_end(&mut text).ok()?;
    String::from_utf8_lossy(&text)
        .split(' ')
        .nth(1)?
        .parse()
        .ok()
}

/// The queries of a page, the same in every run: logins of the first customers, searches of all
/// three kinds.
fn queries(page: usize) -> Vec<String> {
    let site = PageSite {
        directory: "",
        page_type: "php",
    };
    let words = WordLists::own();
    let word = |list: &[String], at: u32| list[at as usize % list.len()].clone();
    let query = |at: u32| {
        let mut target = Vec::new();
        if page == 0 {
            site.login(
                &mut target,
                &format!("user{}", 1 + 61 * at % 20_000),
                "password",
            );
        } else {
            let (first, second) = (word(&words.titles, 7 * at), word(&words.titles, 13 * at));
            let (given, family) = (
                word(&words.first_names, at),
                word(&words.last_names, 3 * at),
            );
            let search = match at % 3 {
                0 => Search::Category(1 + (at % 16) as u8),
                1 => Search::Actor {
                    first: &given,
                    last: &family,
                },
                _ => Search::Title {
                    first: &first,
                    second: &second,
                },
            };
            site.browse(&mut target, &search, 1 + at % 9, 1 + u64::from(at));
        }
        let target = String::from_utf8_lossy(&target).into_owned();
        target
            .split_once('?')
            .map_or(String::new(), |(_, query)| query.to_owned())
    };
    (0..REQUESTS).map(query).collect()
}

/// Requests per second of `path`.
fn wrk(place: &Place, page: usize, path: &str, seconds: u32) -> Result<f64, String> {
    let targets: Vec<String> = queries(page)
        .iter()
        .map(|query| format!("  \"{path}?{query}\","))
        .collect();
    let script = format!(
        "local targets = {{\n{}\n}}\nlocal at = 0\nrequest = function()\n  at = at % #targets + \
         1\n  return wrk.format(\"GET\", targets[at])\nend\n",
        targets.join("\n")
    );
    place.write("wrk.lua", &script)?;
    let output = Command::new("taskset")
        .args(["-c", &CLIENT_CPU.to_string(), "wrk", "-t1"])
        .args([
            format!("-c{CONNECTIONS}"),
            format!("-d{seconds}"),
            "-s".to_owned(),
        ])
        .arg(place.path().join("conf/wrk.lua"))
        .arg(format!("http://{ADDRESS}"))
        .output()
        .map_err(|error| {
            format!("cannot start wrk ({error}); install the packages wrk and util-linux")
        })?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || text.contains("Non-2xx") || text.contains("Socket errors") {
        return Err(format!(
            "requests of {path} failed:\n{text}{}",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    let rate = text
        .lines()
        .find_map(|line| line.strip_prefix("Requests/sec:")?.trim().parse().ok());
    rate.ok_or_else(|| format!("wrk told no rate:\n{text}"))
}
