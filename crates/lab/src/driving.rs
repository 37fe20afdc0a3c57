//! What the driver is told: the load of a trial, in its words.

use std::{borrow::Cow, net::SocketAddr, path::Path, time::Duration};

use rookery_driver::{Assignment, Config, Limits, Phases, Script};
use rookery_guest::{Guest, Lab};
use rookery_study::{Plan, Point, Purpose, Trial};
use rookery_workload::dvdstore::{ShopperParams, Size, WordLists};

use crate::{offered::driver_load, stack::Stack};

/// Where the guests of a trial are.
pub(crate) struct Ground<'a> {
    /// URL directory of the pages.
    pub(crate) directory: &'a str,
    pub(crate) network: Option<&'a Path>,
    /// Name and address of each.
    pub(crate) guests: Vec<(String, SocketAddr)>,
}

impl<'a> Ground<'a> {
    /// Where these guests are.
    pub(crate) fn of(stack: &'a dyn Stack, lab: &'a dyn Lab, guests: &[Box<dyn Guest>]) -> Self {
        Self {
            directory: stack.directory(),
            network: lab.network(),
            guests: guests
                .iter()
                .map(|guest| (guest.name().to_owned(), guest.address()))
                .collect(),
        }
    }
}

/// The load of one trial of `point`, whose guests have a DVD Store of `size`.
pub(crate) fn config(
    plan: &Plan,
    trial: &Trial,
    point: &Point,
    size: Size,
    ground: &Ground<'_>,
) -> Config {
    let study = plan.study_of(point);
    let (workload, load) = (&study.workload, &study.load);
    let shopper = ShopperParams {
        size,
        new_customers: workload.new_customers,
        searches: workload.searches,
        search_batch: workload.search_batch,
        line_items: workload.line_items,
    };
    let assignments = ground
        .guests
        .iter()
        .zip(&point.users)
        .map(|((guest, address), users)| Assignment {
            guest: guest.clone(),
            target: *address,
            users: *users,
            script: Script::DvdStore {
                directory: ground.directory.to_owned(),
                page_type: "php".to_owned(),
                shopper,
            },
        });
    Config {
        assignments: assignments.collect(),
        network: ground.network.map(Path::to_owned),
        cpus: plan.driver_cpus.clone(),
        phases: phases(load, trial.purpose),
        load: driver_load(load, point),
        pacing: workload.pacing,
        think_time: workload.think_time,
        timeout: load.timeout,
        limits: Limits::default(),
        words: Cow::Borrowed(WordLists::own()),
        seed: trial.seed,
        // This run made them, wherever the study plugged them in.
        confirmed_targets: ground.guests.iter().map(|(_, address)| *address).collect(),
    }
}

/// The phases of a trial.
pub(crate) fn phases(load: &rookery_study::Load, purpose: Purpose) -> Phases {
    Phases {
        ramp_up: load.ramp_up,
        settle: load.settle,
        steady: steady(load, purpose),
        ramp_down: load.ramp_down,
        drain: load.drain,
    }
}

/// The measured window: trials that only approach the largest load may have a shorter one.
fn steady(load: &rookery_study::Load, purpose: Purpose) -> Duration {
    let short = load.search.as_ref().and_then(|search| search.steady);
    short
        .filter(|_| purpose == Purpose::Approach)
        .unwrap_or(load.steady)
}
