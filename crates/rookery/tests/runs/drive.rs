//! `rookery app` and `rookery drive`, one against the other.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
};

use crate::common::{Place, code, text, went_to_its_end};

pub(crate) struct App(pub(crate) Child);

impl Drop for App {
    fn drop(&mut self) {
        // Nothing is left to do when it is gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Start the application on a free port and wait until it says that it serves.
pub(crate) fn app(place: &Place, pages: &str) -> (App, u16) {
    let port = TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a free port")
        .port();
    let database = place.dir.path().join("shop.sqlite").display().to_string();
    let listen = format!("127.0.0.1:{port}");
    let mut child = place
        .rookery(&[
            "app",
            "dvdstore",
            "--database",
            &database,
            "--size",
            "1MB",
            "--listen",
            &listen,
            "--pages",
            pages,
        ])
        .stderr(Stdio::piped())
        .spawn()
        .expect("rookery starts");
    let stderr = child.stderr.take().expect("piped");
    let mut lines = BufReader::new(stderr).lines();
    assert!(
        lines.any(|line| line.is_ok_and(|line| line.starts_with("serving"))),
        "the application says that it serves"
    );
    (App(child), port)
}

fn drive(place: &Place, port: u16, extra: &[&str]) -> serde_json::Value {
    let target = format!("http://127.0.0.1:{port}/ds2");
    let mut args = vec![
        "drive", "dvdstore", "--target", &target, "--size", "1MB", "--users", "4", "--json",
    ];
    args.extend([
        "--think-time",
        "5ms",
        "--ramp-up",
        "100ms",
        "--settle",
        "200ms",
        "--steady",
        "1s",
    ]);
    args.extend(extra);
    let output = place.rookery(&args).output().expect("rookery starts");
    assert!(
        went_to_its_end(&output),
        "{}\n{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("the measurement is JSON")
}

#[test]
fn our_users_drive_our_pages_both_ways() {
    for pages in ["corrected", "faithful"] {
        let place = Place::new();
        let (_app, port) = app(&place, pages);
        let measurement = drive(&place, port, &[]);
        let shop = &measurement["guests"][0]["counters"];
        assert!(
            shop["n_overall"].as_u64().is_some_and(|orders| orders > 10),
            "{shop}"
        );
        assert_eq!(
            measurement["guests"][0]["errors"].as_array().map(Vec::len),
            Some(0),
            "{measurement}"
        );
        for operation in measurement["guests"][0]["operations"]
            .as_array()
            .expect("operations")
        {
            let of = |name: &str| operation["service_us"][name].as_f64();
            // A mean lies above the fastest hundredth of its values, and no percentile above the
            // largest.
            assert!(
                of("p50") <= of("p95") && of("p95") <= of("p99") && of("p99") <= of("max"),
                "{operation}"
            );
            assert!(
                of("count") < Some(10.0) || of("p99") >= of("mean"),
                "{operation}"
            );
        }
    }
}

#[test]
fn the_application_ends_gracefully() {
    let place = Place::new();
    let (mut app, _port) = app(&place, "corrected");
    assert!(
        Command::new("kill")
            .args(["-TERM", &app.0.id().to_string()])
            .status()
            .expect("kill")
            .success()
    );
    assert_eq!(app.0.wait().expect("ends").code(), Some(0));
}

/// A listener that answers every connection with the same bytes; gives its target.
fn always(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(10_000) {
            // The client may be gone already.
            let _ = stream.and_then(|mut stream| stream.write_all(answer));
        }
    });
    format!("http://127.0.0.1:{port}/ds2")
}

/// What the driver says of a target on which no order comes about; its exit code must tell.
fn drive_in_vain(target: &str, format: &str) -> (String, String) {
    let place = Place::new();
    let args = [
        "drive",
        "dvdstore",
        "--target",
        target,
        "--format",
        format,
        "--steady",
        "1s",
        "--settle",
        "0s",
        "--think-time",
        "300ms",
        "--ramp-up",
        "0s",
    ];
    let output = place.rookery(&args).output().expect("rookery starts");
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(code(&output), 5, "{error}");
    assert!(error.contains("help: "), "{error}");
    assert!(!(out.clone() + &error).contains('\u{1b}'), "{out}{error}");
    (out, error)
}

#[test]
fn a_target_that_never_answers_is_no_success() {
    let (_, error) = drive_in_vain(&always(b"\x1b[31m garbage\r\n\r\n"), "text");
    assert!(error.contains("did not answer like a DVD Store"), "{error}");
}

#[test]
fn a_target_that_says_yes_to_everything_but_sells_nothing_is_no_success() {
    let target = always(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
    for format in ["text", "json", "original"] {
        let (_, error) = drive_in_vain(&target, format);
        assert!(error.contains("no order"), "{format}: {error}");
        if format == "original" {
            // Its lines know no failures: they are told beside them.
            assert!(error.contains(" x "), "{error}");
        }
    }
}

/// A store that always says yes, and keeps the paths that it was asked for.
fn recording_store() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().take(100).flatten() {
            let kept = Arc::clone(&kept);
            std::thread::spawn(move || serve(stream, &kept));
        }
    });
    (port, asked)
}

