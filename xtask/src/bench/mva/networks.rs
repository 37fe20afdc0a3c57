//! Random networks, as our solvers and as Octave's take them.

use rookery_cast::{count_u32, truncate_u32};
use rookery_model::queue::{
    Capacity, Class, Flow, Multiserver, Station, asymptotic, balanced, exact_classes, mva,
    schweitzer, solve,
};
use rookery_workload::random::{RandomSource as _, SplitMix64};

/// Kinds of networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Single,
    Classes,
    Servers,
    LoadDependent,
    Large,
    Asymptotic,
    Balanced,
    Approximate,
    Open,
}

impl Kind {
    pub(super) const ALL: [Self; 9] = [
        Self::Single,
        Self::Classes,
        Self::Servers,
        Self::LoadDependent,
        Self::Large,
        Self::Asymptotic,
        Self::Balanced,
        Self::Approximate,
        Self::Open,
    ];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Single => "one class: mva and solve, qncsmva",
            Self::Classes => "several classes: exact_classes, qncmmva",
            Self::Servers => "several servers: solve, qncsmva",
            Self::LoadDependent => "measured speeds: solve, qncsmvald",
            Self::Large => "one limited station of many users: Flow, qncscmva",
            Self::Asymptotic => "asymptotic bounds: asymptotic, qncsaba",
            Self::Balanced => "balanced-job bounds: balanced, qncsbsb",
            Self::Approximate => "approximation of several classes: schweitzer, qncmmvabs",
            Self::Open => "M/M/c: Multiserver, qsmmm",
        }
    }
}

/// One network.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Case {
    kind: Kind,
    /// Users, think time and demands of each class.
    classes: Vec<Class>,
    capacities: Vec<Capacity>,
}

impl Case {
    pub(super) fn draw(kind: Kind, random: &mut SplitMix64) -> Self {
        let stations = match kind {
            Kind::Open => 1,
            Kind::Large => whole(random, 1, 4),
            _ => whole(random, 1, 6),
        };
        let capacities: Vec<Capacity> = (0..stations)
            .map(|k| capacity(kind, k, stations, random))
            .collect();
        let (classes, users) = match kind {
            Kind::Classes => (whole(random, 2, 3), 8),
            Kind::Approximate => (whole(random, 2, 4), 60),
            // The peer's recursion for several servers loses digits as stations fill up.
            Kind::Servers | Kind::LoadDependent => (1, 15),
            Kind::Large => (1, 40),
            Kind::Open => (1, 1),
            _ => (1, 300),
        };
        let class = |random: &mut SplitMix64| Class {
            users: count_u32(whole(random, 1, users)),
            think: if random.unit() < 0.2 {
                0.0
            } else {
                3.0 * random.unit()
            },
            demands: capacities
                .iter()
                .map(|_| 0.002 + 0.5 * random.unit().powi(2))
                .collect(),
        };
        Self {
            kind,
            classes: (0..classes).map(|_| class(random)).collect(),
            capacities,
        }
    }

    fn stations(&self) -> Vec<Station> {
        let parts = self.classes[0].demands.iter().zip(&self.capacities);
        parts
            .map(|(demand, capacity)| Station {
                demand: *demand,
                capacity: capacity.clone(),
            })
            .collect()
    }

    /// Arrival rate of an open station: between a tenth and nearly all of what it can do.
    fn arrivals(&self) -> f64 {
        let Class {
            users,
            think,
            demands,
        } = &self.classes[0];
        let share = 0.1 + 0.88 * (think / 3.0);
        share * self.capacities[0].top() / demands[0] * f64::from(*users)
    }

    /// Throughputs, residence times and numbers at stations, as our solvers find them.
    pub(super) fn solve(&self) -> Result<Vec<f64>, String> {
        let failed = |error: rookery_model::queue::ModelError| format!("{error}: {self:?}");
        let stations = self.stations();
        let Class { users, think, .. } = self.classes[0];
        let delays: Vec<bool> = self
            .capacities
            .iter()
            .map(|capacity| *capacity == Capacity::Delay)
            .collect();
        let one = |x: f64, r: &[f64], q: &[f64]| [&[x], r, q].concat();
        match self.kind {
            Kind::Single => {
                let recursion = mva(&stations, think, users).map_err(failed)?;
                let convolution = solve(&stations, think, users).map_err(failed)?;
                let mut found = one(recursion.x, &recursion.r, &recursion.q);
                found.extend(one(convolution.x, &convolution.r, &convolution.q));
                Ok(found)
            }
            Kind::Servers | Kind::LoadDependent => {
                let found = solve(&stations, think, users).map_err(failed)?;
                Ok(one(found.x, &found.r, &found.q))
            }
            Kind::Large => {
                let flow = Flow::solve(&stations, users).map_err(failed)?;
                let found = flow.closed(think, f64::from(users)).map_err(failed)?;
                Ok(vec![found.x, found.time])
            }
            Kind::Classes | Kind::Approximate => {
                let method = if self.kind == Kind::Classes {
                    exact_classes
                } else {
                    schweitzer
                };
                let found = method(&self.classes, &delays).map_err(failed)?;
                let flat = |rows: &[Vec<f64>]| rows.concat();
                Ok([found.x, flat(&found.r), flat(&found.q)].concat())
            }
            Kind::Asymptotic | Kind::Balanced => {
                let method = if self.kind == Kind::Asymptotic {
                    asymptotic
                } else {
                    balanced
                };
                let found = method(&stations, think, users).map_err(failed)?;
                Ok(vec![found.x_low, found.x_high, found.r_low, found.r_high])
            }
            Kind::Open => {
                let servers = truncate_u32(self.capacities[0].top());
                let found = Multiserver::new(self.arrivals(), self.classes[0].demands[0], servers)
                    .map_err(failed)?;
                Ok(vec![
                    found.rho,
                    found.response_time(),
                    found.wait_probability,
                ])
            }
        }
    }

