//! Servers that stall, flood, drip and shout against every command that talks to one, as it is
//! typed: it ends, in little memory, with an exit code of its own kind, and no byte of theirs
//! commands the terminal. What each single answer comes to is tested in `web` and `oltp`.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::common::{Place, text};

/// Writable memory that a command may have, KiB.
const MEMORY_KIB: u32 = 100 * 1024;
/// Far more than any command may take, also on a busy machine.
const TOO_LONG: Duration = Duration::from_secs(90);
/// Exit codes of commands whose server did not answer as it should: the host is not ready, nothing
/// was completed, or data cannot be read.
const REFUSALS: [i32; 3] = [4, 5, 8];

/// What a server does with every connection.
#[derive(Clone, Copy)]
enum Manner {
    /// Hears everything and says nothing.
    Silent,
    Closes,
    /// Says this again and again, as fast as it is taken, once it has heard something or nothing.
    Floods(&'static [u8]),
    /// Says this, and then that without end.
    Welcomes(&'static [u8], &'static [u8]),
    /// Says this slowly, and again.
    Drips(&'static [u8]),
}

/// Clears the screen, sets the title, turns the writing around.
const SHOUT: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{202e}";

fn serve(manner: Manner) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for stream in listener.incoming().take(10_000).flatten() {
            thread::spawn(move || behave(stream, manner));
        }
    });
    port
}

fn behave(mut stream: TcpStream, manner: Manner) {
    let _ = stream.set_write_timeout(Some(TOO_LONG));
    let _ = stream.set_read_timeout(Some(TOO_LONG));
    let mut heard = [0; 4096];
    let flood = |mut stream: TcpStream, bytes: &[u8]| {
        let many = bytes.repeat(1 + 65_536 / bytes.len());
        while stream.write_all(&many).is_ok() {}
    };
    match manner {
        Manner::Silent => while matches!(stream.read(&mut heard), Ok(1..)) {},
        Manner::Closes => {}
        Manner::Floods(bytes) => flood(stream, bytes),
        Manner::Welcomes(first, then) => {
            let _ = stream.read(&mut heard);
            if stream.write_all(first).is_ok() {
                flood(stream, then);
            }
        }
        Manner::Drips(bytes) => {
            for byte in bytes.iter().cycle() {
                if stream.write_all(&[*byte]).is_err() {
                    break;
                }
                thread::sleep(Duration::from_millis(50));
            }
        }
    }
}

/// The end of a command, which is killed where it does not come.
fn ended(mut child: Child, what: &str) -> (i32, String) {
    let began = Instant::now();
    let mut pipes = (child.stdout.take(), child.stderr.take());
    let read = thread::spawn(move || {
        let mut said = Vec::new();
        // What it prints is short: one pipe cannot fill while the other is read.
        let _ = pipes.0.as_mut().map(|pipe| pipe.read_to_end(&mut said));
        let _ = pipes.1.as_mut().map(|pipe| pipe.read_to_end(&mut said));
        said
    });
    let code = loop {
        if let Some(status) = child.try_wait().expect("waited for") {
            break status.code();
        }
        if began.elapsed() > TOO_LONG {
            let _ = child.kill();
            let _ = child.wait();
            panic!("{what} did not end");
        }
        thread::sleep(Duration::from_millis(20));
    };
    let said = text(&read.join().expect("read"));
    let code = code.unwrap_or_else(|| panic!("{what} was killed: {said}"));
    (code, said)
}

