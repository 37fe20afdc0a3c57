//! A container image that another program made, as guests: it runs what it says itself, as the user
//! and with the volume that it names.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use crate::{
    common::{Place, assert_host_as, code, host_state, root_tests, text},
    images::{SECRET, holds_no_secret},
    machines::long_tests,
    records::container_study,
};

/// The application.
const APPLICATION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/applications/records.py");

/// Copies a shell, Python and what both need from this host.
const FILL: &str = r#"
set -e
root=$1
put() { mkdir -p "$root${1%/*}"; cp -L "$1" "$root$1"; }
for program in /bin/sh /usr/bin/python3 /usr/bin/grep; do
    put "$program"
    for library in $(ldd "$program" | grep -o '/[^ ]*'); do put "$library"; done
done
library=$(/usr/bin/python3 -c 'import os; print(os.path.dirname(os.__file__))')
mkdir -p "$root$library"
cp -r "$library/." "$root$library"
mkdir -p "$root/srv" "$root/var/lib/records" "$root/etc"
printf 'root:x:0:0::/:/bin/sh\nkeeper:x:1500:1600::/:/bin/sh\n' > "$root/etc/passwd"
ln -s /etc "$root/tmp"
"#;

fn must(command: &mut Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
}

fn umoci(words: &[&str]) {
    must(Command::new("umoci").args(words));
}

/// An archive of an OCI layout with the application; a link stands where guests have `/tmp`.
fn archive(place: &Path) -> String {
    let name = |name: &str| place.join(name).display().to_string();
    let (layout, bundle, archive) = (name("layout"), name("bundle"), name("app.tar"));
    let image = format!("{layout}:1.0");
    umoci(&["init", "--layout", &layout]);
    umoci(&["new", "--image", &image]);
    umoci(&["unpack", "--image", &image, &bundle]);
    let root = format!("{bundle}/rootfs");
    must(Command::new("sh").args(["-c", FILL, "sh", &root]));
    fs::copy(APPLICATION, format!("{root}/srv/records.py")).expect("copied");
    umoci(&["repack", "--image", &image, &bundle]);
    umoci(&[
        "config",
        "--image",
        &image,
        "--config.entrypoint=python3",
        "--config.cmd=records.py",
        "--config.cmd=serve",
        "--config.cmd=/var/lib/records/all",
        "--config.cmd=--listen",
        "--config.cmd=0.0.0.0:8080",
        "--config.workingdir=/srv",
        "--config.user=keeper",
        "--config.volume=/var/lib/records",
        "--config.env=PATH=/usr/bin:/bin",
    ]);
    must(Command::new("tar").args(["-cf", &archive, "-C", &layout, "."]));
    archive
}

fn study(archive: &str) -> String {
    let stack = format!(
        r#"kind = "image"
archive = {archive:?}
reference = "1.0"
port = 8080
health = "/health"
install = ["python3", "/srv/records.py", "reset", "/var/lib/records/all", "50", "24"]
audit = ["sh", "-c", "python3 -c 'import os; assert (os.getuid(), os.getgid()) == (1500, 1600)' && python3 /srv/records.py audit /var/lib/records/all 50 | grep '^new records'"]

"#
    );
    container_study("a container image", &stack)
}

/// The same in a machine, at a low port, with a secret and commands; what a translated processor
/// needs is longer.
fn machine_study(archive: &str, secret: &str) -> String {
    let more = format!(
        r#"secrets = {{ KEY = {{ file = {secret:?} }} }}
prepare = ["sh", "-c", "test ${{#KEY}} = {length} && python3 -c 'import os; assert (os.getuid(), os.getgid()) == (1500, 1600)'"]
read_settings = ["sh", "-c", "echo kernel = $(python3 -c 'import os; print(os.uname().release)')"]

[[stack.services]]
name = "records"
command = ["python3", "/srv/records.py", "serve", "/var/lib/records/all", "--listen", "0.0.0.0:80"]

"#,
        length = SECRET.len(),
    );
    study(archive)
        .replace("port = 8080", "port = 80")
        .replace("\n\n[guest]", &format!("\n{more}[guest]"))
        .replace("grep '^new records'\"", "grep '^new records'; echo $KEY\"")
        .replace("kind = \"container\"", "kind = \"vm\"")
        .replace("128MiB per guest", "256MiB per guest")
        .replace("users = 4", "users = 2")
        .replace("10ms", "200ms")
        .replace("settle = \"300ms\"", "settle = \"4s\"")
        .replace("steady = \"2s\"", "steady = \"6s\"")
        .replace("drain = \"2s\"", "drain = \"20s\"\ntimeout = \"30s\"")
}

#[test]
fn an_image_of_umoci_runs_in_a_machine() {
    if !long_tests() {
        return;
    }
    let place = Place::among_others();
    let before = host_state();
    let archive = archive(place.dir.path());
    let secret = place.dir.path().join("secret");
    fs::write(&secret, format!("{SECRET}\n")).expect("written");
    let text_of = machine_study(&archive, &secret.display().to_string());
    let (_, run) = place.done("machine.toml", &text_of);
    let rows = |key: &str| run[key].as_array().cloned().unwrap_or_default();
    for proof in rows("proofs") {
        assert!(proof["acknowledged"].as_u64() > Some(0), "{proof}");
        assert_eq!(proof["found"], proof["acknowledged"], "{proof}");
    }
    for audit in rows("audits") {
        assert_eq!(audit["consistent"], true, "{audit}");
        assert_eq!(audit["detail"], "***", "the secret is not kept");
    }
    let settings = rows("tunings");
    let kernel = settings.iter().find(|row| row["name"] == "stack.kernel");
    let kernel = kernel.expect("read")["effective"].as_str().expect("text");
    let own = fs::read_to_string("/proc/sys/kernel/osrelease").expect("there");
    assert!(!kernel.is_empty() && kernel != own.trim(), "{kernel}");
    holds_no_secret(&place.runs());
    assert_host_as(&before);
}

#[test]
fn an_image_of_umoci_is_measured_and_audited() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let before = host_state();
    let etc = fs::metadata("/etc").expect("there").permissions();
    let archive = archive(place.dir.path());
    let (_, run) = place.done("archive.toml", &study(&archive));
    let rows = |key: &str| run[key].as_array().cloned().unwrap_or_default();
    let proofs: Vec<Value> = rows("proofs");
    assert!(!proofs.is_empty(), "{run}");
    for proof in proofs {
        assert!(proof["acknowledged"].as_u64() > Some(0), "{proof}");
        assert_eq!(proof["found"], proof["acknowledged"], "{proof}");
    }
    assert_host_as(&before);
    assert_eq!(fs::metadata("/etc").expect("there").permissions(), etc);

    // Another image is another template, and none at all is said before anything is made.
    fs::write(&archive, "no archive").expect("written");
    let path = place.study("broken.toml", &study(&archive));
    let output = place
        .rookery(&["run", &path, "--quiet"])
        .output()
        .expect("rookery starts");
    assert_ne!(code(&output), 0);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(said.contains("the archive is damaged"), "{said}");
}
