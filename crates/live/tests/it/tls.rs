//! The page served encrypted.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rookery_live::{Limits, LiveError, LiveServer, Options, TlsFiles};
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};

use crate::common::{PATIENCE, Place};

/// A certificate for `localhost` of a test authority.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../web/tests/it/certificates")
        .join(name)
}

fn options(place: &Place, key: &str) -> Options {
    Options {
        // Every address: what is encrypted needs no other word.
        listen: "0.0.0.0:0".parse().expect("an address"),
        plain_http_confirmed: false,
        tls: Some(TlsFiles {
            certificate: file("server.pem"),
            key: file(key),
            name: Some("localhost".to_owned()),
        }),
        runs: vec![place.path().to_owned()],
        control: None,
        limits: Limits {
            head: Duration::from_millis(500),
            ..Limits::default()
        },
    }
}

fn connect(server: &LiveServer) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", server.address().port())).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

/// What an encrypted request is answered with.
fn ask(server: &LiveServer, request: &str) -> String {
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_file(file("ca.pem")).expect("a certificate");
    roots.add(authority).expect("an authority");
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    let connection = ClientConnection::new(Arc::new(config), name).expect("a client");
    let mut stream = StreamOwned::new(connection, connect(server));
    stream.write_all(request.as_bytes()).expect("sent");
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text);
    String::from_utf8(text).expect("UTF-8")
}

#[test]
fn an_encrypted_page_lets_in_by_its_token_and_speaks_to_nobody_in_the_clear() {
    let place = Place::new();
    let server = LiveServer::start(options(&place, "server.key")).expect("a server");
    let url = server.url();
    let host = format!("localhost:{}", server.address().port());
    let path = url
        .strip_prefix(&format!("https://{host}"))
        .expect("the name");
    let answer = ask(
        &server,
        &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"),
    );
    assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
    assert!(answer.contains("; Secure"), "{answer}");
    let answer = ask(&server, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 421"), "{answer}");

    let mut clear = connect(&server);
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    clear.write_all(request.as_bytes()).expect("sent");
    let mut text = Vec::new();
    let _ = clear.read_to_end(&mut text);
    assert!(
        !String::from_utf8_lossy(&text).contains("HTTP/1.1"),
        "{text:?}"
    );

    // One that never says a word is dropped.
    let mut silent = connect(&server);
    let _ = silent.read_to_end(&mut text);
}

#[test]
fn a_certificate_that_cannot_be_used_is_refused_with_its_file() {
    let place = Place::new();
    for (key, named) in [("no-such.key", "no-such.key"), ("ca.pem", "ca.pem")] {
        match LiveServer::start(options(&place, key)) {
            Err(LiveError::Tls { path, .. }) => assert!(path.ends_with(named), "{path:?}"),
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("it was taken"),
        }
    }
}
