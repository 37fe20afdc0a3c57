//! A browser's part of the conversation, as far as a bench needs it.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::{Duration, Instant},
};

use serde_json::Value;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// A client with the cookie of a server.
#[derive(Clone)]
pub(super) struct Client {
    authority: String,
    cookie: String,
}

impl Client {
    /// One that went the way of a browser: token, cookie.
    pub(super) fn admitted(url: &str) -> Result<Self, String> {
        let rest = url
            .strip_prefix("http://")
            .ok_or("an address in the clear")?;
        let (authority, path) = rest.split_once('/').ok_or("an address with a path")?;
        let mut client = Self {
            authority: authority.to_owned(),
            cookie: String::new(),
        };
        let answer = client.text(&format!("/{path}"))?;
        let set = answer
            .split("set-cookie: ")
            .nth(1)
            .ok_or("no cookie came")?;
        set.split(';')
            .next()
            .unwrap_or_default()
            .clone_into(&mut client.cookie);
        Ok(client)
    }

    /// A value as JSON.
    pub(super) fn get(&self, path: &str) -> Result<Value, String> {
        let text = self.text(path)?;
        let (_, body) = text.split_once("\r\n\r\n").ok_or("half an answer")?;
        serde_json::from_str(body).map_err(|error| format!("{path}: {error}"))
    }

    /// The key of the one run that is listed.
    pub(super) fn only_key(&self) -> Result<String, String> {
        self.all_listed(1)?;
        let list = self.get("/api/runs")?;
        let key = list["runs"][0]["key"].as_str();
        Ok(key.ok_or("a run without a key")?.to_owned())
    }

    /// Ask until so many runs are listed and read.
    pub(super) fn all_listed(&self, runs: u32) -> Result<(), String> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            let list = self.get("/api/runs")?;
            let count = list["runs"].as_array().map_or(0, Vec::len);
            if list["looking"] == false && list["reading"] == 0 && count >= runs as usize {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(format!("{runs} runs were never listed"))
    }

    /// Follow a run until its whole plan has come; gives its bytes.
    pub(super) fn first_overview(&self, key: &str) -> Result<usize, String> {
        let mut stream = self.open(&format!("/api/runs/{key}/events"))?;
        let (mut text, mut buffer) = (Vec::new(), vec![0; 1 << 20]);
        loop {
            let count = stream
                .read(&mut buffer)
                .map_err(|error| error.to_string())?;
            if count == 0 {
                return Err("the stream ended".to_owned());
            }
            text.extend_from_slice(&buffer[..count]);
            // A chunk ends the event; what follows is another.
            let begin = text.windows(15).position(|part| part == b"event: overview");
            let tail = begin.map_or(&[][..], |begin| &text[begin..]);
            if tail.windows(2).any(|part| part == b"\n\n") {
                return Ok(tail.len());
            }
        }
    }

    /// Ask until a run is listed: the server looks for runs when it is asked.
    pub(super) fn listed(&self, key: &str) -> Result<(), String> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            let list = self.get("/api/runs")?;
            let runs = list["runs"].as_array().map_or(&[][..], Vec::as_slice);
            if runs.iter().any(|run| run["key"] == *key) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err("the run was never listed".to_owned())
    }

    /// Follow a run until the server ends, as an open page does; gives the bytes that came.
    pub(super) fn follow(&self, key: &str) -> Result<u64, String> {
        let mut stream = self.open(&format!("/api/runs/{key}/events"))?;
        let (mut all, mut buffer) = (0, vec![0; 64 << 10]);
        loop {
            match stream.read(&mut buffer) {
                Ok(0) | Err(_) => return Ok(all),
                Ok(count) => all += count as u64,
            }
        }
    }

    fn open(&self, path: &str) -> Result<TcpStream, String> {
        let said = |error: std::io::Error| error.to_string();
        let mut stream = TcpStream::connect(&self.authority).map_err(said)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(said)?;
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n",
            self.authority, self.cookie
        );
        stream.write_all(request.as_bytes()).map_err(said)?;
        Ok(stream)
    }

    fn text(&self, path: &str) -> Result<String, String> {
        let mut text = Vec::new();
        let mut stream = self.open(path)?;
        stream
            .read_to_end(&mut text)
            .map_err(|error| error.to_string())?;
        String::from_utf8(text).map_err(|error| error.to_string())
    }
}
