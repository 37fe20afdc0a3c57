//! Chromium without a window, told what to do over a pair of pipes: messages of the DevTools
//! protocol as JSON, each ended by a zero byte.

use std::{
    fs::{self, File, OpenOptions},
    io::{BufRead as _, BufReader, Write as _},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::{
    fs::{CWD, FileType, Mode, mknodat},
    process::{Pid, Signal, kill_process_group},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::PATIENCE;

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    to: File,
    from: BufReader<File>,
    next: u64,
    /// The session of the page.
    pub(crate) page: String,
    /// Sessions of documents within the page.
    frames: Vec<String>,
    /// What went wrong in the page and its documents.
    pub(crate) errors: Vec<String>,
    /// The text of the last question that was asked, which was answered with yes.
    pub(crate) asked: Option<String>,
    profile: TempDir,
}

impl Drop for Browser {
    /// End all of its processes and take its profile away; what they write while they end is
    /// removed with it.
    fn drop(&mut self) {
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
        let _ = self.child.wait();
        let began = Instant::now();
        while fs::remove_dir_all(self.profile.path()).is_err() && self.profile.path().exists() {
            if began.elapsed() > PATIENCE {
                eprintln!("{} cannot be removed", self.profile.path().display());
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Browser {
    pub(crate) fn start() -> Self {
        let profile = tempfile::tempdir().expect("a directory");
        let pipe = |name: &str| -> PathBuf {
            let path = profile.path().join(name);
            mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
            path
        };
        let (input, output) = (pipe("input"), pipe("output"));
        let child = Command::new("sh")
            .args([
                "-c",
                "exec chromium \"$@\" 3<\"$INPUT\" 4>\"$OUTPUT\"",
                "sh",
            ])
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-background-networking",
                "--disable-component-update",
                "--no-first-run",
                "--remote-debugging-pipe",
            ])
            .arg(format!(
                "--user-data-dir={}",
                profile.path().join("profile").display()
            ))
            // What it puts beside its profile goes with the profile.
            .env("TMPDIR", profile.path())
            .env("INPUT", &input)
            .env("OUTPUT", &output)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Its helpers are in it, too.
            .process_group(0)
            .spawn()
            .expect("sh");
        let to = OpenOptions::new()
            .write(true)
            .open(&input)
            .expect("the pipe");
        let from = BufReader::new(File::open(&output).expect("the pipe"));
        let mut browser = Self {
            child,
            to,
            from,
            next: 0,
            page: String::new(),
            frames: Vec::new(),
            errors: Vec::new(),
            asked: None,
            profile,
        };
        let target = browser.call("", "Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.call("", "Target.attachToTarget", attach);
        browser.page = text(&session["sessionId"]);
        let page = browser.page.clone();
        browser.listen(&page);
        browser
    }

    /// Hear of errors in a document, and of the documents within it.
    fn listen(&mut self, session: &str) {
        for domain in ["Runtime.enable", "Log.enable", "Page.enable"] {
            self.call(session, domain, json!({}));
        }
        let within =
            json!({ "autoAttach": true, "waitForDebuggerOnStart": false, "flatten": true });
        self.call(session, "Target.setAutoAttach", within);
    }

    /// Call a method and wait for its result.
    pub(crate) fn call(&mut self, session: &str, method: &str, parameters: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let mut message = json!({ "id": id, "method": method, "params": parameters });
        if !session.is_empty() {
            message["sessionId"] = session.into();
        }
        self.to
            .write_all(message.to_string().as_bytes())
            .expect("chromium listens");
        self.to.write_all(&[0]).expect("chromium listens");
        loop {
            let message = self.read();
            if message["id"] == id {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
        }
    }

    /// The next message; events are taken in.
    fn read(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).expect("a message");
        assert!(
            bytes.pop() == Some(0),
            "chromium has ended; is it installed (`apt install chromium`)?"
        );
        let message: Value = serde_json::from_slice(&bytes).expect("JSON");
        let parameters = &message["params"];
        match message["method"].as_str().unwrap_or("") {
            "Runtime.exceptionThrown" => self.errors.push(parameters.to_string()),
            "Runtime.consoleAPICalled" if parameters["type"] == "error" => {
                self.errors.push(parameters.to_string());
            }
            "Log.entryAdded" if parameters["entry"]["level"] == "error" => {
                self.errors.push(parameters.to_string());
            }
            "Page.javascriptDialogOpening" => {
                self.asked = Some(text(&parameters["message"]));
                self.next += 1;
                let yes = json!({
                    "id": self.next, "method": "Page.handleJavaScriptDialog",
                    "params": { "accept": true }, "sessionId": message["sessionId"],
                });
                self.to
                    .write_all(format!("{yes}\0").as_bytes())
                    .expect("chromium listens");
            }
            "Target.attachedToTarget" if parameters["targetInfo"]["type"] == "iframe" => {
                self.frames.push(text(&parameters["sessionId"]));
            }
            "Target.detachedFromTarget" => {
                self.frames
                    .retain(|session| parameters["sessionId"] != session.as_str());
            }
            _ => {}
        }
        message
    }

    /// The value of an expression in a document.
    pub(crate) fn value_in(&mut self, session: &str, expression: &str) -> Value {
        let ask = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let result = self.call(session, "Runtime.evaluate", ask);
        assert!(
            result["exceptionDetails"].is_null(),
            "{expression}: {result}"
        );
        result["result"]["value"].clone()
    }

    /// The value of an expression in the page.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let page = self.page.clone();
        self.value_in(&page, expression)
    }

    /// Wait until an expression of the page is true.
    pub(crate) fn until(&mut self, expression: &str) {
        let began = Instant::now();
        while self.value(expression) != true {
            if began.elapsed() > PATIENCE {
                let shown = self.value("document.body.innerText");
                panic!("{expression} never became true: {shown}\n{:?}", self.errors);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The session of the document within the page whose address has `part`, once it is complete.
    /// Its errors are heard from then on.
    pub(crate) fn document(&mut self, part: &str) -> String {
        let began = Instant::now();
        loop {
            // Any answer brings the events before it.
            self.value("1");
            for session in self.frames.clone() {
                let there = format!(
                    "location.href.includes('{part}') && document.readyState === 'complete' && \
                     document.title !== ''"
                );
                if self.value_in(&session, &there) == true {
                    self.listen(&session);
                    return session;
                }
            }
            assert!(
                began.elapsed() < PATIENCE,
                "no document has {part}: {:?}",
                self.frames
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn open(&mut self, url: &str) {
        let page = self.page.clone();
        self.call(&page, "Page.navigate", json!({ "url": url }));
    }

    /// Show the page at a width, light or dark, and keep a picture of it.
    pub(crate) fn picture(&mut self, directory: &Path, name: &str, width: u32, dark: bool) {
        let page = self.page.clone();
        let size = json!({
            "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500,
        });
        self.call(&page, "Emulation.setDeviceMetricsOverride", size);
        let scheme = if dark { "dark" } else { "light" };
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call(&page, "Emulation.setEmulatedMedia", media);
        let wide = self.value("document.documentElement.scrollWidth");
        assert!(
            wide.as_u64().is_some_and(|wide| wide <= u64::from(width)),
            "{name} at {width} px is {wide} px wide"
        );
        // A document within the page is drawn anew a moment later.
        self.value("new Promise((done) => setTimeout(done, 200))");
        let shot = self.call(&page, "Page.captureScreenshot", json!({ "format": "png" }));
        let bytes = base64(shot["data"].as_str().expect("a picture"));
        std::fs::create_dir_all(directory).expect("a directory");
        let file = directory.join(format!("{name}-{width}-{scheme}.png"));
        std::fs::write(file, bytes).expect("written");
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Bytes of base64 (RFC 4648).
fn base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => u32::from(byte - b'A'),
        b'a'..=b'z' => u32::from(byte - b'a') + 26,
        b'0'..=b'9' => u32::from(byte - b'0') + 52,
        b'+' => 62,
        _ => 63,
    };
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        bits = bits << 6 | digit(byte);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    bytes
}
