//! Queueing models of a layout: CPUs with their caps and neighbours, a delay that does not queue,
//! and perhaps a queue that no counter shows.

use rookery_cast::truncate_u32;
use rookery_model::queue::{Capacity, Flow, FlowSolution, ResponseTimes, Station};
use serde::Serialize;

use crate::predict::{
    calibrate::Calibration,
    reading::Offer,
    shape::{Group, Shape},
};

/// Least share of a guest's cap that is left to its orders, whatever it does without load.
const LEAST_LEFT: f64 = 0.1;
/// A resource below this utilisation limits nothing.
const BUSY: f64 = 0.7;
/// Halvings of an interval of think times.
const HALVINGS: usize = 50;

/// What limits throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Users who think, or arrivals: nothing is busy.
    Load,
    /// The CPUs or the quota of each guest.
    GuestCpu,
    /// The CPUs that guests share.
    HostCpu,
    /// A queue in every guest that no counter shows: a lock, a single writer.
    HiddenQueue,
}

impl Limit {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Load => "the load",
            Self::GuestCpu => "CPU of each guest",
            Self::HostCpu => "CPU shared by guests",
            Self::HiddenQueue => "a queue without counter",
        }
    }
}

/// What a model expects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// Orders per second of all guests.
    pub x: f64,
    /// Mean time of an order, s.
    pub response_s: f64,
    /// Its standard deviation, s.
    pub deviation_s: f64,
    /// Cores in use over cores that the guests can use.
    pub utilisation: f64,
    /// Load over the load at which queueing sets in: the knee of a closed load, the ceiling of an
    /// open one.
    pub pressure: f64,
    /// What limits throughput.
    pub limit: Limit,
    /// Share of arrivals without room.
    pub dropped: f64,
}

impl State {
    /// A percentile of an order's time by the model, s, 0 < `percentile` < 100.
    #[must_use]
    pub fn quantile_s(&self, percentile: f64) -> f64 {
        let times = ResponseTimes {
            mean: self.response_s,
            deviation: self.deviation_s.max(1e-6 * self.response_s),
        };
        times.quantile(percentile / 100.0)
    }
}

/// A calibrated queueing model; it holds for any layout.
#[derive(Clone, Debug, PartialEq)]
pub struct Structure {
    /// Demands on CPUs; `None` when no trial counted them.
    pub calibration: Option<Calibration>,
    /// All CPU demands are multiplied by this; without counters it is the demand itself, s.
    pub scale: f64,
    /// Demand at a single server of each guest that no counter shows, s.
    pub hidden_s: f64,
    /// What an order takes beyond its demands at the lowest load, s.
    pub residual_s: f64,
    /// How load is offered.
    pub offer: Offer,
}

impl Structure {
    /// Core-seconds of an order with so many guests.
    #[must_use]
    pub fn demand_s(&self, guests: u32) -> f64 {
        self.scale
            * self
                .calibration
                .as_ref()
                .map_or(1.0, |calibration| calibration.demand_s(guests))
    }

    /// What waking up costs over the demand at busy cores.
    fn wakeup_share(&self, guests: u32) -> f64 {
        self.calibration
            .as_ref()
            .map_or(0.0, |calibration| calibration.wakeup_share(guests))
    }

    fn background(&self) -> f64 {
        self.calibration
            .as_ref()
            .map_or(0.0, |calibration| calibration.background_cores)
    }

    /// What to expect of a layout at each load; `None` when it is beyond what can be solved.
    #[must_use]
    pub fn solve(&self, shape: &Shape, loads: &[f64]) -> Option<Vec<State>> {
        let most = loads.iter().copied().fold(0.0, f64::max);
        let mut distinct: Vec<(Group, f64)> = Vec::new();
        for group in &shape.groups {
            match distinct.iter_mut().find(|(known, _)| known == group) {
                Some((_, count)) => *count += 1.0,
                None => distinct.push((*group, 1.0)),
            }
        }
        let flows: Option<Vec<(Part, f64)>> = distinct
            .into_iter()
            .map(|(group, count)| Some((self.part(shape, group, most)?, count)))
            .collect();
        let flows = flows?;
        loads
            .iter()
            .map(|load| self.state(shape, &flows, *load))
            .collect()
    }

    /// What to expect at one load.
    #[must_use]
    pub fn at(&self, shape: &Shape, load: f64) -> Option<State> {
        self.solve(shape, &[load])?.pop()
    }

    /// The flow of one guest that is alone on its cores, or of all guests of a group that compete
    /// for theirs.
    fn part(&self, shape: &Shape, group: Group, most: f64) -> Option<Part> {
        let guests = f64::from(group.guests);
        let demand = self.demand_s(shape.guests);
        let cap = (shape.cap - self.background()).max(LEAST_LEFT * shape.cap);
        let cpus = f64::from(group.cpus);
        let free = (cpus - guests * self.background()).max(LEAST_LEFT * cpus);
        let shared = shape.shares(&group);
        let copies = if shared { group.guests } else { 1 };
        let inside = match self.offer {
            Offer::Closed { .. } => {
                (most * f64::from(copies) / f64::from(shape.guests)).ceil() + 1.0
            }
            Offer::Open { room, .. } => f64::from(room.saturating_mul(copies)) + 1.0,
        };
        let inside = (1.0..1e6)
            .contains(&inside)
            .then_some(truncate_u32(inside))?;
        let servers = if shared {
            shape.servers.min(group.cpus)
        } else {
            shape.servers
        };
        let wakeup = self.wakeup_share(shape.guests);
        let capacity = if shared && cap >= cpus - 1e-9 {
            cores(group.cpus, free, wakeup)
        } else if shared {
            together(&cores(servers, cap, wakeup), group, free, inside)?
        } else {
            cores(servers, cap, wakeup)
        };
        let mut stations = Vec::new();
        if demand > 0.0 {
            stations.push(Station { demand, capacity });
        }
        if self.hidden_s > 0.0 {
            // An order visits the queue of its own guest alone.
            stations.extend((0..copies).map(|_| Station::queue(self.hidden_s / f64::from(copies))));
        }
        let of_cpu = if shared { free.min(guests * cap) } else { cap } / demand;
        let of_hidden = f64::from(copies) / self.hidden_s;
        Some(Part {
            flow: Flow::solve(&stations, inside).ok()?,
            guests: f64::from(copies),
            times: if shared { 1.0 } else { guests },
            ceiling: of_cpu.min(of_hidden),
            limit: match (of_hidden < of_cpu, shared) {
                (true, _) => Limit::HiddenQueue,
                (false, true) => Limit::HostCpu,
                (false, false) => Limit::GuestCpu,
            },
        })
    }

