//! Cases for virtual machines only: data on a disk of their own, counters from inside and outside,
//! what a machine says when it fails.

use std::{
    collections::BTreeSet,
    fs,
    io::{Read, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
    path::Path,
    sync::atomic::{AtomicU16, Ordering},
    thread,
    time::{Duration, Instant},
};

use rookery_guest::{
    DiskCache, DiskClone, DiskShape, Guest, GuestSpec, GuestState, Kind, LabShape, VmShape,
    open_lab, remove_all,
};

use crate::{
    Case,
    fixture::{Fixture, PATIENCE, create, end_of, get, spec, template, up},
};

/// All of them.
pub(crate) const CASES: &[Case] = &[
    ("two_guests_live_apart", two_guests_live_apart),
    (
        "a_killed_guest_keeps_what_it_flushed",
        a_killed_guest_keeps_what_it_flushed,
    ),
    (
        "what_was_acknowledged_survives_writeback",
        what_was_acknowledged_survives_writeback,
    ),
    (
        "what_was_acknowledged_survives_none",
        what_was_acknowledged_survives_none,
    ),
    ("forty_clones_at_once", forty_clones_at_once),
    ("sockets_lead_to_the_host", sockets_lead_to_the_host),
    (
        "a_quota_and_a_raw_disk_are_in_force",
        a_quota_and_a_raw_disk_are_in_force,
    ),
    (
        "a_machine_that_goes_away_shows_its_console",
        a_machine_that_goes_away_shows_its_console,
    ),
];

/// One life of two guests: they answer, count, keep their data to themselves, and leave nothing.
fn two_guests_live_apart(kind: Kind) {
    let fixture = Fixture::new();
    let mut lab = fixture.lab(kind);
    let begin = std::time::Instant::now();
    let mut guests = vec![
        create(&*lab, &spec(1, &["graceful"])),
        create(&*lab, &spec(2, &["graceful"])),
    ];
    eprintln!("made two guests in {:?}", begin.elapsed());
    up(&*lab, &mut guests);
    eprintln!("both are healthy after {:?}", begin.elapsed());
    let addresses = [guests[0].address(), guests[1].address()];
    assert_eq!(
        get(&*lab, addresses[0], "/write?second").as_deref(),
        Some("written")
    );
    assert_eq!(get(&*lab, addresses[1], "/row").as_deref(), Some("first"));
    let read = |guest: usize, file: &str| {
        get(&*lab, addresses[guest], &format!("/file?{file}")).expect("answer")
    };
    // The last is drawn by each kernel as it boots.
    for file in [
        "/proc/sys/kernel/hostname",
        "/sys/class/net/eth0/address",
        "/proc/sys/kernel/random/boot_id",
    ] {
        assert_ne!(read(0, file), read(1, file), "{file}");
    }
    let machine_id = |guest: usize| {
        let line = read(guest, "/proc/cmdline");
        let id = line
            .split_whitespace()
            .find_map(|word| word.strip_prefix("systemd.machine_id="));
        id.expect("told").to_owned()
    };
    assert!(machine_id(0).len() == 32 && machine_id(0) != machine_id(1));
    let mut usage = guests[0].usage_probe();
    let before = (
        usage().expect("running"),
        guests[0].machine_probe().expect("running")().expect("running"),
    );
    get(&*lab, addresses[0], "/burn").expect("answer");
    let after = (
        usage().expect("running"),
        guests[0].machine_probe().expect("running")().expect("running"),
    );
    assert!(after.0.cpu_us > before.0.cpu_us && after.1.outside.cpu_us > before.1.outside.cpu_us);
    let inside = (
        before.1.inside.expect("answers"),
        after.1.inside.expect("answers"),
    );
    assert!(
        inside.1.uptime_us > inside.0.uptime_us && inside.1.memory_bytes > 100 << 20,
        "{inside:?}"
    );
    assert!(
        after.1.outside.received_bytes > 0 && after.1.outside.disks.contains_key("vdb"),
        "{:?}",
        after.1.outside
    );
    let accelerator = guests[0].in_force();
    assert!(
        accelerator
            .iter()
            .any(|reading| reading.name == "vm.accelerator" && !reading.effective.is_empty()),
        "{accelerator:?}"
    );
    assert!(
        accelerator
            .iter()
            .any(|reading| reading.name == "vm.disk.cache" && reading.effective == "writeback"),
        "{accelerator:?}"
    );
    guests[0].stop(PATIENCE).expect("stopped");
    assert_eq!(guests[0].state(), GuestState::Ended("exit code 0".into()));
    assert_eq!(
        fs::read_to_string(guests[0].data_dir().join("row")).expect("read"),
        "second"
    );
    assert!(
        guests[0].log_tail(1000).contains("starts"),
        "{}",
        guests[0].log_tail(1000)
    );
    remove_all(&mut guests).expect("removed");
    drop(guests);
    lab.close().expect("closed");
    fixture.assert_no_traces("after close");
    assert!(!std::path::Path::new(&format!("/run/rookery/vm/{}", fixture.run)).exists());
}

/// The power goes: what was flushed is there after the next start, and for the host after the stop.
fn a_killed_guest_keeps_what_it_flushed(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let mut guests = vec![create(&*lab, &spec(1, &[]))];
    up(&*lab, &mut guests);
    let address = guests[0].address();
    assert!(guests[0].start().is_err(), "it runs already");
    get(&*lab, address, "/write?second").expect("answer");
    assert_eq!(get(&*lab, address, "/sync").as_deref(), Some("synced"));
    guests[0].kill().expect("killed");
    assert_eq!(
        guests[0].state(),
        GuestState::Ended("killed by signal 9".into())
    );
    up(&*lab, &mut guests);
    assert_eq!(get(&*lab, address, "/row").as_deref(), Some("second"));
    guests[0].kill().expect("killed");
    guests[0].stop(Duration::from_millis(50)).expect("stopped");
    assert_eq!(
        fs::read_to_string(guests[0].data_dir().join("row")).expect("read"),
        "second"
    );
}

fn what_was_acknowledged_survives_writeback(_: Kind) {
    what_was_acknowledged_survives(DiskCache::Writeback);
}

fn what_was_acknowledged_survives_none(_: Kind) {
    what_was_acknowledged_survives(DiskCache::None);
}

/// The machine is destroyed while it writes: every write that was acknowledged is there after its
/// next start.
fn what_was_acknowledged_survives(cache: DiskCache) {
    let fixture = Fixture::new();
    let shape = VmShape {
        disk: DiskShape {
            cache,
            ..DiskShape::default()
        },
        ..VmShape::default()
    };
    let lab = open_lab(
        &LabShape::Vm(Box::new(shape)),
        fixture.site(),
        std::sync::Arc::new(rookery_host::RealHost),
    )
    .expect("lab");
    let mut guests = vec![create(&*lab, &spec(1, &[]))];
    up(&*lab, &mut guests);
    let in_force = guests[0].in_force();
    let says = |name: &str, value: &str| {
        in_force
            .iter()
            .any(|reading| reading.name == name && reading.effective == value)
    };
    assert!(
        says(
            "vm.disk.cache",
            if cache == DiskCache::None {
                "none"
            } else {
                "writeback"
            }
        ) && says("vm.durable", "yes"),
        "{in_force:?}"
    );
    let address = guests[0].address();
    let lab = &*lab;
    let acknowledged = thread::scope(|scope| {
        let writer = scope.spawn(move || {
            let mut count = 0_u64;
            while get(lab, address, "/keep").as_deref() == Some("kept") {
                count += 1;
            }
            count
        });
        thread::sleep(Duration::from_secs(2));
        guests[0].kill().expect("killed");
        writer.join().expect("no panic")
    });
    assert!(acknowledged > 0);
    up(lab, &mut guests);
    let kept = get(lab, address, "/file?/data/kept").expect("there");
    let there = kept.len() as u64;
    // The last one may have been written and not acknowledged any more.
    assert!(
        (acknowledged..=acknowledged + 1).contains(&there),
        "{acknowledged} were acknowledged, {there} are there"
    );
    eprintln!("{cache:?}: {acknowledged} writes were acknowledged, {there} are there");
}

/// Several threads make clones at the same time, each with a disk of its own.
fn forty_clones_at_once(kind: Kind) {
    let fixture = Fixture::new();
    let mut lab = fixture.lab(kind);
    let toy = template(&*lab);
    lab.prepare(&toy, &|_, _| {}, &rookery_guest::patient)
        .expect("prepared");
    let begin = Instant::now();
    drop(lab.create(&toy, &spec(1, &[])).expect("guest"));
    eprintln!("one clone made and removed in {:?}", begin.elapsed());
    let next = AtomicU16::new(1);
    let work = || -> Vec<Box<dyn Guest>> {
        let numbers = std::iter::from_fn(|| {
            Some(next.fetch_add(1, Ordering::Relaxed)).filter(|number| *number <= 40)
        });
        numbers
            .map(|number| lab.create(&toy, &spec(number, &[])).expect("guest"))
            .collect()
    };
    let begin = Instant::now();
    let mut guests: Vec<Box<dyn Guest>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("no panic"))
            .collect()
    });
    eprintln!("40 clones made by 8 threads in {:?}", begin.elapsed());
    let addresses: BTreeSet<_> = guests.iter().map(|guest| guest.address()).collect();
    let disks = fs::read_dir(fixture.dir.path().join("clones"))
        .expect("clones")
        .flatten();
    let disks = disks
        .filter(|clone| clone.path().join("disk.qcow2").is_file())
        .count();
    assert_eq!((guests.len(), addresses.len(), disks), (40, 40, 40));
    remove_all(&mut guests).expect("removed");
    drop(guests);
    lab.close().expect("closed");
    fixture.assert_no_traces("after close");
}

