//! With a stand-in for mmdebstrap: what it is told, what its words mean, and that it ends when
//! asked.

use std::{
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
    sync::{Mutex, atomic::Ordering},
    thread,
    time::Instant,
};

use super::*;

/// A directory with a stand-in that runs this script; `$root` is the directory to be filled.
struct StandIn {
    dir: tempfile::TempDir,
}

impl StandIn {
    fn new(script: &str) -> Self {
        let stand_in = Self {
            dir: tempfile::tempdir().expect("temporary directory"),
        };
        let head = "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$0.args\"\nfor root; do case $root in \
                    */root) break;; esac; done\n";
        // Another process writes it: one that this process holds open for writing could not be run.
        let mut writer = Command::new("sh")
            .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
            .arg(stand_in.program())
            .stdin(Stdio::piped())
            .spawn()
            .expect("sh");
        let text = format!("{head}{script}\n");
        writer
            .stdin
            .take()
            .expect("piped")
            .write_all(text.as_bytes())
            .expect("written");
        assert!(writer.wait().expect("ended").success());
        fs::create_dir(stand_in.root()).expect("directory");
        stand_in
    }

    fn program(&self) -> PathBuf {
        self.dir.path().join("mmdebstrap")
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    fn build(
        &self,
        progress: &dyn Fn(&RootProgress),
        stop: &AtomicBool,
    ) -> Result<BTreeMap<String, String>, RootError> {
        build_with(
            &Finder::At(self.program()),
            &self.root(),
            &recipe(),
            progress,
            stop,
        )
    }

    fn error(&self) -> RootError {
        self.build(&|_| (), &AtomicBool::new(false))
            .expect_err("fails")
    }
}

fn recipe() -> RootRecipe {
    RootRecipe {
        kind: RootKind::Lamp,
        packages: vec!["apache2-bin".into(), "php-fpm".into()],
        suite: "bookworm".into(),
        mirror: Some("http://127.0.0.1:9/debian".into()),
    }
}

#[test]
fn steps_follow_its_words_and_the_root_is_finished() {
    let stand_in = StandIn::new(
        "echo 'I: running apt-get update...' >&2; echo 'Get:1 x InRelease'\n\
         echo '0 upgraded, 2 newly installed, 0 to remove and 0 not upgraded.'; echo 'Get:1 x'; \
         echo 'Get:2 x'\n\
         echo 'I: extracting archives...' >&2; mkdir -p $root/etc; echo secret > \
         $root/etc/hostname\n\
         echo apache2-bin_2.4.1-1_amd64.deb > $root/.rookery-archives\n\
         echo 'I: cleaning package lists' >&2",
    );
    let steps = Mutex::new(Vec::new());
    let note = |progress: &RootProgress| {
        let mut steps = steps.lock().expect("unpoisoned");
        if steps.last() != Some(&progress.step) {
            steps.push(progress.step);
        }
    };
    let versions = stand_in
        .build(&note, &AtomicBool::new(false))
        .expect("built");
    assert_eq!(versions["apache"], "2.4.1-1");
    assert_eq!(versions["suite"], "bookworm");
    let packages = |done| RootStep::Packages { done, total: 2 };
    assert_eq!(
        *steps.lock().expect("unpoisoned"),
        [
            RootStep::Lists,
            packages(0),
            packages(1),
            packages(2),
            RootStep::Unpacking { total: 2 },
            RootStep::Completion
        ]
    );
    let etc = stand_in.root().join("etc");
    assert!(
        fs::read_to_string(etc.join("passwd"))
            .expect("read")
            .contains("\nwww-data:x:33:33:")
    );
    assert!(!etc.join("hostname").exists() && !stand_in.root().join(".rookery-archives").exists());
    let told = fs::read_to_string(stand_in.dir.path().join("mmdebstrap.args")).expect("read");
    assert!(
        told.contains("--include=apache2-bin,php-fpm\n")
            && told.ends_with("/root\nhttp://127.0.0.1:9/debian\n"),
        "{told}"
    );
}

#[test]
fn its_words_become_an_error_with_help() {
    let said = |words: &str| {
        let stand_in = StandIn::new(&format!(
            "echo 'Get:1 chatter'; echo '{words}' >&2; exit 25"
        ));
        rookery_diagnosis::ErrorFields::new(&stand_in.error()).to_string()
    };
    let text = said("E: Failed to fetch http://127.0.0.1:9/x  Connection refused");
    assert!(
        text.contains("http://127.0.0.1:9/debian")
            && text.contains("--mirror")
            && !text.contains("chatter"),
        "{text}"
    );
    assert!(said("W: GPG error: x NO_PUBKEY 1").contains("debian-archive-keyring"));
    assert!(said("E: Unable to locate package php-fpm").contains("lacks a package"));
    assert!(said("tar: x: No space left on device").contains("the disk is full"));
    let text = said("E: something new");
    assert!(
        text.contains("exit status: 25")
            && text.contains("something new")
            && text.contains("--include=apache2-bin,php-fpm"),
        "{text}"
    );
}

#[test]
fn one_that_says_nothing_is_told_so() {
    let text = StandIn::new("exit 1").error().to_string();
    assert!(text.contains("it said nothing"), "{text}");
    let text = StandIn::new("exit 0").error().to_string();
    assert!(
        text.contains("cannot be completed"),
        "no list of archives: {text}"
    );
}

#[test]
fn a_stop_ends_it_with_its_children() {
    let stand_in = StandIn::new("sleep 600 & echo $! > \"$0.child\"; echo 'I: started' >&2; wait");
    let stop = AtomicBool::new(false);
    let child = stand_in.dir.path().join("mmdebstrap.child");
    let begin = Instant::now();
    let stop_when_started = |_: &RootProgress| {
        let started = fs::read_to_string(&child).is_ok_and(|text| text.ends_with('\n'));
        stop.store(
            started || begin.elapsed() > Duration::from_secs(60),
            Ordering::Relaxed,
        );
    };
    let error = stand_in
        .build(&stop_when_started, &stop)
        .expect_err("stopped");
    assert!(matches!(error, RootError::Stopped), "{error}");
    let pid = fs::read_to_string(&child).expect("started");
    let state = || fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    let ended = || state().is_empty() || state().contains(") Z");
    // A killed process dies when it is next scheduled.
    let killed = Instant::now();
    while !ended() && killed.elapsed() < Duration::from_secs(20) {
        thread::sleep(Duration::from_millis(20));
    }
    assert!(ended(), "{}", state());
}

#[test]
fn names_are_checked_before_anything_runs() {
    let with = |suite: &str, mirror: Option<&str>| {
        recipe().with(Some(suite.into()), mirror.map(str::to_owned))
    };
    assert!(matches!(with("--aptopt=x", None), Err(RootError::Suite(_))));
    assert!(matches!(with("a b", None), Err(RootError::Suite(_))));
    assert!(matches!(
        with("trixie", Some("-x")),
        Err(RootError::Mirror(_))
    ));
    assert_eq!(
        with("trixie", None).expect("valid").mirror,
        None,
        "the host's sources are of another release"
    );
    assert!(with("bookworm", None).expect("valid").mirror.is_some());
}

#[test]
fn the_release_and_sources_of_the_host_are_understood() {
    assert_eq!(
        debian_codename("ID=debian\nVERSION_CODENAME=bookworm\n").as_deref(),
        Some("bookworm")
    );
    assert_eq!(debian_codename("ID=ubuntu\nVERSION_CODENAME=noble\n"), None);
    assert_eq!(debian_codename("ID=debian\n"), None, "unstable has none");
    assert!(serves("deb http://x/debian bookworm main\n", "bookworm"));
    assert!(serves(
        "Types: deb\nURIs: http://x\nSuites: bookworm bookworm-updates\n",
        "bookworm"
    ));
    assert!(!serves("# deb http://x bookworm main\n", "bookworm"));
    assert!(!serves(
        "deb cdrom:[Debian 12]/ bookworm main\ndeb http://x bookworm main\n",
        "bookworm"
    ));
}

#[test]
fn the_description_names_what_decides_the_content() {
    assert_eq!(
        recipe().description(),
        "lamp root 1, bookworm: apache2-bin php-fpm"
    );
    let elsewhere = RootRecipe {
        mirror: None,
        ..recipe()
    };
    assert_eq!(elsewhere.description(), recipe().description());
}
