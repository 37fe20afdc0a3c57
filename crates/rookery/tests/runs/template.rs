//! `rookery template`: the LAMP root is built from packages and found again; listing and removal
//! tell the truth.
//!
//! Most cases put a stand-in for mmdebstrap on the PATH; one builds the real root, and keeps it for
//! the next time.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::common::{Place, code, root_tests, templates, text};
use rookery_guest::{Fill, Recipe, Template, build_template};

/// Generous: a loaded machine is slow, not wrong.
const PATIENCE: Duration = Duration::from_secs(60);

/// A place with its own templates and a stand-in for mmdebstrap that runs this script in `sh`;
/// `$root` is the directory to be filled.
struct Workshop {
    place: Place,
}

impl Workshop {
    fn new(script: &str) -> Self {
        let workshop = Self {
            place: Place::new(),
        };
        fs::create_dir(workshop.path("bin")).expect("a directory");
        let head = "#!/bin/sh\nfor root; do case $root in */root) break;; esac; done\n";
        // Another process writes it: one that this process holds open for writing could not be run.
        let mut writer = Command::new("sh")
            .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
            .arg(workshop.path("bin/mmdebstrap"))
            .stdin(Stdio::piped())
            .spawn()
            .expect("sh");
        let mut input = writer.stdin.take().expect("piped");
        input
            .write_all(format!("{head}{script}\n").as_bytes())
            .expect("written");
        drop(input);
        assert!(writer.wait().expect("ended").success());
        workshop
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.dir.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.place.rookery(args);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.path("bin").display()));
        command.env("ROOKERY_TEMPLATES", self.path("templates"));
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("rookery starts")
    }

    fn run_json(&self, args: &[&str]) -> serde_json::Value {
        let output = self.run(args);
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// A data layer, as a run would leave it.
    fn data(&self, description: &str, base: Option<&Template>) -> Template {
        let recipe = Recipe {
            description: description.to_owned(),
            program: "/bin/sh".into(),
            base,
            fill: Fill::Data(&|data| {
                fs::write(data.join("rows"), "1")
                    .map(|()| None)
                    .map_err(rookery_guest::FillError::from)
            }),
        };
        build_template(&self.path("templates"), &recipe, &rookery_guest::patient).expect("built")
    }

    fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("templates"))
            .into_iter()
            .flatten()
            .flatten();
        entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect()
    }
}

/// What a stand-in does to be content with itself.
const WORKS: &str = "echo '0 upgraded, 2 newly installed, 0 to remove'; echo 'Get:1 x'; echo \
                     'Get:2 x'\n\
                     echo 'I: extracting archives...'; echo php8.2-common_8.2.1-1_all.deb > \
                     $root/.rookery-archives\n\
                     echo 'I: cleaning package lists'";

