//! `rookery live`, and the page beside a run.

use std::{
    path::Path,
    sync::{Arc, OnceLock, atomic::AtomicBool},
    thread,
    time::Duration,
};

use rookery_lab::{Event, PlanChanges};
use rookery_live::{Control, Journal, Limits, LiveError, LiveServer, Options};

use crate::{
    cli::{LiveArgs, LiveRunArgs},
    exit::{Code, Failure},
    output,
    progress::now,
    signals,
};

/// Time between two looks whether the user ends the server.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Serve until the user ends it.
pub(crate) fn run(args: &LiveArgs) -> Result<Code, Failure> {
    let stop = signals::stop_flag()?;
    let server = start(Options {
        listen: args.listen,
        plain_http_confirmed: args.confirm_plain_http,
        tls: args.tls.files(),
        runs: args.runs.clone(),
        // There is no run to stop: what is asked of it has no effect.
        control: args.control.then(|| Control::new(Arc::default())),
        limits: Limits::default(),
    })?;
    output::result(server.url());
    output::remark("the address lets its reader in; Ctrl-C ends the server");
    while !signals::came(&stop) {
        thread::sleep(LOOK_EVERY);
    }
    Ok(Code::Done)
}

fn start(options: Options) -> Result<LiveServer, Failure> {
    LiveServer::start(options).map_err(|error| {
        let code = match error {
            LiveError::NotLoopback { .. } | LiveError::Tls { .. } => Code::Usage,
            _ => Code::Host,
        };
        Failure::from_error(code, &error)
    })
}

/// What watches a run from beside it: its journal always, a page where it was asked for.
pub(crate) struct LiveRun {
    server: Option<LiveServer>,
    control: Control,
    journal: OnceLock<Journal>,
}

impl LiveRun {
    /// Begin to serve, if asked to, and print the address. `stop` is what Ctrl-C sets.
    pub(crate) fn start(
        args: Option<&LiveRunArgs>,
        runs: &Path,
        stop: &Arc<AtomicBool>,
        as_json: bool,
    ) -> Result<Self, Failure> {
        if args.is_some_and(|args| args.live.is_none() && args.tls.files().is_some()) {
            let text = "--tls-cert has no meaning without --live: nothing is served";
            return Err(Failure::new(Code::Usage, text).help("add --live"));
        }
        let control = Control::new(Arc::clone(stop));
        let asked = args.and_then(|args| Some((args, args.live?)));
        let options = asked.map(|(args, listen)| Options {
            listen,
            plain_http_confirmed: args.confirm_plain_http,
            tls: args.tls.files(),
            runs: vec![runs.to_owned()],
            control: args.control.then(|| control.clone()),
            limits: Limits::default(),
        });
        let server = options.map(start).transpose()?;
        match &server {
            Some(server) if as_json => output::result(
                serde_json::json!({ "event": "live", "at": now(), "url": server.url() }),
            ),
            Some(server) => output::remark(format!("live page: {}", server.url())),
            None => {}
        }
        Ok(Self {
            server,
            control,
            journal: OnceLock::new(),
        })
    }

    /// Where changes of the plan wait that the page asks for.
    pub(crate) fn changes(&self) -> PlanChanges {
        self.control.changes()
    }

    /// Take in an event of the run.
    pub(crate) fn hear(&self, event: &Event) {
        if let Event::RunStarted { directory, .. } = event {
            self.begin(Path::new(directory));
        }
        // A run without a journal is still worth more than none.
        if let Some(journal) = self.journal.get()
            && let Err(error) = journal.write(event, &now())
        {
            tracing::debug!(%error, "the journal of events cannot be written");
        }
        if matches!(event, Event::TrialEnded { .. }) {
            self.control.trial_ended();
        }
    }

    fn begin(&self, directory: &Path) {
        match Journal::open(directory) {
            Ok(journal) => drop(self.journal.set(journal)),
            Err(error) => tracing::debug!(%error, "no journal of events is kept"),
        }
        if let Some(server) = &self.server {
            server.conducts(directory);
        }
    }
}
