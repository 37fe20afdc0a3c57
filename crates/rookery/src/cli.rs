//! What can be typed.

use std::{net::IpAddr, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};

mod storage;

pub(crate) use storage::HostStorageArgs;

/// A scalability and consolidation laboratory for server stacks.
///
/// One study file in, one honest report out: how many users a stack carries within its response-time limits, and what one big guest, many small ones
/// and every layer cost.
#[derive(Debug, Parser)]
#[command(name = "rookery", version, after_help = crate::exit::TABLE, propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Plan, run, judge and report a study
    Run(RunArgs),
    /// See what Rookery answers: compute a small study on a simulated host, in seconds, with nothing installed
    DemoLab(DemoLabArgs),
    /// Say whether study files are right, with every problem, its line and the mend
    Check(CheckArgs),
    /// Show what would run: points, trials, pins, memory, disk, time
    Plan(PlanArgs),
    /// Let the guests of a study come up, answer a page and go, without users: what they cost before anybody uses them
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
    /// Serve an application of the embedded stack
    #[command(subcommand)]
    App(AppCommand),
    /// Drive a system that already runs
    #[command(subcommand)]
    Drive(DriveCommand),
    /// Report a stored run again: summary to the terminal, report.html beside the store
    Report(ReportArgs),
    /// Compare stored runs: a verdict per metric with its interval, and an exit code for gates
    Compare(CompareArgs),
    /// Export a stored run
    Export(ExportArgs),
    /// Fit scaling laws to measurements in a CSV file, and say how far to trust them
    Fit(FitArgs),
    /// Say what layouts and loads that were not run would do, from a stored run, and how wrong that may be; plan guests on a host
    Predict(Box<crate::commands::predict::PredictArgs>),
    /// Show what exists of all runs: guests, networks, mounts
    Guests(GuestsArgs),
    /// Remove everything that dead runs left behind
    Clean(CleanArgs),
    /// Build, list and remove the templates that guests are cloned from
    #[command(subcommand)]
    Template(TemplateCommand),
    /// Show this host; audit, apply and revert its settings
    Host(HostArgs),
    /// Start and keep the services of a guest; guests run this themselves
    #[command(hide = true, after_help = SUPERVISE_HELP)]
    Supervise(SuperviseArgs),
}

/// Where runs and templates are kept.
#[derive(Debug, Args)]
pub(crate) struct Places {
    /// Directory that holds the runs
    #[arg(long, value_name = "DIR", default_value = "rookery-runs", env = "ROOKERY_RUNS")]
    pub(crate) runs: PathBuf,
    /// Directory of templates, shared between runs [default: the user's cache directory]
    #[arg(long, value_name = "DIR", env = "ROOKERY_TEMPLATES")]
    pub(crate) templates: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Study file; with --resume a run's directory, name or id, `latest` (the default), or the study file of the run
    #[arg(
        value_name = "STUDY",
        required_unless_present = "resume",
        default_value_if("resume", "true", "latest")
    )]
    pub(crate) study: Option<String>,
    /// Go on with an interrupted run: finished trials are kept, the others are run
    #[arg(long)]
    pub(crate) resume: bool,
    /// Run the study in one of the scales of its file
    #[arg(long, value_name = "NAME", conflicts_with = "resume")]
    pub(crate) scale: Option<String>,
    /// Print nothing but errors and the path of the report
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Print events as JSON lines to standard output
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) places: Places,
}

