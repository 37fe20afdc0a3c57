//! Devices that memory of containers is swapped to: what they do, under faults, and after sudden
//! death.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rookery_guest::{
    CleanOptions, Fill, GuestSpec, GuestState, Kind, Lab, Recipe, RunDirs, SwapDevice, Template,
    check_swap, clean, open_lab, patient,
};
use rookery_host::{
    FaultyHost, Host, RunId,
    swap::{swap_areas, zram::zram_numbers},
};
use rookery_study::{Swap, SwapKind};

use crate::{
    Case,
    dying::Dying,
    fixture::{Fixture, PATIENCE, end_of, spec},
};

/// All of them.
pub(crate) const CASES: &[Case] = &[
    (
        "memory_that_does_not_fit_is_swapped_as_far_as_it_may",
        memory_that_does_not_fit_is_swapped_as_far_as_it_may,
    ),
    (
        "every_failing_step_of_a_swap_device_leaves_nothing",
        every_failing_step_of_a_swap_device_leaves_nothing,
    ),
    (
        "sudden_death_at_any_step_of_a_swap_device_leaves_nothing_after_clean",
        sudden_death_at_any_step_of_a_swap_device_leaves_nothing_after_clean,
    ),
];

const KINDS: [SwapKind; 2] = [SwapKind::File, SwapKind::Zram];

/// The kernel swaps to one run's devices at a time; those of other programs are waited for.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let deadline = Instant::now() + PATIENCE;
    while swap_areas().is_ok_and(|areas| !areas.is_empty()) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    guard
}

fn can_swap(kind: SwapKind) -> bool {
    let asked = Swap::Device {
        kind,
        size_mib: None,
    };
    match check_swap(asked, Some(&std::env::temp_dir())) {
        Ok(()) => true,
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            false
        }
    }
}

/// Guests that are one command: memory of a known amount is written to.
fn dd(lab: &dyn Lab) -> Template {
    let recipe = Recipe {
        description: "swap".to_owned(),
        program: PathBuf::from("/bin/dd"),
        base: None,
        fill: Fill::Data(&|_: &Path| Ok(None)),
    };
    lab.template(&recipe, &patient).expect("a template")
}

/// One block of 48 MiB in a guest of 24 MiB.
fn too_large(swap: Swap) -> GuestSpec {
    let words = ["if=/dev/zero", "of=/dev/null", "bs=48M", "count=1"];
    GuestSpec {
        memory_mib: Some(24),
        swap,
        args: words.map(str::to_owned).to_vec(),
        ..spec(1, &[])
    }
}

fn memory_that_does_not_fit_is_swapped_as_far_as_it_may(_: Kind) {
    let _alone = alone();
    let none = (Swap::None, "none");
    let device = |kind, size_mib| Swap::Device {
        kind,
        size_mib: Some(size_mib),
    };
    for kind in KINDS.into_iter().filter(|kind| can_swap(*kind)) {
        let word = rookery_study::Named::name(kind);
        let fixture = Fixture::new();
        let mut lab = fixture.lab(Kind::Container);
        let template = dd(&*lab);
        let mut swap = lab.swap("swap1", kind, 64).expect("a device");
        for ((asked, said), lives) in [
            ((device(kind, 64), format!("{word} 64MiB")), true),
            ((device(kind, 8), format!("{word} 8MiB")), false),
            ((none.0, none.1.to_owned()), false),
        ] {
            let mut guest = lab.create(&template, &too_large(asked)).expect("a guest");
            guest.start().expect("started");
            let readings = guest.in_force();
            let found = readings.iter().find(|found| found.name == "guest.swap");
            let found = found.map(|found| (found.asked.as_str(), found.effective.as_str()));
            assert_eq!(found, Some((said.as_str(), said.as_str())));
            let end = end_of(&mut *guest);
            let whole = end == GuestState::Ended("exit code 0".to_owned());
            assert_eq!(whole, lives, "{said}: {end:?} {}", guest.log_tail(2000));
            assert_eq!(guest.memory_kills() == 0, lives, "{said}");
            guest.remove().expect("removed");
        }
        swap.remove().expect("removed");
        lab.close().expect("closed");
        fixture.assert_no_traces("after close");
    }
}

