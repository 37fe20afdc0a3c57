//! A trial in virtual time: the driver's users, arrivals and books, against a system that is computed instead of run.
//!
//! [`play`] lets shoppers draw, pause and count exactly as [`run`](crate::run) does, but nobody waits: time leaps from one event to the next. The
//! driver of such a trial is never late and costs what it is told to cost.

mod shop;

use std::{
    rc::Rc,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Duration,
};

use rookery_stats::{Latencies, Measurement};

use crate::{
    arrival::{Course, Share, Stream},
    check,
    clock::{Nanos, nanos},
    config::{Config, Script},
    crew::{CpuUse, window},
    error::DriverError,
    load::Load,
    record::Recorder,
    run::measurement,
    thread::Harvest,
    virtual_time::shop::Shop,
};

/// How many events pass between two looks at the stop flag.
const LOOK_EVERY: u64 = 4_096;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// The first page of a user, without any business.
    Index,
    /// A customer logs in.
    Login,
    /// A customer registers; the name is always free.
    NewCustomer,
    /// One search.
    Browse,
    /// The purchase that ends an order.
    Purchase,
}

/// One request of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Names it until it departs.
    pub job: u32,
    /// Index of the assignment.
    pub guest: usize,
    /// What is asked for.
    pub page: Page,
}

/// What answers requests in virtual time. All times are nanoseconds since the common start, and never go back.
pub trait System {
    /// A request comes in.
    fn arrive(&mut self, at: u64, request: Request);

    /// When the next answer is complete; `None` when nothing is under way.
    fn next(&self) -> Option<u64>;

    /// The job whose answer is complete at [`System::next`]; `None` when it only changed its station.
    fn depart(&mut self) -> Option<u32>;
}

/// Play one trial of `config` against `system`. Each request costs the driver `cpu_per_request`. Setting `stop` ends the load at once; the measurement
/// then says so.
///
/// Same configuration and same system, same measurement. A request that is not answered within the time limit fails, and its user goes on; the system
/// works on all the same, as a server would.
///
/// # Errors
/// When the configuration makes no sense, or asks for anything but shoppers.
pub fn play(
    config: &Config,
    system: &mut dyn System,
    cpu_per_request: Duration,
    stop: &AtomicBool,
) -> Result<Measurement, DriverError> {
    check::config(config)?;
    let shopping = |script: &Script| matches!(script, Script::DvdStore { .. });
    if !config
        .assignments
        .iter()
        .all(|assignment| shopping(&assignment.script))
    {
        return Err(DriverError::Config {
            what: "virtual users know the shop alone".to_owned(),
            mend: "let every guest be a DVD Store",
        });
    }
    let mut span = window(&config.phases);
    let mut shop = Shop::new(config, system);
    let end = nanos(config.phases.load_end()) + nanos(config.phases.drain);
    let (mut events, mut aborted) = (0_u64, None);
    while let Some(at) = shop.next_at().filter(|at| *at < end) {
        events += 1;
        if events.is_multiple_of(LOOK_EVERY) && stop.load(Relaxed) {
            aborted = Some("stopped on request".to_owned());
            span.end = span.end.min(at.max(span.start));
            shop.cut(at);
            break;
        }
        shop.step(at);
    }
    let now = if aborted.is_some() {
        shop.now()
    } else {
        shop.now().max(nanos(config.phases.load_end()))
    };
    let connections = shop.connections();
    let (recorders, lag) = shop.close(now);
    let harvest = harvest(
        config,
        span.length(),
        recorders,
        lag,
        connections,
        cpu_per_request,
    );
    Ok(measurement(config, span, vec![harvest], aborted))
}

/// What a driver thread would bring home.
fn harvest(
    config: &Config,
    window: Nanos,
    recorders: Vec<Recorder>,
    lag: Latencies,
    connections: u64,
    cost: Duration,
) -> Harvest {
    let requests_in_window = recorders.iter().map(Recorder::requests_in_window).sum();
    Harvest {
        recorders,
        lag,
        cpu: CpuUse {
            ran: nanos(cost).saturating_mul(requests_in_window),
            waited: 0,
            wall: window * config.cpus.len() as u64,
        },
        requests_in_window,
        connections,
        idle_retries: 0,
        connecting: None,
        unconnected: 0,
    }
}

/// The arrivals at every guest; none of a closed load.
fn streams(config: &Config) -> Vec<Stream> {
    let Load::Open(load) = &config.load else {
        return Vec::new();
    };
    let course = Rc::new(Course::new(&load.profile, &config.phases));
    let (guests, alone) = (config.assignments.len(), Share { thread: 0, of: 1 });
    (0..guests)
        .map(|guest| Stream::new(load, Rc::clone(&course), guest, guests, alone, config.seed))
        .collect()
}

#[cfg(test)]
mod tests;
