//! The series of runs on other machines: their controller, agents, hosts and NATS server are
//! killed.
//!
//! The machines are network namespaces with an sshd each, as in the tests.

use std::{
    fs,
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use rookery_testkit::{NATS, NatsServer, PretendHosts};
use rookery_workload::random::RandomSource as _;

use super::{
    outcome::check_run,
    remains::{ids_of_runs, nothing_left_of},
    series::{ENDS, Series, Tally, starting},
};

/// Hosts of the fleet.
const HOSTS: usize = 2;
/// The longest absence of the server, milliseconds: longer than the lease of agents at times.
const ABSENT_MS: u64 = 12_000;
/// How long a controller may take to its end, and agents after it: trials are short.
const ENDING: Duration = Duration::from_secs(120);
/// Exit code where no host is left, or one does not answer: the run can be resumed.
const HOST: i32 = 4;

/// The file of what controllers say on their terminal, and how many lines of it are shown.
const SAID: &str = "controllers.txt";
const MOST_LINES: usize = 20;

/// What is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    /// The controller.
    Controller,
    /// An agent.
    Agent,
    /// All that runs on a host.
    Host,
    /// The NATS server; it is started again.
    Server,
}

const VICTIMS: [Victim; 4] = [
    Victim::Controller,
    Victim::Agent,
    Victim::Host,
    Victim::Server,
];

/// What the hosts do in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// They perform trials.
    Labs,
    /// They drive users of guests on the controller's machine.
    Drivers,
    /// They have the guests of users that the controller's machine drives.
    Guests,
    /// The same, each with a part of the guests of every trial.
    Groups,
}

/// A series whose runs are conducted on pretend hosts.
pub(super) struct FleetSeries<'a> {
    series: Series<'a>,
    hosts: PretendHosts,
    server: NatsServer,
    file: String,
    part: Part,
    /// Hosts that were killed since the run began: the guest of a trial may have died first.
    killed: u32,
    /// Labels of the agents' runs that were seen.
    seen: Vec<String>,
}

impl<'a> FleetSeries<'a> {
    /// A fleet for a series, in its place.
    pub(super) fn new(series: Series<'a>) -> Self {
        let hosts = PretendHosts::new(&series.place, HOSTS);
        let server = hosts.nats_server("");
        let mut entries = vec![format!("[nats]\nurl = \"nats://{NATS}\"\n")];
        entries.extend((0..HOSTS).map(|number| hosts.entry(number, "")));
        Self {
            file: hosts.file(&entries),
            series,
            hosts,
            server,
            part: Part::Labs,
            killed: 0,
            seen: Vec::new(),
        }
    }

    /// Kill `kills` times, and check what must hold at the end.
    ///
    /// # Errors
    /// What does not hold.
    pub(super) fn interrupt(mut self, kills: u32) -> Result<Tally, String> {
        self.fleet("up")?;
        let interrupted = self.kill_all(kills);
        let left = self.fleet("down").and_then(|()| {
            self.output(&["clean"])?;
            nothing_left_of(&self.series.place, &self.seen)
        });
        let tally = interrupted?;
        left?;
        Ok(tally)
    }

    fn kill_all(&mut self, kills: u32) -> Result<Tally, String> {
        let mut tally = Tally::default();
        for kill in 1..=kills {
            let victim = VICTIMS[self.series.random.index(VICTIMS.len())];
            *tally.ways.entry(format!("{victim:?}")).or_default() += 1;
            let code = self
                .kill_once(victim)
                .map_err(|error| format!("kill {kill} ({victim:?}, {:?}): {error}", self.part))?;
            let ended = code.is_some_and(|code| ENDS.contains(&code));
            if ended || kill == kills {
                tally.trials += self
                    .lead_to_the_end(ended)
                    .map_err(|error| format!("after kill {kill}: {error}"))?;
                tally.runs += 1;
            } else {
                tally.bare_resumes += 1;
            }
        }
        Ok(tally)
    }

