//! Users of the sample workload: what the driver is told.

use rookery_stack::SampleGuests;
use rookery_study::{Plan, Point, Trial};
use rookery_web::{Script, workloads::sample::SampleScript};

use super::web_users::{Behaviour, Users, config};
use crate::targets::Targets;

/// The load of one trial on guests that serve records.
pub(super) fn load(
    plan: &Plan,
    trial: &Trial,
    point: &Point,
    stack: &SampleGuests,
    targets: &Targets,
) -> Users {
    let wanted = stack.wanted();
    let behaviour = Behaviour {
        script: Script::Sample(SampleScript {
            data: stack.data(),
            list_length: wanted.list_length,
            matrix: wanted.matrix,
        }),
        pacing: wanted.pacing,
        think_time: wanted.think_time,
    };
    Users(config(plan, trial, point, &behaviour, targets))
}