    fn state(&self, shape: &Shape, parts: &[(Part, f64)], load: f64) -> Option<State> {
        let demand = self.demand_s(shape.guests);
        let wakeup = demand * self.wakeup_share(shape.guests);
        let alone = self.residual_s + demand + wakeup + self.hidden_s;
        let (mut x, mut time, mut square, mut dropped) = (0.0, 0.0, 0.0, 0.0);
        let (mut busiest, mut limit, mut ceiling) = (0.0, Limit::Load, 0.0);
        for (part, count) in parts {
            let (solution, offered) =
                self.solve_part(part, load * part.guests / f64::from(shape.guests))?;
            let weight = solution.x * part.times * count;
            x += weight;
            let response = solution.time + self.residual_s;
            time += weight * response;
            square += weight * (solution.deviation.powi(2) + self.residual_s.powi(2));
            dropped += offered * part.times * count * solution.dropped;
            ceiling += part.ceiling * part.times * count;
            let use_of = solution.x / part.ceiling;
            if use_of > busiest {
                (busiest, limit) = (
                    use_of,
                    if use_of > BUSY {
                        part.limit
                    } else {
                        Limit::Load
                    },
                );
            }
        }
        let acts = match self.offer {
            Offer::Open { acts, .. } => acts,
            Offer::Closed { .. } => 1.0,
        };
        let pressure = match self.offer {
            Offer::Closed { think_s, cycle } => {
                load / (ceiling
                    * if cycle {
                        think_s.max(alone)
                    } else {
                        think_s + alone
                    })
            }
            Offer::Open { .. } => load * acts / ceiling,
        };
        let capacity = shape.capacity();
        let cores = x * (demand + wakeup) / (1.0 + x * wakeup / capacity)
            + self.background() * f64::from(shape.guests);
        Some(State {
            x,
            response_s: time / x,
            deviation_s: (square / x).sqrt(),
            utilisation: (cores / capacity).min(1.0),
            pressure,
            limit,
            dropped: dropped / (load * acts),
        })
    }

    /// The solution of a part, and the orders per second that are offered to it.
    fn solve_part(&self, part: &Part, load: f64) -> Option<(FlowSolution, f64)> {
        match self.offer {
            Offer::Open { acts, room } => {
                let offered = load * acts;
                let room = room.saturating_mul(truncate_u32(part.guests));
                Some((part.flow.open(offered, room).ok()?, offered))
            }
            Offer::Closed {
                think_s,
                cycle: false,
            } => Some((
                part.flow.closed(think_s + self.residual_s, load).ok()?,
                load,
            )),
            // The pause is what is left of the cycle; the longer it is, the longer is the whole
            // cycle.
            Offer::Closed {
                think_s,
                cycle: true,
            } => {
                let (mut low, mut high) = (0.0, think_s);
                for _ in 0..HALVINGS {
                    let pause = f64::midpoint(low, high);
                    let time = part.flow.closed(pause + self.residual_s, load).ok()?.time;
                    if pause + self.residual_s + time < think_s {
                        low = pause;
                    } else {
                        high = pause;
                    }
                }
                Some((part.flow.closed(low + self.residual_s, load).ok()?, load))
            }
        }
    }
}

/// Guests that can be solved alone.
#[derive(Debug)]
struct Part {
    flow: Flow,
    /// Guests in the flow.
    guests: f64,
    /// Such flows in the group.
    times: f64,
    /// Most orders per second.
    ceiling: f64,
    /// What sets that ceiling.
    limit: Limit,
}

/// Speeds of `servers` cores of which no more than `limit` may be used, in orders' demands at busy
/// cores. An order that finds an idle core also wakes it up.
///
/// With one core and Poisson arrivals the busy share is that of [`rookery_model::demand::Wakeups`].
fn cores(servers: u32, limit: f64, wakeup_share: f64) -> Capacity {
    if wakeup_share <= 0.0 {
        return Capacity::Limited { servers, limit };
    }
    let slow = |present: u32| (f64::from(present) / (1.0 + wakeup_share)).min(limit);
    let full = f64::from(servers).min(limit);
    Capacity::Measured((1..=servers).map(slow).chain([full]).collect())
}

/// Cores at work with so many orders under way in guests that share `free` cores: orders spread
/// over the guests as over stations of a product form, and together they get no more than there is.
fn together(guest: &Capacity, group: Group, free: f64, inside: u32) -> Option<Capacity> {
    let station = Station {
        demand: 1.0 / f64::from(group.guests),
        capacity: guest.clone(),
    };
    let stations = vec![station; group.guests as usize];
    let flow = Flow::solve(&stations, inside).ok()?.limited(free);
    Some(Capacity::Measured(flow.rates().to_vec()))
}
