//! Tests of pools: LVM by the words of its commands, devices on a loop device.

use std::{fs, fs::File, sync::Mutex};

use rookery_host::{
    RealHost, help_of,
    volume::{devices::DISK_LABEL, loops},
};

use super::*;

/// Writes down what it is told to run, and answers each with nothing, or fails from the n-th
/// command on.
#[derive(Default)]
struct Scribe {
    lines: Mutex<Vec<String>>,
    fails_at: Option<usize>,
}

impl Host for Scribe {
    fn step(&self, _name: &'static str) -> io::Result<()> {
        Ok(())
    }

    fn run(&self, invocation: Invocation) -> Result<String, CommandError> {
        let mut lines = self.lines.lock().expect("no panic");
        lines.push(invocation.line());
        if self.fails_at == Some(lines.len()) {
            return Err(CommandError::Run {
                command: invocation.line(),
                source: io::Error::other("injected fault"),
            });
        }
        Ok(String::new())
    }
}

impl Scribe {
    fn lines(&self, directory: &Path) -> String {
        let lines = self.lines.lock().expect("no panic").join("\n");
        lines.replace(directory.to_str().expect("utf-8"), "DIR")
    }
}

fn run() -> RunId {
    RunId::try_from("ab12".to_owned()).expect("valid")
}

fn owner(run: &RunId) -> Owner<'_> {
    Owner {
        run,
        guest: "g1",
        number: 1,
    }
}

fn image(directory: &Path, mib: u64) -> PathBuf {
    let path = directory.join("disk.img");
    let file = File::create(&path).expect("made");
    file.set_len(mib << 20).expect("sized");
    path
}

fn provide(host: &dyn Host, pool: &Pool, directory: &Path) -> io::Result<Disk> {
    let image = directory.join("disk.img");
    Disk::provide(host, pool, owner(&run()), &image, directory, DiskClone::Raw)
}

