//! Users of the sample workload: what the driver is told.

use rookery_stack::SampleStack;
use rookery_web::{Script, workloads::sample::SampleScript};

use super::{
    LoadRequest,
    web_users::{Behaviour, Users, config},
};

/// The load of one group of a trial on guests that serve records.
pub(super) fn load(request: &LoadRequest<'_>, stack: &dyn SampleStack) -> Users {
    let wanted = stack.wanted();
    let script = |_| {
        Script::Sample(SampleScript {
            data: stack.data(),
            list_length: wanted.list_length,
            matrix: wanted.matrix,
        })
    };
    let behaviour = Behaviour {
        script: &script,
        pacing: wanted.pacing,
        think_time: wanted.think_time,
        think_distribution: wanted.think_distribution,
    };
    Users(config(request, &behaviour))
}
