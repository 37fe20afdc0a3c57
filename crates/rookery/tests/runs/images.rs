//! A server of one's own as guests: a small Python application is made into an image from packages
//! of the distribution, measured and audited, and is killed under load.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use crate::common::{Place, assert_host_as, code, host_state, processes_of, root_tests, text};
use crate::records::container_study;

/// The application.
const APPLICATION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/applications/records.py");

/// The value that nothing of a run may hold.
pub(crate) const SECRET: &str = "3eb7-a-secret-of-the-test";

/// The place with the application and a file that holds the secret; nothing where only root's tests
/// are wanted not to run.
fn place() -> Option<Place> {
    if !root_tests() {
        return None;
    }
    let place = Place::among_others();
    fs::copy(APPLICATION, place.dir.path().join("records.py")).expect("copied");
    fs::write(secret_file(&place), format!("{SECRET}\n")).expect("written");
    Some(place)
}

fn secret_file(place: &Place) -> String {
    place.dir.path().join("secret").display().to_string()
}

/// Checks in a guest what it was told, and that only its data are its own.
const PREPARE: &str = r#"
set -e
test "$(id -u)" = 33 && test "$MODE" = "fast lane"
test "$KEY" = "$(cat /var/lib/records/key)"
touch /var/lib/records/new /tmp/new
if touch /srv/new || touch /conf/new || cat /etc/shadow; then exit 1; fi
"#;

fn study(place: &Place, more: &str) -> String {
    let stack = format!(
        r#"kind = "image"
packages = ["python3"]
files = [{{ from = "records.py", to = "/srv/records.py" }}]
data = ["/var/lib/records"]
port = 80
health = "/health"
secrets = {{ KEY = {{ file = {secret:?} }} }}
environment = {{ MODE = "fast lane" }}
install = ["sh", "-c", "python3 /srv/records.py reset /var/lib/records/all 50 24 && echo \"$KEY\" > /var/lib/records/key && echo made"]
prepare = ["sh", "-c", {PREPARE:?}]
read_settings = ["sh", "-c", "echo python = $(python3 --version)"]
audit = ["sh", "-c", "python3 /srv/records.py audit /var/lib/records/all 50 | grep '^new records'; echo $KEY"]
{more}

[[stack.services]]
name = "records"
command = ["python3", "/srv/records.py", "serve", "/var/lib/records/all", "--listen", "0.0.0.0:80"]
ready = "log:listening"

"#,
        secret = secret_file(place),
    );
    container_study("records of one's own", &stack)
}

fn rows<'a>(of: &'a Value, key: &str) -> &'a Vec<Value> {
    of[key]
        .as_array()
        .unwrap_or_else(|| panic!("{key} in {of}"))
}

/// No file below the directory holds the secret.
pub(crate) fn holds_no_secret(directory: &Path) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            holds_no_secret(&path);
        } else {
            let bytes = fs::read(&path).unwrap_or_default();
            let found = bytes
                .windows(SECRET.len())
                .any(|window| window == SECRET.as_bytes());
            assert!(!found, "the secret is in {}", path.display());
        }
    }
}

#[test]
fn an_application_of_ones_own_is_made_into_guests_and_audited() {
    let Some(place) = place() else { return };
    let before = host_state();
    let (_, run) = place.done("image.toml", &study(&place, ""));
    for audit in rows(&run, "audits") {
        assert_eq!(audit["consistent"], true, "{audit}");
        assert_eq!(audit["detail"], "***", "the secret is not kept");
    }
    let proofs = rows(&run, "proofs");
    assert!(!proofs.is_empty());
    for proof in proofs {
        assert_eq!(proof["what"], "new records");
        assert!(proof["acknowledged"].as_u64() > Some(0), "{proof}");
        assert_eq!(proof["found"], proof["acknowledged"], "{proof}");
    }
    let settings = rows(&run, "tunings");
    let python = settings.iter().find(|row| row["name"] == "stack.python");
    let version = python.expect("read")["effective"].to_string();
    assert!(version.contains("Python 3"), "{settings:?}");
    holds_no_secret(&place.runs());
    let page = place.dir.path().join("image.html");
    let output = place
        .rookery(&["report", "latest", "--html", &page.display().to_string()])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let page = fs::read_to_string(page).expect("the page");
    assert!(page.contains("image") && !page.contains(SECRET));
    assert_host_as(&before);
}

#[test]
fn what_users_were_told_is_there_after_a_kill() {
    let Some(place) = place() else { return };
    let long = study(&place, "").replace("steady = \"2s\"", "steady = \"8s\"");
    let (mut child, events) = place.under_load(&long);
    let all = processes_of(&child, "python3");
    assert_eq!(all.len(), 1, "one application of the one guest: {all:?}");
    let victim = all[0].to_string();
    let command = fs::read(format!("/proc/{victim}/cmdline")).expect("it runs");
    assert!(
        !text(&command).contains(SECRET),
        "the secret is seen by `ps`"
    );
    let killed = Command::new("kill").args(["-9", &victim]).status();
    assert!(killed.expect("kill").success());
    events.for_each(drop);
    child.wait().expect("rookery ends");
    let run = place.export();
    assert_eq!(run["trials"][0]["status"], "failed", "{}", run["trials"]);
    let reasons = run["reasons"].to_string();
    assert!(reasons.contains("died under load"), "{reasons}");
    let audit = &run["audits"][0];
    assert_eq!(audit["killed"], true, "{audit}");
    let number = |key: &str| {
        audit[key]
            .as_u64()
            .unwrap_or_else(|| panic!("{key}: {audit}"))
    };
    assert!(number("acknowledged") > 0, "{audit}");
    assert!(number("found") >= number("acknowledged"), "{audit}");
}

#[test]
fn an_install_that_fails_says_so_in_its_own_words() {
    let Some(place) = place() else { return };
    let broken = study(&place, "").replace(
        "install = [\"sh\", \"-c\", \"",
        "install = [\"sh\", \"-c\", \"echo there is no room; exit 3; ",
    );
    let path = place.study("broken.toml", &broken);
    let output = place
        .rookery(&["run", &path, "--quiet"])
        .output()
        .expect("rookery starts");
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_ne!(code(&output), 0, "{said}");
    for words in ["there is no room", "exit code 3", "`install`"] {
        assert!(said.contains(words), "{words} in {said}");
    }
    assert!(!said.contains(SECRET), "{said}");
}
