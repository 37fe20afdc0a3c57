//! A server over loopback: what clients are answered, how it ends, what it has counted.

use std::{
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpStream},
    thread,
};

use rookery_workload::netstream::{ConnectionUse, ExchangeSize};

use super::*;
use crate::netstream::{Counts, read_counts};

const SECOND: Duration = Duration::from_secs(1);
/// Longer than anything may take here.
const LONG: Duration = Duration::from_secs(60);

/// A server that runs.
struct Running {
    address: SocketAddr,
    stop: StopSignal,
    thread: thread::JoinHandle<Result<(), ServerError>>,
    dir: tempfile::TempDir,
}

impl Running {
    fn start(partner: Option<Partner>) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let server = Server::bind(&ServeConfig {
            counts: dir.path().join("counts.txt"),
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            partner,
            iperf3: None,
        });
        let (server, stop) = (server.expect("a free port"), StopSignal::new());
        let (address, stopped) = (server.local_addr(), stop.clone());
        Self {
            address,
            stop,
            thread: thread::spawn(move || server.run(&stopped)),
            dir,
        }
    }

    fn client(&self) -> Client {
        Client::new(self.address)
    }

    /// Stops it: what it counted.
    fn counts(self) -> Counts {
        self.stop.raise();
        self.thread
            .join()
            .expect("no panic")
            .expect("counts written");
        read_counts(&self.dir.path().join("counts.txt")).expect("counts")
    }
}

struct Client(TcpStream);

impl Client {
    fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(LONG)).expect("a socket");
        Self(stream)
    }

    fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).expect("sent");
    }

    fn ask(&mut self, target: &str) -> (String, Vec<u8>) {
        self.send(&format!("GET {target} HTTP/1.1\r\nhost: a\r\n\r\n"));
        self.receive()
    }

    /// Head and body of one answer, and nothing of the next.
    fn receive(&mut self) -> (String, Vec<u8>) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            self.0.read_exact(&mut byte).expect("a head");
            head.extend(byte);
        }
        let head = String::from_utf8(head).expect("text");
        let length = head
            .split("content-length: ")
            .nth(1)
            .and_then(|rest| rest.lines().next());
        let length = length
            .and_then(|number| number.parse().ok())
            .expect("a length");
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).expect("a body");
        (head, body)
    }

    /// The server has closed, without a byte more.
    fn is_closed(&mut self) -> bool {
        self.0.read(&mut [0]).expect("closed in order") == 0
    }
}

#[test]
fn exchanges_are_answered_and_counted_one_after_the_other() {
    let server = Running::start(None);
    let mut client = server.client();
    for bytes in [1, 100, 100, 300_000] {
        let (head, body) = client.ask(&format!("/exchange?answer={bytes}&pad=xxx"));
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert_eq!(body.len(), bytes);
    }
    for (target, status) in [
        ("/health", "200"),
        ("/exchange", "400"),
        ("/exchange?answer=67108865", "400"),
        ("/other", "404"),
        ("/fetch", "404"),
    ] {
        let (head, _) = client.ask(target);
        assert!(
            head.starts_with(&format!("HTTP/1.1 {status} ")),
            "{target}: {head}"
        );
    }
    let counts = Counts {
        answers: 4,
        bytes: 300_201,
    };
    assert_eq!(server.counts(), counts);
    assert!(
        client.is_closed(),
        "a connection that rests ends with the server"
    );
}

#[test]
fn requests_may_come_together_and_in_pieces() {
    let server = Running::start(None);
    let mut client = server.client();
    let one = |bytes: usize| format!("GET /exchange?answer={bytes} HTTP/1.1\r\n\r\n");
    let all = one(5) + &one(6) + &one(7);
    let (first, rest) = all.split_at(all.len() - 9);
    client.send(first);
    assert_eq!(client.receive().1.len(), 5);
    assert_eq!(client.receive().1.len(), 6);
    client.send(rest);
    assert_eq!(client.receive().1.len(), 7);
    // More than the buffer of heads holds, so that it begins anew in the midst of one.
    let pad = "x".repeat(3_000);
    let many = format!("GET /exchange?answer=9&pad={pad} HTTP/1.1\r\n\r\n").repeat(7);
    client.send(&many);
    for _ in 0..7 {
        assert_eq!(client.receive().1.len(), 9);
    }
    client.send("GET /exchange?answer=8 HTTP/1.1\r\nconnection: close\r\n\r\n");
    let (head, body) = client.receive();
    assert!(
        head.contains("\r\nconnection: close\r\n") && body.len() == 8,
        "{head}"
    );
    assert!(client.is_closed());
    assert_eq!(server.counts().answers, 11);
}

