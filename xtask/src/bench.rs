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

use crate::root;

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
/// that guests run included. What was built is run as it is: `cargo run` of one package alone would
/// build it again with the features of that package.
fn run_optimised(what: &str, args: &[String]) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let packages = ["--package", "rookery", "--package", "xtask"];
    let build = ["build", "--release", "--quiet", "--locked"];
    succeed(Command::new(cargo).args(build).args(packages))?;
    let optimised = root::target().join("release/xtask");
    succeed(Command::new(optimised).args(["bench", what]).args(args))
}

fn succeed(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err("the measurement failed, see above".to_owned()),
        Err(error) => Err(format!("cannot run {command:?}: {error}")),
    }
}
