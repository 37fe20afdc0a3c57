//! The event loop: thinkers, stations, statistics.

use rookery_cast::count_u32;
use rookery_stats::t_975;

use crate::{
    fit::Interval,
    queue::Capacity,
    random::Stream,
    simulate::{
        heap::Heap,
        histogram::TimeHistogram,
        service::Times,
        station::{Discipline, Playing, SimulatedStation},
    },
};

/// Where jobs come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Population {
    /// So many users who think between transactions.
    Closed {
        /// Users, 1 to 10 million.
        users: u32,
        /// Mean think time, s.
        think: f64,
        /// How it scatters.
        times: Times,
    },
    /// Poisson arrivals that do not wait for answers.
    Open {
        /// Arrivals, 1/s.
        rate: f64,
    },
}

/// What is played: a job visits the stations in order, then leaves or thinks.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Where jobs come from.
    pub population: Population,
    /// At least one.
    pub stations: Vec<SimulatedStation>,
}

/// Why a network cannot be played.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SimulationError {
    /// A value is out of its range.
    #[error("{0}")]
    Value(&'static str),
    /// More jobs are open than the simulator holds: an open network gets more work than it can do.
    #[error("more than {0} jobs are open: the stations are overloaded")]
    Overloaded(usize),
}

/// Most jobs at once.
const MAX_JOBS: usize = 10_000_000;

/// What one replication found.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Throughput, 1/s.
    pub x: f64,
    /// Mean response time, s.
    pub response_time: f64,
    /// Standard deviation of response times, s.
    pub deviation: f64,
    /// Mean number per station.
    pub q: Vec<f64>,
    /// Response times.
    pub times: TimeHistogram,
    /// Events that were played, warm-up included.
    pub events: u64,
}

/// Several replications together.
#[derive(Clone, Debug)]
pub struct Replications {
    /// Each.
    pub outcomes: Vec<Outcome>,
    /// Mean and 95 % interval of the throughput, 1/s.
    pub x: (f64, Interval),
    /// Mean and 95 % interval of the response time, s.
    pub response_time: (f64, Interval),
    /// All response times.
    pub times: TimeHistogram,
}

/// Play one replication: `warm_up` transactions that do not count, then `transactions` that do.
/// Each (seed, replication) has its own random streams, one per station, so that variants of a
/// network share their random numbers.
///
/// # Errors
/// When a value is out of range, or an open network is overloaded.
pub fn simulate(
    network: &Network,
    seed: u64,
    replication: u32,
    warm_up: u64,
    transactions: u64,
) -> Result<Outcome, SimulationError> {
    check(network, transactions)?;
    let mut play = Play::new(network, seed, replication);
    play.run(warm_up)?;
    let start = play.now;
    let areas: Vec<f64> = play
        .stations
        .iter_mut()
        .map(|station| station.area(start))
        .collect();
    play.times = TimeHistogram::new();
    (play.completed, play.sum, play.squares) = (0, 0.0, 0.0);
    play.run(transactions)?;
    let (span, count, now) = (play.now - start, play.completed as f64, play.now);
    let mean = play.sum / count;
    Ok(Outcome {
        x: count / span,
        response_time: mean,
        deviation: (play.squares / count - mean * mean).max(0.0).sqrt(),
        q: play
            .stations
            .iter_mut()
            .zip(areas)
            .map(|(station, before)| (station.area(now) - before) / span)
            .collect(),
        times: play.times,
        events: play.events,
    })
}

