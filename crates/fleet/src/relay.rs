//! Drivers elsewhere, as the agent of their guests has them: through its controller.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Condvar, Mutex, PoisonError},
    time::{Duration, Instant},
};

use rookery_lab::{DrivenPart, PartOrder, RemoteDriver, RemoteError};
use rookery_store::{HostClock, HostDescription};

use crate::{
    bus::Bus,
    clock::now_us,
    message::{Answer, CarriedEnd, DriveOrder, DriverPlace, LEASE, send},
};

/// How often a wish to stop is looked for.
const LOOK: Duration = Duration::from_millis(50);
/// How long a part may take to end once it is to.
const ENDING: Duration = Duration::from_secs(10);

/// What came of parts that drivers carried, until the one who waits for it takes it.
#[derive(Debug, Default)]
pub(crate) struct CarriedParts {
    /// By driver, which carries one part at a time.
    ends: Mutex<HashMap<String, (CarriedEnd, Vec<u8>)>>,
    came: Condvar,
}

impl CarriedParts {
    /// Forget what no one took.
    pub(crate) fn clear(&self) {
        self.ends
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    /// A part has ended; the body is what was recorded.
    pub(crate) fn put(&self, driver: String, end: CarriedEnd, body: Vec<u8>) {
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        ends.insert(driver, (end, body));
        self.came.notify_all();
    }

    /// The end of a driver's part, if it comes within this time.
    fn take(&self, driver: &str, within: Duration) -> Option<(CarriedEnd, Vec<u8>)> {
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let absent = |ends: &mut HashMap<String, _>| !ends.contains_key(driver);
        let (mut ends, _) = self
            .came
            .wait_timeout_while(ends, within, absent)
            .unwrap_or_else(PoisonError::into_inner);
        ends.remove(driver)
    }
}

/// A driver that the controller has.
pub(crate) struct RelayedDriver<'a> {
    pub(crate) place: &'a DriverPlace,
    pub(crate) bus: &'a dyn Bus,
    pub(crate) carried: &'a CarriedParts,
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

    fn drive(&self, order: &PartOrder<'_>) -> Result<DrivenPart, RemoteError> {
        let until = order.start.saturating_duration_since(Instant::now());
        let until_us = i64::try_from(until.as_micros()).unwrap_or(i64::MAX);
        let drive = DriveOrder {
            run: order.run.clone(),
            config: order.config.clone(),
            part: order.part,
            start_us: now_us().saturating_add(until_us),
            tunnel: order.tunnel,
        };
        let driver = &self.place.name;
        self.send(&Answer::Carry {
            driver: driver.clone(),
            order: Box::new(drive),
        })?;
        let mut ending: Option<Instant> = None;
        loop {
            if let Some((end, body)) = self.carried.take(driver, LOOK) {
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
            let recording = serde_json::from_slice(body).map_err(|error| RemoteError::Lost {
                reason: format!("what it sent of the load cannot be read: {error}"),
            })?;
            Ok(DrivenPart {
                recording,
                start_shift_us,
                clock: clock.map(HostClock::from),
            })
        }
        CarriedEnd::Lost { reason } => Err(RemoteError::Lost { reason }),
        CarriedEnd::Refused(fields) => Err(RemoteError::Refused(fields)),
    }
}
