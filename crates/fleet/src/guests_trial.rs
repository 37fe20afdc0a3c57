//! The parts of a load that drivers carry while the agent of their guests performs a trial, as the
//! controller has them: it hands each part on to its driver, and what came of it back.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread::Scope,
};

use rookery_lab::{DrivenPart, LostDriver, PartOrder, Party, RemoteDriver, RemoteError};

use crate::{
    clock::{ClockOffset, instant_at, time_of},
    message::{CarriedEnd, DriveOrder, Order},
};

/// The drivers of a trial, and their parts that are under way. All end when this is dropped.
pub(crate) struct HandedParts<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    drivers: &'env [&'env dyn RemoteDriver],
    under_way: Vec<UnderWay>,
    ended: Receiver<Ended>,
    to_us: Sender<Ended>,
    lost: Vec<LostDriver>,
    start: Option<AwaitedStart<'env>>,
}

/// The start of the users of a trial, from its controller.
pub(crate) struct AwaitedStart<'a> {
    party: &'a Party<'a>,
    asked: bool,
    /// How far the clock of the guests' host was ahead when it was told the start, microseconds.
    ahead_us: Option<i64>,
}

impl<'a> AwaitedStart<'a> {
    pub(crate) fn new(party: &'a Party<'a>) -> Self {
        Self {
            party,
            asked: false,
            ahead_us: None,
        }
    }
}

/// A part that a driver carries.
struct UnderWay {
    driver: String,
    stop: Arc<AtomicBool>,
    /// How far the clock of the guests' host was ahead when the start was reckoned, microseconds.
    ahead_us: i64,
}

struct Ended {
    driver: String,
    end: Result<DrivenPart, RemoteError>,
}