/// Answer the requests of one connection until it closes.
fn serve(mut stream: TcpStream, asked: &Mutex<Vec<String>>) {
    let Ok(reader) = stream.try_clone() else {
        return;
    };
    for line in BufReader::new(reader).lines().map_while(Result::ok) {
        let Some(path) = line.strip_prefix("GET ") else {
            continue;
        };
        let body = match path {
            path if path.contains("dspurchase") => {
                "<H2>Order Completed Successfully --- ORDER NUMBER:  7</H2>"
            }
            path if path.contains("dsbrowse") => "<H2>No DVDs Found</H2>",
            _ => "<INPUT TYPE=HIDDEN NAME=customerid VALUE=7>",
        };
        asked
            .lock()
            .expect("no thread panics")
            .push(path.to_owned());
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// The words that were searched for in titles and actors.
fn searched(asked: &Mutex<Vec<String>>) -> BTreeSet<String> {
    let asked = asked.lock().expect("no thread panics");
    let fields = asked.iter().flat_map(|path| path.split(['&', '?', ' ']));
    let values = fields.filter_map(|field| {
        field
            .strip_prefix("browse_title=")
            .or_else(|| field.strip_prefix("browse_actor="))
    });
    values
        .flat_map(|value| value.split("%20"))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

const SHORT: [&str; 8] = [
    "--ramp-up",
    "0s",
    "--warm-up",
    "0s",
    "--run-time",
    "1s",
    "--think-time",
    "2ms",
];

#[test]
fn words_of_another_store_are_learned_from_its_product_file() {
    let place = Place::new();
    let catalogue = place.dir.path().join("prod.csv");
    // A store of other words: T followed by letters, and names of the same make.
    let word = |kind: char, n: u32| {
        let letter = |n: u32| char::from(b'A' + u8::try_from(n % 26).expect("a letter"));
        format!("{kind}{}{}{}", letter(n / 676), letter(n / 26), letter(n))
    };
    let rows = (0..10_000u32).map(|n| {
        let (title, actor) = (
            format!("{} {}", word('T', n / 1000 % 1000), word('T', n % 1000)),
            format!("{} {}", word('F', n % 200), word('L', n / 7 % 200)),
        );
        format!("{},1,{title},{actor},9.99,0,1\n", n + 1)
    });
    fs::write(&catalogue, rows.collect::<String>()).expect("written");
    let (port, asked) = recording_store();
    let (target, file) = (
        format!("http://127.0.0.1:{port}/ds2"),
        catalogue.display().to_string(),
    );
    let mut args = vec![
        "drive",
        "dvdstore",
        "--target",
        &target,
        "--users",
        "4",
        "--learn-words",
        &file,
    ];
    args.extend(SHORT);
    let output = place.rookery(&args).output().expect("rookery starts");
    assert!(went_to_its_end(&output), "{}", text(&output.stderr));
    let words = searched(&asked);
    assert!(words.len() > 100, "{} words", words.len());
    assert!(
        words
            .iter()
            .all(|word| word.len() == 4 && word.starts_with(['T', 'F', 'L'])),
        "{words:?}"
    );

    fs::write(&catalogue, "1,2,only,three\n").expect("written");
    let refused = place.rookery(&args).output().expect("rookery starts");
    assert_eq!(code(&refused), 2);
    let said = text(&refused.stderr);
    assert!(
        said.contains("catalogue, line 1") && said.contains("prod.csv"),
        "{said}"
    );
}

#[test]
fn words_are_learned_from_the_pages_themselves() {
    let place = Place::new();
    let (_app, port) = app(&place, "corrected");
    let target = format!("http://127.0.0.1:{port}/ds2");
    let mut args = vec![
        "drive",
        "dvdstore",
        "--target",
        &target,
        "--size",
        "1MB",
        "--learn-from-pages",
    ];
    args.extend(SHORT);
    let output = place.rookery(&args).output().expect("rookery starts");
    assert!(went_to_its_end(&output), "{}", text(&output.stderr));
    let said = text(&output.stderr);
    let shown: Vec<usize> = said
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    assert!(
        said.contains("searches showed") && shown.len() == 4,
        "{said}"
    );
    assert!(
        shown[0] <= 400 && shown[1] > 900 && shown[2] > 180 && shown[3] > 180,
        "{said}"
    );

    // A store that finds nothing teaches nothing.
    let (port, asked) = recording_store();
    let empty = format!("http://127.0.0.1:{port}/ds2");
    args[3] = &empty;
    let output = place.rookery(&args).output().expect("rookery starts");
    assert_eq!(code(&output), 2);
    let said = text(&output.stderr);
    assert!(
        said.contains("16 searches showed 0 title words") && said.contains("--learn-words"),
        "{said}"
    );
    assert_eq!(
        asked.lock().expect("no thread panics").len(),
        16,
        "no load follows"
    );
}

#[test]
fn the_original_format_prints_the_original_lines() {
    let place = Place::among_others();
    let (_app, port) = app(&place, "corrected");
    let file = place.dir.path().join("driver.txt");
    let lines = format!(
        "target=127.0.0.1:{port};127.0.0.1:{port}\nn_threads=2\nramp_rate=40\ndb_size=1mb\nthink_time=0.01\ndetailed_view=Y\nlinux_perf_host=me:secret:host\n"
    );
    fs::write(&file, lines).expect("written");
    let file = file.display().to_string();
    let args = [
        "drive",
        "dvdstore",
        "--config-file",
        &file,
        "--format",
        "original",
        "--warm-up",
        "1s",
        "--run-time",
        "13s",
    ];
    let output = place.rookery(&args).output().expect("rookery starts");
    assert!(went_to_its_end(&output), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    let begins: Vec<&str> = printed
        .lines()
        .map(|line| line.split([' ', '=', '(']).next().unwrap_or_default())
        .collect();
    assert_eq!(
        begins,
        [
            "Stats",
            "et",
            "Individual",
            "et",
            "et",
            "Final",
            "Individual",
            "Final:",
            "Final:",
            "n_purchase_from_start",
            "n_purchase_from_start",
            "n_purchase_from_start"
        ],
        "{printed}"
    );
    let number = |line: &str, name: &str| {
        let at = line
            .find(&format!(" {name}="))
            .unwrap_or_else(|| panic!("{name} in {line}"));
        let value = line[at + name.len() + 2..]
            .split_whitespace()
            .next()
            .unwrap_or_default();
        value
            .parse::<u64>()
            .unwrap_or_else(|_| panic!("{name} in {line}"))
    };
    let lines: Vec<&str> = printed.lines().collect();
    for (all, each) in [(lines[1], &lines[3..5]), (lines[5], &lines[7..9])] {
        let parts: u64 = each.iter().map(|line| number(line, "n_overall")).sum();
        assert_eq!(number(all, "n_overall"), parts, "{printed}");
    }
    assert!(
        number(lines[5], "n_overall") > number(lines[1], "n_overall"),
        "{printed}"
    );
    assert_eq!(
        number(lines[5], "n_overall"),
        number(lines[5], "n_purchase_overall")
    );
    let said = text(&output.stderr);
    assert!(
        said.contains("linux_perf_host has no meaning here") && !said.contains("secret"),
        "{said}"
    );

    fs::write(&file, "n_thread=2\n").expect("written");
    let refused = place.rookery(&args).output().expect("rookery starts");
    assert_eq!(code(&refused), 2);
    let said = text(&refused.stderr);
    assert!(
        said.contains("`n_thread` is no parameter") && said.contains("driver.txt:1"),
        "{said}"
    );
}

#[test]
fn visitors_may_arrive_on_a_schedule() {
    let place = Place::new();
    let (_app, port) = app(&place, "corrected");
    let target = format!("http://127.0.0.1:{port}/ds2");
    let base = [
        "drive",
        "dvdstore",
        "--target",
        &target,
        "--size",
        "1MB",
        "--ramp-up",
        "100ms",
        "--settle",
        "100ms",
        "--steady",
        "1s",
    ];
    let told = |extra: &[&str]| {
        let output = place
            .rookery(&[&base, extra].concat())
            .output()
            .expect("rookery starts");
        (
            went_to_its_end(&output),
            text(&output.stdout),
            text(&output.stderr),
        )
    };
    let (well, out, _) = told(&["--open", "40", "--arrivals", "uniform", "--json"]);
    let measurement: serde_json::Value =
        serde_json::from_str(&out).expect("the measurement is JSON");
    assert!(well, "{out}");
    let arrivals = &measurement["driver"]["arrivals"];
    assert_eq!(
        (
            &measurement["mode"],
            &arrivals["drawn"],
            &arrivals["dropped"]
        ),
        (&"open".into(), &40.into(), &0.into())
    );
    assert_eq!(
        (&arrivals["spacing"], &arrivals["precision"]),
        (&"uniform".into(), &"exact".into())
    );
    let (well, out, _) = told(&["--open", "20..60", "--acts", "2", "--precision", "batched"]);
    assert!(
        well && out.contains("(partly open load, ")
            && out.contains("(batched), 0 dropped; lateness p50 "),
        "{out}"
    );
    let (_, _, err) = told(&["--open", "soon"]);
    assert!(
        err.contains("--open soon is no rate") && err.contains("help: "),
        "{err}"
    );
    let (_, _, err) = told(&["--open", "10", "--go-on", "1.5"]);
    assert!(
        err.contains("cannot go on with the probability 1.5"),
        "{err}"
    );
}

#[test]
fn users_may_keep_a_cycle() {
    let place = Place::new();
    let (_app, port) = app(&place, "corrected");
    let measurement = drive(&place, port, &["--pacing", "cycle", "--drain", "1s"]);
    assert_eq!(measurement["pacing"], "cycle");
    assert!(
        measurement["guests"][0]["counters"]["n_overall"]
            .as_u64()
            .is_some_and(|orders| orders > 10),
        "{measurement}"
    );
}
