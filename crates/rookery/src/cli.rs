//! What can be typed.

use std::{net::IpAddr, path::PathBuf};

use clap::{
    ArgAction, ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum,
};

use rookery_study::vm_shape::GuestNet;

use crate::colour::ColourChoice;
use crate::workloads::{
    AppCommand, DataCommand, DriveCommand, LoadCommand, TryArgs, VerifyCommand, WorkloadCommand,
};

mod choice;
mod fit;
mod fleet;
mod groups;
mod host;
mod labels;
mod live;
mod network;
mod new;
mod percentage;
mod predict;
mod storage;
mod template;
mod trend;

pub(crate) use self::{
    choice::ChoiceArgs,
    fit::{DecimalArg, FitArgs, WeightsArg},
    fleet::{AgentArgs, FleetArgs, FleetCommand, FleetLogsArgs},
    host::{HostApplyArgs, HostArgs, HostAuditArgs, HostCommand},
    labels::{DeleteArgs, LabelArgs},
    live::{LiveArgs, LiveRunArgs},
    network::{HostNetworkArgs, LinkName},
    new::{NewArgs, Question},
    predict::PredictArgs,
    storage::HostStorageArgs,
    template::{
        TemplateBuildCommand, TemplateCommand, TemplateLampArgs, TemplateListArgs, TemplatePlace,
        TemplateRemoveArgs,
    },
    trend::TrendArgs,
};

/// A scalability and consolidation laboratory for server stacks.
///
/// One study file in, one honest report out: how many users a stack carries within its
/// response-time limits, and what one big guest, many small ones and every layer cost.
#[derive(Debug, Parser)]
#[command(
    name = "rookery",
    version,
    after_help = crate::exit::TABLE,
    propagate_version = true,
    max_term_width = 80
)]
pub(crate) struct Cli {
    /// Log to standard error: -v what is done, -vv every command on the host, -vvv everything;
    /// RUST_LOG takes finer filters
    #[arg(long, short, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Colours: on terminals unless NO_COLOR is set, always, or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        value_enum,
        default_value_t,
        hide_possible_values = true
    )]
    pub(crate) color: ColourChoice,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// Whether the command keeps a log file beside what it measures.
    pub(crate) fn keeps_log(&self) -> bool {
        matches!(
            self.command,
            Command::Run(_) | Command::DemoLab(_) | Command::Rehearse(_) | Command::Agent(_)
        )
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Plan, run, judge and report a study
    Run(RunArgs),
    /// Compute a small study on a simulated host, in seconds, with nothing installed
    DemoLab(DemoLabArgs),
    /// Check study files: every problem with its line and the help
    Check(Box<CheckArgs>),
    /// Show what would run: points, trials, pins, memory, disk, time
    Plan(PlanArgs),
    /// Boot the guests of a study without load; report start time, CPU and memory
    Rehearse(RehearseArgs),
    /// Print the reference of all study keys, or the JSON Schema for editors
    Reference(ReferenceArgs),
    /// Generate the data of a workload
    #[command(subcommand)]
    Data(DataCommand),
    /// Load the data of a workload into a database that runs
    #[command(subcommand)]
    Load(LoadCommand),
    /// Check the consistency of a workload's database; exit code 10 if it is broken
    #[command(subcommand)]
    Verify(VerifyCommand),
    /// Run the server of an embedded stack by itself
    #[command(subcommand)]
    App(AppCommand),
    /// Drive a system that already runs
    #[command(subcommand)]
    Drive(DriveCommand),
    /// Check a workload file of your own, try it at a site, or derive one from a browser's HAR
    #[command(subcommand)]
    Workload(WorkloadCommand),
    /// Write a commented study from three questions
    New(NewArgs),
    /// List the studies that are built in, or print or write one; `rookery run @NAME` runs it
    Studies(StudiesArgs),
    /// List the stored runs, the newest first
    Runs(RunsArgs),
    /// Show or change the tags and the note of a stored run
    Label(LabelArgs),
    /// Delete stored runs, after a question
    Delete(DeleteArgs),
    /// Serve a page with all stored runs and those under way, to this machine's browsers
    Live(LiveArgs),
    /// Report a stored run again: summary to the terminal, report.html beside the store
    Report(ReportArgs),
    /// Compare stored runs: a verdict per metric with its interval, and an exit code for gates
    Compare(CompareArgs),
    /// Show the runs of a study over time, and since which run it is faster or slower
    Trend(TrendArgs),
    /// Export a stored run
    Export(ExportArgs),
    /// Fit scaling laws to measurements in a CSV file, and say how far to trust them
    Fit(FitArgs),
    /// Forecast layouts and loads that were not run, from a stored run, and how wrong that may be;
    /// plan guests on a host
    Predict(Box<PredictArgs>),
    /// Show what exists of all runs: guests, networks, mounts
    Guests(GuestsArgs),
    /// Remove everything that dead runs left behind
    Clean(CleanArgs),
    /// Build, list and remove the templates that guests are cloned from
    #[command(subcommand)]
    Template(TemplateCommand),
    /// Show this host; audit, apply and revert its settings
    Host(HostArgs),
    /// Use other machines: check them, copy this program there, show them, remove everything again
    #[command(subcommand)]
    Fleet(FleetCommand),
    /// Print the completions of a shell
    Completions(CompletionsArgs),
    /// Write manual pages, one for each command
    Man(ManArgs),
    /// Print the version
    Version,
    /// Start and keep the services of a guest; guests run this themselves
    #[command(hide = true, after_help = SUPERVISE_HELP)]
    Supervise(SuperviseArgs),
    /// Serve a controller over standard input and output; `fleet` starts this by ssh
    #[command(hide = true)]
    Agent(AgentArgs),
    /// Be the service of a virtual machine; the system of a guest starts this itself
    #[command(hide = true)]
    VmAgent,
}

