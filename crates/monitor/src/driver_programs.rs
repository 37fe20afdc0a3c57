//! Programs that put the load on instead of this process.

use std::sync::{Arc, Mutex, PoisonError};

use rookery_guest::{ProcessProbe, UsageProbe};
use rookery_host::{CpuSplit, process_stat};

use crate::host::own_probe;

/// Children of this process that put a load on, as far as they are known: what they use is the
/// driver's, and they are no other programs. All clones are the same list.
#[derive(Clone, Debug, Default)]
pub struct DriverPrograms(Arc<Mutex<Vec<u32>>>);

impl DriverPrograms {
    /// One more: the number of its process.
    pub fn add(&self, process: u32) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(process);
    }

    /// One that is waited for next, and so is among what this process has used from then on.
    pub fn remove(&self, process: u32) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|known| *known != process);
    }

    fn numbers(&self) -> Vec<u32> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Tells their numbers.
    pub(crate) fn processes(&self) -> ProcessProbe {
        let programs = self.clone();
        Box::new(move || programs.numbers())
    }
}

/// What the driver uses: this process with `programs`.
pub(crate) fn driver_probe(programs: &[DriverPrograms]) -> UsageProbe {
    let page = rustix::param::page_size() as u64;
    let (programs, mut own) = (programs.to_vec(), own_probe());
    Box::new(move || {
        let numbers = programs.iter().flat_map(DriverPrograms::numbers);
        let others: Vec<_> = numbers.filter_map(process_stat).collect();
        let mut usage = own()?;
        for stat in others {
            usage.cpu_us += stat.cpu_us;
            usage.memory_bytes += stat.resident_pages.saturating_mul(page);
            let split = usage.split.get_or_insert_default();
            *split = CpuSplit {
                user_us: split.user_us + stat.cpu_us.saturating_sub(stat.system_us),
                system_us: split.system_us + stat.system_us,
                ..*split
            };
        }
        Some(usage)
    })
}

#[cfg(test)]
mod tests {
    use std::{
        process::{Command, Stdio},
        time::{Duration, Instant},
    };

    use super::*;

    /// More than this process uses between two looks.
    const MUCH_US: u64 = 50_000;

    #[test]
    fn what_a_program_uses_is_the_drivers_while_it_is_known() {
        let programs = DriverPrograms::default();
        let (mut driver, mut own) = (driver_probe(std::slice::from_ref(&programs)), own_probe());
        let mut busy = Command::new("yes")
            .stdout(Stdio::null())
            .spawn()
            .expect("yes");
        programs.add(busy.id());
        assert_eq!(programs.processes()(), [busy.id()]);
        let mut ahead_us = || {
            let (all, own) = (driver().expect("usage"), own().expect("usage"));
            let split = all.split.expect("told");
            assert_eq!(split.user_us + split.system_us, all.cpu_us);
            all.cpu_us.saturating_sub(own.cpu_us)
        };
        let until = Instant::now() + Duration::from_secs(60);
        while ahead_us() < MUCH_US {
            assert!(Instant::now() < until, "it uses nothing");
        }
        programs.remove(busy.id());
        assert!(ahead_us() < MUCH_US);
        busy.kill().expect("killed");
        busy.wait().expect("waited for");
        assert!(programs.processes()().is_empty());
    }
}