/// Run every command of `commands` against a server of each manner, the manners beside each other.
fn survive(manners: &[(&str, Manner)], commands: &[&[&str]]) {
    thread::scope(|scope| {
        for (name, manner) in manners {
            scope.spawn(move || {
                let place = Place::new();
                let port = serve(*manner).to_string();
                for words in commands {
                    let words: Vec<String> = words
                        .iter()
                        .map(|word| word.replace("PORT", &port))
                        .collect();
                    let words: Vec<&str> = words.iter().map(String::as_str).collect();
                    let what = format!("{name}, {}", words.join(" "));
                    let limited = format!("ulimit -d {MEMORY_KIB} && exec \"$@\"");
                    let child = place
                        .rookery_within(&["sh", "-c", &limited, "sh"], &words)
                        .stdin(Stdio::null())
                        .stdout(Stdio::piped())
                        .stderr(Stdio::piped())
                        .spawn()
                        .expect("rookery starts");
                    let (code, said) = ended(child, &what);
                    assert!(REFUSALS.contains(&code), "{what}: {code}: {said}");
                    let commands = |c: char| c == '\u{1b}' || c == '\u{7}' || c == '\u{202e}';
                    assert!(!said.contains(commands), "{what}: {said:?}");
                    assert!(!said.contains("secret"), "{what}: {said}");
                    assert!(said.len() < 20_000, "{what}: {} bytes", said.len());
                }
            });
        }
    });
}

#[test]
fn drivers_of_web_servers_survive_hostile_ones() {
    let page = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n\x1b[2J";
    let manners = [
        ("silence", Manner::Silent),
        ("closes", Manner::Closes),
        (
            "a header without end",
            Manner::Welcomes(b"HTTP/1.1 200 OK\r\n", b"A: b\r\n"),
        ),
        (
            "a body without end",
            Manner::Welcomes(b"HTTP/1.1 200 OK\r\n\r\n", b"<title>\x1b[2J"),
        ),
        ("drips", Manner::Drips(page)),
        ("floods", Manner::Floods(SHOUT.as_bytes())),
    ];
    let drive = |more: &'static [&'static str]| {
        let words = [
            "drive",
            "dvdstore",
            "--target",
            "http://127.0.0.1:PORT/ds2",
            "--users",
            "2",
            "--timeout",
            "1s",
            "--ramp-up",
            "0s",
            "--settle",
            "0s",
            "--steady",
            "1s",
            "--drain",
            "1s",
        ];
        [&words[..], more].concat()
    };
    let (plain, learning) = (drive(&[]), drive(&["--learn-from-pages"]));
    survive(&manners, &[&plain, &learning]);
}

const POSTGRES: &str = "postgresql://oe:secret@127.0.0.1:PORT/shop?timeout=1&statement-timeout=1";
const MYSQL: &str = "mysql://oe:secret@127.0.0.1:PORT/shop?timeout=1&statement-timeout=1";

/// The commands that talk to a database.
fn of_databases(target: &'static str) -> [Vec<&'static str>; 3] {
    let drive = [
        "--terminals",
        "2",
        "--ramp-up",
        "0s",
        "--steady",
        "1s",
        "--patience",
        "1s",
    ];
    let load = ["--warehouses", "1", "--divisor", "100"];
    [
        [&["drive", "orderentry", "--target", target], &drive[..]].concat(),
        [&["load", "orderentry", "--target", target], &load[..]].concat(),
        vec!["verify", "orderentry", "--target", target],
    ]
}

#[test]
fn clients_of_databases_survive_hostile_ones() {
    // The user is known at once; then notices, or a row without end.
    const KNOWN: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
    const NOTICE: &[u8] = b"N\0\0\0\x15SNOTICE\0M\x1b[2Jaaa\0\0";
    const HUGE: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05ID\x7f\xff\xff\xff";
    let manners = [
        ("silence", Manner::Silent),
        ("closes", Manner::Closes),
        ("drips", Manner::Drips(KNOWN)),
        ("floods", Manner::Floods(SHOUT.as_bytes())),
        ("notices without end", Manner::Welcomes(KNOWN, NOTICE)),
        ("a message of 2 GiB", Manner::Welcomes(HUGE, b"x")),
        ("zeros", Manner::Floods(&[0; 64])),
    ];
    for target in [POSTGRES, MYSQL] {
        let commands = of_databases(target);
        let commands: Vec<&[&str]> = commands.iter().map(Vec::as_slice).collect();
        survive(&manners, &commands);
    }
}
