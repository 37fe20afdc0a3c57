//! `rookery supervise`: process 1 of a container guest, and the first process of a bare one.

use rookery_stack::supervise::{self, SuperviseError};

use crate::{
    cli::SuperviseArgs,
    exit::{Code, Failure},
};

pub(crate) fn run(args: &SuperviseArgs) -> Result<Code, Failure> {
    let code = |error: &SuperviseError| match error {
        SuperviseError::Services(_) => Code::Usage,
        SuperviseError::Namespace { .. } => Code::Host,
        SuperviseError::System { .. } | SuperviseError::Service { .. } => Code::Guest,
    };
    supervise::run(&args.services)
        .map(|()| Code::Done)
        .map_err(|error| Failure::from_error(code(&error), &error))
}
