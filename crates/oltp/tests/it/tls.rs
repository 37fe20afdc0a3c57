//! Encrypted connections to real servers: all of the workload goes over them, and only to the server
//! that the certificate proves.

use std::time::Duration;

use rookery_diagnosis::Diagnosis as _;
use rookery_oltp::{OltpError, Target, drive, verify};
use rookery_workload::orderentry::{Moment, sql::Style};

use crate::support::{
    Kind, NEVER, Server, skipped,
    workload::{RUNNING, load_mini, options},
};

/// The URL parameters of a mode and of the certificates.
fn parameters(kind: Kind, mode: usize, certificates: Option<String>) -> String {
    let (key, modes, file) = match kind {
        Kind::MariaDb => (
            "ssl-mode",
            ["DISABLED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"],
            "ssl-ca",
        ),
        Kind::Postgres => (
            "sslmode",
            ["disable", "require", "verify-ca", "verify-full"],
            "sslrootcert",
        ),
    };
    let file = certificates.map_or_else(String::new, |path| format!("&{file}={path}"));
    format!("{key}={}{file}", modes[mode])
}

fn everything_goes_over_tls(server: &Server) {
    let kind = server.kind();
    let url = |mode, certificate: Option<&str>| {
        let path = certificate.map(|name| server.certificate(name).display().to_string());
        server.tls_url("tls:secret", &parameters(kind, mode, path))
    };
    let target = |url: String| url.parse::<Target>().expect("a target");
    let full = target(url(3, Some("server")));
    load_mini(&full, 1);
    let report = drive(
        &full,
        &options(Style::Plain, 2, Duration::from_secs(1)),
        &RUNNING,
    )
    .expect("driven");
    assert!(report.ledger_holds());
    for (mode, certificate) in [(1, None), (2, Some("server"))] {
        let found = verify(&target(url(mode, certificate)), Moment::AnyTime, &NEVER);
        assert!(found.expect("verified").holds());
    }
    let named = |name: &str| target(format!("{}&tls-name={name}", url(3, Some("server"))));
    verify(&named("db.test"), Moment::AnyTime, &NEVER).expect("the certificate holds the name");
    let refused = [
        ("another name", named("other.test"), "oltp::connect"),
        (
            "a stranger's certificate",
            target(url(3, Some("stranger"))),
            "oltp::connect",
        ),
        ("no encryption", target(url(0, None)), "oltp::account"),
    ];
    for (what, target, code) in refused {
        let error: OltpError = verify(&target, Moment::AnyTime, &NEVER).expect_err(what);
        assert_eq!(error.code(), code, "{what}: {error}");
    }
}

#[test]
fn mariadb_is_reached_over_tls() {
    if skipped() {
        return;
    }
    let server = Server::start_with_tls(Kind::MariaDb);
    let target = server.target();
    server.execute(
        &target,
        "CREATE USER tls IDENTIFIED BY 'secret' REQUIRE SSL",
    );
    server.execute(&target, "GRANT ALL ON shop.* TO tls");
    everything_goes_over_tls(&server);
}

#[test]
fn postgresql_is_reached_over_tls() {
    if skipped() {
        return;
    }
    let mut server = Server::start_with_tls(Kind::Postgres);
    let target = server.target();
    server.execute(&target, "CREATE USER tls PASSWORD 'secret'");
    server.execute(&target, "ALTER DATABASE shop OWNER TO tls");
    server.demand_passwords();
    everything_goes_over_tls(&server);
}
