//! `rookery vm-agent`: the service inside a virtual machine.

use crate::exit::{Code, Failure};

pub(crate) fn run() -> Result<Code, Failure> {
    rookery_guest::vm_agent()
        .map(|()| Code::Done)
        .map_err(|error| {
            Failure::new(Code::Guest, error)
                .help("only the system of a virtual machine starts this")
        })
}
