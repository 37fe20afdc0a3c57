//! What can go wrong with a stack.

use std::{io, path::PathBuf};

use rookery_diagnosis::Diagnosis;
use rookery_guest::GuestError;
use rookery_image::ImageError;
use rookery_oltp::{OltpError, sqlite::ServeError};
use rookery_study::PointData;

use crate::{
    database::DatabaseError,
    embedded::EmbeddedError,
    lamp::{AuditError, LampError, LoadError, SiteError, sql::SqlError},
    root::RootError,
    tuning::TuningError,
};

/// Why a stack cannot be built, prepared, asked or audited.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// The host lacks what the stack needs.
    #[error("this host cannot run {stack} guests: {source}")]
    HostNotReady {
        /// The stack.
        stack: &'static str,
        /// What is missing.
        source: Box<StackError>,
    },
    /// The stack does not serve the workload of the study.
    #[error("{stack} does not serve the workload {workload}")]
    OtherWorkload {
        /// The stack.
        stack: &'static str,
        /// The workload.
        workload: &'static str,
    },
    /// The stack does not serve the workload whose data it shall hold.
    #[error("{stack} does not serve {data}")]
    OtherData {
        /// The stack.
        stack: &'static str,
        /// What it was asked to hold.
        data: String,
    },
    /// A setting has no value in a guest.
    #[error(transparent)]
    Setting(#[from] TuningError),
    /// A guest or a template failed.
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// A root file system cannot be built.
    #[error(transparent)]
    Root(#[from] RootError),
    /// A container image cannot be read or unpacked.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The database of the embedded stack failed.
    #[error(transparent)]
    Embedded(#[from] EmbeddedError),
    /// Programs of LAMP are missing.
    #[error(transparent)]
    Lamp(#[from] LampError),
    /// What the user names is no site.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// The server that comes with a workload failed.
    #[error("{0}")]
    Bundled(Box<dyn Diagnosis + Send + Sync>),
    /// A LAMP database cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A LAMP database cannot be audited.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// MariaDB refused a statement, or did not answer.
    #[error(transparent)]
    Sql(#[from] SqlError),
    /// A database server failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// A session of order entry failed.
    #[error(transparent)]
    Session(#[from] OltpError),
    /// The server that makes an SQLite database failed.
    #[error(transparent)]
    Sqlite(#[from] ServeError),
    /// A request to a guest's web server was not answered.
    #[error("{url}: {source}")]
    Request {
        /// What was asked for.
        url: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A guest's web server answered something else.
    #[error("{url}: {what}")]
    Page {
        /// What was asked for.
        url: String,
        /// What is wrong with the answer.
        what: String,
    },
    /// A command of the user failed.
    #[error("`{key}` of [stack] ended with {failure}: {output}")]
    Command {
        /// The key of the study that has it.
        key: &'static str,
        /// How it ended.
        failure: String,
        /// Its words.
        output: String,
    },
    /// The server of a guest ended before it answered.
    #[error("{server} ended before it answered: {reason}")]
    Ended {
        /// The server.
        server: String,
        /// How it ended.
        reason: String,
    },
    /// The server of a guest did not answer in time.
    #[error("{server} did not answer within {seconds} s")]
    Late {
        /// The server.
        server: String,
        /// The limit.
        seconds: u64,
        /// Its last refusal.
        source: Box<StackError>,
    },
    /// The server that filled a template did not end by itself.
    #[error("{server} did not stop in order: {reason}")]
    NotStopped {
        /// The server.
        server: String,
        /// What became of it.
        reason: String,
    },
    /// The guest that makes a template did not do it.
    #[error("{what} failed: {reason}")]
    NotMade {
        /// What it was to do.
        what: &'static str,
        /// What became of it.
        reason: String,
    },
    /// The value of a secret is not to be had. It is never said.
    #[error("the secret `{name}` cannot be read from {place}: {source}")]
    Secret {
        /// The variable.
        name: String,
        /// Where its value should be.
        place: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The load of a template's database made no progress.
    #[error("the load stood still for {seconds} s")]
    LoadStalled {
        /// The limit.
        seconds: u64,
    },
    /// The database of a template is not consistent right after its load.
    #[error(
        "{count} conditions are broken right after the load; the first, {condition}, has the \
         offenders {offenders}"
    )]
    LoadBroken {
        /// How many conditions are broken.
        count: usize,
        /// The first of them in words.
        condition: &'static str,
        /// What breaks it.
        offenders: String,
    },
    /// The guest in which a template is made failed.
    #[error("{source}\n  the guest's log ends with:\n{log}")]
    Builder {
        /// What failed.
        source: Box<StackError>,
        /// Tail of the guest's log.
        log: String,
    },
    /// The files of a database cannot be copied into its template.
    #[error("copying {from} to {to}: {what}", from = from.display(), to = to.display())]
    Copy {
        /// The files.
        from: PathBuf,
        /// Their place in the template.
        to: PathBuf,
        /// What failed, with the words of `cp`.
        what: String,
    },
    /// A file or a thread of this host failed.
    #[error("{what}: {source}")]
    Io {
        /// What was attempted.
        what: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The study asks for a buffer pool where the stack has none.
    #[error("{stack} has a cache for each session and no buffer pool whose size can be chosen")]
    NoPool {
        /// The stack.
        stack: &'static str,
    },
    /// The connections of a guest are more than the streams of one client of iperf3.
    #[error("iperf3 has at most 128 streams for each guest, and not {streams}")]
    TooManyStreams {
        /// How many are asked for.
        streams: u32,
    },
    /// Groups of guests are to share the parts of a stack that has none.
    #[error("this stack cannot be divided into tiers")]
    NoTiers,
    /// The servers of a workload are to be in groups of their own, and cannot.
    #[error("with the workload {workload}, LAMP cannot be divided into tiers")]
    NoTiersOfWorkload {
        /// The workload.
        workload: &'static str,
    },
    /// The device that holds the data of a guest fails.
    #[error("the device of its data fails")]
    StorageFailed,
    /// The caller asked to stop.
    #[error("stopped, as asked")]
    Stopped,
}

impl StackError {
    /// The server that comes with a workload failed.
    pub(crate) fn bundled(error: impl Diagnosis + Send + Sync + 'static) -> Self {
        Self::Bundled(Box::new(error))
    }

    pub(crate) fn other_data(stack: &'static str, data: PointData) -> Self {
        Self::OtherData {
            stack,
            data: data.to_string(),
        }
    }

    pub(crate) fn not_ready(stack: &'static str, source: impl Into<Self>) -> Self {
        Self::HostNotReady {
            stack,
            source: Box::new(source.into()),
        }
    }
}

impl Diagnosis for StackError {
    fn code(&self) -> &'static str {
        match self {
            Self::HostNotReady { .. } => "stack::host-not-ready",
            Self::OtherWorkload { .. } | Self::OtherData { .. } => "stack::other-workload",
            Self::Setting(error) => error.code(),
            Self::Guest(error) => error.code(),
            Self::Root(error) => error.code(),
            Self::Image(error) => error.code(),
            Self::Embedded(error) => error.code(),
            Self::Bundled(error) => error.code(),
            Self::Lamp(error) => error.code(),
            Self::Site(error) => error.code(),
            Self::Load(error) => error.code(),
            Self::Audit(error) => error.code(),
            Self::Sql(error) => Diagnosis::code(error),
            Self::Database(error) => error.code(),
            Self::Session(_) | Self::Sqlite(_) => "stack::database",
            Self::Request { .. } | Self::Page { .. } => "stack::page",
            Self::Command { .. } => "stack::command",
            Self::Ended { .. } | Self::Late { .. } | Self::NotStopped { .. } => "stack::server",
            Self::NotMade { .. } => "stack::install",
            Self::Secret { .. } => "stack::secret",
            Self::LoadStalled { .. } | Self::LoadBroken { .. } => "stack::load",
            Self::Builder { source, .. } => source.code(),
            Self::Copy { .. } | Self::Io { .. } => "stack::file",
            Self::StorageFailed => "stack::storage",
            Self::NoPool { .. } => "stack::no-pool",
            Self::TooManyStreams { .. } => "stack::too-many-streams",
            Self::NoTiers | Self::NoTiersOfWorkload { .. } => "stack::no-tiers",
            Self::Stopped => "stack::stopped",
        }
    }

    fn place(&self) -> Option<String> {
        match self {
            Self::HostNotReady { source, .. } | Self::Builder { source, .. } => source.place(),
            Self::Image(error) => error.place(),
            Self::Site(error) => error.place(),
            _ => None,
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::HostNotReady { source, .. } | Self::Builder { source, .. } => {
                return source.help();
            }
            Self::Session(error) => return error.help(),
            Self::Sqlite(error) => return error.help(),
            Self::Setting(error) => return error.help(),
            Self::Root(error) => return error.help(),
            Self::Image(error) => return error.help(),
            Self::Embedded(error) => return error.help(),
            Self::Bundled(error) => return error.help(),
            Self::Lamp(error) => return error.help(),
            Self::Site(error) => return error.help(),
            Self::Load(error) => return error.help(),
            Self::Audit(error) => return error.help(),
            Self::Sql(error) => return error.help(),
            Self::Database(error) => return error.help(),
            Self::Guest(error) => return error.help(),
            Self::OtherWorkload { .. } | Self::OtherData { .. } => {
                "choose a stack that serves the workload of the study"
            }
            Self::NotMade { .. } => {
                "see the end of the guest's log; correct `install` of [stack], or give it more \
                 time by `install_limit`"
            }
            Self::Secret { .. } => {
                "write the value into this file, or set this variable, and start again"
            }
            Self::Ended { .. } | Self::Late { .. } | Self::NotStopped { .. } => {
                "see the guest's log; give the guest more memory or CPU"
            }
            Self::LoadStalled { .. } => "check that the disk is not full and not overloaded",
            Self::LoadBroken { .. } => "load again; if it happens again, report a defect",
            Self::Copy { .. } | Self::Io { .. } => "check that the disk has room",
            Self::StorageFailed => "look into the kernel's log (`dmesg`)",
            Self::NoPool { .. } => "leave `hit_target` out of [workload]",
            Self::TooManyStreams { .. } => {
                "take fewer `users` or more guests, or leave `program` of [workload] out"
            }
            Self::NoTiersOfWorkload { .. } => {
                "leave `tier_of` out: each guest has its own database"
            }
            Self::NoTiers => "write `kind = \"lamp\"` in [stack], or leave `tier_of` out",
            _ => return None,
        };
        Some(help.to_owned())
    }
}
