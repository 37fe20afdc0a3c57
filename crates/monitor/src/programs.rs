//! Who works on this host beside the run.

use std::{
    collections::HashSet,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rookery_guest::ProcessProbe;
use rookery_host::{ProgramUse, ProgramWatch};
use rookery_stats::OtherProgram;

use crate::{LoadState, SamplerConfig, affinity::stay_on};

/// Time between two looks.
const PAUSE: Duration = Duration::from_secs(2);
/// After a look a pause of so many times its length: looking must not become load.
const PAUSE_PER_LOOK: u32 = 100;
/// How often the end of the load is looked for.
const WATCH_EVERY: Duration = Duration::from_millis(50);
/// Programs that are kept.
const MOST_PROGRAMS: usize = 8;
/// What is less than this of a core, and moves less than a page a second, is not kept.
const LEAST_CORES: f64 = 0.005;
const LEAST_BYTES_PER_S: f64 = 4096.0;

/// Look at all programs but those of the guests and this one, from the begin of the window to its
/// end, or to that of the load.
pub(crate) fn watch_programs(
    config: &SamplerConfig,
    mut probes: Vec<ProcessProbe>,
    state: &LoadState,
) -> Vec<OtherProgram> {
    stay_on(&config.cpus);
    let Some(start) = state.started() else {
        return Vec::new();
    };
    let course = config.schedule.starting(start);
    let mut watch = watch();
    let (mut began, mut next) = (None, course.from);
    loop {
        while Instant::now() < next && !state.is_over() {
            thread::sleep(WATCH_EVERY.min(next.saturating_duration_since(Instant::now())));
        }
        if state.is_over() && began.is_none() {
            return Vec::new();
        }
        let look = Instant::now();
        watch.look(&own_processes(&mut probes));
        let began = *began.get_or_insert(look);
        if state.is_over() || look >= course.until {
            return programs(watch.finish(), look.duration_since(began));
        }
        let pause = PAUSE.max(look.elapsed() * PAUSE_PER_LOOK);
        next = (Instant::now() + pause).min(course.until);
    }
}

/// What other programs use on this host now, over `span`; nothing of it is load.
#[must_use]
pub fn look_around(span: Duration) -> Vec<OtherProgram> {
    let (mut watch, began) = (watch(), Instant::now());
    let own = own_processes(&mut []);
    watch.look(&own);
    thread::sleep(span);
    watch.look(&own);
    programs(watch.finish(), began.elapsed())
}

fn watch() -> ProgramWatch {
    ProgramWatch::new(Path::new("/proc"), rustix::param::page_size() as u64)
}

fn own_processes(probes: &mut [ProcessProbe]) -> HashSet<u32> {
    let guests = probes.iter_mut().flat_map(|probe| probe());
    guests.chain([std::process::id()]).collect()
}

/// What was used as rates.
fn programs(used: Vec<ProgramUse>, span: Duration) -> Vec<OtherProgram> {
    let seconds = span.as_secs_f64();
    let mut programs: Vec<OtherProgram> = used
        .into_iter()
        .map(|used| OtherProgram {
            name: used.name,
            cpu_cores: used.cpu_us as f64 / 1e6 / seconds,
            disk_bytes_per_s: used.disk_bytes as f64 / seconds,
            memory_bytes: used.memory_bytes,
        })
        .filter(|program| {
            program.cpu_cores >= LEAST_CORES || program.disk_bytes_per_s >= LEAST_BYTES_PER_S
        })
        .collect();
    if programs.len() > MOST_PROGRAMS {
        // Of those that use little CPU the ones that keep the disks busy.
        let (_, rest) = programs.split_at_mut(MOST_PROGRAMS / 2);
        rest.sort_by(|a, b| b.disk_bytes_per_s.total_cmp(&a.disk_bytes_per_s));
        programs.truncate(MOST_PROGRAMS);
    }
    programs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LoadSchedule;

    #[test]
    fn programs_are_kept_by_cpu_and_by_disk() {
        let used = |name: &str, cpu_us, disk_bytes| ProgramUse {
            name: name.to_owned(),
            cpu_us,
            disk_bytes,
            memory_bytes: 1,
        };
        let mut all: Vec<ProgramUse> = (0..20)
            .map(|number| used(&format!("p{number}"), 2_000_000 - number * 50_000, 0))
            .collect();
        all.push(used("cp", 100_000, 40_000_000));
        all.push(used("idle", 10, 10));
        let kept = programs(all, Duration::from_secs(2));
        assert_eq!(kept.len(), MOST_PROGRAMS);
        assert_eq!((kept[0].name.as_str(), kept[0].cpu_cores), ("p0", 1.0));
        let cp = kept.iter().find(|program| program.name == "cp");
        assert_eq!(cp.expect("kept").disk_bytes_per_s, 20_000_000.0);
    }

    #[test]
    fn a_load_that_ends_before_its_window_has_no_programs() {
        let config = SamplerConfig {
            cpus: Vec::new(),
            interval: Duration::from_secs(1),
            schedule: LoadSchedule {
                window_start: Duration::from_secs(3600),
                window: Duration::from_secs(1),
                end: Duration::from_secs(3602),
            },
            databases: Vec::new(),
        };
        let state = LoadState::default();
        state.begin(Instant::now());
        state.finish();
        assert_eq!(watch_programs(&config, Vec::new(), &state), []);
    }
}
