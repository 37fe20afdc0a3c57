//! Do the guests run where they are pinned? Every thread is looked at, again and again, while the
//! load is steady.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rookery_guest::ProcessProbe;
use rookery_host::residence::Residence;

use crate::{LoadState, SamplerConfig, affinity::stay_on};

/// The measured window is cut into so many parts, with a look at the end of each.
const LOOKS: u32 = 10;
/// The least time between two looks.
const LEAST_PAUSE: Duration = Duration::from_millis(100);
/// The most.
const MOST_PAUSE: Duration = Duration::from_secs(5);
/// After a look a pause of so many times its length: looking must not become load.
const PAUSE_PER_LOOK: u32 = 50;
/// How often the end of the load is looked for.
const WATCH_EVERY: Duration = Duration::from_millis(50);

/// Look at the processes of each guest until the window has passed or the load is over. At least
/// one look is taken.
pub(crate) fn watch_placement(
    config: &SamplerConfig,
    mut probes: Vec<ProcessProbe>,
    state: &LoadState,
) -> Vec<Residence> {
    stay_on(&config.cpus);
    let mut seen = vec![Residence::default(); probes.len()];
    let Some(start) = state.started() else {
        return Vec::new();
    };
    let course = config.schedule.starting(start);
    let pause = (config.schedule.window / LOOKS).clamp(LEAST_PAUSE, MOST_PAUSE);
    let mut next = course.from + pause;
    loop {
        while Instant::now() < next {
            if state.is_over() {
                return seen;
            }
            thread::sleep(WATCH_EVERY.min(next.saturating_duration_since(Instant::now())));
        }
        let began = Instant::now();
        for (probe, seen) in probes.iter_mut().zip(&mut seen) {
            seen.look(Path::new("/proc"), probe());
        }
        next = Instant::now() + pause.max(began.elapsed() * PAUSE_PER_LOOK);
        if next > course.until {
            return seen;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LoadSchedule;

    #[test]
    fn looks_end_with_the_window_or_the_load() {
        let own = std::process::id();
        let probes = || -> Vec<ProcessProbe> { vec![Box::new(move || vec![own])] };
        let config = |window_start: Duration| SamplerConfig {
            cpus: Vec::new(),
            interval: Duration::from_secs(1),
            schedule: LoadSchedule {
                window_start,
                window: Duration::from_millis(250),
                end: window_start + Duration::from_secs(1),
            },
            databases: Vec::new(),
        };
        let state = LoadState::default();
        state.begin(Instant::now());
        let seen = watch_placement(&config(Duration::ZERO), probes(), &state);
        assert!(seen[0].seen > 0 && seen[0].strays(&seen[0].cpus) == 0);
        state.finish();
        let late = config(Duration::from_secs(3600));
        assert_eq!(
            watch_placement(&late, probes(), &state),
            [Residence::default()]
        );
    }
}
