//! The supervisor as the command `rookery supervise`, with services of /bin/sh.

#![cfg(target_os = "linux")]

use std::{
    fs,
    io::Write,
    os::unix::{fs::MetadataExt, process::CommandExt},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use crate::common::root_tests;
use tempfile::TempDir;

/// What takes longer has failed, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// A supervisor at work. Dropping it kills its group.
struct Supervisor {
    dir: TempDir,
    child: Child,
}

/// A service of the shell; `more` are further lines of its table. `$DIR` is the directory of the
/// test.
fn service(name: &str, script: &str, more: &str) -> String {
    format!(
        "[[service]]\nname = \"{name}\"\ncommand = [\"/bin/sh\", \"-c\", '''{script}''']\n{more}\n"
    )
}

/// A service that says READY and waits.
fn waiting(name: &str) -> String {
    service(name, "echo READY; exec sleep 1000", "ready = \"log:READY\"")
}

impl Supervisor {
    fn start(services: &[String]) -> Self {
        Self::start_with("", services)
    }

    fn start_with(guest: &str, services: &[String]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let text = services
            .concat()
            .replace("$DIR", &dir.path().display().to_string());
        let path = dir.path().join("services.toml");
        fs::write(&path, format!("{guest}\n{text}")).expect("written");
        let log = fs::File::create(dir.path().join("log")).expect("a log");
        let child = Command::new(env!("CARGO_BIN_EXE_rookery"))
            .arg("supervise")
            .arg(path)
            .env("LD_LIBRARY_PATH", "/nowhere")
            .env("ROOKERY_GUEST", "g1")
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("cloned"))
            .stderr(log)
            .process_group(0)
            .spawn();
        Self {
            dir,
            child: child.expect("rookery starts"),
        }
    }

    fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.dir.path().join("log")).unwrap_or_default())
            .into_owned()
    }

    /// Lines of the log, without those that vary.
    fn lines(&self) -> Vec<String> {
        let log = self.log();
        let steady = |line: &str| line.split(" after ").next().unwrap_or(line).to_owned();
        log.lines().map(steady).collect()
    }

    fn wait_for(&self, text: &str) {
        let begin = Instant::now();
        while !self.log().contains(text) {
            assert!(begin.elapsed() < LIMIT, "no {text:?} in\n{}", self.log());
            sleep(Duration::from_millis(5));
        }
    }

    /// Wait until a file of the test exists and is not empty, and read it.
    fn file(&self, name: &str) -> String {
        let begin = Instant::now();
        loop {
            let text = fs::read_to_string(self.path(name)).unwrap_or_default();
            if text.ends_with('\n') {
                return text.trim().to_owned();
            }
            assert!(
                begin.elapsed() < LIMIT,
                "no {name}; the log is\n{}",
                self.log()
            );
            sleep(Duration::from_millis(5));
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn signal(&self, signal: &str, whole_group: bool) {
        let target = format!("{}{}", if whole_group { "-" } else { "" }, self.child.id());
        let sent = Command::new("kill")
            .args(["-s", signal, "--", &target])
            .status();
        assert!(
            sent.is_ok_and(|status| status.success()),
            "the signal is sent"
        );
    }

    /// Its exit code, within the limit.
    fn end(&mut self) -> Option<i32> {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status.code();
            }
            assert!(begin.elapsed() < LIMIT, "it does not end\n{}", self.log());
            sleep(Duration::from_millis(5));
        }
    }

    fn stop(&mut self) -> Option<i32> {
        self.signal("TERM", false);
        self.end()
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal("KILL", true);
            let _ = self.child.wait();
        }
    }
}

/// Whether a process lives; a zombie does not.
fn lives(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')')
        .is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

