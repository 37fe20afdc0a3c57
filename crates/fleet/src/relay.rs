//! Drivers elsewhere, and the start of their users, as the agent of their guests has them: through
//! its controller.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rookery_guest::WayKind;
use rookery_lab::{DrivenPart, PartOrder, RemoteDriver, RemoteError, StartDecision};
use rookery_store::{HostClock, HostDescription};

use crate::{
    bus::Bus,
    clock::{instant_at, time_of},
    message::{Answer, CarriedEnd, DriveOrder, DriverPlace, LEASE, send},
};

/// How often a wish to stop is looked for.
const LOOK: Duration = Duration::from_millis(50);
/// How long a part may take to end once it is to.
const ENDING: Duration = Duration::from_secs(10);

/// What the controller told of the trial, until the one who waits for it takes it.
#[derive(Debug, Default)]
pub(crate) struct FromController {
    told: Mutex<Told>,
    came: Condvar,
}

#[derive(Debug, Default)]
struct Told {
    /// What came of parts, by driver, which carries one part at a time.
    ends: HashMap<String, (CarriedEnd, Vec<u8>)>,
    /// When users begin, by the clock here.
    start_us: Option<i64>,
}

impl FromController {
    /// Forget what no one took.
    pub(crate) fn clear(&self) {
        *self.told() = Told::default();
    }

    /// A part has ended; the body is what was recorded.
    pub(crate) fn put(&self, driver: String, end: CarriedEnd, body: Vec<u8>) {
        self.told().ends.insert(driver, (end, body));
        self.came.notify_all();
    }

    /// The start is decided.
    pub(crate) fn begin(&self, start_us: i64) {
        self.told().start_us = Some(start_us);
        self.came.notify_all();
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What `take` finds, if it comes within this time.
    fn wait<T>(&self, within: Duration, take: impl Fn(&mut Told) -> Option<T>) -> Option<T> {
        let mut found = None;
        let waited = self
            .came
            .wait_timeout_while(self.told(), within, |told| {
                found = take(told);
                found.is_none()
            })
            .unwrap_or_else(PoisonError::into_inner);
        drop(waited);
        found
    }
}

/// The start that the controller decides.
pub(crate) struct RelayedStart<'a> {
    pub(crate) bus: &'a dyn Bus,
    pub(crate) told: &'a FromController,
    /// Set when the trial is to end.
    pub(crate) stop: &'a AtomicBool,
}

impl StartDecision for RelayedStart<'_> {
    fn decide(&self) -> Instant {
        // Without a controller the trial ends anyway.
        let asked = send(self.bus, &Answer::Ready, Vec::new()).is_ok();
        while asked && !self.stop.load(Ordering::Relaxed) {
            let start = self.told.wait(LOOK, |told| told.start_us.take());
            if let Some(start_us) = start {
                return instant_at(start_us);
            }
        }
        Instant::now()
    }
}

/// A driver that the controller has.
pub(crate) struct RelayedDriver<'a> {
    pub(crate) place: &'a DriverPlace,
    pub(crate) bus: &'a dyn Bus,
    pub(crate) carried: &'a FromController,
}

impl RelayedDriver<'_> {
    fn send(&self, answer: &Answer) -> Result<(), RemoteError> {
        send(self.bus, answer, Vec::new()).map_err(|error| RemoteError::Lost {
            reason: format!("the controller cannot be asked: {error}"),
        })
    }
}

impl RemoteDriver for RelayedDriver<'_> {
    fn name(&self) -> &str {
        &self.place.name
    }

    fn host(&self) -> &HostDescription {
        &self.place.host
    }

    fn address(&self, _: IpAddr) -> Result<IpAddr, RemoteError> {
        Ok(self.place.address)
    }

    fn way(&self) -> WayKind {
        self.place.way
    }

    fn drive(&self, order: &PartOrder<'_>) -> Result<DrivenPart, RemoteError> {
        let drive = DriveOrder {
            groups: order.groups.to_vec(),
            start_us: time_of(order.start),
        };
        let driver = &self.place.name;
        self.send(&Answer::Carry {
            driver: driver.clone(),
            order: Box::new(drive),
        })?;
        let mut ending: Option<Instant> = None;
        loop {
            if let Some((end, body)) = self.carried.wait(LOOK, |told| told.ends.remove(driver)) {
                return driven(end, &body);
            }
            match ending {
                None if (order.stop)() => {
                    ending = Some(Instant::now());
                    self.send(&Answer::EndPart {
                        driver: driver.clone(),
                    })?;
                }
                Some(since) if since.elapsed() > ENDING => {
                    let reason = "it did not end its load when it was to".to_owned();
                    return Err(RemoteError::Lost { reason });
                }
                _ => {}
            }
        }
    }

    fn lease(&self) -> Duration {
        LEASE
    }
}

/// What came of a part, from what the controller says of it.
fn driven(end: CarriedEnd, body: &[u8]) -> Result<DrivenPart, RemoteError> {
    match end {
        CarriedEnd::Recorded {
            clock,
            start_shift_us,
        } => {
            let recordings = serde_json::from_slice(body).map_err(|error| RemoteError::Lost {
                reason: format!("what it sent of the load cannot be read: {error}"),
            })?;
            Ok(DrivenPart {
                recordings,
                start_shift_us,
                clock: clock.map(HostClock::from),
            })
        }
        CarriedEnd::Lost { reason } => Err(RemoteError::Lost { reason }),
        CarriedEnd::Refused(fields) => Err(RemoteError::Refused(fields)),
    }
}
