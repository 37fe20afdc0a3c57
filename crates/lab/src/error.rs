//! What ends a run early, and what ends one trial. Errors within a trial are data.

use std::{
    io,
    path::{Path, PathBuf},
};

use rookery_analysis::search::SearchError;
use rookery_diagnosis::{Diagnosis, ErrorFields};
use rookery_driver::DriverError;
use rookery_guest::GuestError;
use rookery_host::{
    HostError, TopologyError,
    fio::FioError,
    iperf::IperfError,
    settings::{ProfileError, SettingsError},
};
use rookery_oltp::OltpError;
use rookery_stack::StackError;
use rookery_store::StoreError;
use rookery_web::ForeignRecording;

/// Why a run could not go on.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// This host cannot be described.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// The study names host settings that there are not.
    #[error("there is no profile `{name}` of host settings")]
    UnknownProfile {
        /// What the study names.
        name: String,
        /// What there is.
        known: String,
    },
    /// Host settings cannot be applied or put back.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A profile that comes with Rookery cannot be read.
    #[error("a profile of host settings that comes with Rookery cannot be read: {0}")]
    Profile(#[from] ProfileError),
    /// A setting that the study asks for cannot be made.
    #[error("{point}: {source}")]
    Setting {
        /// The point in words.
        point: String,
        /// What is wrong.
        source: StackError,
    },
    /// The storage cannot be measured.
    #[error(transparent)]
    Fio(#[from] FioError),
    /// A link cannot be measured.
    #[error(transparent)]
    Iperf(#[from] IperfError),
    /// I/O cannot be limited here.
    #[error("I/O cannot be limited: {0}")]
    Limits(#[source] HostError),
    /// A file system on which volumes are to lie has no room for them.
    #[error(transparent)]
    Disk(HostError),
    /// A volume was made and is not there.
    #[error("a volume that was made is not mounted")]
    NotMounted,
    /// Only measured systems can be rehearsed.
    #[error("the guests of a simulated study do not exist, so that there is nothing to rehearse")]
    NothingToRehearse,
    /// Only LAMP guests can do without their database.
    #[error("only LAMP guests can do without their database")]
    NeedsDatabase,
    /// The point is not one of a simulated study.
    #[error("only a simulated system has a truth that can be computed")]
    NotSimulated,
    /// A stack or its template failed.
    #[error(transparent)]
    Stack(#[from] StackError),
    /// A guest, a template or the lab itself failed.
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// Something of the guests of a trial stays on the host: every later trial would fail by it.
    #[error("the run stops, because guests cannot be removed from this host: {0}")]
    Left(#[source] GuestError),
    /// The driver could not even start.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// Resources could not be sampled.
    #[error("the resources of host and guests cannot be sampled: {0}")]
    Sampling(#[source] io::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file of the run failed.
    #[error("cannot {what} {path}: {source}", path = path.display())]
    File {
        /// What was attempted.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// There is no such run.
    #[error("there is no run `{name}` in {base}")]
    NoRun {
        /// What was asked for.
        name: String,
        /// Where it was looked for.
        base: String,
    },
    /// Another controller is at work.
    #[error("another process is at work on the run in {directory}")]
    Busy {
        /// The run's directory.
        directory: String,
    },
    /// Guests did not come up or answer in a rehearsal.
    #[error("{point}: {source}")]
    Rehearsal {
        /// The point in words.
        point: String,
        /// What happened.
        source: TrialError,
    },
    /// A stored plan has a trial without its point.
    #[error("the stored plan has no point for trial {trial}")]
    NoPoint {
        /// The trial.
        trial: u32,
    },
    /// The driver of a study is on other machines than its guests, and none was named.
    #[error("the driver of this study is on other machines than its guests, and none is named")]
    DriverElsewhere,
    /// Machines were named for a driver that is here.
    #[error("machines are named for the driver, but the study keeps it beside its guests")]
    DriverHere,
    /// Something cannot be driven from other machines.
    #[error("{what} cannot be driven from other machines")]
    NotDrivenElsewhere {
        /// What.
        what: &'static str,
        /// What can.
        help: &'static str,
    },
    /// A driver on another machine does not answer any more.
    #[error("the driver on host {host} was lost: {reason}")]
    DriverLost {
        /// Its name.
        host: String,
        /// Why, in words.
        reason: String,
    },
    /// A driver on another machine sent what is no record of its load.
    #[error(transparent)]
    Recording(ForeignRecording),
    /// The machines of a run do not have the CPUs that its plan is for.
    #[error("host {host} lends other CPUs than the plan is for")]
    OtherCpus {
        /// Its name.
        host: String,
    },
    /// Groups of guests name hosts, and no file of hosts is given for guests.
    #[error("groups of the study name the hosts of their guests, and no such hosts are given")]
    GroupsElsewhere,
    /// A group of guests names a host that the file of hosts lacks.
    #[error("a group names the host `{host}`, which the hosts file lacks (it has {known})")]
    NoSuchHost {
        /// Its name.
        host: String,
        /// Those that are there, in words.
        known: String,
    },
    /// No machine is left to perform trials.
    #[error("no host is left to perform the trials that remain")]
    NoLabLeft,
    /// Another machine cannot perform the study.
    #[error("host {host}: {}", .fields.message)]
    Elsewhere {
        /// Its name.
        host: String,
        /// What it said.
        fields: Box<ErrorFields>,
    },
    /// A search of the plan is not one that we made.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// A search asks for the same load again and again.
    #[error("search {search} asks for the load {load} without end")]
    EndlessSearch {
        /// Its number.
        search: u32,
        /// The load.
        load: f64,
    },
    /// A result cannot be written as JSON.
    #[error("the ceilings of the storage cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// Why one trial failed. The run goes on.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// A guest cannot be made, started or stopped.
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// The guests of the point cannot be described.
    #[error(transparent)]
    Stack(#[from] StackError),
    /// A guest could not be prepared, asked or audited.
    #[error("guest {guest}: {source}")]
    InGuest {
        /// Name of the guest.
        guest: String,
        /// What happened.
        source: StackError,
    },
    /// The thread that worked on a guest ended in a panic.
    #[error("guest {guest}: the thread that worked on it panicked")]
    Panicked {
        /// Name of the guest.
        guest: String,
    },
    /// The databases refused the sessions.
    #[error(transparent)]
    Sessions(#[from] OltpError),
    /// A guest died under the load.
    #[error("guest {guest} died under load: {reason}")]
    Died {
        /// Name of the guest.
        guest: String,
        /// How it ended.
        reason: String,
    },
    /// The load ended early.
    #[error("the load was ended: {0}")]
    Aborted(String),
    /// A calibration trial failed.
    #[error("a calibration trial with {size} failed: {source}")]
    Calibration {
        /// What was tried, in words.
        size: String,
        /// What happened.
        source: Box<TrialError>,
    },
    /// A calibration trial measured nothing.
    #[error("nothing was calibrated: {0}")]
    NotCalibrated(String),
}

/// What went wrong in a trial: with it alone, or with the whole run.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The trial fails, the run goes on.
    Trial(TrialError),
    /// The run ends.
    Run(LabError),
}

impl<E: Into<TrialError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Trial(error.into())
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        Self::Run(error)
    }
}

impl LabError {
    pub(crate) fn file(what: &'static str, path: &Path, source: io::Error) -> Self {
        Self::File {
            what,
            path: path.to_owned(),
            source,
        }
    }

    /// Whether it says no more than that the user asked to stop.
    pub(crate) fn is_stop(&self) -> bool {
        match self {
            Self::Guest(error) => matches!(error, GuestError::Stopped { .. }),
            Self::Stack(error) => is_stack_stop(error),
            Self::Fio(error) => matches!(error, FioError::Stopped),
            _ => false,
        }
    }
}

impl TrialError {
    /// Whether it says no more than that the user asked to stop.
    pub(crate) fn is_stop(&self) -> bool {
        match self {
            Self::Guest(error) => matches!(error, GuestError::Stopped { .. }),
            Self::Stack(error) | Self::InGuest { source: error, .. } => is_stack_stop(error),
            Self::Calibration { source, .. } => source.is_stop(),
            _ => false,
        }
    }
}

fn is_stack_stop(error: &StackError) -> bool {
    match error {
        StackError::Stopped | StackError::Guest(GuestError::Stopped { .. }) => true,
        StackError::Builder { source, .. } => is_stack_stop(source),
        _ => false,
    }
}

impl Diagnosis for LabError {
    fn code(&self) -> &'static str {
        match self {
            Self::Topology(error) => error.code(),
            Self::UnknownProfile { .. } => "study::unknown-profile",
            Self::Settings(error) => error.code(),
            Self::Profile(error) => error.code(),
            Self::Setting { source, .. } => source.code(),
            Self::Fio(error) => error.code(),
            Self::Iperf(error) => error.code(),
            Self::Limits(error) | Self::Disk(error) => error.code(),
            Self::NotMounted => "host::storage",
            Self::NothingToRehearse | Self::NeedsDatabase | Self::NotSimulated => "lab::stack",
            Self::Stack(error) => error.code(),
            Self::Guest(error) => error.code(),
            Self::Left(_) => "lab::left",
            Self::Driver(error) => error.code(),
            Self::Sampling(_) => "lab::sampling",
            Self::Store(error) => error.code(),
            Self::File { .. } => "lab::file",
            Self::NoRun { .. } => "lab::no-run",
            Self::Busy { .. } => "lab::busy",
            Self::Rehearsal { source, .. } => source.code(),
            Self::NoPoint { .. } => "lab::no-point",
            Self::DriverElsewhere | Self::DriverHere | Self::NotDrivenElsewhere { .. } => {
                "lab::driver-elsewhere"
            }
            Self::DriverLost { .. } => "lab::driver-lost",
            Self::Recording(_) => "lab::recording",
            Self::OtherCpus { .. } => "lab::other-cpus",
            Self::GroupsElsewhere | Self::NoSuchHost { .. } => "lab::group-host",
            Self::NoLabLeft => "lab::no-lab-left",
            Self::Elsewhere { .. } => "lab::elsewhere",
            Self::Search(error) => error.code(),
            Self::EndlessSearch { .. } => "lab::search",
            Self::Json(_) => "lab::json",
        }
    }

    fn place(&self) -> Option<String> {
        match self {
            Self::Topology(error) => error.place(),
            Self::Settings(error) => error.place(),
            Self::Profile(error) => error.place(),
            Self::Setting { source, .. } => source.place(),
            Self::Fio(error) => error.place(),
            Self::Iperf(error) => error.place(),
            Self::Limits(error) | Self::Disk(error) => error.place(),
            Self::Stack(error) => error.place(),
            Self::Guest(error) | Self::Left(error) => error.place(),
            Self::Driver(error) => error.place(),
            Self::Store(error) => error.place(),
            Self::Search(error) => error.place(),
            Self::Rehearsal { source, .. } => source.place(),
            Self::Elsewhere { fields, .. } => fields.place.clone(),
            _ => None,
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::UnknownProfile { known, .. } => {
                return Some(format!(
                    "`settings` in [host] takes none, {known}; `rookery host` shows what they do"
                ));
            }
            Self::Setting { source, .. } => return source.help(),
            Self::Stack(error) => return error.help(),
            Self::Driver(error) => return error.help(),
            Self::Topology(error) => return error.help(),
            Self::Settings(error) => return error.help(),
            Self::Fio(error) => return error.help(),
            Self::Iperf(error) => return error.help(),
            Self::Limits(error) | Self::Disk(error) => return error.help(),
            Self::Guest(error) => return error.help(),
            Self::Store(error) => return error.help(),
            Self::Profile(error) => return error.help(),
            Self::Search(error) => return error.help(),
            Self::Rehearsal { source, .. } => return source.help(),
            Self::Elsewhere { fields, .. } => return fields.help.clone(),
            Self::OtherCpus { .. } => {
                "lend the same CPUs of every host (`cpus` in the hosts file): each trial must find \
                 the same"
            }
            Self::GroupsElsewhere => {
                "name them with `--guests HOSTS.toml`, or remove `host` from [[layout.group]]"
            }
            Self::NoSuchHost { .. } => {
                "write the name of one of its hosts as `host` of the [[layout.group]], or add the \
                 host to the file of `--guests`"
            }
            Self::NoLabLeft => {
                "`rookery run --resume` with the same `--spread HOSTS.toml` or `--guests \
                 HOSTS.toml` goes on when hosts answer again"
            }
            Self::DriverElsewhere => {
                "name them with `--drivers HOSTS.toml`, or the hosts of the guests with `--guests \
                 HOSTS.toml`; or remove `driver = \"elsewhere\"` from [host]: the driver then has \
                 CPUs of this host"
            }
            Self::DriverHere => {
                "leave --drivers and --guests out, or put `driver = \"elsewhere\"` into [host]"
            }
            Self::NotDrivenElsewhere { help, .. } => help,
            Self::DriverLost { .. } => {
                "`rookery run --resume --drivers HOSTS.toml` goes on when it answers again; trials \
                 that were measured are kept"
            }
            Self::Recording(_) => "`rookery fleet up HOSTS.toml` copies this very build",
            Self::Left(_) => {
                "remove what is named (`rookery clean` tries it again and says what stays), then \
                 resume the run: the trials that were measured are kept"
            }
            Self::NothingToRehearse => "`rookery run` computes its trials",
            Self::NeedsDatabase => "leave --without-database out",
            Self::File { .. } => "check that the directory exists, is yours and has room",
            Self::NoRun { .. } => {
                "name the directory of a run, its id, or `latest`; `--runs DIR` says where runs \
                 are kept"
            }
            Self::Busy { .. } => "wait for it, or end it",
            _ => return None,
        };
        Some(help.to_owned())
    }
}

impl Diagnosis for TrialError {
    fn code(&self) -> &'static str {
        match self {
            Self::Guest(error) => error.code(),
            Self::Stack(error) | Self::InGuest { source: error, .. } => error.code(),
            Self::Panicked { .. } => "trial::panic",
            Self::Sessions(error) => error.code(),
            Self::Died { .. } => "trial::died",
            Self::Aborted(_) => "trial::aborted",
            Self::Calibration { .. } | Self::NotCalibrated(_) => "trial::calibration",
        }
    }

    fn place(&self) -> Option<String> {
        match self {
            Self::Guest(error) => error.place(),
            Self::Stack(error) | Self::InGuest { source: error, .. } => error.place(),
            Self::Sessions(error) => error.place(),
            Self::Calibration { source, .. } => source.place(),
            _ => None,
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::Stack(error) | Self::InGuest { source: error, .. } => error.help(),
            Self::Guest(error) => error.help(),
            Self::Calibration { source, .. } => source.help(),
            Self::Sessions(error) => error.help(),
            _ => None,
        }
    }
}