impl<'scope, 'env> HandedParts<'scope, 'env> {
    pub(crate) fn new(
        scope: &'scope Scope<'scope, 'env>,
        drivers: &'env [&'env dyn RemoteDriver],
        start: Option<AwaitedStart<'env>>,
    ) -> Self {
        let (to_us, ended) = channel();
        Self {
            scope,
            drivers,
            under_way: Vec::new(),
            ended,
            to_us,
            lost: Vec::new(),
            start,
        }
    }

    /// The guests' host is ready; whether its users are driven through here.
    pub(crate) fn arrive(&mut self) -> bool {
        let start = self.start.as_mut();
        start.is_some_and(|start| {
            start.asked = true;
            start.party.arrive();
            true
        })
    }

    /// The order to begin, once it is asked for and all are ready; `guests` = the clock of the
    /// guests' host by now.
    pub(crate) fn start(&mut self, guests: ClockOffset) -> Option<Order> {
        let waiting = |start: &&mut AwaitedStart<'_>| start.asked && start.ahead_us.is_none();
        let awaited = self.start.as_mut().filter(waiting)?;
        let start = awaited.party.start()?;
        awaited.ahead_us = Some(guests.offset_us);
        let start_us = time_of(start).saturating_add(guests.offset_us);
        Some(Order::Begin { start_us })
    }

    /// How long after the start that they were told users began, by what is known of the clock of
    /// the guests' host at the end, microseconds; nothing where they were told none.
    pub(crate) fn late_us(&self, guests: Option<ClockOffset>) -> Option<i64> {
        let told = self.start.as_ref()?.ahead_us?;
        Some(told.saturating_sub(guests?.offset_us))
    }

    /// Hand a part on; `guests` = the clock of the guests' host, by which the start is told. An
    /// order for no driver of the trial is lost at once.
    pub(crate) fn begin(&mut self, driver: String, order: DriveOrder, guests: ClockOffset) {
        let found = self.drivers.iter().find(|other| other.name() == driver);
        let Some(remote) = found.copied() else {
            let reason = "no such driver is known here".to_owned();
            let end = Err(RemoteError::Lost { reason });
            let _ = self.to_us.send(Ended { driver, end });
            return;
        };
        let start = instant_at(order.start_us.saturating_sub(guests.offset_us));
        let stop = Arc::new(AtomicBool::new(false));
        self.under_way.push(UnderWay {
            driver: driver.clone(),
            stop: Arc::clone(&stop),
            ahead_us: guests.offset_us,
        });
        let to_us = self.to_us.clone();
        self.scope.spawn(move || {
            let end = remote.drive(&PartOrder {
                groups: &order.groups,
                start,
                stop: &|| stop.load(Ordering::Relaxed),
            });
            // Where the trial has ended by now no one wants to know.
            let _ = to_us.send(Ended { driver, end });
        });
    }

    /// End the part of a driver.
    pub(crate) fn end(&self, driver: &str) {
        let all = self.under_way.iter();
        all.filter(|part| part.driver == driver)
            .for_each(|part| part.stop.store(true, Ordering::Relaxed));
    }

    /// The drivers that were lost.
    pub(crate) fn lost(&mut self) -> Vec<LostDriver> {
        std::mem::take(&mut self.lost)
    }

    /// A part that has ended, as the agent of the guests is told of it, with the body of the
    /// message; `guests` = the clock of the guests' host by now.
    pub(crate) fn ended(&mut self, guests: Option<ClockOffset>) -> Option<(Order, Vec<u8>)> {
        let Ended { driver, end } = self.ended.try_recv().ok()?;
        let place = self.under_way.iter().position(|part| part.driver == driver);
        let part = place.map(|place| self.under_way.swap_remove(place));
        let (end, body) = match end {
            Ok(part_driven) => match serde_json::to_vec(&part_driven.recordings) {
                Ok(body) => {
                    let shift = guests.zip(part.as_ref()).map_or(0, |(guests, part)| {
                        guests.offset_us.saturating_sub(part.ahead_us)
                    });
                    let end = CarriedEnd::Recorded {
                        clock: against(part_driven.clock.map(ClockOffset::from), guests),
                        start_shift_us: part_driven.start_shift_us.saturating_add(shift),
                    };
                    (end, body)
                }
                Err(error) => {
                    let reason = format!("what it recorded cannot be sent: {error}");
                    (CarriedEnd::Lost { reason }, Vec::new())
                }
            },
            Err(RemoteError::Lost { reason }) => {
                self.lost.push(LostDriver {
                    host: driver.clone(),
                    reason: reason.clone(),
                });
                (CarriedEnd::Lost { reason }, Vec::new())
            }
            Err(RemoteError::Refused(fields)) => (CarriedEnd::Refused(fields), Vec::new()),
        };
        Some((Order::Carried { driver, end }, body))
    }
}

