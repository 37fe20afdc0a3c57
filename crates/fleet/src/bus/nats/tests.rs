//! Against a real `nats-server`.

use std::{
    fmt::Write as _,
    fs,
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    process::{Child, Command, Stdio},
};

use rookery_diagnosis::Diagnosis as _;
use rookery_host::bound_command;

use super::*;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A NATS server on loopback that ends with its test.
pub(in crate::bus) struct TestServer {
    directory: tempfile::TempDir,
    port: u16,
    child: Option<Child>,
}

impl TestServer {
    /// A server whose configuration has more lines.
    pub(in crate::bus) fn start(more: &str) -> Self {
        let port = free_port();
        let directory = tempfile::tempdir().expect("a directory");
        let mut config = format!("listen: \"127.0.0.1:{port}\"\n");
        let _ = writeln!(config, "{more}");
        fs::write(directory.path().join("server.conf"), config).expect("written");
        let mut server = Self {
            directory,
            port,
            child: None,
        };
        server.begin();
        server
    }

    /// Start it again, at the same port.
    pub(in crate::bus) fn begin(&mut self) {
        let child = bound_command("nats-server")
            .arg("-c")
            .arg(self.directory.path().join("server.conf"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nats-server starts: apt install nats-server");
        self.child = Some(child);
        let began = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            assert!(began.elapsed() < PATIENCE, "the server does not listen");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Kill it.
    pub(in crate::bus) fn end(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("killed");
            child.wait().expect("ended");
        }
    }

    /// How it is reached.
    fn server(&self) -> NatsServer {
        at((Ipv4Addr::LOCALHOST, self.port).into())
    }

    /// Both ends of a new session.
    pub(in crate::bus) fn ends(&self) -> (NatsBus, NatsBus) {
        let session = Session::new(&self.server()).expect("random numbers");
        let agent = NatsBus::open(session.clone(), End::Agent).expect("connected");
        let controller = NatsBus::open(session, End::Controller).expect("connected");
        (controller, agent)
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.end();
    }
}

fn frame(number: usize, body: usize) -> Frame {
    Frame {
        head: number.to_string().into_bytes(),
        body: vec![7; body],
    }
}

#[test]
fn what_was_lost_is_sent_again_while_more_is_sent() {
    let server = TestServer::start("");
    let session = Session::new(&server.server()).expect("random numbers");
    let controller = NatsBus::open(session.clone(), End::Controller).expect("connected");
    // Nobody listens yet: the server drops it.
    controller.send(frame(0, 10)).expect("open");
    thread::sleep(Duration::from_millis(300));
    let agent = NatsBus::open(session, End::Agent).expect("connected");
    // More often than what is late is sent again, and no more than may be under way.
    let first = (1..25).find_map(|number| {
        controller.send(frame(number, 10)).expect("open");
        agent.receive(Duration::from_millis(300)).expect("open")
    });
    assert_eq!(first.map(|frame| frame.head), Some(b"0".to_vec()));
}

/// Send on until the end is closed: how often that went well. Who sends must not wait for ever.
fn sent_until_closed(end: NatsBus) -> usize {
    let (counted, count) = sync_channel(1);
    thread::spawn(move || {
        let sent = (0..).take_while(|number| end.send(frame(*number, 10)).is_ok());
        counted.send(sent.count())
    });
    count
        .recv_timeout(PATIENCE)
        .expect("who sends waits for ever")
}

#[test]
fn an_end_that_is_gone_without_a_word_is_given_up() {
    let server = TestServer::start("");
    let session = Session::new(&server.server()).expect("random numbers");
    let patience = Duration::from_millis(500);
    let end = NatsBus::open_for(session, End::Controller, patience).expect("connected");
    // More than may be under way and wait: it has waited.
    assert!(sent_until_closed(end) >= 32);
}

#[test]
fn a_server_that_stays_away_is_given_up() {
    let mut server = TestServer::start("");
    let session = Session::new(&server.server()).expect("random numbers");
    let patience = Duration::from_millis(500);
    let end = NatsBus::open_for(session, End::Controller, patience).expect("connected");
    server.end();
    sent_until_closed(end);
}

/// A port of loopback where nothing listens.
fn free_port() -> u16 {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    free.local_addr().expect("an address").port()
}

/// Servers that are tried in this order.
fn any_of(ports: &[u16]) -> NatsServer {
    let addresses = ports.iter().flat_map(|port| {
        let one = at((Ipv4Addr::LOCALHOST, *port).into());
        one.addresses
    });
    NatsServer {
        addresses: addresses.collect(),
        credentials: None,
        ca: None,
    }
}

#[test]
fn another_server_of_a_cluster_is_used_where_one_is_away() {
    let routes = [free_port(), free_port()];
    let cluster = |own: u16, other: u16| {
        format!(
            "cluster {{ name: \"c\", listen: \"127.0.0.1:{own}\", \
             routes: [\"nats://127.0.0.1:{other}\"] }}"
        )
    };
    let mut first = TestServer::start(&cluster(routes[0], routes[1]));
    let second = TestServer::start(&cluster(routes[1], routes[0]));
    let nothing = free_port();
    let session = Session::new(&any_of(&[nothing, first.port, second.port]));
    let session = session.expect("random numbers");
    let other_way = Session {
        server: any_of(&[nothing, second.port]),
        ..session.clone()
    };
    let agent = NatsBus::open(other_way, End::Agent).expect("connected");
    let controller = NatsBus::open(session, End::Controller).expect("connected");
    for number in 0..2 {
        controller.send(frame(number, 10)).expect("open");
        let came = agent.receive(PATIENCE).expect("open");
        assert_eq!(came, Some(frame(number, 10)));
        // Then the controller's is away.
        first.end();
    }
}

#[test]
fn where_none_of_several_servers_can_be_used_each_is_named() {
    let ports = [free_port(), free_port()];
    let error = check(&any_of(&ports)).expect_err("nothing listens");
    assert_eq!(error.code(), "fleet::nats-unreachable");
    for port in ports {
        let place = format!("127.0.0.1:{port}");
        assert!(error.to_string().contains(&place), "{error}");
    }
    // What answers says more.
    let ssh = pretender("SSH-2.0-OpenSSH_9.2p1\r\n");
    let both = any_of(&[ports[0], ssh.port(), ports[1]]);
    assert_eq!(fault(&both), "fleet::nats-foreign");
}

/// The code of the error that `check` gives.
fn fault(server: &NatsServer) -> &'static str {
    let error = check(server).expect_err("it cannot be used");
    assert!(error.help().is_some(), "{error}");
    error.code()
}

/// Something that says `words` to its first client, and where it is.
fn pretender(words: &'static str) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        let (mut client, _) = listener.accept()?;
        client.write_all(words.as_bytes())?;
        // It waits for the client to go.
        io::copy(&mut client, &mut io::sink())
    });
    address
}

