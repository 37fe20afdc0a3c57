//! The client of iperf3 for the streams of one guest, as a process.

use std::{
    io::{self, Read as _},
    net::IpAddr,
    path::Path,
    process::{Child, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use rookery_driver::Phases;
use rookery_host::{await_end, bound_command, in_netns, process_stat};
use rookery_monitor::{DriverPrograms, cpu_mask};
use rookery_workload::netstream::StreamProgram;
use rustix::thread::sched_setaffinity;

use super::live::ClientProcess;

/// Between two looks whether a client has ended.
const LOOK: Duration = Duration::from_millis(20);
/// Beyond its load a client may take so long to connect, and to tell what it measured.
const GRACE: Duration = Duration::from_secs(20);
/// Most of what a client says that is read.
const MOST_OUTPUT: u64 = 64 << 20;
/// Intervals of all streams together that its report should not exceed: some 4 MB.
const MOST_INTERVALS: u64 = 10_000;
/// Longest interval of iperf3, s.
const MOST_INTERVAL: u64 = 60;

/// What a client is told, and where it runs.
#[derive(Clone, Copy)]
pub(super) struct Client<'c> {
    pub(super) phases: &'c Phases,
    pub(super) cpus: &'c [u32],
    pub(super) network: Option<&'c Path>,
    pub(super) address: IpAddr,
    pub(super) streams: u32,
    pub(super) block_bytes: u32,
}

/// What became of a client.
pub(super) struct Ended {
    /// What it said, or why it cannot be told.
    pub(super) said: io::Result<String>,
    /// CPU time that it used inside the window, us.
    pub(super) cpu_us: u64,
}

impl Client<'_> {
    /// Run it to its end, from `begin` on, as one of `programs`; `process` is then its own. It is
    /// killed when it takes too long, or `stop` is set.
    ///
    /// # Errors
    /// When it cannot be started or watched.
    pub(super) fn run(
        &self,
        programs: &DriverPrograms,
        process: &ClientProcess,
        begin: Instant,
        stop: &AtomicBool,
    ) -> io::Result<Ended> {
        in_netns(self.network, || {
            self.run_here(programs, process, begin, stop)
        })?
    }

    /// The same in the network of the calling thread, which ends with it.
    fn run_here(
        &self,
        programs: &DriverPrograms,
        process: &ClientProcess,
        begin: Instant,
        stop: &AtomicBool,
    ) -> io::Result<Ended> {
        if !self.cpus.is_empty() {
            // What is started here stays there as well.
            sched_setaffinity(None, &cpu_mask(self.cpus))?;
        }
        thread::sleep(begin.saturating_duration_since(Instant::now()));
        let mut child = bound_command("iperf3")
            .args(self.words())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        programs.add(child.id());
        process.set(child.id());
        let pipe = child.stdout.take();
        let (said, cpu_us) = thread::scope(|scope| {
            let said = scope.spawn(|| {
                let mut text = String::new();
                let pipe = pipe.ok_or(io::ErrorKind::BrokenPipe)?;
                pipe.take(MOST_OUTPUT).read_to_string(&mut text)?;
                Ok(text)
            });
            let cpu_us = self.await_end(&mut child, begin, stop);
            // Whoever could not be watched shall not be waited for.
            let killed = cpu_us.as_ref().map_or_else(|_| child.kill(), |_| Ok(()));
            let said = said
                .join()
                .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
            (killed.and(said), cpu_us)
        });
        // Before it is waited for: what it used is this process's own from then on.
        programs.remove(child.id());
        child.wait()?;
        Ok(Ended {
            said,
            cpu_us: cpu_us?,
        })
    }

    /// Whole seconds, as iperf3 counts: those that are left out first, and the window.
    fn seconds(&self) -> (u64, u64) {
        let whole = |time: Duration| time.as_secs() + u64::from(time.subsec_nanos() > 0);
        (whole(self.phases.window_start()), whole(self.phases.steady))
    }

    /// Its words.
    fn words(&self) -> Vec<String> {
        let (omitted, measured) = self.seconds();
        let rows_each = u64::from(self.streams) + 1;
        let interval = ((omitted + measured) * rows_each).div_ceil(MOST_INTERVALS);
        let options = [
            ("--client", self.address.to_string()),
            ("--port", StreamProgram::IPERF3_PORT.to_string()),
            ("--parallel", self.streams.to_string()),
            ("--length", self.block_bytes.to_string()),
            ("--omit", omitted.to_string()),
            ("--time", measured.to_string()),
            ("--interval", interval.min(MOST_INTERVAL).to_string()),
        ];
        let words = options
            .into_iter()
            .flat_map(|(name, value)| [name.to_owned(), value]);
        let flags = ["--reverse", "--json", "--get-server-output"].map(str::to_owned);
        words.chain(flags).collect()
    }

    /// Wait until it has ended: what it used inside the window, us.
    fn await_end(&self, child: &mut Child, begin: Instant, stop: &AtomicBool) -> io::Result<u64> {
        let used = |child: &Child| process_stat(child.id()).map_or(0, |stat| stat.cpu_us);
        let (window_start, window_end) = (
            begin + self.phases.window_start(),
            begin + self.phases.window_end(),
        );
        let (omitted, measured) = self.seconds();
        let until = begin + Duration::from_secs(omitted + measured) + GRACE;
        let (mut at_start, mut at_end) = (None, None);
        while !await_end(child.id(), LOOK)? {
            let now = Instant::now();
            if now >= window_start {
                at_start.get_or_insert_with(|| used(child));
            }
            if now >= window_end {
                at_end.get_or_insert_with(|| used(child));
            }
            if stop.load(Ordering::Relaxed) || now > until {
                child.kill()?;
            }
        }
        let at_end = at_end.unwrap_or_else(|| used(child));
        Ok(at_end.saturating_sub(at_start.unwrap_or(at_end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phases(steady: Duration) -> Phases {
        Phases {
            ramp_up: Duration::from_millis(500),
            settle: Duration::from_secs(1),
            steady,
            ramp_down: Duration::ZERO,
            drain: Duration::ZERO,
        }
    }

    fn words(streams: u32, steady: Duration) -> String {
        let client = Client {
            phases: &phases(steady),
            cpus: &[],
            network: None,
            address: [127, 0, 0, 1].into(),
            streams,
            block_bytes: 1000,
        };
        client.words().join(" ")
    }

    #[test]
    fn a_client_leaves_out_what_comes_before_the_window() {
        assert_eq!(
            words(5, Duration::from_secs(10)),
            "--client 127.0.0.1 --port 5201 --parallel 5 --length 1000 --omit 2 --time 10 \
             --interval 1 --reverse --json --get-server-output"
        );
    }

    #[test]
    fn reports_of_long_loads_have_fewer_intervals() {
        for (streams, steady_s, expected) in [(10, 3598, 4), (128, 86_000, 60)] {
            let words = words(streams, Duration::from_secs(steady_s));
            let expected = format!("--interval {expected} ");
            assert!(words.contains(&expected), "{words}");
        }
    }
}