    /// One run from its begin or where it was; the exit code of its controller, where that was not
    /// killed.
    fn kill_once(&mut self, victim: Victim) -> Result<Option<i32>, String> {
        let mut controller = self.start()?;
        let within = u64::try_from(self.series.kind.within().as_millis()).unwrap_or(u64::MAX);
        sleep(Duration::from_millis(self.series.random.below(within)));
        self.look_for_runs();
        let host = self.series.random.index(HOSTS);
        match victim {
            Victim::Controller => {
                let _ = controller.kill();
                let _ = controller.wait();
                self.await_agents()?;
                return Ok(None);
            }
            Victim::Agent => {
                if let Some(agent) = self.hosts.agent(host) {
                    let agent = agent.to_string();
                    let _ = Command::new("kill").args(["-KILL", &agent]).status();
                }
            }
            Victim::Host => self.hosts.crash(host),
            Victim::Server => {
                self.server.end();
                sleep(Duration::from_millis(self.series.random.below(ABSENT_MS)));
                self.server.begin();
            }
        }
        self.killed += u32::from(matches!(victim, Victim::Agent | Victim::Host));
        let code = self.await_end(&mut controller)?;
        self.await_agents()?;
        if ENDS.contains(&code) || code == HOST {
            return Ok(Some(code));
        }
        Err(format!("the run ended with {code}: {}", self.said()?))
    }

    /// Resume until the run is at its end, unless it is; every trial is there once. The next run
    /// begins in an empty place.
    fn lead_to_the_end(&mut self, ended: bool) -> Result<u32, String> {
        if !ended {
            let mut controller = self.start()?;
            let code = self.await_end(&mut controller)?;
            if !ENDS.contains(&code) {
                let said = self.said()?;
                return Err(format!(
                    "the last resume ({:?}) ended with {code}: {said}",
                    self.part
                ));
            }
        }
        let export = self.output(&["export", "latest", "--format", "json"])?;
        let outcome = check_run(&export, self.killed)?;
        self.output(&["report", "latest"])?;
        self.look_for_runs();
        fs::remove_dir_all(self.runs()).map_err(|error| format!("removing the runs: {error}"))?;
        self.killed = 0;
        Ok(outcome.trials)
    }

    /// The run that is under way resumed, or a new one begun.
    fn start(&mut self) -> Result<Child, String> {
        let under_way = fs::read_dir(self.runs())
            .into_iter()
            .flatten()
            .flatten()
            .any(|run| run.path().join("run.sqlite").is_file());
        if !under_way {
            self.part = match self.series.random.below(4) {
                0 => Part::Labs,
                1 => Part::Drivers,
                2 => Part::Guests,
                _ => Part::Groups,
            };
            let study = self.series.place.join("chaos.toml");
            let text = study_of(&self.series.kind.study(), self.part);
            fs::write(study, text).map_err(|error| format!("a study: {error}"))?;
        }
        let option = match self.part {
            Part::Labs => "--spread",
            Part::Drivers => "--drivers",
            Part::Guests | Part::Groups => "--guests",
        };
        let run: &[&str] = match under_way {
            true => &["run", "--resume", "latest", "-q"],
            false => &["run", "chaos.toml", "-q"],
        };
        let said = fs::File::options()
            .create(true)
            .append(true)
            .open(self.series.place.join(SAID))
            .map_err(|error| format!("what the controllers say: {error}"))?;
        self.command(&[run, &[option, self.file.as_str()]].concat())
            .stderr(said)
            .process_group(0)
            .spawn()
            .map_err(starting)
    }

    fn await_end(&self, controller: &mut Child) -> Result<i32, String> {
        let began = Instant::now();
        while began.elapsed() < ENDING {
            match controller.try_wait() {
                Ok(Some(status)) => return Ok(status.code().unwrap_or(-1)),
                Ok(None) => sleep(Duration::from_millis(20)),
                Err(error) => return Err(format!("waiting for the run: {error}")),
            }
        }
        let _ = controller.kill();
        let _ = controller.wait();
        Err(format!("the run did not end within {ENDING:?}"))
    }