/// Play replications, at least five, until the 95 % half-widths of throughput and response time are
/// below `precision` of their means, or `most` are done.
///
/// # Errors
/// As [`simulate`].
pub fn replicate(
    network: &Network,
    seed: u64,
    warm_up: u64,
    transactions: u64,
    precision: f64,
    most: u32,
) -> Result<Replications, SimulationError> {
    let mut outcomes = Vec::new();
    let mut times = TimeHistogram::new();
    loop {
        let outcome = simulate(
            network,
            seed,
            count_u32(outcomes.len()),
            warm_up,
            transactions,
        )?;
        times.merge(&outcome.times);
        outcomes.push(outcome);
        if outcomes.len() < 5 {
            continue;
        }
        let x = interval(&outcomes, |outcome| outcome.x);
        let response_time = interval(&outcomes, |outcome| outcome.response_time);
        let narrow = |(mean, interval): (f64, Interval)| interval.high - mean <= precision * mean;
        if narrow(x) && narrow(response_time) || outcomes.len() >= most as usize {
            return Ok(Replications {
                outcomes,
                x,
                response_time,
                times,
            });
        }
    }
}

fn interval(outcomes: &[Outcome], value: impl Fn(&Outcome) -> f64) -> (f64, Interval) {
    let count = outcomes.len() as f64;
    let mean = outcomes.iter().map(&value).sum::<f64>() / count;
    let variance = outcomes
        .iter()
        .map(|outcome| (value(outcome) - mean).powi(2))
        .sum::<f64>()
        / (count - 1.0);
    let t = t_975(count_u32(outcomes.len()) - 1).unwrap_or(f64::INFINITY);
    (mean, Interval::around(mean, t * (variance / count).sqrt()))
}

fn check(network: &Network, transactions: u64) -> Result<(), SimulationError> {
    let positive = |value: f64| value.is_finite() && value > 0.0;
    let population = match network.population {
        Population::Closed {
            users,
            think,
            times,
        } => {
            (1..=count_u32(MAX_JOBS)).contains(&users)
                && think.is_finite()
                && think >= 0.0
                && times.valid()
        }
        Population::Open { rate } => positive(rate),
    };
    if !population || transactions == 0 {
        return Err(SimulationError::Value(
            "users, think time, rate and transactions must be finite and above 0 (think time may \
             be 0)",
        ));
    }
    let speeds = |capacity: &Capacity| match capacity {
        Capacity::Measured(speeds) => {
            !speeds.is_empty() && speeds.iter().all(|speed| positive(*speed))
        }
        other => other.top() > 0.0,
    };
    let valid = |station: &SimulatedStation| {
        let served = match &station.discipline {
            Discipline::FirstCome { servers } => *servers > 0,
            Discipline::Shared(capacity) => speeds(capacity),
        };
        positive(station.service) && station.times.valid() && served
    };
    if network.stations.is_empty() || !network.stations.iter().all(valid) {
        return Err(SimulationError::Value(
            "every station needs a service time, servers and speeds above 0; there must be at \
             least one",
        ));
    }
    Ok(())
}

/// A network in play.
struct Play {
    now: f64,
    stations: Vec<Playing>,
    /// When each station's next job leaves.
    next: Vec<f64>,
    source: Source,
    stream: Stream,
    /// When each job's transaction began.
    began: Vec<f64>,
    /// Jobs of an open network that may be used again.
    idle: Vec<u32>,
    completed: u64,
    events: u64,
    sum: f64,
    squares: f64,
    times: TimeHistogram,
}

enum Source {
    /// Exponential thinkers need no heap: any of them may end next, and the time until then has no
    /// memory.
    Memoryless {
        idle: Vec<u32>,
        think: f64,
        next: f64,
    },
    /// Thinkers with any other distribution.
    Scheduled {
        ends: Heap,
        think: f64,
        times: Times,
    },
    /// Arrivals.
    Open { gap: f64, next: f64 },
}