fn vanishes(pid: &str) {
    let begin = Instant::now();
    while lives(pid) {
        assert!(begin.elapsed() < LIMIT, "process {pid} still lives");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn services_start_in_order_and_stop_in_reverse() {
    let says_end = |name: &str| {
        let script = format!(
            "trap 'echo {name} >> $DIR/ends; exit 0' TERM; echo READY; while :; do sleep 0.05; done"
        );
        service(name, &script, "ready = \"log:READY\"")
    };
    let once = service("once", "echo done >> $DIR/once", "oneshot = true");
    let mut supervisor =
        Supervisor::start(&[once, says_end("one"), says_end("two"), says_end("three")]);
    supervisor.wait_for("supervise: three ready");
    assert_eq!(supervisor.stop(), Some(0));
    assert_eq!(
        fs::read_to_string(supervisor.path("ends")).expect("ends"),
        "three\ntwo\none\n"
    );
    let lines = supervisor.lines();
    let expected = [
        "supervise: once done",
        "one: READY",
        "supervise: one ready",
        "two: READY",
        "supervise: two ready",
        "three: READY",
        "supervise: three ready",
        "supervise: stopping, as asked",
        "supervise: three stopped",
        "supervise: two stopped",
        "supervise: one stopped",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_service_waits_for_the_file_and_the_port_of_the_one_before() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let first = service(
        "first",
        "sleep 0.1; touch $DIR/ready; exec sleep 1000",
        "ready = \"file:$DIR/ready\"",
    );
    let second = service(
        "second",
        "test -e $DIR/ready && exec sleep 1000",
        &format!("ready = \"tcp:{address}\""),
    );
    let mut supervisor = Supervisor::start(&[first, second]);
    supervisor.wait_for("supervise: second ready");
    assert_eq!(supervisor.stop(), Some(0), "{}", supervisor.log());
}

#[test]
fn one_that_is_not_ready_in_time_ends_the_guest() {
    let never = service(
        "never",
        "exec sleep 1000",
        "ready = \"file:$DIR/never\"\nready_within_ms = 50",
    );
    let mut supervisor = Supervisor::start(&[
        waiting("first"),
        never,
        service("last", "touch $DIR/last", ""),
    ]);
    assert_eq!(supervisor.end(), Some(5));
    let log = supervisor.log();
    assert!(
        log.contains("service never: not ready within 50ms"),
        "{log}"
    );
    assert!(
        log.contains("supervise: first stopped") && !supervisor.path("last").exists(),
        "{log}"
    );
}

#[test]
fn one_that_ends_unasked_ends_the_guest_with_its_reason() {
    for (script, reason) in [
        ("echo OUCH; exit 3", "exit code 3"),
        ("kill -9 $$", "killed by signal 9"),
        ("exit 0", "exit code 0"),
    ] {
        let mut supervisor = Supervisor::start(&[
            waiting("first"),
            service("second", &format!("sleep 0.1; {script}"), ""),
        ]);
        assert_eq!(supervisor.end(), Some(5));
        let log = supervisor.log();
        assert!(
            log.contains(&format!("service second: ended unasked: {reason}")),
            "{log}"
        );
        assert!(log.contains("supervise: first stopped"), "{log}");
        let said = log.find("second: OUCH");
        assert!(
            !script.contains("OUCH")
                || said.is_some_and(|said| said < log.find("stopping").unwrap_or(0)),
            "{log}"
        );
    }
}

#[test]
fn a_oneshot_that_fails_ends_the_guest_and_one_that_is_done_is_skipped() {
    let mut failing = Supervisor::start(&[
        service("once", "exit 4", "oneshot = true"),
        waiting("after"),
    ]);
    assert_eq!(failing.end(), Some(5));
    assert!(
        failing
            .log()
            .contains("service once: ended unasked: exit code 4"),
        "{}",
        failing.log()
    );
    let done = service("once", "exit 4", "oneshot = true\ncreates = \"/etc\"");
    let mut skipping = Supervisor::start(&[done, waiting("after")]);
    skipping.wait_for("after ready");
    assert_eq!(skipping.stop(), Some(0));
    assert!(skipping.log().contains("supervise: once is done already"));
}

#[test]
fn one_that_ignores_its_stop_signal_is_killed_and_told() {
    let stubborn = service(
        "stubborn",
        "trap '' TERM; echo READY; while :; do sleep 0.05; done",
        "ready = \"log:READY\"\ngrace_ms = 100",
    );
    let mut supervisor = Supervisor::start(&[waiting("first"), stubborn]);
    supervisor.wait_for("stubborn ready");
    assert_eq!(supervisor.stop(), Some(5));
    let log = supervisor.log();
    assert!(
        log.contains("service stubborn: did not end within 100ms"),
        "{log}"
    );
    assert!(
        log.contains("supervise: first stopped"),
        "the others are stopped all the same\n{log}"
    );
}

#[test]
fn each_service_is_asked_by_its_own_signal() {
    let script = "trap 'echo BY-WINCH; exit 0' WINCH; trap 'echo BY-TERM; exit 0' TERM; echo \
                  READY; while :; do sleep 0.05; done";
    let mut supervisor = Supervisor::start(&[service(
        "web",
        script,
        "ready = \"log:READY\"\nstop_signal = \"WINCH\"",
    )]);
    supervisor.wait_for("web ready");
    assert_eq!(supervisor.stop(), Some(0));
    assert!(supervisor.log().contains("web: BY-WINCH") && !supervisor.log().contains("BY-TERM"));
}

#[test]
fn a_stop_of_the_whole_group_is_an_asked_stop() {
    let mut supervisor = Supervisor::start(&[waiting("one"), waiting("two")]);
    supervisor.wait_for("two ready");
    supervisor.signal("TERM", true);
    assert_eq!(supervisor.end(), Some(0), "{}", supervisor.log());
}

#[test]
fn orphans_are_reaped_and_what_is_left_behind_is_killed() {
    // Two daemons: one ends soon, the other would stay; both are orphans, in sessions of their own.
    let script = "setsid sh -c 'setsid sleep 0.05 & echo $! > $DIR/short; setsid sleep 1000 & echo \
                  $! > $DIR/long' & \
                  wait; echo READY; exec sleep 1000";
    let mut supervisor = Supervisor::start(&[service("daemons", script, "ready = \"log:READY\"")]);
    supervisor.wait_for("daemons ready");
    let (short, long) = (supervisor.file("short"), supervisor.file("long"));
    let begin = Instant::now();
    // Reaped, not merely dead: no zombie keeps its number.
    while PathBuf::from(format!("/proc/{short}")).exists() {
        assert!(begin.elapsed() < LIMIT, "the orphan is not reaped");
        sleep(Duration::from_millis(5));
    }
    assert!(lives(&long));
    assert_eq!(supervisor.stop(), Some(0), "{}", supervisor.log());
    assert!(!lives(&long));
    assert!(
        supervisor
            .log()
            .contains("processes that services left behind"),
        "{}",
        supervisor.log()
    );
}

#[test]
fn a_killed_group_leaves_nothing_even_of_services_that_want_their_own_session() {
    let plain = service("plain", "sleep 1000 & echo $! > $DIR/plain; wait", "");
    // It goes where it likes if it can, and stays if it cannot.
    let script = r#"setsid sh -c "echo \$\$ > $DIR/leaving; exec sleep 1000" || sh -c "echo \$\$ > $DIR/leaving; exec sleep 1000""#;
    let leaving = service("leaving", script, "keep_group = true");
    let mut supervisor = Supervisor::start(&[plain, leaving]);
    let (one, two) = (supervisor.file("plain"), supervisor.file("leaving"));
    supervisor.signal("KILL", true);
    assert_eq!(supervisor.end(), None);
    vanishes(&one);
    vanishes(&two);
}

#[test]
fn output_is_whole_lines_with_the_services_name() {
    let noisy = |name: &str| {
        service(
            name,
            "for i in 1 2 3 4 5 6 7 8 9; do printf 'a%s' $i; echo b; done; echo READY; exec sleep \
             1000",
            "ready = \"log:READY\"",
        )
    };
    let odd = "printf 'no end'; printf '\\033[2J\\000\\377\\n' >&2; head -c 20000 /dev/zero | tr \
               '\\000' x; echo; echo READY; exec sleep 1000";
    let mut supervisor = Supervisor::start(&[
        noisy("one"),
        noisy("two"),
        service("odd", odd, "ready = \"log:READY\""),
    ]);
    supervisor.wait_for("odd ready");
    assert_eq!(supervisor.stop(), Some(0));
    let lines = supervisor.lines();
    assert!(
        lines
            .iter()
            .all(|line| ["one: ", "two: ", "odd: ", "supervise: "]
                .iter()
                .any(|name| line.starts_with(name))),
        "{lines:?}"
    );
    assert_eq!(lines.iter().filter(|line| *line == "one: a5b").count(), 1);
    assert!(
        lines
            .iter()
            .any(|line| line.contains("[2J\u{fffd}\u{fffd}")),
        "{lines:?}"
    );
    let long: usize = lines
        .iter()
        .filter(|line| line.contains("xxx"))
        .map(|line| line.matches('x').count())
        .sum();
    assert_eq!(long, 20_000, "nothing of a long line is lost");
    assert!(lines.iter().all(|line| line.len() < 8300));
}

#[test]
fn services_get_a_clean_environment() {
    let show = service(
        "show",
        "env | sort; echo READY; exec sleep 1000",
        "ready = \"log:READY\"\nenvironment = { OWN = \"value\" }",
    );
    let mut supervisor = Supervisor::start(&[show]);
    supervisor.wait_for("show ready");
    assert_eq!(supervisor.stop(), Some(0));
    let log = supervisor.log();
    for line in [
        "show: LANG=C",
        "show: OWN=value",
        "show: ROOKERY_GUEST=g1",
        "show: TZ=",
    ] {
        assert!(log.contains(line), "{line} in\n{log}");
    }
    assert!(
        !log.contains("LD_LIBRARY_PATH") && !log.contains("HOME="),
        "{log}"
    );
}

#[test]
fn root_becomes_a_plain_user_inside_while_files_keep_their_owner() {
    let here = fs::metadata("/proc/self").expect("metadata");
    if here.uid() == 0 && !root_tests() {
        return;
    }
    let script = "id -u; touch $DIR/made; echo READY; exec sleep 1000";
    let mut supervisor = Supervisor::start_with(
        "[guest]\nuser_namespace = true",
        &[service("who", script, "ready = \"log:READY\"")],
    );
    supervisor.wait_for("who ready");
    let inside = if here.uid() == 0 { 33 } else { here.uid() };
    assert!(
        supervisor.log().contains(&format!("who: {inside}\n")),
        "{}",
        supervisor.log()
    );
    assert_eq!(
        fs::metadata(supervisor.path("made")).expect("made").uid(),
        here.uid()
    );
    assert_eq!(supervisor.stop(), Some(0));
}

#[test]
fn a_wrong_file_is_refused_with_help() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("services.toml");
    let run = || {
        Command::new(env!("CARGO_BIN_EXE_rookery"))
            .arg("supervise")
            .arg(&path)
            .output()
            .expect("rookery starts")
    };
    assert_eq!(run().status.code(), Some(2), "no file");
    let mut file = fs::File::create(&path).expect("made");
    file.write_all(b"[[service]]\nname = \"a\"\ncommand = [\"/bin/true\"]\nreadyy = \"x\"\n")
        .expect("written");
    let output = run();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(text.contains("readyy") && text.contains("help:"), "{text}");
    fs::write(
        &path,
        "[[service]]\nname = \"a\"\ncommand = [\"/no/such/program\"]\n",
    )
    .expect("written");
    let output = run();
    assert_eq!(output.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/no/such/program"));
}