    /// Agents end by themselves when their controller is gone.
    fn await_agents(&mut self) -> Result<(), String> {
        let began = Instant::now();
        while (0..HOSTS).any(|number| self.hosts.agent(number).is_some()) {
            if began.elapsed() > ENDING {
                return Err("agents are left".to_owned());
            }
            sleep(Duration::from_millis(50));
        }
        self.look_for_runs();
        Ok(())
    }

    /// Keep the labels of the agents' runs: their directories go before what is looked for at the
    /// end.
    fn look_for_runs(&mut self) {
        let agents = (0..HOSTS).map(|number| self.hosts.directory(number).join("runs"));
        let all: Vec<String> = agents
            .chain([self.runs()])
            .flat_map(|runs| ids_of_runs(&runs))
            .collect();
        self.seen.extend(all);
        self.seen.sort();
        self.seen.dedup();
    }

    /// The end of what controllers said on their terminal.
    fn said(&self) -> Result<String, String> {
        let said = fs::read(self.series.place.join(SAID));
        let said = said.map_err(|error| format!("what the controllers said: {error}"))?;
        let said = String::from_utf8_lossy(&said).into_owned();
        let lines: Vec<&str> = said.lines().collect();
        let first = lines.len().saturating_sub(MOST_LINES);
        Ok(lines[first..].join("\n    "))
    }

    fn runs(&self) -> PathBuf {
        self.series.place.join("runs")
    }

    fn fleet(&self, what: &str) -> Result<(), String> {
        self.output(&["fleet", what, &self.file]).map(drop)
    }

    fn output(&self, args: &[&str]) -> Result<Vec<u8>, String> {
        let mut command = self.command(args);
        let output = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .output()
            .map_err(starting)?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let words = String::from_utf8_lossy(&output.stderr);
        Err(format!(
            "`rookery {}` ended with {}: {words}",
            args.join(" "),
            output.status
        ))
    }

    /// The command `rookery ARGS` on the controller's machine.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args([&self.hosts.controller_net(), "--"])
            .arg(self.series.program)
            .args(args)
            .current_dir(&self.series.place)
            .env("ROOKERY_RUNS", self.runs())
            .env("ROOKERY_TEMPLATES", self.series.templates)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }
}

/// The study of a run, from that of its kind, whose guests are bare and driven beside them.
fn study_of(study: &str, part: Part) -> String {
    match part {
        Part::Labs => study.to_owned(),
        Part::Drivers | Part::Guests => study
            .replace(
                "kind = \"bare",
                "kind = \"container\"\nmemory = \"128MiB per guest",
            )
            .replace("[host]\n", "[host]\ndriver = \"elsewhere\"\n"),
        Part::Groups => {
            let study = study_of(study, Part::Guests);
            let alike = study.split("[[layout]]").next().unwrap_or_default();
            format!(
                "{alike}[[layout]]\nname = \"all\"\nhosts = [\"a\", \"b\"]\n\
                 [[layout.group]]\nname = \"left\"\n[[layout.group]]\nname = \"right\"\n"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use rookery_study::Study;

    use super::*;
    use crate::chaos::kind::RunKind;

    #[test]
    fn its_studies_are_valid() {
        let study = RunKind::Fleet.study();
        for (part, word) in [
            (Part::Labs, "bare"),
            (Part::Drivers, "elsewhere"),
            (Part::Guests, "elsewhere"),
            (Part::Groups, "hosts"),
        ] {
            let text = study_of(&study, part);
            assert!(text.contains(word), "{text}");
            assert!(Study::parse("chaos.toml", &text).is_ok(), "{text}");
        }
    }
}
