//! Users that a workload file describes: what the driver is told.

use rookery_study::HttpUse;
use rookery_web::{
    Script,
    workloads::http::{HttpScript, SiteName},
};
use rookery_workload::DelayDistribution;

use super::{
    LoadRequest,
    web_users::{Behaviour, Users, config},
};

/// The load of one group of a trial on guests that answer over HTTP.
pub(super) fn load(request: &LoadRequest<'_>, wanted: &HttpUse) -> Users {
    let script = |address| {
        Script::Http(Box::new(HttpScript {
            workload: wanted.workload.clone(),
            site: SiteName::at(address),
        }))
    };
    let behaviour = Behaviour {
        script: &script,
        pacing: wanted.pacing,
        // Each operation has its own pause; this one spreads the first operations of users.
        think_time: wanted.workload.mean_delay(),
        think_distribution: DelayDistribution::Constant,
    };
    Users(config(request, &behaviour))
}
