//! The load of a trial, whatever its protocol: users of web shops, or terminals on databases.

use std::{
    net::SocketAddr,
    path::Path,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use rookery_driver::{Config, Phases, Progress};
use rookery_oltp::{
    SessionOptions,
    trial::{Threads, TrialConfig, TrialGuest},
};
use rookery_stats::Measurement;
use rookery_study::{OrderentryUse, Plan, Point, Trial};

use crate::{
    LabError,
    driving::{Ground, config, phases},
    offered::driver_load,
    stack::{OrderEntry, Stack, dvdstore},
};

/// From the decision to start until the first user: every driver thread must be up by then.
const START_DELAY: Duration = Duration::from_millis(200);

/// What is put on the guests.
pub(crate) enum Traffic {
    /// Users of web shops.
    Users(Box<Config>),
    /// Terminals on databases.
    Terminals(Box<TrialConfig>),
}

impl Traffic {
    /// The load of one trial of `point` on guests at these addresses.
    ///
    /// # Errors
    /// When stack and data do not go together.
    pub(crate) fn of(
        plan: &Plan,
        trial: &Trial,
        point: &Point,
        stack: &dyn Stack,
        ground: &Ground<'_>,
    ) -> Result<Self, LabError> {
        let wanted = plan.study_of(point).workload.orderentry.as_ref();
        match (wanted, stack.order_entry()) {
            (Some(wanted), Some(databases)) => Ok(Self::Terminals(Box::new(terminals(
                plan, trial, point, wanted, databases, ground,
            )?))),
            _ => {
                let size = dvdstore(point.database).map_err(LabError::Internal)?;
                Ok(Self::Users(Box::new(config(
                    plan, trial, point, size, ground,
                ))))
            }
        }
    }

    pub(crate) fn cpus(&self) -> &[u32] {
        match self {
            Self::Users(config) => &config.cpus,
            Self::Terminals(config) => match &config.threads {
                Threads::Pinned(cpus) => cpus,
                Threads::Free(_) => &[],
            },
        }
    }

    pub(crate) fn phases(&self) -> &Phases {
        match self {
            Self::Users(config) => &config.phases,
            Self::Terminals(config) => &config.phases,
        }
    }

    /// Put the load on. `begun` hears the common start, which lies a little ahead, when everybody is ready.
    ///
    /// # Errors
    /// When no load was put on.
    pub(crate) fn run(
        &self,
        begun: &(dyn Fn(Instant) + Sync),
        stop: &AtomicBool,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Measurement, LabError> {
        let start = || {
            let start = Instant::now() + START_DELAY;
            begun(start);
            start
        };
        match self {
            Self::Users(config) => Ok(rookery_driver::run(config, start(), stop, progress)?),
            Self::Terminals(config) => {
                Ok(rookery_oltp::trial::run(config, &start, stop, progress)?)
            }
        }
    }
}

/// The terminals of one trial.
fn terminals(
    plan: &Plan,
    trial: &Trial,
    point: &Point,
    wanted: &OrderentryUse,
    databases: &dyn OrderEntry,
    ground: &Ground<'_>,
) -> Result<TrialConfig, LabError> {
    let study = plan.study_of(point);
    let data = point.database.orderentry().ok_or_else(|| {
        let what = format!(
            "point {} has no order-entry database: {}",
            point.id, point.database
        );
        LabError::Internal(what)
    })?;
    let pool = study.load.open.as_ref().map(|open| open.max_in_flight);
    let guest = |((name, address), users): (&(String, SocketAddr), &u32)| TrialGuest {
        name: name.clone(),
        target: databases.clients(*address),
        terminals: pool.unwrap_or(*users),
        population: data.population(),
    };
    Ok(TrialConfig {
        guests: ground.guests.iter().zip(&point.users).map(guest).collect(),
        threads: Threads::Pinned(plan.driver_cpus.clone()),
        network: ground.network.map(Path::to_owned),
        load: driver_load(&study.load, point),
        phases: phases(&study.load, trial.purpose),
        session: SessionOptions {
            style: wanted.statements,
            isolation: wanted.isolation,
        },
        binding: wanted.binding,
        mix: wanted.mix,
        pacing: wanted.pacing,
        delivery: wanted.delivery,
        max_retries: wanted.max_retries,
        patience: None,
        seed: trial.seed,
        // This run made them, wherever the study plugged them in.
        confirmed: ground
            .guests
            .iter()
            .map(|(_, address)| address.ip())
            .collect(),
    })
}
