//! Applying and putting back under faults: whatever write fails, and whenever the process dies,
//! everything can be put back.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use rookery_diagnosis::Diagnosis;
use tempfile::TempDir;

use super::*;
use crate::{CommandError, FaultyHost, Host, Identity, Invocation, RealHost, RunId, StateDir};

/// The settings of a made-up machine with two disks.
const FILES: &[(&str, &str)] = &[
    ("proc/sys/vm/swappiness", "60\n"),
    ("proc/sys/vm/dirty_ratio", "20\n"),
    ("proc/sys/vm/dirty_bytes", "0\n"),
    ("proc/sys/kernel/sem", "250\t256000\t32\t1024\n"),
    ("proc/sys/kernel/random/boot_id", "boot-1\n"),
    ("proc/sys/net/core/somaxconn", "4096\n"),
    ("sys/kernel/mm/ksm/run", "1\n"),
    ("sys/block/sda/queue/scheduler", "none\n"),
    ("sys/block/sda/queue/nr_requests", "256\n"),
    ("sys/block/sda/queue/write_cache", "write back\n"),
    ("sys/block/sdb/queue/scheduler", "bfq\n"),
    ("sys/block/sdb/queue/nr_requests", "64\n"),
    ("sys/block/sdb/queue/write_cache", "write back\n"),
    ("sys/block/sdb/queue/iosched/low_latency", "1\n"),
];

const PROFILE: &str = r#"
name = "test"
title = "Test"
[[setting]]
knob = "block.scheduler"
values = ["mq-deadline", "deadline"]
reason = "r"
source = "s"
[[setting]]
knob = "block.nr_requests"
at_least = 128
reason = "r"
source = "s"
[[setting]]
knob = "block.write_cache"
value = "write through"
reason = "r"
source = "s"
[[setting]]
knob = "vm.swappiness"
value = 0
reason = "r"
source = "s"
[[setting]]
knob = "vm.dirty_ratio"
value = 40
reason = "r"
source = "s"
[[setting]]
knob = "kernel.sem"
at_least = "100 32000 100 100"
reason = "r"
source = "s"
[[setting]]
knob = "net.core.somaxconn"
at_least = 128
reason = "r"
source = "s"
[[setting]]
knob = "ksm.run"
value = 0
reason = "r"
source = "s"
[[setting]]
knob = "cpu.smt"
value = "off"
reason = "r"
source = "s"
"#;

/// A made-up machine and a place for the journal.
struct Machine {
    directory: TempDir,
}

impl Machine {
    fn new() -> Self {
        // In memory where there is such a place: the journal is synced hundreds of times.
        let memory = Path::new("/dev/shm");
        let directory = if memory.is_dir() {
            tempfile::tempdir_in(memory)
        } else {
            tempfile::tempdir()
        };
        let directory = directory.expect("temporary directory");
        for (path, text) in FILES {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().expect("has a parent")).expect("made");
            fs::write(path, text).expect("written");
        }
        Self { directory }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn journal(&self) -> PathBuf {
        self.path().join("state")
    }

    fn keeper(&self, host: impl Host + 'static) -> Keeper {
        let state = StateDir::at(&self.journal());
        Keeper::new(Root::at(self.path()), state, Arc::new(host)).expect("keeper")
    }

    /// A keeper whose process is dead as soon as its work ends.
    fn mortal(&self, host: impl Host + 'static) -> Keeper {
        let mut keeper = self.keeper(host);
        keeper.owner.identity = Identity {
            pid: u32::MAX,
            start_ticks: 1,
        };
        keeper
    }

    fn settings(&self) -> BTreeMap<&'static str, String> {
        FILES
            .iter()
            .map(|(path, _)| {
                (
                    *path,
                    fs::read_to_string(self.path().join(path)).expect("readable"),
                )
            })
            .collect()
    }

    fn set(&self, path: &str, text: &str) {
        fs::write(self.path().join(path), text).expect("written");
    }

    /// All settings bit-equal to those of the fresh machine, and no trace of a journal.
    fn assert_untouched(&self, when: &str) {
        let found = self.settings();
        for (path, text) in FILES {
            assert_eq!(found[path], *text, "{path} {when}");
        }
        assert!(!self.journal().exists(), "no journal is left {when}");
    }
}

