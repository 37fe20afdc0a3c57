//! `rookery vm-agent`: the service inside a virtual machine.

use crate::exit::{Code, Failure};

pub(crate) fn run() -> Result<Code, Failure> {
    rookery_guest::vm_agent()
        .map(|()| Code::Done)
        .map_err(|error| Failure::from_error(Code::Guest, &error))
}