#[derive(Debug, Args)]
pub(crate) struct DemoLabArgs {
    /// Write the study of the demonstration to this file, to edit and `rookery run` it; `-` prints it. Nothing is computed
    #[arg(long, value_name = "FILE", conflicts_with_all = ["quiet", "json"])]
    pub(crate) study: Option<PathBuf>,
    /// Print nothing but errors and the path of the report
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Print events as JSON lines to standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Directory that holds the runs
    #[arg(long, value_name = "DIR", default_value = "rookery-runs", env = "ROOKERY_RUNS")]
    pub(crate) runs: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct RehearseArgs {
    /// Study file
    pub(crate) study: PathBuf,
    /// Rehearse the study in one of the scales of its file
    #[arg(long, value_name = "NAME")]
    pub(crate) scale: Option<String>,
    /// How often the guests of each point come up and go
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,
    /// LAMP guests without MariaDB: Apache and PHP alone
    #[arg(long)]
    pub(crate) without_database: bool,
    /// Print one JSON object for each round
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) places: Places,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Study files
    #[arg(required = true)]
    pub(crate) studies: Vec<PathBuf>,
    /// Check the file alone, not whether this host can run it
    #[arg(long)]
    pub(crate) file_only: bool,
    /// Directory of templates: what is built in it need not be buildable here [default: the user's cache directory]
    #[arg(long, value_name = "DIR", env = "ROOKERY_TEMPLATES")]
    pub(crate) templates: Option<PathBuf>,
    /// Check this host for the study in one of the scales of its file
    #[arg(long, value_name = "NAME")]
    pub(crate) scale: Option<String>,
    /// Print problems as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// Study file
    pub(crate) study: PathBuf,
    /// Plan the study in one of the scales of its file
    #[arg(long, value_name = "NAME")]
    pub(crate) scale: Option<String>,
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
    /// Print the JSON Schema instead of the text
    #[arg(long)]
    pub(crate) schema: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// DVD Store 2.1 load files
    Dvdstore(DataDvdstoreArgs),
    /// Order-entry files for the bulk loaders of databases
    Orderentry(DataOrderentryArgs),
}

