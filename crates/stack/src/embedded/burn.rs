//! CPU time burnt on purpose: a slow-down of known size, which a measurement must find.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// CPU time of this thread since its start.
fn thread_cpu() -> Duration {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::ThreadCPUTime);
    // Neither is negative: the clock starts at zero with the thread.
    Duration::new(
        u64::try_from(tv_sec).unwrap_or(0),
        u32::try_from(tv_nsec).unwrap_or(0),
    )
}

/// Keep this thread's CPU busy until it has used `time` of it. By the thread's own clock: time in
/// which other threads had the CPU does not count, so that the work is the same however crowded the
/// host is.
pub(crate) fn burn(time: Duration) {
    if time.is_zero() {
        return;
    }
    let end = thread_cpu() + time;
    while thread_cpu() < end {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::Shop, *};

    fn used(work: impl FnOnce()) -> Duration {
        let before = thread_cpu();
        work();
        thread_cpu() - before
    }

    #[test]
    fn what_is_asked_for_is_burnt() {
        for asked in [Duration::from_micros(50), Duration::from_millis(5)] {
            let burnt = used(|| burn(asked));
            // The clock is read once more at each end.
            assert!(
                burnt >= asked && burnt < asked + Duration::from_millis(2),
                "{burnt:?} of {asked:?}"
            );
        }
    }

    #[test]
    fn time_without_the_cpu_does_not_count() {
        let asleep = used(|| std::thread::sleep(Duration::from_millis(20)));
        assert!(asleep < Duration::from_millis(10), "{asleep:?}");
    }

    #[test]
    fn every_page_burns_it_and_health_does_not() {
        let asked = Duration::from_millis(20);
        let shop = Shop::burning(asked);
        let mut page = String::new();
        let burnt = used(|| page = shop.page("/ds2/dslogin.php?username=user1&password=password"));
        assert!(page.contains("Welcome") && burnt >= asked, "{burnt:?}");
        let healthy = used(|| assert_eq!(shop.answer("/health").status, 200));
        assert!(healthy < asked, "{healthy:?}");
    }
}
