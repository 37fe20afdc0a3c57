//! What is wrong with a server on purpose: time that pages take, of a known size, and faults that
//! users must find.

use std::{
    fmt,
    str::FromStr,
    sync::{Arc, PoisonError, RwLock},
    thread,
    time::Duration,
};

use rookery_workload::web2005::{Model, files::page};

use tokio::{sync::Semaphore, task::spawn_blocking};

use crate::{
    embedded::burn,
    http_server::{AnswerBody, FullAnswer},
    web2005::ExtraTime,
};

/// What stands before the padding of a page.
const PADDING: &[u8] = b"<pre class=\"pad\">\n";

/// The time that pages take, and who has the server for itself.
///
/// While a page is in its serial part no other page goes on: a section that stops everything, as
/// Amdahl's law has it. A lock that excludes only itself follows another law: pages line up behind
/// it, and throughput grows in proportion until the lock is always held.
#[derive(Debug)]
pub(super) struct Taking {
    /// By several pages at a time.
    pub(super) shared: Part,
    /// By one page at a time.
    pub(super) serial: Part,
    turn: RwLock<()>,
    processors: Semaphore,
}

/// A part of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) cpu: Duration,
    pub(super) wait: Duration,
}

impl Part {
    fn is_none(self) -> bool {
        self.cpu.is_zero() && self.wait.is_zero()
    }

    /// Holds this thread, as a slower processor would.
    fn take(self) {
        burn(self.cpu);
        if !self.wait.is_zero() {
            thread::sleep(self.wait);
        }
    }
}

impl Taking {
    pub(super) fn new(extra: ExtraTime) -> Self {
        let share = extra.serial_share;
        let share = if share > 0.0 { share.min(1.0) } else { 0.0 };
        let serial = Part {
            cpu: extra.cpu.mul_f64(share),
            wait: extra.wait.mul_f64(share),
        };
        Self {
            shared: Part {
                cpu: extra.cpu.saturating_sub(serial.cpu),
                wait: extra.wait.saturating_sub(serial.wait),
            },
            serial,
            turn: RwLock::new(()),
            processors: Semaphore::new(extra.processors.clamp(1, Semaphore::MAX_PERMITS)),
        }
    }

    /// Takes the time of a page, on a thread that no other page or file needs.
    pub(super) async fn take(self: &Arc<Self>) {
        if self.shared.is_none() && self.serial.is_none() {
            return;
        }
        // The semaphore is never closed; a panic of the thread took its time, too.
        let _processor = self.processors.acquire().await;
        let taking = Arc::clone(self);
        let _ = spawn_blocking(move || taking.take_here()).await;
    }

    /// Takes the time of a page on this thread.
    fn take_here(&self) {
        if self.serial.is_none() {
            return self.shared.take();
        }
        {
            let _with_others = self.turn.read().unwrap_or_else(PoisonError::into_inner);
            self.shared.take();
        }
        let _alone = self.turn.write().unwrap_or_else(PoisonError::into_inner);
        self.serial.take();
    }
}

/// A fault of a server, as it is typed: `slow=PAGE:TIME`, `wrong=PAGE`, `missing=PATH`,
/// `session=PAGE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlantedFault {
    /// Every page of this type is late.
    Slow {
        /// The page type.
        page: String,
        /// By how much.
        by: Duration,
    },
    /// A byte of the padding of every page of this type is another.
    Wrong {
        /// The page type.
        page: String,
    },
    /// A file of the set is missing.
    Missing {
        /// Its path, as in a URL.
        path: String,
    },
    /// The session of a user who asks for a page of this type is forgotten before the answer.
    Session {
        /// The page type.
        page: String,
    },
}

/// A fault that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoFault;

impl fmt::Display for NoFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("write slow=PAGE:TIME (TIME in ms), wrong=PAGE, missing=/PATH or session=PAGE")
    }
}

impl std::error::Error for NoFault {}

impl FromStr for PlantedFault {
    type Err = NoFault;

    fn from_str(text: &str) -> Result<Self, NoFault> {
        let known = |name: &str| {
            let is_page = Model::ALL
                .into_iter()
                .any(|model| page(model, name).is_some());
            is_page.then(|| name.to_owned()).ok_or(NoFault)
        };
        let (kind, what) = text.split_once('=').ok_or(NoFault)?;
        match kind {
            "slow" => {
                let (page, ms) = what.split_once(':').ok_or(NoFault)?;
                let ms: u32 = ms
                    .strip_suffix("ms")
                    .and_then(|ms| ms.parse().ok())
                    .ok_or(NoFault)?;
                let page = known(page)?;
                let by = Duration::from_millis(ms.into());
                Ok(Self::Slow { page, by })
            }
            "wrong" => known(what).map(|page| Self::Wrong { page }),
            "session" => known(what).map(|page| Self::Session { page }),
            "missing" if what.starts_with('/') => Ok(Self::Missing {
                path: what.to_owned(),
            }),
            _ => Err(NoFault),
        }
    }
}

/// The faults of a server.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults(Vec<PlantedFault>);

impl Faults {
    pub(super) fn new(faults: Vec<PlantedFault>) -> Self {
        Self(faults)
    }