/// What was typed, and whether it asks for JSON. Ends the process where it cannot be parsed.
pub(crate) fn parse() -> (Cli, bool) {
    let matches = groups::with_groups(Cli::command()).get_matches();
    let as_json = asks_for_json(&matches);
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    (cli, as_json)
}

/// Whether the command, or the subcommand that was typed last, has `--json` set.
fn asks_for_json(matches: &ArgMatches) -> bool {
    let here = matches.try_get_one::<bool>("json").ok().flatten() == Some(&true);
    here || matches
        .subcommand()
        .is_some_and(|(_, inner)| asks_for_json(inner))
}

/// Where runs are kept.
#[derive(Debug, Args)]
pub(crate) struct RunsPlace {
    /// Directory that holds the runs
    #[arg(
        long,
        value_name = "DIR",
        default_value = "rookery-runs",
        env = "ROOKERY_RUNS"
    )]
    pub(crate) runs: PathBuf,
}

/// Where runs and templates are kept.
#[derive(Debug, Args)]
pub(crate) struct Places {
    /// Directory that holds the runs
    #[arg(
        long,
        value_name = "DIR",
        default_value = "rookery-runs",
        env = "ROOKERY_RUNS"
    )]
    pub(crate) runs: PathBuf,
    /// Directory of templates, shared between runs [default: the user's cache directory]
    #[arg(long, value_name = "DIR", env = "ROOKERY_TEMPLATES")]
    pub(crate) templates: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Study file, or @NAME of a built-in study; with --resume a run's directory, name or id,
    /// `latest` (the default), or the study file of the run
    #[arg(
        value_name = "STUDY",
        required_unless_present = "resume",
        default_value_if("resume", "true", "latest")
    )]
    pub(crate) study: Option<String>,
    /// Go on with an interrupted run: finished trials are kept, the others are run
    #[arg(long, conflicts_with_all = ["scale", "guest"])]
    pub(crate) resume: bool,
    #[command(flatten)]
    pub(crate) choice: ChoiceArgs,
    /// Print nothing but errors and the path of the report
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Print events as JSON lines to standard output
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) live: LiveRunArgs,
    /// Guests may get addresses of this network of the host (`bridge:NAME` in the study);
    /// repeatable
    #[arg(long, value_name = "ADDRESS/PREFIX")]
    pub(crate) confirm_network: Vec<GuestNet>,
    /// The system at this address, which is not this machine, may be loaded (`target` of
    /// `[stack]`); repeatable
    #[arg(long, value_name = "IP")]
    pub(crate) confirm_target: Vec<IpAddr>,
    /// Perform trials side by side on the hosts of this file, which `rookery fleet up` has made
    /// ready
    #[arg(long, value_name = "HOSTS.toml", conflicts_with = "confirm_target")]
    pub(crate) spread: Option<PathBuf>,
    /// Drive users from the hosts of this file, which `rookery fleet up` has made ready; the study
    /// says `driver = "elsewhere"` in [host]
    #[arg(long, value_name = "HOSTS.toml", conflicts_with = "spread")]
    pub(crate) drivers: Option<PathBuf>,
    /// Keep the guests on the hosts of this file, which `rookery fleet up` has made ready, and
    /// drive their users from this machine or those of --drivers; the study says `driver =
    /// "elsewhere"` in its section `host`
    #[arg(
        long,
        value_name = "HOSTS.toml",
        conflicts_with_all = ["spread", "confirm_target"]
    )]
    pub(crate) guests: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) places: Places,
}