impl Play {
    fn new(network: &Network, seed: u64, replication: u32) -> Self {
        let jobs = match network.population {
            Population::Closed { users, .. } => users as usize,
            Population::Open { .. } => 0,
        };
        let purpose = |station: usize| u64::from(replication) << 32 | station as u64;
        let stations: Vec<Playing> = network
            .stations
            .iter()
            .enumerate()
            .map(|(k, station)| Playing::new(station, jobs, Stream::new(seed, purpose(k + 1))))
            .collect();
        let mut stream = Stream::new(seed, purpose(0));
        let source = match network.population {
            Population::Closed {
                users,
                think,
                times: Times::Exponential,
            } if think > 0.0 => Source::Memoryless {
                idle: (0..users).collect(),
                think,
                next: stream.exponential() * think / f64::from(users),
            },
            Population::Closed {
                users,
                think,
                times,
            } => {
                let mut ends = Heap::with_capacity(jobs);
                (0..users).for_each(|job| ends.push(think * times.draw(&mut stream), job));
                Source::Scheduled { ends, think, times }
            }
            Population::Open { rate } => Source::Open {
                gap: 1.0 / rate,
                next: stream.exponential() / rate,
            },
        };
        Self {
            now: 0.0,
            next: vec![f64::INFINITY; stations.len()],
            stations,
            source,
            stream,
            began: vec![0.0; jobs],
            idle: Vec::new(),
            completed: 0,
            events: 0,
            sum: 0.0,
            squares: 0.0,
            times: TimeHistogram::new(),
        }
    }

    /// Play until `transactions` more have completed.
    fn run(&mut self, transactions: u64) -> Result<(), SimulationError> {
        let end = self.completed + transactions;
        while self.completed < end {
            let source = match &self.source {
                Source::Memoryless { next, .. } | Source::Open { next, .. } => *next,
                Source::Scheduled { ends, .. } => ends.first().unwrap_or(f64::INFINITY),
            };
            let (mut station, mut at) = (None, source);
            for (k, next) in self.next.iter().enumerate() {
                if *next < at {
                    (station, at) = (Some(k), *next);
                }
            }
            self.now = at;
            self.events += 1;
            match station {
                None => self.start()?,
                Some(k) => self.leave(k),
            }
        }
        Ok(())
    }

    /// A transaction begins.
    #[inline]
    fn start(&mut self) -> Result<(), SimulationError> {
        let now = self.now;
        let job = match &mut self.source {
            Source::Memoryless { idle, think, next } => {
                // Thinkers are all alike, so the next to end may be the one that is nearest in
                // memory. There is one, else nothing would end.
                let job = idle.pop().unwrap_or(0);
                *next = until_next(now, idle.len(), *think, &mut self.stream);
                job
            }
            Source::Scheduled { ends, .. } => ends.pop().unwrap_or(0),
            Source::Open { gap, next } => {
                *next = now + *gap * self.stream.exponential();
                self.idle.pop().unwrap_or(count_u32(self.began.len()))
            }
        };
        if job as usize == self.began.len() {
            if self.began.len() >= MAX_JOBS {
                return Err(SimulationError::Overloaded(MAX_JOBS));
            }
            self.began.push(now);
        }
        self.began[job as usize] = now;
        self.enter(0, job);
        Ok(())
    }

    #[inline]
    fn enter(&mut self, station: usize, job: u32) {
        self.stations[station].arrive(self.now, job);
        self.next[station] = self.stations[station].next();
    }

    /// A job leaves station `k`.
    #[inline]
    fn leave(&mut self, k: usize) {
        let job = self.stations[k].depart(self.now);
        self.next[k] = self.stations[k].next();
        let Some(job) = job else { return };
        if k + 1 < self.stations.len() {
            self.enter(k + 1, job);
            return;
        }
        let response = self.now - self.began[job as usize];
        self.completed += 1;
        self.sum += response;
        self.squares += response * response;
        self.times.record(response);
        match &mut self.source {
            Source::Memoryless { idle, think, next } => {
                idle.push(job);
                *next = until_next(self.now, idle.len(), *think, &mut self.stream);
            }
            Source::Scheduled { ends, think, times } => {
                ends.push(self.now + *think * times.draw(&mut self.stream), job)
            }
            Source::Open { .. } => self.idle.push(job),
        }
    }
}

/// When the next of `thinkers` ends thinking.
#[inline]
fn until_next(now: f64, thinkers: usize, think: f64, stream: &mut Stream) -> f64 {
    if thinkers == 0 {
        f64::INFINITY
    } else {
        now + stream.exponential() * think / thinkers as f64
    }
}
