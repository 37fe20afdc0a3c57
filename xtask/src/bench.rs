//! Benchmarks that print ratios against a peer measured in the same run.

mod data;
mod driver;
mod guests;

/// Run the benchmark `what`.
pub(crate) fn run(what: &str, args: &[String]) -> Result<(), String> {
    match what {
        "data" => data::run(args),
        "driver" => driver::run(args),
        "guests" => guests::run(args),
        _ => Err(format!("no benchmark is called `{what}`; there are data, driver and guests")),
    }
}