fn every_failing_step_of_a_swap_device_leaves_nothing(_: Kind) {
    let _alone = alone();
    for kind in KINDS.into_iter().filter(|kind| can_swap(*kind)) {
        for make in [FaultyHost::failing_at, FaultyHost::failing_after] {
            for n in 1.. {
                assert!(n < 20, "a device takes fewer changes than that");
                let fixture = Fixture::new();
                let before = zram_numbers();
                // The network of the lab takes three changes, and is no matter of this case.
                let host = Arc::new(make(n + 3));
                let lab = fixture.lab_on(Kind::Container, Arc::clone(&host) as Arc<dyn Host>);
                let mut lab = lab.expect("a lab");
                let made = lab.swap("swap1", kind, 16);
                if !host.has_failed() {
                    made.expect("no fault, no failure")
                        .remove()
                        .expect("removed");
                    assert!(n > 3, "a file, its head and the order can fail");
                    break;
                }
                let error = made.expect_err("a fault").to_string();
                assert!(error.contains("making its swap device"), "{error}");
                assert_eq!(zram_numbers(), before, "after fault {n}");
                lab.close().expect("closed");
                fixture.assert_no_traces(&format!("after fault {n}"));
            }
        }
    }
}

/// How the child ends that came to the end of its work.
const CAME_TO_ITS_END: i32 = 77;

/// The child of the case below: a lab with a device. It dies on the way, or leaves all of it
/// behind.
pub(crate) fn run_swapper_that_dies(words: &[String]) {
    let [run, dir, templates, kind, at, after] = words else {
        panic!("an order of six words")
    };
    let dirs = RunDirs {
        run: RunId::try_from(run.clone()).expect("a run id"),
        dir: PathBuf::from(dir),
        templates: PathBuf::from(templates),
    };
    let kind = match kind.as_str() {
        "file" => SwapKind::File,
        _ => SwapKind::Zram,
    };
    let host = Arc::new(Dying::new(at, after));
    let lab = open_lab(&Kind::Container.into(), dirs, host).expect("a lab");
    let _swap: SwapDevice = lab.swap("swap1", kind, 16).expect("a device");
    std::process::exit(CAME_TO_ITS_END);
}

fn sudden_death_at_any_step_of_a_swap_device_leaves_nothing_after_clean(_: Kind) {
    let _alone = alone();
    let mut left = BTreeSet::new();
    for kind in KINDS.into_iter().filter(|kind| can_swap(*kind)) {
        for after in ["before", "after"] {
            for at in 1.. {
                assert!(at < 20, "a device takes fewer changes than that");
                let fixture = Fixture::new();
                let before = zram_numbers();
                let dirs = fixture.site();
                let status = Command::new(std::env::current_exe().expect("own path"))
                    .args(["swapper-that-dies", &fixture.run])
                    .args([&dirs.dir, &dirs.templates])
                    .args([rookery_study::Named::name(kind), &at.to_string(), after])
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .status()
                    .expect("started");
                let traces = fixture.traces();
                let swap = |trace: &&String| trace.contains("swap") || trace.contains("zram");
                left.extend(traces.iter().filter(swap).cloned());
                let report = clean(&CleanOptions {
                    labels: Some(vec![dirs.run]),
                })
                .expect("cleaned");
                assert!(report.failed.is_empty(), "{at} {after}: {report:?}");
                fixture.assert_no_traces(&format!("{kind:?}, death {after} change {at}"));
                assert_eq!(zram_numbers(), before, "death {after} change {at}");
                if status.code() == Some(CAME_TO_ITS_END) {
                    assert!(at > 3, "the steps of a device were {at}");
                    break;
                }
            }
        }
    }
    assert!(left.len() > 3, "there was something to clean: {left:?}");
}
