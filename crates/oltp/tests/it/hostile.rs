//! Servers that lie, stall, flood and shout, against everything that talks to a database: it ends
//! in its time, with an error of the right kind, and nothing of theirs commands the terminal.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, sleep},
    time::{Duration, Instant},
};

use rookery_diagnosis::{Diagnosis as _, ErrorFields, commands};
use rookery_oltp::{
    DriveOptions, LoadOptions, OltpError, SessionOptions, Target, drive, load, verify,
};
use rookery_workload::orderentry::{
    DeliveryMode, Moment, Population, Scale,
    terminal::{Binding, Mix, Pacing},
};

/// Far more than any of them may take, also on a busy machine.
const TOO_LONG: Duration = Duration::from_secs(40);

/// One thing that a server does.
#[derive(Clone, Debug)]
enum Step {
    /// Waits for anything from the client.
    Hear,
    Say(Vec<u8>),
    /// Says it again and again.
    Flood(Vec<u8>),
    /// Says it slowly, and then again.
    Drip(Vec<u8>),
    /// Says nothing more.
    Stall,
    Close,
}
use Step::{Close, Drip, Flood, Hear, Say, Stall};

struct Hostile {
    port: u16,
    ended: Arc<AtomicBool>,
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // The listener wakes and sees it.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl Hostile {
    fn start(script: &[Step]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let ended = Arc::new(AtomicBool::new(false));
        let (script, flag) = (script.to_vec(), Arc::clone(&ended));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if flag.load(Ordering::Relaxed) {
                    break;
                }
                let (script, flag) = (script.clone(), Arc::clone(&flag));
                if let Ok(stream) = stream {
                    thread::spawn(move || {
                        play(&stream, &script, &flag);
                        let _ = stream.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        Self { port, ended }
    }
}

/// Plays until the client has gone.
fn play(mut stream: &TcpStream, script: &[Step], ended: &AtomicBool) {
    for timeout in [TcpStream::set_read_timeout, TcpStream::set_write_timeout] {
        timeout(stream, Some(TOO_LONG)).expect("a timeout");
    }
    let mut heard = vec![0; 65_536];
    for step in script {
        let done = match step {
            Hear => matches!(stream.read(&mut heard), Ok(1..)),
            Say(bytes) => stream.write_all(bytes).is_ok(),
            Flood(bytes) => {
                let many = bytes.repeat(1 + 65_536 / bytes.len());
                while !ended.load(Ordering::Relaxed) && stream.write_all(&many).is_ok() {}
                false
            }
            Drip(bytes) => {
                let mut bytes = bytes.iter().cycle();
                while !ended.load(Ordering::Relaxed)
                    && stream.write_all(&[*bytes.next().expect("endless")]).is_ok()
                {
                    sleep(Duration::from_millis(50));
                }
                false
            }
            Stall => {
                while matches!(stream.read(&mut heard), Ok(1..)) {}
                false
            }
            Close => false,
        };
        if !done {
            return;
        }
    }
}

/// A packet of MySQL.
fn packet(number: u8, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).expect("short").to_le_bytes();
    [&length[..3], &[number], content].concat()
}

fn hello(plugin: &str) -> Vec<u8> {
    let capabilities: u32 = 0x0100_0000 | 0x0020_0000 | 0x0008_0000 | 0x8000 | 0x0280 | 0x000f;
    let [low, low2, high, high2] = capabilities.to_le_bytes();
    let mut content = b"\x0a8.0.36\0\x07\0\0\0abcdefgh\0".to_vec();
    content.extend_from_slice(&[low, low2, 45, 2, 0, high, high2, 21]);
    content.extend_from_slice(&[0; 10]);
    content.extend_from_slice(b"ijklmnopqrst\0");
    content.extend_from_slice(plugin.as_bytes());
    content.push(0);
    packet(0, &content)
}

const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const MORE: &[u8] = &[0, 0, 0, 10, 0, 0, 0];
const END_OF_ROWS: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];

/// Shouts at the terminal: it clears it, sets its title, and goes on for ever.
fn shout() -> String {
    format!(
        "\x1b[2J\x1b]0;owned\x07\u{9b}31m\u{202e}{}",
        "A".repeat(60_000)
    )
}

fn mysql_error() -> Vec<u8> {
    let words = [b"\xff\x28\x04#42000".as_slice(), shout().as_bytes()].concat();
    packet(1, &words)
}

/// A column of text by the name `v`.
fn column() -> Vec<u8> {
    let text = b"\x03def\0\0\0\x01v\x01v".as_slice();
    packet(
        2,
        &[text, &[0x0c, 45, 0, 0xff, 0, 0, 0, 0xfd, 0, 0, 0, 0, 0]].concat(),
    )
}

/// The user is known; the first query is `then`.
fn mysql_asked(then: Vec<Step>) -> Vec<Step> {
    let mut script = vec![
        Say(hello("mysql_native_password")),
        Hear,
        Say(packet(2, OK)),
        Hear,
    ];
    script.extend(then);
    script
}

/// A result of one column.
fn mysql_rows(then: Vec<Step>) -> Vec<Step> {
    let mut script = vec![Say([packet(1, &[1]), column()].concat())];
    script.extend(then);
    mysql_asked(script)
}

type Scene = (&'static str, Vec<Step>, &'static str);

fn mysql_scenes() -> Vec<Scene> {
    let row = packet(3, b"\x058.0.1");
    let version = [row.clone(), packet(4, END_OF_ROWS)].concat();
    let greeted =
        |then: Vec<Step>| [vec![Say(hello("mysql_native_password")), Hear], then].concat();
    vec![
        ("silence", vec![Stall], "oltp::connect"),
        ("early close", vec![Close], "oltp::no-server"),
        (
            "another protocol",
            vec![Say(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()), Stall],
            "oltp::connect",
        ),
        ("zeros", vec![Flood(vec![0; 64])], "oltp::connect"),
        ("ones", vec![Flood(vec![0xff; 64])], "oltp::connect"),
        (
            "slow greeting",
            vec![Drip(hello("mysql_native_password"))],
            "oltp::connect",
        ),
        (
            "greeting cut off",
            vec![Say(packet(0, b"\x0a8.0")), Stall],
            "oltp::connect",
        ),
        (
            "shouts instead of greeting",
            vec![Say(mysql_error()), Close],
            "oltp::connect",
        ),
        (
            "asks for clear text",
            greeted(vec![Say(packet(2, b"\xfemysql_clear_password\0")), Stall]),
            "oltp::connect",
        ),
        (
            "an unknown proof",
            greeted(vec![Say(packet(2, b"\xfe\x1b[2Jproof\0abcdefgh\0")), Stall]),
            "oltp::connect",
        ),
        (
            "asks for proofs for ever",
            greeted(vec![Flood(packet(
                2,
                b"\xfemysql_native_password\0abcdefghijklmnopqrst\0",
            ))]),
            "oltp::connect",
        ),
        (
            "a key that is none",
            vec![
                Say(hello("caching_sha2_password")),
                Hear,
                Say(packet(2, b"\x01\x04")),
                Hear,
                Say(packet(
                    4,
                    b"\x01-----BEGIN PUBLIC KEY-----\n=\n-----END PUBLIC KEY-----\n",
                )),
                Stall,
            ],
            "oltp::connect",
        ),
        (
            "closes behind the user",
            greeted(vec![Close]),
            "oltp::no-server",
        ),
        (
            "stalls behind the user",
            mysql_asked(vec![Stall]),
            "oltp::connect",
        ),
        (
            "columns without end",
            mysql_asked(vec![
                Say(packet(
                    1,
                    &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
                )),
                Stall,
            ]),
            "oltp::connect",
        ),
        (
            "a packet of 16 MB",
            mysql_asked(vec![Say(vec![0xff, 0xff, 0xff, 1]), Flood(vec![b'x'; 64])]),
            "oltp::connect",
        ),
        (
            "shouts",
            mysql_asked(vec![Say(mysql_error()), Stall]),
            "oltp::connect",
        ),
        (
            "wants a file",
            mysql_asked(vec![Say(packet(1, b"\xfb/etc/passwd")), Stall]),
            "oltp::connect",
        ),
        (
            "empty packets",
            mysql_asked(vec![Flood(packet(1, b""))]),
            "oltp::connect",
        ),
        (
            "results without end",
            mysql_asked(vec![Flood(packet(1, MORE))]),
            "oltp::connect",
        ),
        (
            "rows without end",
            mysql_rows(vec![Flood(packet(3, &[&[250][..], &[b'x'; 250]].concat()))]),
            "oltp::connect",
        ),
        (
            "a row that lies about its length",
            mysql_rows(vec![Say(packet(3, b"\xfc\xff\xff")), Stall]),
            "oltp::connect",
        ),
        ("a slow row", mysql_rows(vec![Drip(row)]), "oltp::connect"),
        (
            "stalls behind the version",
            mysql_rows(vec![Say(version.clone()), Stall]),
            "oltp::statement",
        ),
        (
            "shouts behind the version",
            mysql_rows(vec![Say(version.clone()), Hear, Say(mysql_error()), Stall]),
            "oltp::statement",
        ),
        (
            "closes behind the version",
            mysql_rows(vec![Say(version), Hear, Close]),
            "oltp::statement",
        ),
    ]
}

/// A message of PostgreSQL.
fn message(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len() + 4).expect("short");
    [&[kind][..], &length.to_be_bytes(), content].concat()
}

