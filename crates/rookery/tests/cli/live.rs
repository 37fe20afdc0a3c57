//! The command line of the live page.

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use crate::common::{Place, code, text};

#[test]
fn the_page_is_served_until_its_user_ends_it() {
    let place = Place::new();
    let mut child = place
        .rookery(&["live"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("rookery starts");
    let mut out = BufReader::new(child.stdout.take().expect("piped"));
    let mut url = String::new();
    out.read_line(&mut url).expect("an address");
    assert!(
        url.starts_with("http://127.0.0.1:") && url.contains("/?token="),
        "{url}"
    );
    let ended = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(ended.expect("kill").success());
    let output = child.wait_with_output().expect("rookery ends");
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
}

#[test]
fn other_machines_need_the_users_word_and_control_needs_a_page() {
    let place = Place::new();
    let refused = place.rookery(&["live", "--listen", "0.0.0.0:0"]).output();
    let refused = refused.expect("rookery starts");
    assert_eq!(code(&refused), 2);
    let said = text(&refused.stderr);
    assert!(
        said.contains("live::not-loopback") && said.contains("--confirm-plain-http"),
        "{said}"
    );
    for alone in [
        &["--control"][..],
        &["--tls-cert", "page.pem", "--tls-key", "page.key"],
    ] {
        let args = [&["run", "@demo-lab"], alone].concat();
        let alone = place.rookery(&args).output().expect("rookery starts");
        assert_eq!(code(&alone), 2, "{args:?}");
        assert!(text(&alone.stderr).contains("--live"), "{args:?}");
    }
    let missing = place.rookery(&["trend", "nothing.toml"]).output();
    let missing = missing.expect("rookery starts");
    assert_eq!(code(&missing), 8, "{}", text(&missing.stderr));
}