fn at(address: SocketAddr) -> NatsServer {
    NatsServer {
        addresses: vec![NatsAddress {
            tls: false,
            host: address.ip().to_string(),
            port: address.port(),
        }],
        credentials: None,
        ca: None,
    }
}

#[test]
fn a_restart_of_the_server_loses_nothing_and_repeats_nothing() {
    let mut server = TestServer::start("");
    let (controller, agent) = server.ends();
    thread::scope(|scope| {
        for end in [&controller, &agent] {
            scope.spawn(move || {
                for number in 0..300 {
                    end.send(frame(number, number * 200)).expect("open");
                    thread::sleep(Duration::from_millis(3));
                }
            });
        }
        for end in [&agent, &controller] {
            scope.spawn(move || {
                for number in 0..300 {
                    let came = end.receive(PATIENCE).expect("open");
                    assert_eq!(came, Some(frame(number, number * 200)));
                }
                assert_eq!(end.receive(Duration::ZERO).expect("open"), None);
            });
        }
        for _ in 0..2 {
            thread::sleep(Duration::from_millis(250));
            server.end();
            thread::sleep(Duration::from_millis(300));
            server.begin();
        }
    });
}

#[test]
fn without_a_server_no_end_is_silent() {
    let mut server = TestServer::start("");
    let (controller, _agent) = server.ends();
    server.end();
    let began = Instant::now();
    // What was heard long ago counts as silence only while it could be heard.
    while controller.silence(began) != Duration::ZERO {
        assert!(began.elapsed() < PATIENCE, "its end is not noticed");
        thread::sleep(Duration::from_millis(20));
    }
    server.begin();
    while controller.silence(began) == Duration::ZERO {
        assert!(began.elapsed() < PATIENCE, "it is not found again");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_frame_longer_than_a_message_of_the_server_arrives_in_pieces() {
    let server = TestServer::start("max_payload: 8192");
    check(&server.server()).expect("usable");
    let (controller, agent) = server.ends();
    thread::scope(|scope| {
        scope.spawn(|| controller.send(frame(1, 3 << 20)).expect("open"));
        assert_eq!(
            agent.receive(PATIENCE).expect("open"),
            Some(frame(1, 3 << 20))
        );
    });
}

#[test]
fn a_key_and_rights_are_needed_where_the_server_asks_for_them() {
    let (own, other) = (seed_text([7; 32]), seed_text([8; 32]));
    let public = |seed| Identity::parse(seed).expect("a seed").public_key();
    let users = format!(
        "authorization {{ users: [ {{ nkey: {} }}, {{ nkey: {}, permissions: {{ publish: \"x\", \
         subscribe: \"rookery.>\" }} }} ] }}",
        public(&own),
        public(&other)
    );
    let server = TestServer::start(&users);
    let with = |credentials: Option<&str>| NatsServer {
        credentials: credentials.map(str::to_owned),
        ..server.server()
    };
    check(&with(Some(&own))).expect("our key is known");
    assert_eq!(
        fault(&with(Some(&seed_text([9; 32])))),
        "fleet::nats-denied"
    );
    assert_eq!(fault(&with(None)), "fleet::nats-denied");
    assert_eq!(fault(&with(Some("no key"))), "fleet::nats-credentials");
    assert_eq!(fault(&with(Some(&other))), "fleet::nats-forbidden");
}

#[test]
fn a_key_is_made_once() {
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("fleet.nk");
    let public = make_key(&path).expect("made");
    let seed = fs::read_to_string(&path).expect("written");
    assert_eq!(Identity::parse(&seed).expect("a seed").public_key(), public);
    let mode = fs::metadata(&path).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let again = make_key(&path).expect_err("it is there");
    assert_eq!(again.code(), "fleet::nats-credentials");
    assert_eq!(fs::read_to_string(&path).expect("there"), seed);
}

#[test]
fn what_is_no_server_or_too_old_is_named() {
    let mut server = TestServer::start("");
    server.end();
    assert_eq!(fault(&server.server()), "fleet::nats-unreachable");
    let ssh = pretender("SSH-2.0-OpenSSH_9.2p1\r\n");
    assert_eq!(fault(&at(ssh)), "fleet::nats-foreign");
    let old = pretender("INFO {\"version\":\"2.8.4\",\"max_payload\":1048576}\r\n");
    assert_eq!(fault(&at(old)), "fleet::nats-version");
}

/// A certificate for 127.0.0.1 that signs itself, and its key, as `NAME.pem` and `NAME.key`.
fn make_certificate(directory: &Path, name: &str) {
    let path = |ending: &str| directory.join(format!("{name}.{ending}"));
    let made = Command::new("openssl")
        .args([
            "req", "-x509", "-newkey", "ec", "-nodes", "-days", "2", "-subj", "/CN=nats",
        ])
        .args(["-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-addext", "subjectAltName=IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(path("key"))
        .arg("-out")
        .arg(path("pem"))
        .output()
        .expect("openssl starts");
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
}

#[test]
fn with_tls_the_certificate_must_be_signed_by_ours() {
    let keys = tempfile::tempdir().expect("a directory");
    for name in ["own", "other"] {
        make_certificate(keys.path(), name);
    }
    let path = |name: &str| keys.path().join(name).display().to_string();
    let tls = format!(
        "tls {{ cert_file: \"{}\", key_file: \"{}\" }}",
        path("own.pem"),
        path("own.key")
    );
    let server = TestServer::start(&tls);
    let with = |ca: Option<&str>| {
        let mut with = NatsServer {
            ca: ca.map(|name| fs::read_to_string(path(name)).expect("made")),
            ..server.server()
        };
        with.addresses[0].tls = true;
        with
    };
    check(&with(Some("own.pem"))).expect("our certificate");
    assert_eq!(fault(&with(Some("other.pem"))), "fleet::nats-tls");
    assert_eq!(fault(&with(None)), "fleet::nats-tls");
    // Who asks for encryption gets it, or nothing.
    let plain = TestServer::start("");
    let mut asked = NatsServer {
        ca: with(Some("own.pem")).ca,
        ..plain.server()
    };
    asked.addresses[0].tls = true;
    assert_eq!(fault(&asked), "fleet::nats-tls");
}
