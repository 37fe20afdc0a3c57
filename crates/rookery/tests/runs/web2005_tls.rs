//! Pages that the original encrypted, over TLS.

use serde_json::Value;

use crate::{
    common::{Place, lamp_tests, root_tests},
    web2005_planted::{all, free_port, seen, served},
};

/// The pages of a workload on a stack, encrypted as in the original.
fn study(workload: &str, stack: &str, kind: &str) -> String {
    format!(
        r#"
title = "encrypted pages"
seed = 7
workload = {{ kind = "{workload}", encrypted = true, sessions = "10 per guest", fileset_scale = 0.1, think_time = "50ms", receive_rate = 0, min_requests = 0 }}
load = {{ users = 10, ramp_up = "300ms", settle = "1s", steady = "4s", ramp_down = "300ms", repeats = 1, retry_void = 0 }}
qos = {{ page = {{ p95 = "9s" }}, errors = 0.05 }}
stack = {{ {stack} }}
guest = {{ kind = "{kind}", memory = "400MiB" }}
host = {{ overcommit = 6, other_work = 1 }}
layout = [{{ name = "one", guests = 1 }}]
"#
    )
}

/// No page was wrong, and ledgers hold what users were told.
fn are_right(run: &Value) {
    let metrics = run["metrics"].as_array().expect("metrics");
    let of = |name: &'static str| {
        let own = metrics.iter().filter(move |row| row["metric"] == name);
        own.filter_map(|row| row["value"].as_f64())
    };
    assert!(of("validation_error_pct").all(|errors| errors == 0.0));
    assert!(of("pages_per_minute").all(|rate| rate > 100.0));
    let audits = run["audits"].as_array().expect("audits");
    assert!(!audits.is_empty());
    for audit in audits {
        assert_eq!(audit["found"], audit["acknowledged"], "{audit}");
    }
}

#[test]
fn banking_is_encrypted_and_the_shop_from_the_cart_on() {
    for (workload, scheme) in [
        ("web-banking", "TLS"),
        ("web-ecommerce", "TLS from the cart on"),
    ] {
        let place = Place::among_others();
        let (_, run) = place.done("tls.toml", &study(workload, "kind = \"embedded\"", "bare"));
        are_right(&run);
        // Pages of both schemes are of one session: who has no cart cannot order.
        let operations = run["operations"].as_array().expect("operations");
        let last = if workload == "web-banking" {
            "logout"
        } else {
            "confirm"
        };
        assert!(operations.iter().any(|row| row["operation"] == last));
        let told = place.tables();
        assert!(told.contains(scheme), "{scheme}: {told}");
    }
}

#[test]
fn apache_encrypts_what_the_original_encrypted() {
    if !(root_tests() && lamp_tests()) {
        return;
    }
    for (workload, server, kind, scheme) in [
        ("web-banking", "prefork", "container", "TLS"),
        ("web-ecommerce", "event", "bare", "TLS from the cart on"),
    ] {
        let place = Place::among_others();
        let stack = format!("kind = \"lamp\", server = \"{server}\"");
        let (_, run) = place.done("apache.toml", &study(workload, &stack, kind));
        are_right(&run);
        let told = place.tables();
        assert!(told.contains(scheme), "{scheme}: {told}");
    }
}

#[test]
fn a_certificate_of_the_user_is_served_and_must_be_trusted() {
    let file = |name: &str| {
        format!(
            "{}/../web/tests/it/certificates/{name}",
            env!("CARGO_MANIFEST_DIR")
        )
    };
    let place = Place::among_others();
    let tls_port = free_port();
    let tls_listen = format!("127.0.0.1:{tls_port}");
    let (certificate, key) = (file("server.pem"), file("server.key"));
    let mut words = vec!["--tls-listen", &tls_listen, "--tls-cert", &certificate];
    words.extend(["--tls-key", &key]);
    let (_app, port) = served(&place, "banking", &words);
    let tls_port = tls_port.to_string();
    let guest = seen(
        &place,
        "banking",
        port,
        &[
            "--settle",
            "1s",
            "--steady",
            "4s",
            "--tls-port",
            &tls_port,
            "--ca",
            &file("ca.pem"),
        ],
    );
    assert_eq!(guest["errors"], serde_json::json!([]), "{guest}");
    assert!(all(&guest, "good") > 0, "{guest}");
    let number = |key: &str| guest["counters"][key].as_u64().unwrap_or(0);
    // Each session has a handshake of its own, and its second connection resumes it.
    assert!(number("tls_handshakes") > 0 && number("tls_resumed") > 0);
    assert_eq!(guest["counters"]["encrypted"], true);
}