#[test]
fn a_root_is_built_once_then_listed_and_removed() {
    if !root_tests() {
        return;
    }
    let workshop = Workshop::new(WORKS);
    let output = workshop.run(&["template", "build", "lamp", "--suite", "bookworm"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert!(
        text(&output.stdout).contains("php 8.2.1-1, suite bookworm"),
        "{}",
        text(&output.stdout)
    );
    let steps = text(&output.stderr);
    assert!(
        steps.contains("fetching packages: 2 of 2") && !steps.contains("1 of 2"),
        "{steps}"
    );
    let output = workshop.run(&[
        "template", "build", "lamp", "--suite", "bookworm", "--quiet",
    ]);
    assert_eq!(
        (code(&output), text(&output.stdout), text(&output.stderr)),
        (0, String::new(), String::new())
    );

    let again = workshop.run_json(&["template", "build", "lamp", "--suite", "bookworm", "--json"]);
    assert_eq!(again["built"], false);
    let listed = workshop.run_json(&["template", "list", "--json"]);
    assert_eq!(listed["templates"][0]["digest"], again["digest"]);
    assert_eq!(listed["templates"][0]["versions"]["php"], "8.2.1-1");

    let digest = again["digest"].as_str().expect("text");
    let output = workshop.run(&["template", "remove", &digest[..8]]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert!(
        text(&output.stdout).contains(&digest[..12]),
        "{}",
        text(&output.stdout)
    );
    assert_eq!(workshop.left(), [""; 0]);
    assert!(text(&workshop.run(&["template", "list"]).stdout).starts_with("no templates in"));
}

#[test]
fn a_root_that_cannot_be_built_says_why_and_leaves_nothing() {
    if !root_tests() {
        return;
    }
    let workshop = Workshop::new(
        "echo 'E: Failed to fetch http://127.0.0.1:9/x  Connection refused' >&2; exit 25",
    );
    let output = workshop.run(&[
        "template",
        "build",
        "lamp",
        "--mirror",
        "http://127.0.0.1:9/debian",
    ]);
    let said = text(&output.stderr);
    assert_eq!(code(&output), 4, "{said}");
    assert!(
        said.contains("cannot be fetched from http://127.0.0.1:9/debian") && said.contains("help:"),
        "{said}"
    );
    assert_eq!(workshop.left(), [""; 0]);
    let output = workshop.run(&["template", "build", "lamp", "--suite", "--no-such"]);
    assert_eq!(code(&output), 2, "{}", text(&output.stderr));
    let output = workshop.run(&["template", "build", "lamp", "--suite", "no such"]);
    assert_eq!(code(&output), 2, "{}", text(&output.stderr));
}

#[test]
fn an_interrupted_build_ends_its_child_and_leaves_nothing() {
    if !root_tests() {
        return;
    }
    let workshop = Workshop::new(
        "trap 'exit 143' TERM; sh -c 'sleep 600; exit 1' \"$0.child\" & mkdir -p $root/usr; echo \
         '9 newly installed'; wait",
    );
    let child = workshop.path("bin/mmdebstrap.child").display().to_string();
    let mut build = workshop
        .command(&["template", "build", "lamp", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("rookery starts");
    let lines = BufReader::new(build.stdout.take().expect("piped")).lines();
    // The child has said something: it is at work.
    let begun = lines
        .map_while(Result::ok)
        .find(|line| line.contains("0 of 9"));
    assert!(begun.is_some());
    // Between its fork and its exec it has its parent's arguments.
    assert!(comes_true(|| lives(&child)), "the grandchild is at work");
    interrupt(&build);
    let status = build.wait().expect("ended");
    assert_eq!(status.code(), Some(130));
    assert_eq!(workshop.left(), [""; 0]);
    assert!(comes_true(|| !lives(&child)), "the grandchild lives");
}

/// Ask a child of ours to end, as Ctrl-C does.
fn interrupt(child: &Child) {
    let status = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .expect("kill");
    assert!(status.success());
}

/// Whether there is a process with this word among its arguments.
fn lives(word: &str) -> bool {
    let processes = fs::read_dir("/proc").expect("proc").flatten();
    let commands = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    commands
        .map(|command| text(&command))
        .any(|command| command.split('\0').any(|argument| argument == word))
}

/// Whether it becomes so soon.
fn comes_true(what: impl Fn() -> bool) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        if what() {
            return true;
        }
        thread::sleep(Duration::from_millis(5));
    }
    false
}

#[test]
fn what_is_used_is_not_removed() {
    let workshop = Workshop::new(WORKS);
    let held = workshop.data("held data", None);
    drop(workshop.data("other data", None));
    let output = workshop.run(&["template", "remove", "--all"]);
    assert_eq!(code(&output), 5);
    assert!(
        text(&output.stderr).contains("a living run uses it"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(workshop.left(), [held.digest.as_str()], "the other is gone");
    drop(held);
    let output = workshop.run(&["template", "remove", "--unused", "1"]);
    assert_eq!(
        (code(&output), text(&output.stdout).as_str()),
        (0, "nothing to remove\n")
    );
    assert_eq!(
        code(&workshop.run(&["template", "remove", "--unused", "0"])),
        0
    );
    assert_eq!(workshop.left(), [""; 0]);
}

#[test]
fn a_removal_must_name_something() {
    let workshop = Workshop::new(WORKS);
    for args in [
        &["template", "remove"][..],
        &["template", "remove", "abcd", "--all"],
    ] {
        assert_eq!(code(&workshop.run(args)), 2);
    }
    let output = workshop.run(&["template", "remove", "abcdef"]);
    assert_eq!(code(&output), 5);
    assert!(
        text(&output.stderr).contains("rookery template list"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_host_without_mmdebstrap_is_told_so() {
    if !root_tests() {
        return;
    }
    let workshop = Workshop::new(WORKS);
    let mut command = workshop.command(&["template", "build", "lamp"]);
    let output = command
        .env("PATH", workshop.path("empty"))
        .output()
        .expect("rookery starts");
    assert_eq!(code(&output), 4);
    assert!(
        text(&output.stderr).contains("apt-get install mmdebstrap"),
        "{}",
        text(&output.stderr)
    );
}

/// The real one: needs the packages' mirror the first time.
#[test]
fn the_lamp_root_holds_servers_that_run() {
    if !root_tests() {
        return;
    }
    let place = Place::new();
    let output = place
        .rookery(&["template", "build", "lamp", "--json"])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let last = text(&output.stdout)
        .lines()
        .last()
        .expect("a line")
        .to_owned();
    let built: serde_json::Value = serde_json::from_str(&last).expect("JSON");
    let root = PathBuf::from(built["root"].as_str().expect("a path"));
    assert!(
        root.starts_with(templates().canonicalize().expect("there")),
        "{}",
        root.display()
    );
    let size = built["size_mib"].as_f64().expect("a number");
    assert!((50.0..400.0).contains(&size), "{size} MiB");

    let php = built["versions"]["php"].as_str().expect("a version");
    let php: String = php.split('.').take(2).collect::<Vec<_>>().join(".");
    let says = |program: &str, argument: &str| {
        let said = Command::new("chroot")
            .arg(&root)
            .args([program, argument])
            .output()
            .expect("chroot");
        assert!(said.status.success(), "{program}: {}", text(&said.stderr));
        text(&said.stdout)
    };
    assert!(says("/usr/sbin/mariadbd", "--version").contains("MariaDB"));
    assert!(says("/usr/sbin/apache2", "-v").contains("Apache/2.4"));
    assert!(says(&format!("/usr/sbin/php-fpm{php}"), "-v").contains(&format!("PHP {php}")));
    for file in [
        format!("libphp{php}.so"),
        "mod_mpm_prefork.so".into(),
        "mod_mpm_event.so".into(),
    ] {
        assert!(
            root.join("usr/lib/apache2/modules").join(&file).is_file(),
            "{file}"
        );
    }
    let passwd = fs::read_to_string(root.join("etc/passwd")).expect("read");
    assert!(
        passwd
            .lines()
            .any(|line| line.starts_with("www-data:") && line.contains(":33:33:")),
        "{passwd}"
    );
    assert!(
        !root.join("etc/resolv.conf").exists(),
        "nothing of this host"
    );
    let mode = |name: &str| root.join(name).metadata().expect("there").mode() & 0o7777;
    assert_eq!(
        (mode("tmp"), mode("run"), mode(".")),
        (0o1777, 0o1777, 0o755)
    );
    assert!(
        !Path::new(&root).join("program").exists(),
        "a new program does not make it old"
    );
}