/// Word lists of titles and actors; Rookery's own by default.
#[derive(Debug, Args)]
pub(crate) struct WordArgs {
    /// File of 1000 title words, one a line
    #[arg(long, value_name = "FILE", requires = "first_names", requires = "last_names")]
    pub(crate) title_words: Option<PathBuf>,
    /// File of 200 first names
    #[arg(long, value_name = "FILE", requires = "title_words")]
    pub(crate) first_names: Option<PathBuf>,
    /// File of 200 last names
    #[arg(long, value_name = "FILE", requires = "title_words")]
    pub(crate) last_names: Option<PathBuf>,
    /// Learn the three lists from a product file of another DVD Store
    #[arg(long, value_name = "PROD_CSV", conflicts_with = "title_words")]
    pub(crate) learn_words: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CustomerRandom {
    /// As the published files were made
    Newlib,
    /// As the generator makes them on Linux
    Gnu,
}

#[derive(Debug, Args)]
pub(crate) struct DataDvdstoreArgs {
    /// S, M, L, or a whole number with MB or GB
    #[arg(long, default_value = "10MB")]
    pub(crate) size: String,
    /// Directory to write to; it is made if it does not exist [default: dvdstore-SIZE]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Random generator of the customers
    #[arg(long, value_enum, default_value_t = CustomerRandom::Newlib)]
    pub(crate) customers: CustomerRandom,
    /// End lines with CR LF
    #[arg(long)]
    pub(crate) crlf: bool,
    /// Threads [default: all CPUs]
    #[arg(long)]
    pub(crate) threads: Option<usize>,
    /// Replace files that exist
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Print SHA-256 digests of the files; up to 100MB they are printed anyway
    #[arg(long)]
    pub(crate) digests: bool,
    /// No progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) words: WordArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrderentryFormat {
    /// Comma separated, for any database
    Csv,
    /// For COPY of PostgreSQL
    Copy,
    /// For LOAD DATA of MariaDB and MySQL
    LoadData,
}

#[derive(Debug, Args)]
pub(crate) struct DataOrderentryArgs {
    /// Number of warehouses, about 75 MB each
    #[arg(long, default_value_t = 1)]
    pub(crate) warehouses: u32,
    /// Directory to write to; it is made if it does not exist [default: orderentry-WAREHOUSES]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// For which bulk loader
    #[arg(long, value_enum, default_value_t = OrderentryFormat::Csv)]
    pub(crate) format: OrderentryFormat,
    /// Seed; the same seed gives the same bytes
    #[arg(long, default_value_t = 42)]
    pub(crate) seed: u64,
    /// Divide the rows of each warehouse for a test database: 2, 4, 5, 10, 20, 25, 50 or 100
    #[arg(long, default_value_t = 1)]
    pub(crate) divisor: u32,
    /// Time of the load in the rows [default: 2000-01-01 00:00:00]
    #[arg(long, value_name = "TIME")]
    pub(crate) loaded_at: Option<String>,
    /// Threads [default: all CPUs]
    #[arg(long)]
    pub(crate) threads: Option<usize>,
    /// Replace files that exist
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// No progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Say in JSON what was written
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AppCommand {
    /// The DVD Store pages from one SQLite file
    Dvdstore(AppDvdstoreArgs),
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PagesArg {
    /// Without the known defects of the original
    Corrected,
    /// With them
    Faithful,
}

#[derive(Debug, Args)]
pub(crate) struct AppDvdstoreArgs {
    /// Database file
    #[arg(long, value_name = "FILE")]
    pub(crate) database: PathBuf,
    /// Load a database of this size first if the file does not exist
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<String>,
    /// Address and port
    #[arg(long, default_value = "127.0.0.1:8080")]
    pub(crate) listen: std::net::SocketAddr,
    /// Worker threads
    #[arg(long, default_value_t = 1)]
    pub(crate) workers: usize,
    /// Corrected or faithful pages
    #[arg(long, value_enum, default_value_t = PagesArg::Corrected)]
    pub(crate) pages: PagesArg,
    /// CPU time that every page burns on purpose, such as 200us: a slow-down of known size, to test measurements
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = rookery_study::parse_duration)]
    pub(crate) extra_cpu: Duration,
    /// Directory of the pages in URLs
    #[arg(long, default_value = "ds2")]
    pub(crate) directory: String,
    #[command(flatten)]
    pub(crate) words: WordArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DriveCommand {
    /// Emulated DVD Store users
    Dvdstore(Box<DriveDvdstoreArgs>),
    /// Terminals of the order-entry workload on a database
    Orderentry(Box<crate::commands::orderentry::drive::DriveOrderentryArgs>),
}

#[derive(Debug, Subcommand)]
pub(crate) enum LoadCommand {
    /// The order-entry workload
    Orderentry(crate::commands::orderentry::load::LoadOrderentryArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum VerifyCommand {
    /// The order-entry workload
    Orderentry(crate::commands::orderentry::verify::VerifyOrderentryArgs),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DriveFormat {
    /// Tables for people, at the end
    Text,
    /// The measurement as JSON, at the end
    Json,
    /// The lines of the original driver: one every 10 s, and the final ones
    Original,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PacingArg {
    /// A pause after each order
    Think,
    /// From the start of one order to the start of the next
    Cycle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalsArg {
    /// Independent of each other
    Poisson,
    /// At even distances
    Uniform,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PrecisionArg {
    /// Each at its own time, to some microseconds
    Exact,
    /// Those of a millisecond together: cheaper
    Batched,
}

#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    /// Open load: visitors arrive on a schedule that does not wait for answers, order and leave; so many per second at each target, such as
    /// 100, 10..200, 30s:100,30s:200,10s:~50 or swing:100:0.5:60s
    #[arg(long, value_name = "RATE", conflicts_with = "users")]
    pub(crate) open: Option<String>,
    /// With --open: how arrivals are spaced
    #[arg(long, value_enum, default_value_t = ArrivalsArg::Poisson)]
    pub(crate) arrivals: ArrivalsArg,
    /// With --open: visitors present at one target; further arrivals are dropped and counted
    #[arg(long, default_value_t = 1000)]
    pub(crate) max_in_flight: u32,
    /// With --open: how exactly arrivals are started
    #[arg(long, value_enum, default_value_t = PrecisionArg::Exact)]
    pub(crate) precision: PrecisionArg,
    /// With --open: after an order a visitor thinks and orders again with this probability (a partly open load)
    #[arg(long, value_name = "PROBABILITY", requires = "open")]
    pub(crate) go_on: Option<f64>,
    /// With --open: orders of each visitor, with think times between them (a partly open load)
    #[arg(long, requires = "open", conflicts_with = "go_on")]
    pub(crate) acts: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct DriveDvdstoreArgs {
    /// System to drive; several are driven alike
    #[arg(long, required_unless_present = "config_file", value_name = "http://HOST[:PORT][/DIRECTORY]")]
    pub(crate) target: Vec<String>,
    /// Yes, load may be aimed at this address although it is not on this machine
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) confirm_target: Vec<IpAddr>,
    /// Parameter file of the original driver, lines of name=value; what is given here too, wins over it
    #[arg(long, value_name = "FILE")]
    pub(crate) config_file: Option<PathBuf>,
    /// Users per target [default: 1]
    #[arg(long)]
    pub(crate) users: Option<u32>,
    #[command(flatten)]
    pub(crate) load: OpenArgs,
    /// Size of the loaded database [default: 10MB]
    #[arg(long)]
    pub(crate) size: Option<String>,
    /// Mean think time between orders, such as 250ms; with --pacing cycle the cycle time [default: 0s]
    #[arg(long)]
    pub(crate) think_time: Option<String>,
    /// What the think time is counted from
    #[arg(long, value_enum, default_value_t = PacingArg::Think)]
    pub(crate) pacing: PacingArg,
    /// Users start evenly over this time [default: 2s]
    #[arg(long)]
    pub(crate) ramp_up: Option<String>,
    /// Time from the end of ramp-up to the measured window [default: 3s]
    #[arg(long, visible_alias = "warm-up")]
    pub(crate) settle: Option<String>,
    /// The measured window [default: 30s]
    #[arg(long, visible_alias = "run-time")]
    pub(crate) steady: Option<String>,
    /// How long orders under way are awaited at the end
    #[arg(long, default_value = "5s")]
    pub(crate) drain: String,
    /// Limit on one request
    #[arg(long, default_value = "10s")]
    pub(crate) timeout: String,
    /// Share of orders that start with a new customer [default: 0.2]
    #[arg(long)]
    pub(crate) new_customers: Option<f64>,
    /// Mean searches per order [default: 3]
    #[arg(long)]
    pub(crate) searches: Option<u32>,
    /// Mean rows asked for per search [default: 5]
    #[arg(long)]
    pub(crate) search_batch: Option<u32>,
    /// Mean items per order [default: 5]
    #[arg(long)]
    pub(crate) line_items: Option<u32>,
    /// Page suffix [default: php]
    #[arg(long)]
    pub(crate) page_type: Option<String>,
    /// CPUs of the driver, such as 1 or 2-3 [default: the last CPU]
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<String>,
    /// Seed of all random streams
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// What is printed
    #[arg(long, value_enum, default_value_t = DriveFormat::Text)]
    pub(crate) format: DriveFormat,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// With --format original: lines of each target too, every 10 s
    #[arg(long)]
    pub(crate) detailed: bool,
    /// No progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) words: WordArgs,
    /// Learn the words to search for from the first target's own pages, by at most 400 searches before the load
    #[arg(long, conflicts_with_all = ["learn_words", "title_words"])]
    pub(crate) learn_from_pages: bool,
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
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = crate::commands::compare::percentage)]
    pub(crate) ignore: f64,
    /// Fail also where something cannot be said, or a point of the base has nothing to be compared with
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
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// A run's directory, name or id, or `latest`
    #[arg(default_value = "latest")]
    pub(crate) run: String,
    /// Format: one JSON document to standard output (or --out FILE), or one CSV file per table into --out DIR
    #[arg(long, value_enum)]
    pub(crate) format: ExportFormat,
    /// Where to write [default for csv: DIR/export beside the store]
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) places: Places,
}

/// What parts whole numbers from fractions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DecimalArg {
    /// 1234.5
    Point,
    /// 1234,5
    Comma,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WeightsArg {
    /// All runs alike
    Equal,
    /// 1/X^2: the scatter grows with throughput
    Relative,
    /// 1/variance of the load's runs; three runs at every load
    Variance,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct FitArgs {
    /// CSV file: a line of column names, then one line per run; separated by comma, semicolon, tab, bar or blanks
    pub(crate) file: PathBuf,
    /// Column of the load (users, CPUs or guests), by name or number
    #[arg(long, value_name = "COLUMN")]
    pub(crate) n: String,
    /// Column of the throughput, by name or number
    #[arg(long, value_name = "COLUMN")]
    pub(crate) x: String,
    /// Column that says why a run does not count; empty, 0, no, ok or done: it counts
    #[arg(long, value_name = "COLUMN")]
    pub(crate) exclude: Option<String>,
    /// Decimal mark of the numbers [default: told from the numbers]
    #[arg(long, value_enum, value_name = "MARK")]
    pub(crate) decimal: Option<DecimalArg>,
    /// Known think time; the closed queue's delay is at least that
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    pub(crate) z: f64,
    /// Predict the throughput at this load; may be given several times
    #[arg(long, value_name = "N")]
    pub(crate) at: Vec<f64>,
    /// How much each run counts
    #[arg(long, value_enum, default_value_t = WeightsArg::Equal)]
    pub(crate) weights: WeightsArg,
    /// Hold lambda at the throughput of load 1
    #[arg(long)]
    pub(crate) two_parameter: bool,
    /// Print what the methods of published fits give (lambda free or held, Gunther's transform), of a refused law too
    #[arg(long)]
    pub(crate) published: bool,
    /// Draws of the bootstrap
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) draws: u32,
    /// Seed of the bootstrap
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Write a figure as one self-contained HTML file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct GuestsArgs {
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct HostArgs {
    #[command(subcommand)]
    pub(crate) command: Option<HostCommand>,
    #[command(flatten)]
    pub(crate) show: HostShowArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HostCommand {
    /// Show this host as Rookery sees it (the same as `rookery host`)
    Show(HostShowArgs),
    /// Compare every setting that Rookery knows with what profiles recommend; changes nothing
    Audit(HostAuditArgs),
    /// Change settings to those of a profile, until `rookery host revert`
    Apply(HostApplyArgs),
    /// Put every setting back as it was before `apply`
    Revert(HostShowArgs),
    /// Measure with fio what a directory, or the storage that a study asks for, can do at growing queue depths
    Storage(HostStorageArgs),
}

#[derive(Debug, Args)]
pub(crate) struct HostShowArgs {
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HostAuditArgs {
    /// Name of a profile, or a TOML file of your own; may be given several times [default: all profiles that come with Rookery]
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Vec<String>,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HostApplyArgs {
    /// Name of a profile (`rookery host audit` lists them), or a TOML file of your own
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: String,
    /// Put everything back when this command ends: it waits for Ctrl-C
    #[arg(long)]
    pub(crate) hold: bool,
    /// Yes, change also what loses committed data at a power failure unless the disks' caches are on battery
    #[arg(long)]
    pub(crate) accept_data_loss: bool,
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
  ready = \"socket:PATH\"             # or file:PATH, tcp:ADDRESS:PORT, log:TEXT; at once if not given
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

#[derive(Debug, Subcommand)]
pub(crate) enum TemplateCommand {
    /// Build the root file system of a stack, ahead of the first run that needs it
    #[command(subcommand)]
    Build(TemplateBuildCommand),
    /// Show what is built: what it holds, what it takes, when it was last used
    List(TemplateListArgs),
    /// Remove templates; a run that needs one builds it again
    Remove(TemplateRemoveArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum TemplateBuildCommand {
    /// Apache, PHP and MariaDB from distribution packages
    Lamp(TemplateLampArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TemplateLampArgs {
    /// Release of Debian [default: this host's own, else bookworm]
    #[arg(long, value_name = "NAME")]
    pub(crate) suite: Option<String>,
    /// Where packages come from: an address, or a file of apt sources [default: this host's own sources, else Debian's]
    #[arg(long, value_name = "URL")]
    pub(crate) mirror: Option<String>,
    /// Print nothing but errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Print progress and result as JSON lines to standard output
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: TemplatePlace,
}

#[derive(Debug, Args)]
pub(crate) struct TemplateListArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: TemplatePlace,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub(crate) struct TemplateRemoveArgs {
    /// Digests, or their first characters
    #[arg(value_name = "DIGEST", group = "which")]
    pub(crate) digests: Vec<String>,
    /// All that no living run uses
    #[arg(long, group = "which")]
    pub(crate) all: bool,
    /// Those that were not used for so many days
    #[arg(long, value_name = "DAYS", group = "which", value_parser = clap::value_parser!(u32).range(0..=36_500))]
    pub(crate) unused: Option<u32>,
    /// Remove what stands on them as well
    #[arg(long)]
    pub(crate) with_dependents: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: TemplatePlace,
}

/// Where templates are kept.
#[derive(Debug, Args)]
pub(crate) struct TemplatePlace {
    /// Directory of templates [default: the user's cache directory]
    #[arg(long, value_name = "DIR", env = "ROOKERY_TEMPLATES")]
    pub(crate) templates: Option<PathBuf>,
}
