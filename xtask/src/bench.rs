//! Benchmarks that print ratios against a peer measured in the same run.

/// Run the benchmark `what`.
pub(crate) fn run(what: &str, args: &[String]) -> Result<(), String> {
    let _ = args;
    Err(format!("no benchmark is called `{what}`"))
}