    /// Octave's words for the same: one line of output.
    pub(super) fn script(&self) -> String {
        let Class {
            users,
            think,
            demands,
        } = &self.classes[0];
        let s = vector(demands);
        let ones = format!("ones(1,{})", demands.len());
        let m = vector(&self.capacities.iter().map(servers).collect::<Vec<_>>());
        match self.kind {
            Kind::Single | Kind::Servers => {
                let again = if self.kind == Kind::Single {
                    ", X(1), R, Q"
                } else {
                    ""
                };
                format!(
                    "[U R Q X] = qncsmva({users}, {s}, {ones}, {m}, {think:?}); put([X(1), R, \
                     Q{again}]);"
                )
            }
            Kind::LoadDependent => {
                let rows: Vec<String> = demands
                    .iter()
                    .zip(&self.capacities)
                    .map(|(demand, capacity)| inverse_rates(*demand, capacity, *users))
                    .collect();
                format!(
                    "[U R Q X] = qncsmvald({users}, [{}], {ones}, {think:?}); put([X(1), R(:)', \
                     Q(:)']);",
                    rows.join("; ")
                )
            }
            Kind::Large => {
                let last = demands.len() - 1;
                let rates = inverse_rates(demands[last], &self.capacities[last], *users);
                let (first, visits) = (vector(&demands[..last]), ones);
                format!(
                    "[U R Q X] = qncscmva({users}, {first}, [{rates}], {visits}, {think:?}); \
                     put([X(1), sum(R)]);"
                )
            }
            Kind::Classes | Kind::Approximate => {
                let n = vector(
                    &self
                        .classes
                        .iter()
                        .map(|class| f64::from(class.users))
                        .collect::<Vec<_>>(),
                );
                let z = vector(
                    &self
                        .classes
                        .iter()
                        .map(|class| class.think)
                        .collect::<Vec<_>>(),
                );
                let rows: Vec<String> = self
                    .classes
                    .iter()
                    .map(|class| vector(&class.demands))
                    .collect();
                let rows = rows.join("; ");
                let (function, more) = match self.kind {
                    Kind::Classes => ("qncmmva", ""),
                    _ => ("qncmmvabs", ", 1e-14, 100000"),
                };
                format!(
                    "S = [{rows}]; [U R Q X] = {function}({n}, S, ones(size(S)), {m}, {z}{more}); \
                     put([X(:,1)', reshape(R', 1, []), reshape(Q', 1, [])]);"
                )
            }
            Kind::Asymptotic | Kind::Balanced => {
                let function = if self.kind == Kind::Asymptotic {
                    "qncsaba"
                } else {
                    "qncsbsb"
                };
                format!(
                    "[a b c d] = {function}({users}, {s}, {ones}, {m}, {think:?}); put([a b c d]);"
                )
            }
            Kind::Open => {
                let (rate, servers) = (self.arrivals(), self.capacities[0].top());
                format!(
                    "[U R Q X p pm] = qsmmm({rate:?}, {:?}, {servers}); put([U R pm]);",
                    1.0 / demands[0]
                )
            }
        }
    }
}

fn capacity(kind: Kind, k: usize, stations: usize, random: &mut SplitMix64) -> Capacity {
    match kind {
        Kind::Single | Kind::Classes | Kind::Approximate if random.unit() < 0.2 => Capacity::Delay,
        Kind::Servers => match whole(random, 0, 3) {
            0 => Capacity::Delay,
            1 => Capacity::Servers(1),
            _ => Capacity::Servers(count_u32(whole(random, 2, 8))),
        },
        Kind::LoadDependent => match whole(random, 0, 3) {
            0 => Capacity::Servers(count_u32(whole(random, 1, 6))),
            1 => Capacity::Limited {
                servers: count_u32(whole(random, 1, 6)),
                limit: 0.3 + 4.0 * random.unit(),
            },
            _ => Capacity::Measured(speeds(random)),
        },
        Kind::Large if k + 1 == stations => Capacity::Limited {
            servers: count_u32(whole(random, 1, 16)),
            limit: 0.5 + 8.0 * random.unit(),
        },
        Kind::Open => Capacity::Servers(count_u32(whole(random, 1, 40))),
        _ => Capacity::Servers(1),
    }
}

/// Speeds that grow, and at the end may fall, with the number present.
fn speeds(random: &mut SplitMix64) -> Vec<f64> {
    let mut speed = 0.0;
    let growth = (0..whole(random, 1, 8)).map(|_| {
        speed += 0.2 + random.unit();
        speed
    });
    let mut speeds: Vec<f64> = growth.collect();
    speeds.push(speed * (0.7 + 0.3 * random.unit()));
    speeds
}

/// The peer's number of servers: below 1 for a delay.
fn servers(capacity: &Capacity) -> f64 {
    match capacity {
        Capacity::Delay => -1.0,
        other => other.top(),
    }
}

fn inverse_rates(demand: f64, capacity: &Capacity, users: u32) -> String {
    let rates: Vec<String> = (1..=users as usize)
        .map(|j| format!("{:?}", demand / capacity.speed(j)))
        .collect();
    rates.join(" ")
}

fn vector(numbers: &[f64]) -> String {
    let words: Vec<String> = numbers.iter().map(|number| format!("{number:?}")).collect();
    format!("[{}]", words.join(" "))
}

/// From `low` to `high`, both included.
fn whole(random: &mut SplitMix64, low: usize, high: usize) -> usize {
    low + random.index(high - low + 1)
}
