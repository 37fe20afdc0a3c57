//! What drivers cost: CPU per request against `wrk`, CPU per transaction against `sysbench` and
//! `pgbench`, and 10 000 thinking users on one core.
//!
//! Everything runs on 127.0.0.1: nginx on CPU 0, the client on CPU 1. Clients are interleaved in
//! random order, because a machine drifts; ratios are worth quoting, absolute numbers are of this
//! machine only.

pub(super) mod client;
mod databases;
mod library;
mod mix;
pub(super) mod nginx;
mod ratio;
mod statements;
mod users;

pub(super) use self::ratio::quartiles;

/// CPU of the server and CPU of the client.
const SERVER_CPU: u32 = 0;
pub(super) const CLIENT_CPU: u32 = 1;

const USAGE: &str = "usage: cargo xtask bench driver [--repeats N] [--seconds S]
       cargo xtask bench driver http|databases [--repeats N] [--seconds S]
       cargo xtask bench driver users [--users N]";

/// Run `bench driver`.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        // The benchmark starts itself again as the process whose CPU time and memory are measured.
        ["client", rest @ ..] => client::run(rest),
        ["users"] => users::run(10_000),
        ["users", "--users", number] => users::run(parse(number)?),
        ["statements", rest @ ..] => statements::run(rest),
        ["http", options @ ..] => {
            let (repeats, seconds) = repeats_and_seconds(options)?;
            ratio::run(repeats, seconds)
        }
        ["databases", options @ ..] => {
            let (repeats, seconds) = repeats_and_seconds(options)?;
            databases::run(repeats, seconds)
        }
        options => {
            let (repeats, seconds) = repeats_and_seconds(options)?;
            ratio::run(repeats, seconds)?;
            databases::run(repeats, seconds)
        }
    }
}

fn repeats_and_seconds(options: &[&str]) -> Result<(u32, u32), String> {
    let (mut repeats, mut seconds) = (10, 3);
    for option in options.chunks(2) {
        match option {
            ["--repeats", number] => repeats = parse(number)?,
            ["--seconds", number] => seconds = parse(number)?,
            _ => return Err(USAGE.to_owned()),
        }
    }
    Ok((repeats, seconds))
}

fn parse(number: &str) -> Result<u32, String> {
    number
        .parse()
        .map_err(|_| format!("`{number}` is not a whole number\n{USAGE}"))
}

/// Print one line of the result.
fn say(line: &str) -> Result<(), String> {
    use std::io::Write;
    writeln!(std::io::stdout(), "{line}")
        .map_err(|error| format!("cannot write to standard output: {error}"))
}
