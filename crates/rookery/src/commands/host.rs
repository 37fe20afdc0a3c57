//! `rookery host`: this machine as Rookery sees it.

use std::path::Path;

use crate::{
    cli::HostArgs,
    exit::{Code, Failure},
    output,
};

pub(crate) fn run(args: &HostArgs) -> Result<Code, Failure> {
    let host = rookery_lab::describe_host(Path::new("."))?;
    if args.json {
        return output::json(&host);
    }
    let facts = &host.facts;
    let cpus: Vec<String> = facts.cpus.iter().map(u32::to_string).collect();
    output::result(format!("host      {} ({})", host.hostname, host.kernel));
    output::result(format!("CPUs      {} ({})", cpus.join(","), host.cpu_model));
    output::result(format!("memory    {} MiB", facts.memory_mib));
    output::result(format!("disk      {} MiB free here", facts.disk_free_mib));
    output::result(format!("root      {}", if facts.root { "yes" } else { "no: bare guests only" }));
    for (name, version) in &host.versions {
        output::result(format!("{name:9} {version}"));
    }
    Ok(Code::Done)
}