#[derive(Debug, Args)]
pub(crate) struct DemoLabArgs {
    /// Write the study of the demonstration to this file, to edit and `rookery run` it; `-` prints
    /// it. Nothing is computed
    #[arg(long, value_name = "FILE", conflicts_with_all = ["quiet", "json"])]
    pub(crate) study: Option<PathBuf>,
    /// Print nothing but errors and the path of the report
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Print events as JSON lines to standard output
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: RunsPlace,
}

#[derive(Debug, Args)]
pub(crate) struct RehearseArgs {
    /// Study file, or @NAME of a built-in study
    pub(crate) study: PathBuf,
    #[command(flatten)]
    pub(crate) choice: ChoiceArgs,
    /// How often the guests of each point come up and go
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,
    /// LAMP guests without MariaDB: Apache and PHP alone
    #[arg(long)]
    pub(crate) without_database: bool,
    /// Print one JSON object for each round
    #[arg(long)]
    pub(crate) json: bool,
    /// Guests may get addresses of this network of the host (`bridge:NAME` in the study);
    /// repeatable
    #[arg(long, value_name = "ADDRESS/PREFIX")]
    pub(crate) confirm_network: Vec<GuestNet>,
    /// The system at this address, which is not this machine, may be loaded (`target` of
    /// `[stack]`); repeatable
    #[arg(long, value_name = "IP")]
    pub(crate) confirm_target: Vec<IpAddr>,
    #[command(flatten)]
    pub(crate) places: Places,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Study files, or @NAME of built-in studies
    #[arg(required = true)]
    pub(crate) studies: Vec<PathBuf>,
    /// Check the file alone, not whether this host can run it
    #[arg(long)]
    pub(crate) file_only: bool,
    /// Directory of templates: what is built in it need not be buildable here [default: the user's
    /// cache directory]
    #[arg(long, value_name = "DIR", env = "ROOKERY_TEMPLATES")]
    pub(crate) templates: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) choice: ChoiceArgs,
    #[command(flatten)]
    pub(crate) at: TryArgs,
    /// Print problems as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// Study file, or @NAME of a built-in study
    pub(crate) study: PathBuf,
    #[command(flatten)]
    pub(crate) choice: ChoiceArgs,
    /// Plan for the host that this file describes (`rookery host describe` writes that of this one)
    #[arg(long, value_name = "FILE")]
    pub(crate) host: Option<PathBuf>,
    /// Show the plan although this host cannot run it; the problems and the exit code stay
    #[arg(long)]
    pub(crate) anyway: bool,
    /// Print the plan as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) places: Places,
}