#[test]
fn what_is_no_request_is_refused_and_its_connection_closed() {
    let server = Running::start(None);
    for wrong in [
        "POST /exchange?answer=1 HTTP/1.1\r\ncontent-length: 3\r\n\r\nabc".to_owned(),
        "GET /health HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n".to_owned(),
        "nonsense\r\n\r\n".to_owned(),
        format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(100_000)),
    ] {
        let mut client = server.client();
        client.send(&wrong);
        let (head, _) = client.receive();
        assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
        assert!(client.is_closed());
    }
    assert_eq!(server.counts(), Counts::default());
}

#[test]
fn an_answer_under_way_is_sent_to_its_end_when_the_server_stops() {
    let server = Running::start(None);
    let (mut client, mut resting) = (server.client(), server.client());
    let _ = resting.ask("/health");
    // More than all buffers between the two hold.
    client.send("GET /exchange?answer=67108864 HTTP/1.1\r\n\r\n");
    let mut first = [0; 1];
    client.0.read_exact(&mut first).expect("it has begun");
    server.stop.raise();
    assert!(resting.is_closed(), "it does not wait for the other");
    let mut rest = Vec::new();
    client.0.read_to_end(&mut rest).expect("to the end");
    let head = rest
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .expect("a head");
    assert_eq!(rest.len() - head - 4, 64 << 20);
    let counts = Counts {
        answers: 1,
        bytes: 64 << 20,
    };
    assert_eq!(server.counts(), counts);
}

#[test]
fn a_partner_answers_over_a_connection_that_is_kept_or_new() {
    for connection in [ConnectionUse::Kept, ConnectionUse::New] {
        let sender = Running::start(None);
        let size = ExchangeSize {
            pad_bytes: 10,
            answer_bytes: 200_000,
        };
        let receiver = Running::start(Some(Partner {
            address: sender.address,
            size,
            connection,
        }));
        let mut client = receiver.client();
        for _ in 0..3 {
            assert_eq!(client.ask("/fetch").1, b"200000\n");
        }
        assert_eq!(
            sender.counts(),
            Counts {
                answers: 3,
                bytes: 600_000
            }
        );
        let (head, _) = client.ask("/fetch");
        assert!(head.starts_with("HTTP/1.1 502 "), "{head}");
        assert_eq!(
            receiver.counts(),
            Counts::default(),
            "the receipts are no answers"
        );
    }
}

#[test]
fn clients_beyond_the_limit_wait_until_another_has_gone() {
    let listening = Listening::bind((Ipv4Addr::LOCALHOST, 0).into(), 2).expect("a free port");
    let listening = Arc::new(listening);
    let site = Arc::new(ExchangeSite::new(None));
    let serve = move |stream: &TcpStream, stopping: &_| {
        let _ = converse(stream, &site, stopping);
    };
    listening.begin(serve).expect("a thread");
    let address = listening.address().expect("an address");
    let mut served = [Client::new(address), Client::new(address)];
    for client in &mut served {
        let _ = client.ask("/health");
    }
    let mut waiting = Client::new(address);
    waiting.send("GET /health HTTP/1.1\r\n\r\n");
    waiting
        .0
        .set_read_timeout(Some(SECOND / 20))
        .expect("a socket");
    assert!(waiting.0.read(&mut [0]).is_err(), "two are served");
    drop(served);
    waiting.0.set_read_timeout(Some(LONG)).expect("a socket");
    assert_eq!(waiting.receive().1, b"ok\n");
    listening.stop(SECOND);
    assert!(waiting.is_closed());
    assert!(
        TcpStream::connect(address).is_err(),
        "no one listens any more"
    );
}
