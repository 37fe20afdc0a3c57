//! Users of a DVD Store: what the driver is told, and what must be in the database afterwards.

use std::{sync::atomic::AtomicBool, time::Instant};

use rookery_driver::{Phases, Progress};
use rookery_stack::DvdstoreStack;
use rookery_stats::Measurement;
use rookery_study::{DvdstoreUse, Plan, Point, PointData, Trial, Workload};
use rookery_web::{
    Assignment, Config, Limits, Script,
    workloads::dvdstore::{DvdstoreScript, PURCHASE, SearchWords},
};
use rookery_workload::{
    FoundRow,
    dvdstore::{NEW_ORDERS, ShopperParams, Size},
};

use super::{ComputedLoad, TrialLoad};
use crate::{
    error::{Failure, LabError},
    offered::{driver_load, phases},
    targets::Targets,
};

/// URL directory of the pages of systems that have none.
const COMPUTED_DIRECTORY: &str = "ds2";

/// Users of web shops.
pub(super) struct Users(Config);

impl TrialLoad for Users {
    fn cpus(&self) -> &[u32] {
        &self.0.cpus
    }

    fn phases(&self) -> &Phases {
        &self.0.phases
    }

    fn drive(
        &self,
        start: &(dyn Fn() -> Instant + Sync),
        stop: &AtomicBool,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Measurement, Failure> {
        let measured = rookery_web::run(&self.0, start(), stop, progress);
        Ok(measured.map_err(LabError::Driver)?)
    }
}

/// The load of one trial on guests that serve a shop.
pub(super) fn load(
    plan: &Plan,
    trial: &Trial,
    point: &Point,
    stack: &dyn DvdstoreStack,
    targets: &Targets,
) -> Users {
    let shop = Shop {
        wanted: stack.wanted(),
        size: stack.size(),
        directory: stack.directory(),
    };
    Users(config(plan, trial, point, &shop, targets))
}

/// The load of one trial on a system that is computed.
///
/// # Errors
/// When the point has another workload: the grammar gives simulated systems no other, but a stored
/// plan may come from anywhere.
pub(super) fn computed_load(
    plan: &Plan,
    trial: &Trial,
    point: &Point,
    targets: &Targets,
) -> Result<ComputedLoad, LabError> {
    let (Workload::Dvdstore(wanted), PointData::Dvdstore(size)) =
        (&plan.study_of(point).workload, point.only_group().database)
    else {
        return Err(LabError::NotSimulated);
    };
    let shop = Shop {
        wanted,
        size,
        directory: COMPUTED_DIRECTORY,
    };
    Ok(ComputedLoad {
        config: config(plan, trial, point, &shop, targets),
        requests_per_unit: f64::from(wanted.searches) + 2.0,
        commits: PURCHASE,
    })
}

/// What the audit of a computed system finds: its orders.
pub(super) fn computed_row(orders: u64) -> FoundRow {
    FoundRow::new(NEW_ORDERS, orders)
}

/// The shop of each guest.
struct Shop<'a> {
    wanted: &'a DvdstoreUse,
    size: Size,
    directory: &'a str,
}

fn config(plan: &Plan, trial: &Trial, point: &Point, shop: &Shop<'_>, targets: &Targets) -> Config {
    let load = &plan.study_of(point).load;
    let wanted = shop.wanted;
    let shopper = ShopperParams {
        size: shop.size,
        new_customers: wanted.new_customers,
        searches: wanted.searches,
        search_batch: wanted.search_batch,
        line_items: wanted.line_items,
    };
    let assignments = targets
        .guests
        .iter()
        .zip(point.each_guest())
        .map(|(target, planned)| Assignment {
            guest: target.name.clone(),
            target: target.address,
            users: planned.users(),
            script: Script::Dvdstore(DvdstoreScript {
                directory: shop.directory.to_owned(),
                page_type: "php".to_owned(),
                shopper,
                words: SearchWords::BuiltIn,
            }),
        });
    Config {
        assignments: assignments.collect(),
        network: targets.network.clone(),
        cpus: plan.driver_cpus.clone(),
        phases: phases(load, trial.purpose),
        load: driver_load(load, point),
        pacing: wanted.pacing,
        think_time: wanted.think_time,
        timeout: load.timeout,
        limits: Limits::default(),
        seed: trial.seed,
        // This run made them, wherever the study plugged them in.
        confirmed_targets: targets.guests.iter().map(|target| target.address).collect(),
    }
}