fn request(code: u32, words: &[u8]) -> Vec<u8> {
    message(b'R', &[&code.to_be_bytes()[..], words].concat())
}

fn postgres_error() -> Vec<u8> {
    let fields = format!("SERROR\0VERROR\0C42601\0M{}\0\0", shout());
    message(b'E', fields.as_bytes())
}

fn notice() -> Vec<u8> {
    message(b'N', b"SNOTICE\0VNOTICE\0C00000\0Mhello\0\0")
}

fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

fn postgres_started(then: Vec<Step>) -> Vec<Step> {
    let mut script = vec![Hear];
    script.extend(then);
    script
}

/// The user is known; the first query is `then`.
fn postgres_asked(then: Vec<Step>) -> Vec<Step> {
    let mut script = vec![Hear, Say([request(0, b""), ready()].concat()), Hear];
    script.extend(then);
    script
}

fn postgres_scenes() -> Vec<Scene> {
    let described = message(
        b'T',
        b"\0\x01v\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0",
    );
    let row = message(b'D', b"\0\x01\0\0\0\x0415.1");
    let done = [message(b'C', b"SHOW\0"), ready()].concat();
    let version = [described.clone(), row.clone(), done].concat();
    let sasl = request(10, b"SCRAM-SHA-256\0\0");
    let rows = |then: Vec<Step>| postgres_asked([vec![Say(described.clone())], then].concat());
    vec![
        ("silence", vec![Stall], "oltp::connect"),
        ("early close", vec![Close], "oltp::no-server"),
        (
            "another protocol",
            postgres_started(vec![
                Say(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()),
                Stall,
            ]),
            "oltp::connect",
        ),
        (
            "zeros",
            postgres_started(vec![Flood(vec![0; 64])]),
            "oltp::connect",
        ),
        (
            "ones",
            postgres_started(vec![Flood(vec![0xff; 64])]),
            "oltp::connect",
        ),
        (
            "slow word",
            postgres_started(vec![Drip(notice())]),
            "oltp::connect",
        ),
        (
            "shouts at once",
            postgres_started(vec![Say(postgres_error()), Close]),
            "oltp::connect",
        ),
        (
            "asks for clear text",
            postgres_started(vec![Say(request(3, b"")), Stall]),
            "oltp::connect",
        ),
        (
            "asks for Kerberos",
            postgres_started(vec![Say(request(7, b"")), Stall]),
            "oltp::connect",
        ),
        (
            "hashing without end",
            postgres_started(vec![
                Say(sasl.clone()),
                Hear,
                Say(request(11, b"r=abc,s=QQ==,i=4294967295")),
                Stall,
            ]),
            "oltp::connect",
        ),
        (
            "a nonce of somebody else",
            postgres_started(vec![
                Say(sasl),
                Hear,
                Say(request(11, b"r=abc,s=QQ==,i=4096")),
                Stall,
            ]),
            "oltp::connect",
        ),
        (
            "notices without end at once",
            postgres_started(vec![Say(request(0, b"")), Flood(notice())]),
            "oltp::connect",
        ),
        (
            "settings without end at once",
            postgres_started(vec![Say(request(0, b"")), Flood(message(b'S', b"a\0b\0"))]),
            "oltp::connect",
        ),
        (
            "keys without end",
            postgres_started(vec![Say(request(0, b"")), Flood(message(b'K', &[0; 8]))]),
            "oltp::connect",
        ),
        (
            "2 GiB at once",
            postgres_started(vec![Say(b"R\x7f\xff\xff\xff".to_vec()), Flood(vec![0; 64])]),
            "oltp::connect",
        ),
        (
            "closes behind the user",
            postgres_started(vec![Say(request(0, b"")), Close]),
            "oltp::no-server",
        ),
        (
            "stalls behind the user",
            postgres_asked(vec![Stall]),
            "oltp::statement",
        ),
        (
            "closes behind the question",
            postgres_asked(vec![Close]),
            "oltp::statement",
        ),
        (
            "2 GiB behind the question",
            postgres_asked(vec![Say(b"D\x7f\xff\xff\xff".to_vec()), Flood(vec![0; 64])]),
            "oltp::statement",
        ),
        (
            "a length below its own",
            postgres_asked(vec![Say(b"D\0\0\0\0".to_vec()), Stall]),
            "oltp::statement",
        ),
        (
            "notices behind the question",
            postgres_asked(vec![Flood(notice())]),
            "oltp::statement",
        ),
        (
            "shouts",
            postgres_asked(vec![Say([postgres_error(), ready()].concat()), Stall]),
            "oltp::statement",
        ),
        (
            "rows out of turn",
            postgres_asked(vec![Say(row.clone()), Stall]),
            "oltp::statement",
        ),
        (
            "rows without end",
            rows(vec![Flood(message(
                b'D',
                &[&[0, 1, 0, 0, 0, 250][..], &[b'x'; 250]].concat(),
            ))]),
            "oltp::statement",
        ),
        (
            "a row that lies about its length",
            rows(vec![Say(message(b'D', b"\0\x01\x7f\xff\xff\xff")), Stall]),
            "oltp::statement",
        ),
        ("a slow row", rows(vec![Drip(row)]), "oltp::statement"),
        (
            "wants rows",
            postgres_asked(vec![Say(message(b'G', &[0, 0, 0])), Stall]),
            "oltp::statement",
        ),
        (
            "stalls behind the version",
            postgres_asked(vec![Say(version.clone()), Stall]),
            "oltp::statement",
        ),
        (
            "shouts behind the version",
            postgres_asked(vec![
                Say(version),
                Hear,
                Say([postgres_error(), ready()].concat()),
                Stall,
            ]),
            "oltp::statement",
        ),
    ]
}

