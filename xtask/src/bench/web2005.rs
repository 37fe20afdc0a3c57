//! `bench web2005`: the file sets of banking, e-commerce and support beside the disk's own write
//! rate, the back-end's requests on one core, and ten thousand banking sessions on one.

mod backend;
mod driver;
mod fileset;

use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

const USAGE: &str = "\
usage: cargo xtask bench web2005 [fileset|backend|driver|downloads] [--runs N] [--sessions N]
  --runs      of the file set, 1 or more (default 5)
  --sessions  of the driver, 100 or more (default 10000)
  nothing named: all but the downloads, which take seven minutes";

/// The CPU of servers, and that of the driver.
const SERVER_CPU: &str = "0";
const CLIENT_CPU: &str = "1";

/// Longest wait for a server.
const PATIENCE: Duration = Duration::from_secs(60);

/// Measures and prints what is named.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (mut named, mut runs, mut sessions) = (Vec::new(), 5, 10_000);
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let mut number = |least: usize| {
            let value = words.next().and_then(|word| word.parse().ok());
            value
                .filter(|value: &usize| *value >= least)
                .ok_or_else(|| format!("{word} is {least} or more; {USAGE}"))
        };
        match word.as_str() {
            "fileset" | "backend" | "driver" | "downloads" => named.push(word.as_str()),
            "--runs" => runs = number(1)?,
            "--sessions" => sessions = number(100)?,
            other => return Err(format!("unknown word {other}; {USAGE}")),
        }
    }
    let wanted = |name: &str| named.is_empty() || named.contains(&name);
    if wanted("fileset") {
        fileset::run(runs)?;
    }
    if wanted("backend") {
        backend::run()?;
    }
    if wanted("driver") {
        driver::sessions(sessions)?;
    }
    if named.contains(&"downloads") {
        driver::downloads()?;
    }
    Ok(())
}

/// The program, built beside this one.
fn program() -> Result<PathBuf, String> {
    let own =
        std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let program = own.with_file_name("rookery");
    let there = program.is_file();
    there
        .then_some(program)
        .ok_or_else(|| "build `rookery` first: cargo build --release --package rookery".to_owned())
}

/// A server of this program on the servers' CPU, which ends with its owner.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    /// Starts `rookery app WORDS` and waits until it listens.
    fn start(words: &[&str]) -> Result<Self, String> {
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|listener| listener.local_addr())
            .map_err(|error| format!("no port is free: {error}"))?;
        let child = Command::new("taskset")
            .args(["-c", SERVER_CPU])
            .arg(program()?)
            .arg("app")
            .args(words)
            .args(["--listen", &address.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| {
                format!("cannot start taskset ({error}); install the package util-linux")
            })?;
        let mut server = Self { child, address };
        let began = Instant::now();
        while TcpStream::connect(address).is_err() {
            let ended = server.child.try_wait();
            if !matches!(ended, Ok(None)) || began.elapsed() > PATIENCE {
                return Err(format!("`rookery app {}` does not serve", words.join(" ")));
            }
            sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// CPU time that it has used, s.
    fn cpu_s(&self) -> Result<f64, String> {
        let path = format!("/proc/{}/schedstat", self.child.id());
        let tasks = format!("/proc/{}/task", self.child.id());
        let threads = std::fs::read_dir(&tasks).map_err(|error| format!("{tasks}: {error}"))?;
        let of_thread = |text: String| text.split(' ').next()?.parse::<f64>().ok();
        let mut nanoseconds = 0.0;
        for thread in threads.flatten() {
            let text = std::fs::read_to_string(thread.path().join("schedstat"));
            nanoseconds += text.ok().and_then(of_thread).unwrap_or(0.0);
        }
        if nanoseconds > 0.0 {
            Ok(nanoseconds / 1e9)
        } else {
            Err(format!("{path} says nothing"))
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has no more to lose than its ledger, which goes with its directory.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
