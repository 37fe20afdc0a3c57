//! What is different for each workload when its trials are conducted: the one list of workloads
//! here.

mod cms;
mod dvdstore;
mod http;
mod netstream;
mod orderentry;
mod sample;
mod sql;
mod web2005;
mod web_users;

use std::time::Duration;

use rookery_driver::{OperationId, Phases};
use rookery_guest::Guest;
use rookery_monitor::{DatabaseLook, Observations};
use rookery_stack::{BuiltStack, DatabaseProbe};
use rookery_stats::Measurement;
use rookery_store::{Store, Tuning};
use rookery_study::{CpuSet, Plan, Point, Study};
use rookery_web::Config;
use rookery_workload::{FoundRow, random::mix};

use crate::{
    error::{Failure, LabError},
    offered::phases,
    targets::Targets,
    trial_load::TrialLoad,
};

pub(crate) use orderentry::Calibration;

/// What the load of one group of a trial follows from.
#[derive(Clone, Copy)]
pub(crate) struct LoadRequest<'a> {
    /// The measured window.
    pub(crate) steady: Duration,
    /// Of every random stream of the group.
    pub(crate) seed: u64,
    pub(crate) study: &'a Study,
    /// The group as a point of its own.
    pub(crate) point: &'a Point,
    /// The whole point, whose users start together.
    pub(crate) whole: &'a Point,
    pub(crate) driver_cpus: &'a CpuSet,
    /// Where its guests are.
    pub(crate) targets: &'a Targets,
}

impl LoadRequest<'_> {
    /// Its phases.
    fn phases(&self) -> Phases {
        phases(&self.study.load, self.whole, self.steady)
    }
}

/// Keeps the streams of the groups of a trial apart.
const GROUP: u64 = 0x726f_6f6b_6572_7904;

/// The seed of a group by its place among those that have users; the first has that of the trial.
pub(crate) fn group_seed(trial: u64, place: usize) -> u64 {
    match place {
        0 => trial,
        place => mix(mix(trial ^ GROUP).wrapping_add(place as u64)),
    }
}

/// The load of one group of a trial.
pub(crate) fn load(request: &LoadRequest<'_>, stack: &BuiltStack) -> Box<dyn TrialLoad> {
    match stack {
        BuiltStack::Dvdstore(stack, wanted) => {
            Box::new(dvdstore::load(request, stack.as_ref(), wanted))
        }
        BuiltStack::Orderentry(stack) => Box::new(orderentry::load(request, stack.as_ref())),
        BuiltStack::Http(_, wanted) => Box::new(http::load(request, wanted)),
        BuiltStack::Sql(stack) => Box::new(sql::load(request, stack.as_ref())),
        BuiltStack::Web2005(_, wanted, dataset) => {
            Box::new(web2005::load(request, wanted, *dataset))
        }
        BuiltStack::Cms(_, wanted, data) => Box::new(cms::load(request, wanted, *data)),
        BuiltStack::Netstream(stack) => netstream::load(request, stack.as_ref()),
        BuiltStack::Sample(stack) => Box::new(sample::load(request, stack.as_ref())),
    }
}

/// The load of one trial on a system that is computed.
pub(crate) struct ComputedLoad {
    /// What the users do.
    pub(crate) config: Config,
    /// Requests in a unit of work, on average.
    pub(crate) requests_per_unit: f64,
    /// The request by which a unit of work is stored.
    pub(crate) commits: OperationId,
}

/// The load of one trial on a system that is computed.
///
/// # Errors
/// When no system is computed for the workload of the point.
pub(crate) fn computed_load(request: &LoadRequest<'_>) -> Result<ComputedLoad, LabError> {
    dvdstore::computed_load(request)
}

/// What the audit of such a system finds: its orders.
pub(crate) fn computed_row(orders: u64) -> FoundRow {
    dvdstore::computed_row(orders)
}

/// The databases behind the guests that are asked about themselves beside the load.
pub(crate) fn probes(stack: &BuiltStack, guests: &[Box<dyn Guest>]) -> Vec<DatabaseProbe> {
    match stack {
        BuiltStack::Dvdstore(..)
        | BuiltStack::Http(..)
        | BuiltStack::Sql(_)
        | BuiltStack::Web2005(..)
        | BuiltStack::Cms(..)
        | BuiltStack::Netstream(_)
        | BuiltStack::Sample(_) => Vec::new(),
        BuiltStack::Orderentry(stack) => guests
            .iter()
            .map(|guest| stack.probe(guest.as_ref()))
            .collect(),
    }
}

/// Put what was seen beside the load beside the counters of its guests: what databases said of
/// themselves, and CPU time where the workload counts it. The first database that said nothing,
/// with its guest and why. `partners` are the names of the guests that those of the measurement
/// call; `received_bytes` is what all groups of the trial received ([`received_bytes`]).
pub(crate) fn attach(
    stack: &BuiltStack,
    measurement: &mut Measurement,
    partners: &[String],
    received_bytes: f64,
    looks: &[DatabaseLook],
    seen: &Observations,
) -> Option<String> {
    match stack {
        BuiltStack::Dvdstore(..)
        | BuiltStack::Http(..)
        | BuiltStack::Sql(_)
        | BuiltStack::Web2005(..)
        | BuiltStack::Cms(..)
        | BuiltStack::Sample(_) => None,
        BuiltStack::Netstream(_) => {
            netstream::attach(measurement, partners, received_bytes, seen);
            None
        }
        BuiltStack::Orderentry(stack) => orderentry::attach(stack.as_ref(), measurement, looks),
    }
}

/// What guests received of workloads whose cost is told for each byte.
pub(crate) fn received_bytes(measurement: &Measurement) -> f64 {
    netstream::received_bytes(measurement)
}

/// The row among the settings of a trial that says why a database did not report its buffers.
pub(crate) fn silent_tuning(reason: &str) -> Tuning {
    orderentry::silent_tuning(reason)
}

/// What must be found by trials without a record before the first trial of a point; nothing for
/// most.
///
/// # Errors
/// When the store cannot be read, or nothing of the kind can be found on the stack.
pub(crate) fn calibration(
    plan: &Plan,
    point: &Point,
    study: &Study,
    stack: &BuiltStack,
    store: &Store,
) -> Result<Option<Calibration>, Failure> {
    match stack {
        BuiltStack::Dvdstore(..)
        | BuiltStack::Http(..)
        | BuiltStack::Sql(_)
        | BuiltStack::Web2005(..)
        | BuiltStack::Cms(..)
        | BuiltStack::Netstream(_)
        | BuiltStack::Sample(_) => Ok(None),
        BuiltStack::Orderentry(stack) => {
            Calibration::new(plan, point, study, stack.as_ref(), store)
        }
    }
}