fn tls_scenes() -> [Vec<Scene>; 2] {
    let mysql = vec![(
        "no TLS",
        vec![Say(hello("mysql_native_password")), Stall],
        "oltp::connect",
    )];
    let postgres = vec![
        (
            "no TLS",
            vec![Hear, Say(b"N".to_vec()), Stall],
            "oltp::connect",
        ),
        (
            "TLS that is none",
            vec![Hear, Say(b"S".to_vec()), Flood(vec![b'x'; 64])],
            "oltp::connect",
        ),
        (
            "silence on TLS",
            vec![Hear, Say(b"S".to_vec()), Stall],
            "oltp::connect",
        ),
        (
            "a word behind TLS",
            vec![Hear, Say([b"S".to_vec(), request(0, b"")].concat()), Stall],
            "oltp::connect",
        ),
    ];
    [mysql, postgres]
}

fn options() -> DriveOptions {
    DriveOptions {
        terminals: 2,
        threads: 1,
        session: SessionOptions::default(),
        binding: Binding::Uniform,
        mix: Mix::Deck,
        pacing: Pacing::None,
        delivery: DeliveryMode::Inline,
        max_retries: 1,
        seed: 1,
        ramp_up: Duration::ZERO,
        steady: Duration::from_secs(1),
        patience: Duration::from_secs(1),
    }
}