#[derive(Debug, Args)]
pub(crate) struct ReferenceArgs {
    /// A table, such as `load` or `stack.settings`, or a key [default: all of them]
    #[arg(value_name = "TABLE", conflicts_with = "schema")]
    pub(crate) table: Option<String>,
    /// Print the JSON Schema instead of the text
    #[arg(long)]
    pub(crate) schema: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// A run's directory, name or id, or `latest`
    #[arg(default_value = "latest")]
    pub(crate) run: String,
    /// Write the report here instead of beside the store
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print the path of the report alone
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Print the analysis as JSON instead of the summary; writes the report only with `--html`
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) places: Places,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The run to compare with: its directory, name or id, or `latest`
    #[arg(value_name = "BASE")]
    pub(crate) base: String,
    /// The run to compare, likewise
    #[arg(value_name = "NEW")]
    pub(crate) new: String,
    /// A further run of the base; may be given several times
    #[arg(long = "base", value_name = "RUN")]
    pub(crate) more_base: Vec<String>,
    /// A further new run; may be given several times
    #[arg(long = "new", value_name = "RUN")]
    pub(crate) more_new: Vec<String>,
    /// Changes up to this size are not worth a word, such as 2%
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = percentage::percentage)]
    pub(crate) ignore: f64,
    /// Fail also where something cannot be said, or a point of the base has nothing to be compared
    /// with
    #[arg(long)]
    pub(crate) strict: bool,
    /// Write a page with figures here
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print the comparison as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) places: Places,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ExportFormat {
    Csv,
    Json,
    Parquet,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// A run's directory, name or id, or `latest`
    #[arg(default_value = "latest")]
    pub(crate) run: String,
    /// Format: one JSON document to standard output (or --out FILE), or one CSV or Parquet file per
    /// table into --out DIR
    #[arg(long, value_enum)]
    pub(crate) format: ExportFormat,
    /// Write this table alone, or several; histograms are written only so [default: all others]
    #[arg(long = "table", value_name = "NAME")]
    pub(crate) tables: Vec<String>,
    /// Where to write [default for csv and parquet: DIR/export beside the store]
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) places: Places,
}

#[derive(Debug, Args)]
pub(crate) struct StudiesArgs {
    /// Name of the study to print
    #[arg(value_name = "NAME")]
    pub(crate) study: Option<String>,
    /// Write the study into this directory instead, with all files that it names
    #[arg(long, value_name = "DIR", requires = "study")]
    pub(crate) into: Option<PathBuf>,
    /// Print the list as JSON
    #[arg(long, conflicts_with = "study")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    #[command(flatten)]
    pub(crate) place: RunsPlace,
    /// How many are listed at most
    #[arg(long, value_name = "COUNT", default_value_t = 50)]
    pub(crate) most: usize,
    /// Only runs that have this tag; repeatable
    #[arg(long, value_name = "WORD")]
    pub(crate) tag: Vec<String>,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Directory to write to; it is made if it does not exist
    #[arg(value_name = "DIR")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct GuestsArgs {
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    /// Only this run: its directory, name or id, or `latest` [default: all dead runs]
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Show what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) place: RunsPlace,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SuperviseArgs {
    /// Services file
    #[arg(value_name = "FILE")]
    pub(crate) services: PathBuf,
}

/// What `rookery supervise --help` says besides the arguments.
const SUPERVISE_HELP: &str = "\
A services file:
  [guest]
  user_namespace = true             # started by root: enter a user namespace first
  [[service]]                       # in the order of their start
  name = \"web\"                      # a-z, 0-9 and -
  command = [\"/usr/sbin/web\"]       # program and arguments
  environment = { KEY = \"value\" }   # besides PATH, LANG, TZ and the run's labels
  ready = \"socket:PATH\"             # or file:PATH, tcp:ADDRESS:PORT, log:TEXT; at once if not \
                              given
  ready_within_ms = 60000
  stop_signal = \"TERM\"              # or INT, QUIT, WINCH
  grace_ms = 10000                  # from the stop signal to SIGKILL
  keep_group = false                # true: may not begin a session or process group of its own
  oneshot = false                   # true: must end with exit code 0 before the next one starts
  creates = \"PATH\"                  # where this exists a oneshot is skipped

Exit codes:
  0  stopped as asked, every service within its grace
  2  the services file cannot be read or is wrong
  4  this host forbids what the services need (user namespaces)
  5  a service could not be started, was not ready in time, ended unasked, or had to be killed";