impl Drop for HandedParts<'_, '_> {
    fn drop(&mut self) {
        for part in &self.under_way {
            part.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// The clock of a driver against that of the guests' host, both known against the one here.
fn against(driver: Option<ClockOffset>, guests: Option<ClockOffset>) -> Option<ClockOffset> {
    let (driver, guests) = driver.zip(guests)?;
    Some(ClockOffset {
        offset_us: driver.offset_us.saturating_sub(guests.offset_us),
        bound_us: driver.bound_us.saturating_add(guests.bound_us),
        stepped: driver.stepped || guests.stepped,
    })
}

#[cfg(test)]
mod tests {
    use std::{
        net::{IpAddr, Ipv4Addr},
        path::Path,
        sync::Mutex,
        thread,
        time::{Duration, Instant},
    };

    use rookery_guest::WayKind;
    use rookery_lab::describe_host;
    use rookery_store::HostDescription;

    use super::*;
    use crate::{
        bus::{Bus, in_process},
        message::{Answer, DriverPlace, read, send},
        relay::{FromController, RelayedDriver},
    };

    const HOUR: Duration = Duration::from_secs(3_600);

    /// A driver that is lost once it is to end.
    struct Doomed {
        host: HostDescription,
        starts: Mutex<Vec<Instant>>,
    }

    impl RemoteDriver for Doomed {
        fn name(&self) -> &str {
            "d"
        }

        fn host(&self) -> &HostDescription {
            &self.host
        }

        fn address(&self, _: IpAddr) -> Result<IpAddr, RemoteError> {
            Ok(Ipv4Addr::LOCALHOST.into())
        }

        fn way(&self) -> WayKind {
            WayKind::Tunnel
        }

        fn drive(&self, order: &PartOrder<'_>) -> Result<DrivenPart, RemoteError> {
            self.starts.lock().expect("no panic").push(order.start);
            while !(order.stop)() {
                thread::sleep(Duration::from_millis(1));
            }
            let reason = "gone".to_owned();
            Err(RemoteError::Lost { reason })
        }

        fn lease(&self) -> Duration {
            Duration::ZERO
        }
    }

    /// The controller's side of a trial until it is done; the lost drivers.
    fn control(
        bus: &dyn Bus,
        driver: &dyn RemoteDriver,
        guests: ClockOffset,
        done: &AtomicBool,
    ) -> Vec<LostDriver> {
        let drivers = [driver];
        thread::scope(|scope| {
            let mut parts = HandedParts::new(scope, &drivers, None);
            loop {
                while let Some((order, body)) = parts.ended(Some(guests)) {
                    send(bus, &order, body).expect("sent");
                }
                let came = bus.receive(Duration::from_millis(1)).expect("open");
                match came.map(|frame| read(&frame).expect("an answer")) {
                    None if done.load(Ordering::Relaxed) => return parts.lost(),
                    None => {}
                    Some(Answer::Carry { driver, order }) => parts.begin(driver, *order, guests),
                    Some(Answer::EndPart { driver }) => parts.end(&driver),
                    Some(other) => panic!("{other:?}"),
                }
            }
        })
    }

    #[test]
    fn a_part_is_handed_on_by_the_clock_here_and_its_end_comes_back() {
        let doomed = Doomed {
            host: describe_host(Path::new("/")).expect("a host"),
            starts: Mutex::default(),
        };
        let place = DriverPlace {
            name: "d".to_owned(),
            host: doomed.host.clone(),
            address: Ipv4Addr::LOCALHOST.into(),
            way: WayKind::Tunnel,
        };
        let guests = ClockOffset {
            offset_us: i64::try_from(HOUR.as_micros()).expect("an hour"),
            bound_us: 10,
            stepped: false,
        };
        let (here, there) = in_process();
        let carried = FromController::default();
        let start = Instant::now() + 3 * HOUR;
        let done = AtomicBool::new(false);
        let (driven, lost) = thread::scope(|scope| {
            let controller = scope.spawn(|| control(&here, &doomed, guests, &done));
            let driving = scope.spawn(|| {
                let driver = RelayedDriver {
                    place: &place,
                    bus: &there,
                    carried: &carried,
                };
                driver.drive(&PartOrder {
                    groups: &[],
                    start,
                    stop: &|| true,
                })
            });
            while !driving.is_finished() {
                let came = there.receive(Duration::from_millis(1)).expect("open");
                if let Some(frame) = came {
                    let Order::Carried { driver, end } = read(&frame).expect("an order") else {
                        panic!("another order");
                    };
                    carried.put(driver, end, frame.body);
                }
            }
            let driven = driving.join().expect("no panic");
            done.store(true, Ordering::Relaxed);
            (driven, controller.join().expect("no panic"))
        });
        let Err(RemoteError::Lost { reason }) = driven else {
            panic!("it was not lost");
        };
        assert_eq!(reason, "gone");
        let host = "d".to_owned();
        assert_eq!(lost, [LostDriver { host, reason }]);
        // The clock of the guests is an hour ahead, so that here the start comes in two hours.
        let begun = doomed.starts.lock().expect("no panic")[0];
        let early = start.duration_since(begun);
        assert!(early.abs_diff(HOUR) < HOUR / 10, "{early:?}");
    }

    #[test]
    fn the_bound_of_a_clock_through_another_is_that_of_both() {
        let clock = |offset_us, bound_us| {
            Some(ClockOffset {
                offset_us,
                bound_us,
                stepped: false,
            })
        };
        assert_eq!(against(clock(50, 7), clock(-200, 5)), clock(250, 12));
        assert_eq!(against(None, clock(1, 1)), None);
    }
}