type Command = fn(&Target, &AtomicBool) -> Result<(), OltpError>;

/// All that talks to a database.
const COMMANDS: [(&str, Command); 3] = [
    ("drive", |target, stop| {
        drive(target, &options(), stop).map(drop)
    }),
    ("load", |target, stop| {
        let population = Population::new(Scale::new(1, 100).expect("valid"), 42);
        load(target, &LoadOptions::new(population, 2), stop, &|_| {}).map(drop)
    }),
    ("verify", |target, stop| {
        verify(target, Moment::AnyTime, stop).map(drop)
    }),
];

/// Runs every command against every scene, all scenes at once.
fn survive(url: impl Fn(u16) -> String + Sync, scenes: &[Scene]) {
    thread::scope(|scope| {
        for (name, script, code) in scenes {
            let url = &url;
            scope.spawn(move || {
                for (command, run) in COMMANDS {
                    let server = Hostile::start(script);
                    let target: Target = url(server.port).parse().expect("a target");
                    let began = Instant::now();
                    let ended = run(&target, &AtomicBool::new(false));
                    let took = began.elapsed();
                    assert!(took < TOO_LONG, "{name}, {command}: {took:?}");
                    let error = ended.expect_err(name);
                    let text = ErrorFields::new(&error).to_string();
                    assert_eq!(error.code(), *code, "{name}, {command}: {text}");
                    let is_bad = |c: char| c != '\n' && commands(c);
                    assert!(!text.contains(is_bad), "{name}, {command}: {text:?}");
                    assert!(
                        text.len() < 5_000,
                        "{name}, {command}: {} bytes",
                        text.len()
                    );
                }
            });
        }
    });
}

