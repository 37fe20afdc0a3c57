//! What is refused, with the reason and the exit code.

use crate::common::{Place, code, text, tiny_study};

fn refused(place: &Place, args: &[&str], expected_code: i32, words: &[&str]) {
    let output = place.rookery(args).output().expect("rookery starts");
    let err = text(&output.stderr);
    assert_eq!(code(&output), expected_code, "{args:?}\n{err}");
    for word in words {
        assert!(err.contains(word), "`{word}` is missing in:\n{err}");
    }
}

#[test]
fn a_broken_study_names_line_and_help() {
    let place = Place::new();
    let study = place.study(
        "bad.toml",
        &tiny_study("bare", "1", "").replace("think_time = \"20ms\"", "think_tme = \"20ms\""),
    );
    refused(
        &place,
        &["check", &study],
        3,
        &["bad.toml:", "think_tme", "think_time", "help"],
    );
    refused(&place, &["run", &study], 3, &["think_tme"]);
    assert!(!place.runs().exists(), "a refused study makes no run");
}

#[test]
fn driver_and_guests_on_one_cpu_are_refused() {
    let place = Place::new();
    let study = place.study(
        "one.toml",
        &tiny_study("bare", "1", "")
            .replace("[host]", "[host]\nguest_cpus = \"0\"\ndriver_cpus = \"0\""),
    );
    refused(&place, &["plan", &study], 3, &["driver", "CPU 0", "help"]);
}

#[test]
fn a_foreign_target_is_refused_before_the_first_packet() {
    let place = Place::new();
    // 192.0.2.0/24 is reserved for documentation; nothing is ever sent there.
    let args = [
        "drive",
        "dvdstore",
        "--target",
        "http://192.0.2.1:80/ds2",
        "--steady",
        "1s",
    ];
    refused(&place, &args, 2, &["192.0.2.1", "--confirm-target"]);
}

#[test]
fn errors_are_fields_when_json_is_asked_for() {
    let place = Place::new();
    let broken = place.study("bad.toml", "title = 1\n");
    for (args, exit_code, place_of_error) in [
        (&["plan", &broken, "--json"][..], 3, "bad.toml:1:9"),
        (
            &["host", "storage", "--json", "--run", "nothing"][..],
            8,
            "",
        ),
    ] {
        let output = place.rookery(args).output().expect("rookery starts");
        assert_eq!(code(&output), exit_code, "{args:?}");
        assert_eq!(text(&output.stdout), "", "{args:?}");
        let said: serde_json::Value = serde_json::from_slice(&output.stderr).expect("JSON");
        assert_eq!(said["exit_code"], exit_code);
        let error = &said["errors"][0];
        for field in ["code", "message", "help"] {
            assert!(error[field].is_string(), "{field} of {said}");
        }
        let given = error["place"].as_str().unwrap_or_default();
        assert!(given.ends_with(place_of_error), "{said}");
    }
}

#[test]
fn an_unknown_run_is_no_run() {
    let place = Place::new();
    refused(&place, &["report", "nothing"], 8, &["nothing", "help"]);
}

#[test]
fn a_missing_study_is_named() {
    let place = Place::new();
    refused(
        &place,
        &["check", "no-such.toml"],
        3,
        &["no-such.toml", "help"],
    );
}

#[test]
fn what_the_host_lacks_is_said_beside_a_broken_file() {
    let place = Place::new();
    let study = tiny_study("container", "0.5", "").replace("think_time =", "think_tme =");
    let study = place.study("broken.toml", &study);
    let checked = |args: &[&str]| {
        let output = place
            .rookery(&[&["check", study.as_str()], args].concat())
            .env("PATH", "/nowhere")
            .output()
            .expect("rookery starts");
        assert_eq!(code(&output), 3, "{}", text(&output.stderr));
        (text(&output.stdout), text(&output.stderr))
    };
    let lacks = |text: &str| text.contains("runc") || text.contains("root");
    let (_, people) = checked(&[]);
    assert!(lacks(&people) && people.contains("think_tme"), "{people}");
    let (json, _) = checked(&["--json"]);
    let problems: Vec<serde_json::Value> = serde_json::from_str(&json).expect(&json);
    let (host, file): (Vec<_>, Vec<_>) = problems
        .iter()
        .partition(|problem| problem["line"].is_null());
    assert!(
        host.iter().any(|problem| lacks(&problem.to_string())),
        "{json}"
    );
    assert!(
        file.iter()
            .any(|problem| problem["code"] == "study::unknown-key"),
        "{json}"
    );
    let (_, alone) = checked(&["--file-only"]);
    assert!(!lacks(&alone) && alone.contains("think_tme"), "{alone}");
}

#[test]
fn an_unready_host_makes_no_run() {
    let place = Place::new();
    let study = place.study("container.toml", &tiny_study("container", "0.5", ""));
    for command in ["check", "run"] {
        let output = place
            .rookery(&[command, &study])
            .env("PATH", "/nowhere")
            .output()
            .expect("rookery starts");
        let err = text(&output.stderr);
        assert_eq!(code(&output), 4, "{command}: {err}");
        assert!(err.contains("runc") || err.contains("root"), "{err}");
    }
    assert!(
        !place.runs().exists(),
        "a run that cannot begin would be in the way of `latest`"
    );
}

#[test]
fn a_file_without_end_is_no_study() {
    refused(
        &Place::new(),
        &["check", "/dev/zero"],
        3,
        &["study::too-large", "help"],
    );
}

#[test]
fn output_that_cannot_be_written_is_said() {
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .expect("a full device");
    let output = Place::new()
        .rookery(&["reference"])
        .stdout(full)
        .output()
        .expect("rookery starts");
    assert_eq!(code(&output), 8);
    assert!(
        text(&output.stderr).contains("help: "),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn resume_without_a_name_means_the_latest_run() {
    refused(&Place::new(), &["run", "--resume"], 8, &["latest", "help"]);
    refused(&Place::new(), &["run"], 2, &["<STUDY>"]);
}

#[test]
fn a_run_that_breaks_off_says_how_to_go_on() {
    let place = Place::new();
    let study = place.study("tiny.toml", &tiny_study("bare", "1", ""));
    // Templates cannot lie in a file.
    let templates = place.dir.path().join("templates");
    std::fs::write(&templates, "a file").expect("written");
    let output = place
        .rookery(&["run", &study])
        .env("ROOKERY_TEMPLATES", &templates)
        .output()
        .expect("rookery starts");
    let err = text(&output.stderr);
    assert_eq!(code(&output), 5, "{err}");
    assert!(
        err.contains("rookery run --resume ") && err.contains("tiny-"),
        "{err}"
    );
}