/// Every change from the n-th on fails, as when the process is killed there.
struct Dying {
    at: u64,
    done: AtomicU64,
}

impl Host for Dying {
    fn step(&self, name: &'static str) -> io::Result<()> {
        if self.done.fetch_add(1, Ordering::Relaxed) + 1 >= self.at {
            return Err(io::Error::other(format!("dead before: {name}")));
        }
        Ok(())
    }

    fn run(&self, invocation: Invocation) -> Result<String, CommandError> {
        RealHost.run(invocation)
    }
}

fn profile() -> Profile {
    Profile::parse("test", PROFILE).unwrap_or_else(|error| panic!("{error}"))
}

fn go() -> AtomicBool {
    AtomicBool::new(false)
}

fn effect<'o>(outcomes: &'o [Outcome], knob: &str, device: &str) -> &'o Effect {
    let found = outcomes
        .iter()
        .find(|outcome| outcome.knob == knob && outcome.device == device);
    &found
        .unwrap_or_else(|| panic!("{knob} of {device} in {outcomes:#?}"))
        .effect
}

#[test]
fn a_profile_is_applied_until_it_is_reverted() {
    let machine = Machine::new();
    let keeper = machine.mortal(RealHost);
    let outcomes = keeper
        .apply(&profile(), &Consent::default(), &go())
        .expect("applied");
    let set = |before: &str, effective: &str| Effect::Set {
        before: before.to_owned(),
        effective: effective.to_owned(),
        adjusted: false,
    };
    assert_eq!(
        *effect(&outcomes, "block.scheduler", "sda"),
        set("none", "mq-deadline")
    );
    assert_eq!(
        *effect(&outcomes, "block.nr_requests", "sdb"),
        set("64", "128")
    );
    assert_eq!(
        *effect(&outcomes, "kernel.sem", ""),
        set("250\t256000\t32\t1024", "250 256000 100 1024")
    );
    assert!(matches!(
        effect(&outcomes, "block.nr_requests", "sda"),
        Effect::AsWanted { .. }
    ));
    assert!(matches!(
        effect(&outcomes, "block.write_cache", "sda"),
        Effect::Withheld { .. }
    ));
    assert!(
        matches!(effect(&outcomes, "cpu.smt", ""), Effect::Refused { .. }),
        "no such file"
    );
    assert_eq!(machine.settings()["proc/sys/vm/swappiness"], "0\n");
    assert_eq!(
        machine.settings()["sys/block/sda/queue/write_cache"],
        "write back\n"
    );

    let state = StateDir::at(&machine.journal());
    let cleaned = machine
        .keeper(RealHost)
        .clean(&state.lock().expect("lock"), None)
        .expect("cleaned");
    assert_eq!(
        cleaned,
        Reverted::default(),
        "what is applied outlives its process"
    );
    let busy = machine
        .keeper(RealHost)
        .apply(&profile(), &Consent::default(), &go());
    assert!(
        busy.expect_err("applied already")
            .help()
            .is_some_and(|help| help.contains("`rookery host revert` first"))
    );

    let reverted = machine.keeper(RealHost).revert().expect("reverted");
    assert_eq!(reverted.profiles, ["test"]);
    let knobs: Vec<&str> = reverted
        .restored
        .iter()
        .map(|restored| restored.knob.as_str())
        .collect();
    assert_eq!(knobs.len(), 7, "{knobs:?}");
    machine.assert_untouched("after revert");
    assert_eq!(
        machine.keeper(RealHost).revert().expect("nothing to do"),
        Reverted::default()
    );
}