#[test]
fn a_volume_is_tagged_filled_and_removed() {
    let directory = tempfile::tempdir().expect("temporary directory");
    image(directory.path(), 8);
    for (place, thin) in [("vg0", false), ("vg0/thin", true)] {
        let host = Scribe::default();
        let disk = provide(&host, &Pool::Lvm(place.into()), directory.path()).expect("made");
        assert_eq!(
            (disk.path(), disk.format(), disk.is_block()),
            (Path::new("/dev/vg0/rookery-ab12-g1"), "raw", true)
        );
        disk.release(&host).expect("removed");
        let lines = host.lines(directory.path());
        if thin {
            insta::assert_snapshot!(lines, @r"
            lvcreate --yes --name rookery-ab12-g1 --addtag rookery --addtag rookery.run=ab12 --thin --virtualsize 8388608b vg0/thin
            qemu-img convert -q -n -f raw -O raw --target-is-zero DIR/disk.img /dev/vg0/rookery-ab12-g1
            lvremove --yes vg0/rookery-ab12-g1
            ");
        } else {
            insta::assert_snapshot!(lines, @r"
            lvcreate --yes --name rookery-ab12-g1 --addtag rookery --addtag rookery.run=ab12 --wipesignatures y --zero y --size 8388608b vg0
            qemu-img convert -q -n -f raw -O raw DIR/disk.img /dev/vg0/rookery-ab12-g1
            lvremove --yes vg0/rookery-ab12-g1
            ");
        }
    }
}

#[test]
fn a_volume_that_cannot_be_filled_does_not_stay() {
    let directory = tempfile::tempdir().expect("temporary directory");
    image(directory.path(), 8);
    for (fails_at, commands) in [(1, 1), (2, 3)] {
        let host = Scribe {
            fails_at: Some(fails_at),
            ..Scribe::default()
        };
        provide(&host, &Pool::Lvm("vg0".into()), directory.path()).expect_err("refused");
        let lines = host.lines(directory.path());
        assert_eq!(lines.lines().count(), commands, "{lines}");
        assert_eq!(
            lines.contains("lvremove --yes vg0/rookery-ab12-g1"),
            fails_at == 2,
            "{lines}"
        );
    }
}

#[test]
fn only_volumes_with_both_tags_and_our_name_are_ours() {
    let row = |name: &str, tags: &str| {
        format!(r#"{{"vg_name":"vg0","lv_name":"{name}","lv_tags":"{tags}"}}"#)
    };
    let rows = [
        row("rookery-ab12-g1", "rookery,rookery.run=ab12"),
        row("rookery-ab12-g2", "rookery"),
        row("rookery-ab12-g3", "rookery,rookery.run=zz99"),
        row("home", "rookery,rookery.run=ab12"),
        row("rookery-ab12-g4", "rookery.run=ab12"),
        row("rookery-ab12-g5", "rookery,rookery.run=../x"),
    ];
    let said = format!(r#"{{"report":[{{"lv":[{}]}}]}}"#, rows.join(","));
    let expected = TaggedVolume {
        run: run(),
        name: "vg0/rookery-ab12-g1".into(),
    };
    assert_eq!(parse_volumes(&said), [expected]);
    assert_eq!(parse_volumes(""), []);
    assert_eq!(parse_volumes(r#"{"report":[{}]}"#), []);
}

#[test]
fn a_guest_without_a_device_is_told() {
    let directory = tempfile::tempdir().expect("temporary directory");
    image(directory.path(), 8);
    let host = Scribe::default();
    let error = provide(&host, &Pool::Devices(vec![]), directory.path()).expect_err("none");
    assert!(
        error.to_string().contains("guest 1 has no device"),
        "{error}"
    );
    let error = provide(
        &host,
        &Pool::Devices(vec!["/dev/null".into()]),
        directory.path(),
    )
    .expect_err("none");
    assert!(error.to_string().contains("no block device"), "{error}");
    assert_eq!(host.lines(directory.path()), "");
}

/// A loop device stands for one of the host's own.
#[test]
fn a_device_is_taken_only_when_nobody_misses_what_it_holds() {
    if !rustix::process::geteuid().is_root()
        && std::env::var("ROOKERY_SKIP_ROOT_TESTS").is_ok_and(|value| value == "1")
    {
        return;
    }
    let directory = tempfile::tempdir().expect("temporary directory");
    let labelled = image(directory.path(), 8);
    let make = |words: &[&str], path: &Path| {
        RealHost
            .run(
                Invocation::new("mke2fs")
                    .args(["-q", "-F", "-t", "ext4"])
                    .args(words.iter().copied())
                    .arg(path),
            )
            .expect("mke2fs")
    };
    make(&["-L", DISK_LABEL], &labelled);
    let file = directory.path().join("device");
    File::create(&file)
        .and_then(|file| file.set_len(16 << 20))
        .expect("made");
    let device = loops::attach(&RealHost, &file, false, Vec::new())
        .expect("a loop device")
        .path;
    let done = std::panic::catch_unwind(|| {
        let pool = Pool::Devices(vec![device.clone()]);
        let disk = provide(&RealHost, &pool, directory.path()).expect("it is blank");
        let told = disk.in_force(&RealHost, false);
        let value = |name: &str| {
            told.iter()
                .find(|reading| reading.name == name)
                .map(|reading| reading.effective.clone())
        };
        assert_eq!(value("vm.disk.format").as_deref(), Some("raw"));
        assert_eq!(value("vm.disk.size").as_deref(), Some("16 MiB"));
        assert_eq!(value("vm.disk.pool").as_deref(), Some("device"));
        let error = provide(&RealHost, &pool, directory.path()).expect_err("another lab has it");
        assert!(error.to_string().contains("in use"), "{error}");
        drop(disk);
        // As a run that was killed leaves it.
        let disk = provide(&RealHost, &pool, directory.path()).expect("it holds an image of ours");
        disk.release(&RealHost).expect("given back");
        let read = fs::read(&file).expect("read");
        let ends = [&read[..1 << 20], &read[read.len() - (1 << 20)..]];
        assert!(
            ends.iter().all(|end| end.iter().all(|byte| *byte == 0)),
            "nothing of ours stays"
        );
        make(&["-L", "accounts"], &device);
        let error = provide(&RealHost, &pool, directory.path()).expect_err("another's");
        let help = help_of(&error).expect("there is help");
        let error = error.to_string();
        assert!(
            error.contains("LABEL=accounts")
                && error.contains("TYPE=ext4")
                && help.contains("wipefs"),
            "{error}"
        );
    });
    loops::detach(&file).expect("detached");
    done.expect("the case");
}