/// A socket of the service in its data directory is one on the host, and whoever calls there is
/// root in the guest.
fn sockets_lead_to_the_host(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let with_sockets = GuestSpec {
        sockets: vec!["echo.sock".to_owned(), "absent.sock".to_owned()],
        ..spec(1, &["socket"])
    };
    let mut guests = vec![create(&*lab, &with_sockets)];
    for start in 1..=2 {
        up(&*lab, &mut guests);
        let sockets = guests[0].sockets_dir().to_owned();
        for words in ["hello".to_owned(), "x".repeat(1 << 20)] {
            assert!(
                talk(&sockets.join("echo.sock"), &words) == format!("0 {words}"),
                "start {start}"
            );
        }
        assert_eq!(
            talk(&sockets.join("absent.sock"), ""),
            "",
            "nobody listens there, and the caller sees it at once"
        );
        let waits = UnixStream::connect(sockets.join("echo.sock")).expect("connected");
        waits.set_read_timeout(Some(PATIENCE)).expect("set");
        guests[0].kill().expect("killed");
        assert_eq!(
            (&waits).read(&mut [0; 8]).expect("ended"),
            0,
            "no connection outlives its guest"
        );
        assert!(!sockets.exists());
    }
}

/// All that is answered to these words.
pub(crate) fn talk(socket: &Path, words: &str) -> String {
    let mut stream = UnixStream::connect(socket).expect("connected");
    stream.set_read_timeout(Some(PATIENCE)).expect("set");
    stream.write_all(words.as_bytes()).expect("written");
    stream.shutdown(Shutdown::Write).expect("half closed");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("read");
    answer
}