    /// By how much a page is late.
    pub(super) fn delay(&self, name: &str) -> Duration {
        let delays = self.0.iter().filter_map(|fault| match fault {
            PlantedFault::Slow { page, by } if page == name => Some(*by),
            _ => None,
        });
        delays.sum()
    }

    /// Whether the session of a page is forgotten.
    pub(super) fn drops_session(&self, name: &str) -> bool {
        let dropped =
            |fault: &PlantedFault| matches!(fault, PlantedFault::Session { page } if page == name);
        self.0.iter().any(dropped)
    }

    /// Whether a file is missing.
    pub(super) fn is_missing(&self, wanted: &str) -> bool {
        let missing = |fault: &PlantedFault| matches!(fault, PlantedFault::Missing { path } if path == wanted);
        self.0.iter().any(missing)
    }

    /// The answer as it is sent: with another byte where the padding begins.
    pub(super) fn spoil(&self, name: &str, answer: &mut FullAnswer) {
        let wrong =
            |fault: &PlantedFault| matches!(fault, PlantedFault::Wrong { page } if page == name);
        if !self.0.iter().any(wrong) {
            return;
        }
        if let AnswerBody::Bytes(body) = &mut answer.body {
            let begin = body
                .windows(PADDING.len())
                .position(|bytes| bytes == PADDING);
            if let Some(byte) = begin.and_then(|at| body.get_mut(at + PADDING.len())) {
                *byte = b'z';
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Instant};

    use super::*;

    const ALL: Duration = Duration::from_millis(10);

    #[test]
    fn time_is_divided_and_all_of_it_taken() {
        let of = |serial_share| {
            Taking::new(ExtraTime {
                cpu: ALL,
                wait: 2 * ALL,
                serial_share,
                processors: 1,
            })
        };
        let taking = of(0.25);
        let part = |quarters: u32| Part {
            cpu: ALL * quarters / 4,
            wait: ALL * quarters / 2,
        };
        assert_eq!((taking.shared, taking.serial), (part(3), part(1)));
        assert_eq!(of(0.0).shared, part(4));
        assert!(of(f64::NAN).serial.is_none() && of(2.0).shared.is_none());
    }

    #[test]
    fn pages_that_have_the_server_for_themselves_come_one_after_the_other() {
        let taking = Taking::new(ExtraTime {
            wait: Duration::from_millis(4),
            serial_share: 0.5,
            ..ExtraTime::default()
        });
        let began = Instant::now();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..5).for_each(|_| taking.take_here()));
            }
        });
        // Twenty serial parts of 2 ms, and the first parallel one before them: no machine is fast
        // enough for less.
        assert!(began.elapsed() >= Duration::from_millis(42));
    }

    #[test]
    fn no_more_pages_take_their_time_than_there_are_processors() {
        let taking = Arc::new(Taking::new(ExtraTime {
            wait: Duration::from_millis(4),
            processors: 2,
            ..ExtraTime::default()
        }));
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let began = Instant::now();
        let pages: Vec<_> = (0..10)
            .map(|_| {
                let taking = Arc::clone(&taking);
                runtime.spawn(async move { taking.take().await })
            })
            .collect();
        for page in pages {
            runtime.block_on(page).expect("a page");
        }
        assert!(began.elapsed() >= Duration::from_millis(20));
    }

    #[test]
    fn faults_are_read_as_they_are_typed() {
        let read = str::parse::<PlantedFault>;
        let page = || "bill_pay".to_owned();
        assert_eq!(
            read("slow=bill_pay:250ms"),
            Ok(PlantedFault::Slow {
                page: page(),
                by: Duration::from_millis(250)
            })
        );
        assert_eq!(
            read("wrong=bill_pay"),
            Ok(PlantedFault::Wrong { page: page() })
        );
        assert_eq!(
            read("session=bill_pay"),
            Ok(PlantedFault::Session { page: page() })
        );
        assert!(read("missing=/bank/images/19").is_ok());
        for text in [
            "",
            "slow",
            "slow=bill_pay",
            "slow=bill_pay:1s",
            "slow=nothing:1ms",
            "wrong=nothing",
            "missing=bank",
            "late=login",
        ] {
            assert_eq!(read(text), Err(NoFault), "{text}");
        }
    }

    #[test]
    fn faults_are_of_their_page_alone() {
        let faults: Vec<PlantedFault> = ["slow=login:5ms", "session=bill_pay", "wrong=logout"]
            .iter()
            .map(|text| text.parse().expect("a fault"))
            .collect();
        let faults = Faults::new(faults);
        assert_eq!(faults.delay("login"), Duration::from_millis(5));
        assert_eq!(faults.delay("logout"), Duration::ZERO);
        assert!(faults.drops_session("bill_pay") && !faults.drops_session("login"));
        let sent = |name: &str| {
            let mut answer = FullAnswer {
                status: 200,
                headers: Vec::new(),
                body: AnswerBody::Bytes(b"<pre class=\"pad\">\nAAAA".to_vec()),
            };
            faults.spoil(name, &mut answer);
            match answer.body {
                AnswerBody::Bytes(body) => body,
                AnswerBody::File(_) => Vec::new(),
            }
        };
        assert_eq!(sent("login"), b"<pre class=\"pad\">\nAAAA");
        assert_eq!(sent("logout"), b"<pre class=\"pad\">\nzAAA");
    }
}