const PATIENCE: &str = "timeout=1&statement-timeout=1";

#[test]
fn hostile_servers_of_mysql_are_survived() {
    let url = |port| format!("mysql://oe:secret@127.0.0.1:{port}/shop?{PATIENCE}");
    survive(url, &mysql_scenes());
}

#[test]
fn hostile_servers_of_postgresql_are_survived() {
    let url = |port| format!("postgresql://oe:secret@127.0.0.1:{port}/shop?{PATIENCE}");
    survive(url, &postgres_scenes());
}

#[test]
fn servers_that_lie_about_encryption_are_survived() {
    let [mysql, postgres] = tls_scenes();
    let url =
        |port| format!("mysql://oe:secret@127.0.0.1:{port}/shop?{PATIENCE}&ssl-mode=REQUIRED");
    survive(url, &mysql);
    let url =
        |port| format!("postgresql://oe:secret@127.0.0.1:{port}/shop?{PATIENCE}&sslmode=require");
    survive(url, &postgres);
}

#[test]
fn whoever_says_stop_need_not_wait_for_a_server() {
    let scenes = [
        ("mysql", mysql_asked(vec![Stall])),
        ("mysql", vec![Stall]),
        ("postgresql", postgres_asked(vec![Stall])),
        ("postgresql", vec![Hear, Stall]),
        ("sqlite+oe", vec![Stall]),
    ];
    for (scheme, script) in scenes {
        let server = Hostile::start(&script);
        let rest = if scheme == "sqlite+oe" { "" } else { "shop" };
        let user = if scheme == "sqlite+oe" { "" } else { "oe@" };
        let url = format!(
            "{scheme}://{user}127.0.0.1:{}/{rest}?timeout=300",
            server.port
        );
        let target: Target = url.parse().expect("a target");
        for (command, run) in COMMANDS {
            let stop = AtomicBool::new(false);
            let began = Instant::now();
            let ended = thread::scope(|scope| {
                scope.spawn(|| {
                    sleep(Duration::from_millis(300));
                    stop.store(true, Ordering::Relaxed);
                });
                run(&target, &stop)
            });
            assert!(
                matches!(ended, Err(OltpError::Stopped)),
                "{scheme}, {command}: {ended:?}"
            );
            assert!(began.elapsed() < TOO_LONG, "{scheme}, {command}");
        }
    }
}