fn a_quota_and_a_raw_disk_are_in_force(_: Kind) {
    let fixture = Fixture::new();
    let shape = VmShape {
        disk: DiskShape {
            clone: DiskClone::Raw,
            size_mib: 1024,
            ..DiskShape::default()
        },
        iothreads: 1,
        ..VmShape::default()
    };
    let lab = open_lab(
        &LabShape::Vm(Box::new(shape)),
        fixture.site(),
        std::sync::Arc::new(rookery_host::RealHost),
    )
    .expect("lab");
    let limited = GuestSpec {
        cpu_time: rookery_guest::CpuTime::cap(0.5),
        ..spec(1, &[])
    };
    let mut guests = vec![create(&*lab, &limited)];
    up(&*lab, &mut guests);
    let mut usage = guests[0].usage_probe();
    let (before, begin) = (usage().expect("running"), std::time::Instant::now());
    while begin.elapsed() < Duration::from_millis(1500) {
        get(&*lab, guests[0].address(), "/burn").expect("answer");
    }
    let cores = (usage().expect("running").cpu_us - before.cpu_us) as f64
        / 1e6
        / begin.elapsed().as_secs_f64();
    assert!(cores < 0.65, "{cores} cores");
}

/// The kernel of the guest is told to crash.
fn a_machine_that_goes_away_shows_its_console(kind: Kind) {
    let fixture = Fixture::new();
    let lab = fixture.lab(kind);
    let mut guests = vec![create(&*lab, &spec(1, &[]))];
    up(&*lab, &mut guests);
    get(&*lab, guests[0].address(), "/crash");
    let GuestState::Ended(reason) = end_of(&mut *guests[0]) else {
        panic!("it lives")
    };
    assert!(reason.contains("went away"), "{reason}");
    let log = guests[0].log_tail(4000);
    assert!(log.contains("Kernel panic"), "{log}");
}