#[test]
fn consent_turns_the_dangerous_knobs() {
    let machine = Machine::new();
    let held = machine
        .keeper(RealHost)
        .hold(&profile(), None, &Consent { data_loss: true }, &go())
        .expect("held");
    assert_eq!(
        machine.settings()["sys/block/sdb/queue/write_cache"],
        "write through\n"
    );
    assert!(matches!(
        effect(held.outcomes(), "block.write_cache", "sdb"),
        Effect::Set { .. }
    ));
    drop(held);
    machine.assert_untouched("after the drop");
}

#[test]
fn after_a_fault_at_the_nth_change_revert_restores_all() {
    for n in 1.. {
        let machine = Machine::new();
        let host = Arc::new(FaultyHost::failing_at(n));
        let keeper = machine.keeper(Shared(Arc::clone(&host)));
        let applied = keeper.apply(&profile(), &Consent { data_loss: true }, &go());
        if applied.is_err() && host.has_failed() {
            machine.assert_untouched(&format!("after a refused journal at {n}"));
        }
        let _ = keeper.revert();
        machine.keeper(RealHost).revert().expect("reverted");
        machine.assert_untouched(&format!("after a fault at {n}"));
        if !host.has_failed() {
            assert!(n > 15, "all changes have been tried: {n}");
            return;
        }
    }
}

#[test]
fn after_death_at_the_nth_change_clean_restores_all() {
    for n in 1.. {
        let machine = Machine::new();
        let host = Arc::new(Dying {
            at: n,
            done: AtomicU64::new(0),
        });
        let state = StateDir::at(&machine.journal());
        let died = match machine.mortal(Shared(Arc::clone(&host))).hold(
            &profile(),
            None,
            &Consent { data_loss: true },
            &go(),
        ) {
            Ok(held) => held.put_back().is_err(),
            Err(_) => true,
        };
        let lock = state.lock().expect("lock");
        machine
            .keeper(RealHost)
            .clean(&lock, None)
            .expect("cleaned");
        state.remove_if_empty(&lock);
        drop(lock);
        machine.assert_untouched(&format!("after death at {n}"));
        if !died {
            assert!(
                n > 25,
                "every change of applying and of putting back has been tried: {n}"
            );
            return;
        }
    }
}

/// One host for the test and the keeper.
struct Shared<H>(Arc<H>);

impl<H: Host> Host for Shared<H> {
    fn step(&self, name: &'static str) -> io::Result<()> {
        self.0.step(name)
    }

    fn run(&self, invocation: Invocation) -> Result<String, CommandError> {
        self.0.run(invocation)
    }
}

#[test]
fn a_stop_leaves_everything_as_before() {
    let machine = Machine::new();
    let stopped =
        machine
            .keeper(RealHost)
            .apply(&profile(), &Consent::default(), &AtomicBool::new(true));
    assert!(matches!(stopped, Err(SettingsError::Interrupted)));
    machine.assert_untouched("after a stop");
}

#[test]
fn a_run_holds_settings_above_what_is_applied() {
    let machine = Machine::new();
    machine
        .mortal(RealHost)
        .apply(&profile(), &Consent::default(), &go())
        .expect("applied");
    let applied = machine.settings();

    let run = RunId::try_from("ab12".to_owned()).expect("valid");
    let keeper = machine.keeper(RealHost);
    let held = keeper
        .hold(&above(), Some(run.clone()), &Consent::default(), &go())
        .expect("held");
    assert_eq!(machine.settings()["proc/sys/vm/swappiness"], "10\n");
    let mut stranger = machine.keeper(RealHost);
    stranger.owner.identity = Identity {
        pid: 1,
        start_ticks: 0,
    };
    assert!(
        stranger
            .revert()
            .expect_err("held by a living process")
            .to_string()
            .contains("run ab12")
    );
    assert!(
        stranger
            .hold(&above(), None, &Consent::default(), &go())
            .is_err(),
        "one holder at a time"
    );
    assert_eq!(keeper.layers().expect("layers").len(), 2);
    held.put_back().expect("put back");
    assert_eq!(
        machine.settings(),
        applied,
        "what was applied is in force again"
    );

    let dead = machine
        .mortal(RealHost)
        .hold(&above(), Some(run.clone()), &Consent::default(), &go())
        .expect("held");
    std::mem::forget(dead);
    let state = StateDir::at(&machine.journal());
    let other = RunId::try_from("other".to_owned()).expect("valid");
    let clean = |only: &RunId| {
        machine
            .keeper(RealHost)
            .clean(
                &state.lock().expect("lock"),
                Some(std::slice::from_ref(only)),
            )
            .expect("cleaned")
    };
    assert!(clean(&other).restored.is_empty(), "another run's");
    assert_eq!(clean(&run).restored.len(), 1);
    assert_eq!(machine.settings(), applied);
    machine.keeper(RealHost).revert().expect("reverted");
    machine.assert_untouched("in the end");
}

