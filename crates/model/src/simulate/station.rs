//! Stations of the simulator: each knows the time of its own next departure, so that nothing is
//! ever cancelled.

use std::collections::VecDeque;

use crate::{
    queue::Capacity,
    random::Stream,
    simulate::{heap::Heap, service::Times},
};

/// Who is served next.
#[derive(Clone, Debug, PartialEq)]
pub enum Discipline {
    /// First come, first served by so many servers.
    FirstCome {
        /// Servers.
        servers: u32,
    },
    /// All share the speed of the station equally.
    Shared(Capacity),
}

/// A station to be played.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedStation {
    /// Mean service time of a visit, s, > 0.
    pub service: f64,
    /// How it scatters.
    pub times: Times,
    /// Who is served.
    pub discipline: Discipline,
}

/// A station in play.
#[derive(Debug)]
pub(crate) struct Playing {
    service: f64,
    times: Times,
    kind: Kind,
    stream: Stream,
    /// Time integral of the number present, and when it was last brought up to date.
    area: f64,
    since: f64,
}

#[derive(Debug)]
enum Kind {
    FirstCome {
        servers: usize,
        waiting: VecDeque<u32>,
        busy: Heap,
    },
    /// Virtual time grows at speed(n)/n; a job of work w that enters at V leaves at V + w.
    Shared {
        capacity: Capacity,
        virtual_time: f64,
        leaving: Heap,
    },
}

impl Playing {
    pub(crate) fn new(station: &SimulatedStation, jobs: usize, stream: Stream) -> Self {
        let kind = match &station.discipline {
            Discipline::FirstCome { servers } => Kind::FirstCome {
                servers: *servers as usize,
                waiting: VecDeque::with_capacity(jobs),
                busy: Heap::with_capacity(jobs.min(*servers as usize)),
            },
            Discipline::Shared(capacity) => Kind::Shared {
                capacity: capacity.clone(),
                virtual_time: 0.0,
                leaving: Heap::with_capacity(jobs),
            },
        };
        Self {
            service: station.service,
            times: station.times,
            kind,
            stream,
            area: 0.0,
            since: 0.0,
        }
    }

    #[inline]
    fn present(&self) -> usize {
        match &self.kind {
            Kind::FirstCome { waiting, busy, .. } => waiting.len() + busy.len(),
            Kind::Shared { leaving, .. } => leaving.len(),
        }
    }

    /// Bring integrals and virtual time up to `now`.
    #[inline]
    fn advance(&mut self, now: f64) {
        let elapsed = now - self.since;
        let present = self.present();
        self.area += elapsed * present as f64;
        self.since = now;
        if let Kind::Shared {
            capacity,
            virtual_time,
            leaving,
        } = &mut self.kind
        {
            if present == 0 {
                // An empty station may start its virtual clock anew, which keeps it precise.
                *virtual_time = 0.0;
            } else {
                let rate = capacity.speed(present) / present as f64;
                *virtual_time =
                    (*virtual_time + elapsed * rate).min(leaving.first().unwrap_or(f64::INFINITY));
            }
        }
    }

    #[inline]
    pub(crate) fn arrive(&mut self, now: f64, job: u32) {
        self.advance(now);
        match &mut self.kind {
            Kind::FirstCome {
                servers,
                waiting,
                busy,
            } => {
                if busy.len() < *servers {
                    busy.push(now + self.service * self.times.draw(&mut self.stream), job);
                } else {
                    waiting.push_back(job);
                }
            }
            Kind::Shared {
                virtual_time,
                leaving,
                ..
            } => {
                leaving.push(
                    *virtual_time + self.service * self.times.draw(&mut self.stream),
                    job,
                );
            }
        }
    }

    /// When the next job leaves; infinite when nobody is there.
    #[inline]
    pub(crate) fn next(&self) -> f64 {
        match &self.kind {
            Kind::FirstCome { busy, .. } => busy.first().unwrap_or(f64::INFINITY),
            Kind::Shared {
                capacity,
                virtual_time,
                leaving,
            } => leaving.first().map_or(f64::INFINITY, |first| {
                let present = leaving.len();
                self.since
                    + (first - virtual_time).max(0.0) * present as f64 / capacity.speed(present)
            }),
        }
    }

    /// The job that leaves at `now`.
    #[inline]
    pub(crate) fn depart(&mut self, now: f64) -> Option<u32> {
        self.advance(now);
        match &mut self.kind {
            Kind::FirstCome { waiting, busy, .. } => {
                let job = busy.pop();
                if let Some(next) = waiting.pop_front() {
                    busy.push(now + self.service * self.times.draw(&mut self.stream), next);
                }
                job
            }
            Kind::Shared { leaving, .. } => leaving.pop(),
        }
    }

    /// Time integral of the number present up to `now`.
    pub(crate) fn area(&mut self, now: f64) -> f64 {
        self.advance(now);
        self.area
    }
}
