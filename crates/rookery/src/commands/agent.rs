//! `rookery agent`: the end of a connection that a controller has made.

use std::io;

use rookery_diagnosis::Diagnosis;
use rookery_fleet::{
    Agent, LEASE, LOG_FILE, Lent,
    bus::{self, Bus, NatsBus},
};
use rookery_host::parse_cpu_list;

use crate::{
    cli::AgentArgs,
    exit::{Code, Failure},
    logging, signals,
};

pub(crate) fn run(args: &AgentArgs) -> Result<Code, Failure> {
    let stop = signals::stop_flag()?;
    let unusable = |error: io::Error| {
        let directory = args.directory.display();
        Failure::new(Code::Host, format!("cannot use {directory}: {error}"))
    };
    // Logs are written without following links.
    let directory = args.directory.canonicalize().map_err(unusable)?;
    logging::write_to(&directory.join(LOG_FILE)).map_err(unusable)?;
    let cpus = args.cpus.as_deref().map(|list| {
        parse_cpu_list(list)
            .filter(|cpus| !cpus.is_empty())
            .ok_or_else(|| Failure::new(Code::Usage, format!("`{list}` is no list of CPUs")))
    });
    let stdio = bus::stdio().map_err(unusable)?;
    let bus: Box<dyn Bus> = match args.dial {
        true => Box::new(dialed(&stdio)?),
        false => Box::new(stdio),
    };
    let agent = Agent {
        bus: bus.as_ref(),
        directory,
        lent: Lent {
            cpus: cpus.transpose()?,
            memory_mib: args.memory_mib,
        },
        lease: LEASE,
        stop: &stop,
    };
    let served = agent.serve();
    if let Err(error) = &served {
        tracing::error!(code = error.code(), "{error}");
    }
    served
        .map(|_| Code::Done)
        .map_err(|error| Failure::from_error(Code::Host, &error))
}

fn dialed(stdio: &dyn Bus) -> Result<NatsBus, Failure> {
    rookery_fleet::dial(stdio).map_err(|error| {
        tracing::error!(code = error.code(), "{error}");
        Failure::from_error(Code::Host, &error)
    })
}
