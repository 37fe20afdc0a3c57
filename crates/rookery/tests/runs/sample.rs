//! The sample workload through the whole laboratory: what exists for it lies in its folders and in
//! the registries alone, so that it proves the seam between workloads and everything else.

use serde_json::Value;

use crate::common::{Place, assert_host_as, code, host_state, metric, root_tests, text};

/// One guest of `kind` under two loads. Keys are not those of any default, so that what is lost on
/// the way shows.
fn study(kind: &str, more: &str) -> String {
    format!(
        r#"
title = "sampled"
seed = 3

[workload]
kind = "sample"
records = 50
record_bytes = 24
list_length = 5
think_time = "10ms"
matrix = [[0.5, 0.25, 0.25], [0.5, 0.25, 0.25], [0.25, 0.5, 0.25]]

[load]
users = [3, 6]
ramp_up = "100ms"
settle = "300ms"
steady = "2s"
ramp_down = "100ms"
drain = "2s"
repeats = 1

[qos.write]
p95 = "5s"

[stack]
kind = "bundled"

[guest]
kind = "{kind}"
memory = "128MiB per guest"

[host]
overcommit = 2
other_work = 1

[[layout]]
name = "one"
guests = 1
vcpus = 1
{more}
"#
    )
}

/// What a command of this place says on standard output; it must end well.
fn told(place: &Place, args: &[&str]) -> String {
    let output = place.rookery(args).output().expect("rookery starts");
    assert_eq!(code(&output), 0, "{args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn number(of: &Value, key: &str) -> u64 {
    of[key].as_u64().unwrap_or_else(|| panic!("{key} in {of}"))
}

fn rows<'a>(of: &'a Value, key: &str) -> &'a Vec<Value> {
    of[key]
        .as_array()
        .unwrap_or_else(|| panic!("{key} in {of}"))
}

/// The server holds what users were told, record by record and byte by byte.
fn proof_holds(run: &Value) {
    let audits = rows(run, "audits");
    assert!(!audits.is_empty());
    for audit in audits {
        assert_eq!(audit["consistent"], true, "{audit}");
    }
    let proofs = rows(run, "proofs");
    assert_eq!(proofs.len(), 2 * audits.len(), "records and bytes of each");
    for proof in proofs {
        let acknowledged = number(proof, "acknowledged");
        assert!(acknowledged > 0, "{proof}");
        let most = acknowledged + number(proof, "unanswered");
        assert!(
            (acknowledged..=most).contains(&number(proof, "found")),
            "{proof}"
        );
    }
    for pair in proofs.chunks(2) {
        let [records, bytes] = pair else {
            panic!("two rows each: {pair:?}");
        };
        assert_eq!(records["what"], "new records");
        assert_eq!(bytes["what"], "bytes of new records");
        assert_eq!(number(bytes, "found"), 24 * number(records, "found"));
    }
}

#[test]
fn a_workload_of_rooms_and_registries_goes_through_the_whole_laboratory() {
    let place = Place::among_others();
    let text_of = study("bare", "");
    let path = place.study("sampled.toml", &text_of);
    told(&place, &["check", &path]);
    let plan = told(&place, &["plan", &path]);
    assert!(plan.contains("50 records of 24 bytes"), "{plan}");

    let (_, run) = place.done("sampled.toml", &text_of);
    proof_holds(&run);
    exported(&run);
    reported(&place);
    compared(&place, &path);
}

/// Operations and metrics of guests are rows.
fn exported(run: &Value) {
    for operation in ["read", "list", "write"] {
        assert!(
            rows(run, "operations")
                .iter()
                .any(|row| row["operation"] == operation && number(row, "completed") > 0),
            "{operation}"
        );
    }
    for guest in rows(run, "guests") {
        assert!(metric(run, guest, "writes_per_min") > 0.0, "{guest}");
        assert!(metric(run, guest, "records_listed") >= 5.0, "{guest}");
        let written = metric(run, guest, "records_written");
        assert!(
            written <= metric(run, guest, "records_written_from_start"),
            "{guest}"
        );
    }
    let walked = rows(run, "counters")
        .iter()
        .find(|row| row["counter"] == "matrix[2][1]");
    assert_eq!(walked.expect("the matrix")["value"], 0.5);
}

/// The page, the terminal and the document say it in the workload's own words.
fn reported(place: &Place) {
    let page = place.dir.path().join("sampled.html");
    told(
        place,
        &["report", "latest", "--html", &page.display().to_string()],
    );
    let page = std::fs::read_to_string(page).expect("the page");
    for own in [
        "writes/min",
        "records_listed",
        "write p95",
        "new records",
        "lists of 5",
    ] {
        assert!(page.contains(own), "{own}");
    }
    for foreign in ["orders/min", "order p95", "new orders"] {
        assert!(!page.contains(foreign), "{foreign}");
    }

    let document: Value =
        serde_json::from_str(&told(place, &["report", "latest", "--json"])).expect("JSON");
    let points = rows(&document, "points");
    assert_eq!(points.len(), 2);
    let names: Vec<&str> = rows(&points[0], "metrics")
        .iter()
        .filter_map(|metric| metric["name"].as_str())
        .collect();
    assert!(
        names.contains(&"writes_per_min") && names.contains(&"write_mean_ms"),
        "{names:?}"
    );
    let whole = document.to_string();
    for operation in ["\"read\"", "\"list\"", "\"write\""] {
        assert!(whole.contains(operation), "{operation}");
    }
}

/// Another run of the same study shows no difference, told in writes.
fn compared(place: &Place, path: &str) {
    let output = place
        .rookery(&["run", path, "--quiet"])
        .output()
        .expect("rookery starts");
    assert!(matches!(code(&output), 0 | 6), "{}", text(&output.stderr));
    let mut runs: Vec<String> = std::fs::read_dir(place.runs())
        .expect("runs")
        .map(|run| run.expect("a run").path())
        .filter(|run| run.join("run.sqlite").exists())
        .map(|run| run.display().to_string())
        .collect();
    runs.sort();
    let [.., before, after] = &runs[..] else {
        panic!("two runs: {runs:?}");
    };
    let output = place
        .rookery(&["compare", before, after])
        .output()
        .expect("rookery starts");
    let compared = text(&output.stdout);
    assert!(
        compared.contains("writes/min"),
        "{compared}{}",
        text(&output.stderr)
    );
    assert!(!compared.contains("orders/min"), "{compared}");
}

#[test]
fn a_container_serves_it_too() {
    if !root_tests() {
        return;
    }
    let place = Place::among_others();
    let before = host_state();
    let (_, run) = place.done(
        "contained.toml",
        &study("container", "").replace("[3, 6]", "10"),
    );
    proof_holds(&run);
    assert_host_as(&before);
}