/// A profile of one setting.
fn above() -> Profile {
    let text = "name = \"above\"\ntitle = \"Above\"\n[[setting]]\nknob = \"vm.swappiness\"\nvalue \
                = 10\nreason = \"r\"\nsource = \"s\"\n";
    Profile::parse("above", text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn of_two_that_exclude_each_other_the_one_in_force_comes_back() {
    let machine = Machine::new();
    machine.set("proc/sys/vm/dirty_ratio", "0\n");
    machine.set("proc/sys/vm/dirty_bytes", "1048576\n");
    let keeper = machine.keeper(RealHost);
    let held = keeper
        .hold(&profile(), None, &Consent::default(), &go())
        .expect("held");
    // What the kernel does by itself:
    machine.set("proc/sys/vm/dirty_bytes", "0\n");
    held.put_back().expect("put back");
    assert_eq!(machine.settings()["proc/sys/vm/dirty_bytes"], "1048576\n");
    assert_eq!(machine.settings()["proc/sys/vm/dirty_ratio"], "0\n");
}

#[test]
fn what_a_scheduler_resets_comes_back_with_it() {
    let machine = Machine::new();
    let keeper = machine.keeper(RealHost);
    let held = keeper
        .hold(&profile(), None, &Consent::default(), &go())
        .expect("held");
    // What the kernel does when a scheduler is changed and changed back:
    machine.set("sys/block/sdb/queue/nr_requests", "32\n");
    machine.set("sys/block/sdb/queue/iosched/low_latency", "0\n");
    held.put_back().expect("put back");
    machine.assert_untouched("with all that hangs on it");
}

#[test]
fn free_memory_comes_back_with_huge_pages() {
    let machine = Machine::new();
    let huge = "sys/kernel/mm/transparent_hugepage/enabled";
    fs::create_dir_all(machine.path().join(huge).parent().expect("has a parent")).expect("made");
    machine.set(huge, "always [madvise] never\n");
    machine.set("proc/sys/vm/min_free_kbytes", "5000\n");
    let never = "name = \"n\"\ntitle = \"N\"\n[[setting]]\nknob = \"thp.enabled\"\nvalue \
                 = \"never\"\nreason = \"r\"\nsource = \"s\"\n";
    let never = Profile::parse("n", never).unwrap_or_else(|error| panic!("{error}"));
    let keeper = machine.keeper(RealHost);
    let held = keeper
        .hold(&never, None, &Consent::default(), &go())
        .expect("held");
    // What the kernel does by itself:
    machine.set("proc/sys/vm/min_free_kbytes", "19860\n");
    held.put_back().expect("put back");
    let text = |path: &str| fs::read_to_string(machine.path().join(path)).expect("readable");
    assert_eq!(text("proc/sys/vm/min_free_kbytes"), "5000\n");
    assert_eq!(text(huge), "madvise\n");
}

#[test]
fn a_disk_that_is_gone_holds_nothing_up_and_a_reboot_forgets() {
    let machine = Machine::new();
    machine
        .mortal(RealHost)
        .apply(&profile(), &Consent::default(), &go())
        .expect("applied");
    fs::remove_dir_all(machine.path().join("sys/block/sdb")).expect("taken out");
    machine.keeper(RealHost).revert().expect("reverted");
    assert_eq!(
        fs::read_to_string(machine.path().join("proc/sys/vm/swappiness")).expect("read"),
        "60\n"
    );

    machine
        .mortal(RealHost)
        .apply(&profile(), &Consent::default(), &go())
        .expect("applied");
    machine.set("proc/sys/kernel/random/boot_id", "boot-2\n");
    machine.set("proc/sys/vm/swappiness", "77\n");
    let reverted = machine.keeper(RealHost).revert().expect("reverted");
    assert!(reverted.booted_since && reverted.restored.is_empty());
    assert_eq!(
        fs::read_to_string(machine.path().join("proc/sys/vm/swappiness")).expect("read"),
        "77\n"
    );
}

#[test]
fn another_namespace_is_left_alone_and_said() {
    let machine = Machine::new();
    let link = machine.path().join("proc/thread-self/ns");
    fs::create_dir_all(&link).expect("made");
    std::os::unix::fs::symlink("net:[1]", link.join("net")).expect("linked");
    let raise = PROFILE.replace(
        "at_least = 128\nreason = \"r\"\nsource = \"s\"\n[[setting]]\nknob = \"ksm",
        "at_least = 8192\nreason = \"r\"\nsource = \"s\"\n[[setting]]\nknob = \"ksm",
    );
    let raise = Profile::parse("raise", &raise).unwrap_or_else(|error| panic!("{error}"));
    machine
        .mortal(RealHost)
        .apply(&raise, &Consent::default(), &go())
        .expect("applied");
    let inhabitant = machine.path().join("proc/77/ns");
    fs::create_dir_all(&inhabitant).expect("made");
    std::os::unix::fs::symlink("net:[1]", inhabitant.join("net")).expect("linked");
    let go_to = |namespace: &str| {
        fs::remove_file(link.join("net")).expect("removed");
        std::os::unix::fs::symlink(namespace, link.join("net")).expect("linked");
    };
    go_to("net:[2]");
    let error = machine
        .keeper(RealHost)
        .revert()
        .expect_err("not here")
        .to_string();
    assert!(
        error.contains("net.core.somaxconn")
            && error.contains("net:[1]")
            && error.contains("nsenter"),
        "{error}"
    );
    assert_eq!(machine.settings()["proc/sys/net/core/somaxconn"], "8192\n");
    go_to("net:[1]");
    machine.keeper(RealHost).revert().expect("reverted there");
    machine.assert_untouched("after the return");

    machine
        .mortal(RealHost)
        .apply(&raise, &Consent::default(), &go())
        .expect("applied");
    machine.set("proc/sys/net/core/somaxconn", "4096\n");
    go_to("net:[2]");
    fs::remove_dir_all(machine.path().join("proc/77")).expect("ended");
    machine
        .keeper(RealHost)
        .revert()
        .expect("the namespace is gone, and the change with it");
    machine.assert_untouched("when the namespace is gone");
}

#[test]
fn the_audit_sees_what_is_and_what_should_be() {
    let machine = Machine::new();
    let found = audit(&Root::at(machine.path()), &[profile()]);
    let row = |knob: &str, device: &str| {
        let row = found
            .rows
            .iter()
            .find(|row| row.knob == knob && row.device == device);
        row.unwrap_or_else(|| panic!("{knob} {device}"))
    };
    let swappiness = row("vm.swappiness", "");
    assert_eq!(swappiness.present.as_deref(), Some("60"));
    assert_eq!(swappiness.path, "/proc/sys/vm/swappiness");
    assert!(!swappiness.advice[0].holds && swappiness.fixed.is_none());
    assert!(
        row("block.nr_requests", "sda").advice[0].holds
            && !row("block.nr_requests", "sdb").advice[0].holds
    );
    assert!(row("block.write_cache", "sda").danger.is_some());
    assert!(row("cpu.smt", "").present.is_none() && row("cpu.smt", "").fixed.is_some());
    let knobs: std::collections::BTreeSet<&str> = found.rows.iter().map(|row| row.knob).collect();
    assert_eq!(knobs.len(), KNOBS.len(), "every knob has a row");
    machine.assert_untouched("after an audit");
}
