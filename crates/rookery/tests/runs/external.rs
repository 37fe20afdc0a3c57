//! A system that runs already: the test starts a small application of its own, as a user would have
//! one, and has it measured.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::Value;

use crate::common::{Place, assert_host_as, code, host_state, text};
use crate::records::WORKLOAD;

/// The application.
const APPLICATION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/applications/records.py");

/// An application that serves records until the test ends.
struct Application {
    process: Child,
    port: u16,
    directory: tempfile::TempDir,
}

impl Application {
    fn start() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let records = directory.path().join("records.txt");
        let made = Command::new("python3")
            .args([APPLICATION, "reset"])
            .arg(&records)
            .args(["50", "24"])
            .status()
            .expect("python3");
        assert!(made.success());
        // Beside the driver, as whoever measures a system on its own host would place it.
        let mut process = Command::new("taskset")
            .args(["--cpu-list", "0", "python3", APPLICATION, "serve"])
            .arg(&records)
            .arg("--pid-file")
            .arg(directory.path().join("pid"))
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3");
        let mut said = String::new();
        let output = process.stdout.take().expect("piped");
        BufReader::new(output).read_line(&mut said).expect("a line");
        let port = said.trim().strip_prefix("listening on ");
        Self {
            process,
            port: port.and_then(|port| port.parse().ok()).expect("its port"),
            directory,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A study of it, with these lines in `[stack]`.
    fn study(&self, more: &str) -> String {
        format!(
            r#"
title = "a system of one's own"
seed = 3

[workload]
kind = "sample"
records = 50
record_bytes = 24
list_length = 5
think_time = "10ms"

[load]
users = 4
ramp_up = "100ms"
settle = "300ms"
steady = "2s"
ramp_down = "100ms"
drain = "2s"
repeats = 1

[stack]
kind = "external"
target = "http://127.0.0.1:{}"
health = "/health"
{more}

[host]
other_work = 1

[[layout]]
name = "mine"
"#,
            self.port
        )
    }

    fn process_key(&self) -> String {
        format!("process = {:?}\n", self.path("pid"))
    }

    fn lives(&mut self) -> bool {
        self.process.try_wait().expect("its state").is_none()
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn rows<'a>(of: &'a Value, key: &str) -> &'a Vec<Value> {
    of[key]
        .as_array()
        .unwrap_or_else(|| panic!("{key} in {of}"))
}

#[test]
fn a_system_that_runs_already_is_measured_audited_and_left_alone() {
    let place = Place::among_others();
    let mut application = Application::start();
    let before = host_state();
    let marked = application.path("reset-was-here");
    let (records, loaded) = (application.path("records.txt"), application.path("loaded"));
    // The application keeps its records from trial to trial: the audit counts from where the reset
    // saw them end.
    let more = application.process_key()
        + &format!(
            "reset = [\"sh\", \"-c\", \"touch {}; wc -l < {} > {}\"]\n",
            marked.display(),
            records.display(),
            loaded.display()
        )
        + "prepare = [\"true\"]\n"
        + "read_settings = [\"sh\", \"-c\", \"echo python = 3; echo threads=many\"]\n"
        + &format!(
            "audit = [\"sh\", \"-c\", \"exec python3 {APPLICATION} audit {} $(cat {})\"]\n",
            records.display(),
            loaded.display()
        );
    let (_, run) = place.done("mine.toml", &application.study(&more));
    assert!(marked.exists(), "the reset ran");
    assert!(application.lives());
    for audit in rows(&run, "audits") {
        assert_eq!(audit["consistent"], true, "{audit}");
        assert_eq!(audit["detail"], "looked into records.txt");
    }
    let proofs = rows(&run, "proofs");
    assert!(!proofs.is_empty());
    for proof in proofs {
        assert!(proof["acknowledged"].as_u64() > Some(0), "{proof}");
        assert_eq!(proof["found"], proof["acknowledged"], "{proof}");
    }
    let settings = rows(&run, "tunings");
    let threads = settings.iter().find(|row| row["name"] == "stack.threads");
    assert_eq!(threads.expect("read")["effective"], "many", "{settings:?}");
    seen(&place, &run);
    assert_host_as(&before);
}

/// A workload that the study writes down: what a user is told of counts for the audit.
#[test]
fn operations_of_the_study_are_driven_and_counted() {
    let place = Place::among_others();
    let application = Application::start();
    let (records, loaded) = (application.path("records.txt"), application.path("loaded"));
    let more = application.process_key()
        + &format!(
            "reset = [\"sh\", \"-c\", \"wc -l < {0} > {1}\"]\naudit = [\"sh\", \"-c\", \"exec python3 \
             {APPLICATION} audit {0} $(cat {1}) | grep '^new records'\"]\n",
            records.display(),
            loaded.display()
        );
    let study = application.study(&more);
    let (head, rest) = study.split_once("[workload]").expect("a workload");
    let (_, rest) = rest.split_once("[load]").expect("a load");
    let study = format!("{head}{WORKLOAD}\n[load]{rest}");
    let (_, run) = place.done("written.toml", &study);
    let audits = rows(&run, "audits");
    assert!(!audits.is_empty());
    for audit in audits {
        assert_eq!(audit["consistent"], true, "{audit}");
    }
    for proof in rows(&run, "proofs") {
        assert_eq!(proof["what"], "new records");
        assert!(proof["acknowledged"].as_u64() > Some(0), "{proof}");
        assert_eq!(proof["found"], proof["acknowledged"], "{proof}");
    }
}

/// Its CPU time is that of the process, and the page says what it is.
fn seen(place: &Place, run: &Value) {
    let used = rows(run, "resources")
        .iter()
        .filter(|row| row["subject"] == "g1")
        .filter_map(|row| row["cpu_cores"].as_f64())
        .sum::<f64>();
    assert!(used > 0.0, "no CPU time: {}", run["resources"]);
    let page = place.dir.path().join("mine.html");
    let output = place
        .rookery(&["report", "latest", "--html", &page.display().to_string()])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let page = std::fs::read_to_string(page).expect("the page");
    assert!(page.contains("external"), "the page says so");
}

/// What the study says in `[stack]` decides how its only trial ends.
fn failed(place: &Place, name: &str, study: &str) -> String {
    let path = place.study(name, study);
    let output = place
        .rookery(&["run", &path, "--quiet"])
        .output()
        .expect("rookery starts");
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(code(&output), 5, "{said}");
    let export = place.export();
    let trials = rows(&export, "trials");
    assert_eq!(trials[0]["status"], "failed", "{trials:?}");
    export["reasons"].to_string()
}

#[test]
fn an_audit_that_finds_something_else_fails_the_trial() {
    let place = Place::among_others();
    let application = Application::start();
    let records = application.path("records.txt");
    for (name, audit, wanted) in [
        (
            "loses.toml",
            "[\"echo\", \"new records = 1\"]".to_owned(),
            "the server holds 1 new records",
        ),
        (
            "says-no.toml",
            "[\"sh\", \"-c\", \"echo two orders are lost; exit 3\"]".to_owned(),
            "ended with exit code 3: two orders are lost",
        ),
        (
            "hangs.toml",
            "[\"sleep\", \"600\"]\ncommand_limit = \"500ms\"".to_owned(),
            "did not end within 500ms",
        ),
        (
            "strange.toml",
            "[\"echo\", \"orders = 1\"]".to_owned(),
            "they are told of: new records, bytes of new records",
        ),
    ] {
        let told = failed(
            &place,
            name,
            &application.study(&format!("audit = {audit}")),
        );
        assert!(told.contains(wanted), "{wanted} in {told}");
    }
    let reset = format!("reset = [\"cp\", \"/no/such/file\", {records:?}]");
    let told = failed(&place, "reset.toml", &application.study(&reset));
    assert!(
        told.contains("`reset` of [stack] ended with exit code 1"),
        "{told}"
    );
}

#[test]
fn a_system_that_ends_under_load_is_a_death() {
    let place = Place::among_others();
    let application = Application::start();
    let pid = application.process.id();
    let kill = format!(
        "prepare = [\"sh\", \"-c\", \"(sleep 1; kill {pid}) > /dev/null 2>&1 &\"]\n{}",
        application.process_key()
    );
    let told = failed(&place, "dies.toml", &application.study(&kill));
    assert!(told.contains("guest g1 died under load"), "{told}");
}

#[test]
fn what_is_not_there_or_not_ours_is_refused_before_the_load() {
    let place = Place::among_others();
    let application = Application::start();
    let foreign = application.study("").replace("127.0.0.1", "192.0.2.1");
    let path = place.study("foreign.toml", &foreign);
    let output = place
        .rookery(&["run", &path])
        .output()
        .expect("rookery starts");
    let said = text(&output.stderr);
    assert_eq!(code(&output), 2, "{said}");
    assert!(said.contains("add --confirm-target 192.0.2.1"), "{said}");
    assert!(!Path::new(&place.runs()).exists(), "no run was made");
    let told = failed(
        &place,
        "nobody.toml",
        &application.study("process = 4194303"),
    );
    assert!(told.contains("there is no process 4194303"), "{told}");
}
