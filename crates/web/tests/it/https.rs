//! Web workloads as data over TLS, against a server with a certificate of a test authority.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::Arc,
    thread,
    time::Duration,
};

use rookery_stats::{ErrorClass, GuestMeasurement};
use rookery_web::{
    Script,
    workloads::http::{HttpScript, SiteName},
};
use rookery_workload::http::{HttpCounters, HttpWorkload};
use serde_json::{Value as Json, json};
use tokio_rustls::rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};

use crate::common::{config, measure, operation, page_script};

const AUTHORITY: &str = include_str!("certificates/ca.pem");
const CERTIFICATE: &[u8] = include_bytes!("certificates/server.pem");
const KEY: &[u8] = include_bytes!("certificates/server.key");

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood";

/// A server over TLS that answers every request alike, as long as the test runs.
fn server() -> SocketAddr {
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(KEY).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("they belong together");
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let config = Arc::clone(&config);
            // A client that does not like the certificate ends its conversation.
            thread::spawn(move || serve(stream, config));
        }
    });
    address
}

fn serve(stream: TcpStream, config: Arc<ServerConfig>) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let connection = ServerConnection::new(config).map_err(std::io::Error::other)?;
    let mut stream = StreamOwned::new(connection, stream);
    let (mut seen, mut piece) = (Vec::new(), [0; 1024]);
    loop {
        let read = stream.read(&mut piece)?;
        if read == 0 {
            return Ok(());
        }
        seen.extend_from_slice(&piece[..read]);
        while let Some(end) = seen.windows(4).position(|four| four == b"\r\n\r\n") {
            let head: Vec<u8> = seen.drain(..end + 4).collect();
            if head.starts_with(b"GET /cut ") {
                stream.write_all(&ANSWER[..ANSWER.len() - 2])?;
                // Without the farewell of TLS.
                return stream.flush();
            }
            if head.starts_with(b"GET /garbage ") {
                return stream.sock.write_all(&[b'x'; 100]);
            }
            stream.write_all(ANSWER)?;
            stream.flush()?;
        }
    }
}

fn run_on(address: SocketAddr, tls: Json) -> GuestMeasurement {
    run_at(address, "/", tls)
}

fn run_at(address: SocketAddr, path: &str, tls: Json) -> GuestMeasurement {
    let workload: HttpWorkload = serde_json::from_value(json!({
        "operations": [{
            "name": "home", "method": "GET", "path": path, "follow": true, "body_limit": 1000,
            "delay": {"mean": {"secs": 0, "nanos": 0}, "distribution": "constant"},
            "checks": [{"contains": "good"}],
        }],
        // Sessions of two operations: each begins with a handshake.
        "walk": {"weights": {"weights": [1.0], "session": 2}},
        "browser": {"connections": 2, "cache": true, "gzip": false, "receive_rate": null},
        "tls": tls,
    }))
    .expect("a workload");
    let mut config = config(address, 1, page_script());
    config.assignments[0].script = Script::Http(Box::new(HttpScript {
        workload,
        site: SiteName {
            https: true,
            ..SiteName::at(address)
        },
    }));
    measure(&config).guests.remove(0)
}

fn counters(guest: &GuestMeasurement) -> &HttpCounters {
    HttpCounters::from_counters(&guest.counters).expect("those of the workload")
}

#[test]
fn certificates_of_the_authority_are_taken_in_both_versions() {
    let address = server();
    for version in [json!(null), json!("1.2"), json!("1.3")] {
        let tls = json!({"ca": AUTHORITY, "insecure": false, "version": version});
        let guest = run_on(address, tls);
        assert!(guest.errors.is_empty(), "{version}: {:?}", guest.errors);
        assert!(operation(&guest, "home").succeeded > 4, "{version}");
        let counters = counters(&guest);
        // A session of a user is a session of TLS, over one connection here.
        assert!(counters.tls_handshakes > 1, "{version}: {counters:?}");
        assert!(
            counters.tls_handshakes <= counters.pages,
            "{version}: {counters:?}"
        );
    }
}

#[test]
fn certificates_of_others_are_refused_unless_any_will_do() {
    let address = server();
    // The server's own certificate is no authority that signed it.
    let other = String::from_utf8_lossy(CERTIFICATE).into_owned();
    let guest = run_on(
        address,
        json!({"ca": other, "insecure": false, "version": null}),
    );
    assert_eq!(operation(&guest, "home").succeeded, 0);
    assert!(
        guest
            .errors
            .iter()
            .all(|error| error.class == ErrorClass::Tls),
        "{:?}",
        guest.errors
    );
    let guest = run_on(
        address,
        json!({"ca": null, "insecure": true, "version": null}),
    );
    assert!(guest.errors.is_empty(), "{:?}", guest.errors);
}

#[test]
fn an_encrypted_answer_that_breaks_off_has_its_class() {
    let address = server();
    for (path, class, sub_class) in [
        ("/cut", ErrorClass::Io, "truncated"),
        ("/garbage", ErrorClass::Tls, "record"),
    ] {
        let tls = json!({"ca": AUTHORITY, "insecure": false, "version": null});
        let guest = run_at(address, path, tls);
        assert_eq!(guest.errors.len(), 1, "{path}: {:?}", guest.errors);
        let error = &guest.errors[0];
        assert_eq!(
            (error.class, error.sub_class.as_str()),
            (class, sub_class),
            "{path}"
        );
    }
}
