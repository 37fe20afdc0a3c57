//! Benchmarks that print ratios against a peer measured in the same run.

mod data;
mod driver;
mod fleet;
mod guests;
mod http;
mod isolation;
mod lamp;
mod live;
mod load;
mod mva;
mod network;
mod open;
mod pages;
mod servers;
mod simulate;
mod web2005;

use std::process::Command;

/// Run the benchmark `what`, in an optimised build.
pub(crate) fn run(what: &str, args: &[String]) -> Result<(), String> {
    if cfg!(debug_assertions) {
        return run_optimised(what, args);
    }
    match what {
        "data" => data::run(args),
        "driver" => driver::run(args),
        "fleet" => fleet::run(args),
        "guests" => guests::run(args),
        "http" => http::run(args),
        "isolation" => isolation::run(args),
        "live" => live::run(args),
        "load" => load::run(args),
        "mva" => mva::run(args),
        "network" => network::run(args),
        "open" => open::run(args),
        "pages" => pages::run(args),
        "simulate" => simulate::run(args),
        "web2005" => web2005::run(args),
        _ => Err(format!(
            "no benchmark is called `{what}`; there are data, driver, fleet, guests, http, isolation, \
             live, load, mva, network, open, pages, simulate and web2005"
        )),
    }
}

/// `cargo xtask` builds for quick starts; what is measured must be built for speed, the program
/// that guests run included.
fn run_optimised(what: &str, args: &[String]) -> Result<(), String> {
    let cargo = |words: &[&str], more: &[String]| {
        let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(words)
            .args(more)
            .status();
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => Err("the measurement failed, see above".to_owned()),
            Err(error) => Err(format!("cannot run cargo for an optimised build: {error}")),
        }
    };
    cargo(
        &[
            "build",
            "--release",
            "--quiet",
            "--package",
            "rookery",
            "--package",
            "xtask",
        ],
        &[],
    )?;
    cargo(
        &[
            "run",
            "--release",
            "--quiet",
            "--package",
            "xtask",
            "--",
            "bench",
            what,
        ],
        args,
    )
}
