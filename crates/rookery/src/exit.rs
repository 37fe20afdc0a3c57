//! The exit codes, in one place; `rookery --help` and the README list the same.

use std::{
    fmt::{self, Display},
    process::ExitCode,
};

use rookery_diagnosis::{Diagnosis, ErrorFields};
use rookery_driver::DriverError;
use rookery_export::ExportError;
use rookery_guest::GuestError;
use rookery_host::settings::ProfileError;
use rookery_lab::LabError;
use rookery_report::ReportError;
use rookery_stack::StackError;
use rookery_store::StoreError;
use rookery_study::{Problem, Problems};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// Everything that was asked for was done.
    Done = 0,
    /// The command line was wrong (clap uses the same number).
    Usage = 2,
    /// A study file is not valid.
    Study = 3,
    /// This host cannot do it: root, a program, a CPU is missing.
    Host = 4,
    /// Guests failed: some point has no valid trial.
    Guest = 5,
    /// The driver was at fault: some point has no valid trial.
    Driver = 6,
    /// The study ran, but no point ever kept its QoS limits.
    QosNeverMet = 7,
    /// A run could not be read or written.
    Store = 8,
    /// A comparison found that something got worse, or with `--strict` could not say.
    Worse = 9,
    /// A database is not consistent, or does not hold what it said it had committed.
    Inconsistent = 10,
    /// Nothing could be said: runs without a common point, measurements that no law fits.
    Nothing = 11,
    /// A fault of Rookery itself.
    Internal = 70,
    /// Stopped by Ctrl-C or a termination signal; a run can be resumed.
    Interrupted = 130,
}

/// The list for `--help`.
pub(crate) const TABLE: &str = "\
Exit codes:
  0  done                       5  guests failed
  2  usage                      6  the driver was at fault
  3  study not valid            7  QoS was never met
  4  this host is not ready     8  a run cannot be read or written
  9  a comparison found worse   10 a database is not consistent
  11 nothing can be said: no point in common, no law that fits
  70 internal fault
  130 interrupted (`rookery run --resume` goes on)";

impl Code {
    /// The code of an error that no crate below has given one.
    fn name(self) -> &'static str {
        match self {
            Self::Done => "rookery::done",
            Self::Usage => "rookery::usage",
            Self::Study => "rookery::study",
            Self::Host => "rookery::host",
            Self::Guest => "rookery::guest",
            Self::Driver => "rookery::driver",
            Self::QosNeverMet => "rookery::qos-never-met",
            Self::Store => "rookery::store",
            Self::Worse => "rookery::worse",
            Self::Inconsistent => "rookery::inconsistent",
            Self::Nothing => "rookery::nothing",
            Self::Internal => "rookery::internal",
            Self::Interrupted => "rookery::interrupted",
        }
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// A command's failure: what to print, and the exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    said: Said,
}

/// What a failure says.
#[derive(Debug)]
enum Said {
    /// One error.
    Error(Box<ErrorFields>),
    /// Several errors; never empty.
    Several(Vec<ErrorFields>),
    /// Every problem of a study file, which prints itself with excerpts of the file.
    Problems(Box<Problems>),
}

impl Failure {
    /// A failure that says `message`, without a place or help yet.
    pub(crate) fn new(code: Code, message: impl Display) -> Self {
        Self {
            code,
            said: Said::Error(Box::new(ErrorFields {
                code: code.name().to_owned(),
                message: message.to_string(),
                place: None,
                help: None,
                causes: Vec::new(),
            })),
        }
    }

    /// A failure that says what `error` says of itself.
    pub(crate) fn from_error(code: Code, error: &dyn Diagnosis) -> Self {
        Self {
            code,
            said: Said::Error(Box::new(ErrorFields::new(error))),
        }
    }

    /// A failure of several errors, at least one.
    pub(crate) fn from_errors<E: Diagnosis>(code: Code, errors: &[E]) -> Self {
        Self {
            code,
            said: Said::Several(fields_of(errors)),
        }
    }

    /// A profile of host settings that is refused, with all its problems.
    pub(crate) fn from_profile(code: Code, error: &ProfileError) -> Self {
        Self::from_errors(code, &error.problems)
    }

    /// A study that is refused. The exit code follows from the kinds of problems.
    pub(crate) fn from_problems(problems: Problems) -> Self {
        Self {
            code: code_of_problems(problems.list()),
            said: Said::Problems(Box::new(problems)),
        }
    }

    /// The same failure with what the user can do.
    pub(crate) fn help(mut self, help: impl Display) -> Self {
        if let Said::Error(fields) = &mut self.said {
            fields.help = Some(help.to_string());
        }
        self
    }

    /// The same failure with its place: a file and line, an option, an address.
    pub(crate) fn at(mut self, place: impl Display) -> Self {
        if let Said::Error(fields) = &mut self.said {
            fields.place = Some(place.to_string());
        }
        self
    }

    /// The same failure with the way to continue the run in `directory`, if one was begun.
    pub(crate) fn with_resumption(mut self, directory: Option<&String>) -> Self {
        if let (Some(directory), Said::Error(fields)) = (directory, &mut self.said) {
            let way = format!(
                "finished trials are kept; continue with: rookery run --resume {directory}"
            );
            fields.help = Some(match fields.help.take() {
                Some(help) => format!("{help}\n{way}"),
                None => way,
            });
        }
        self
    }

    /// The failure as one JSON object for `--json`: `{"errors": [...], "exit_code": 3}`, each error
    /// with `code`, `message`, `place`, `help` and `causes`.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        serde_json::json!({ "errors": self.fields(), "exit_code": self.code as u8 })
    }

    /// Its errors.
    pub(crate) fn fields(&self) -> Vec<ErrorFields> {
        match &self.said {
            Said::Error(fields) => vec![fields.as_ref().clone()],
            Said::Several(several) => several.clone(),
            Said::Problems(problems) => fields_of(problems.list()),
        }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.said {
            Said::Error(fields) => fields.fmt(f),
            Said::Several(several) => {
                let texts: Vec<String> = several.iter().map(ToString::to_string).collect();
                f.write_str(&texts.join("\n"))
            }
            Said::Problems(problems) => problems.fmt(f),
        }
    }
}

fn fields_of<E: Diagnosis>(errors: &[E]) -> Vec<ErrorFields> {
    errors.iter().map(|error| ErrorFields::new(error)).collect()
}

/// What was typed is the caller's matter, the rest the driver's.
pub(crate) fn driver_code(error: &DriverError) -> Code {
    match error {
        DriverError::ForeignTarget { .. }
        | DriverError::Config { .. }
        | DriverError::Descriptors { .. }
        | DriverError::Pin { .. } => Code::Usage,
        DriverError::Network { .. } | DriverError::Start(_) => Code::Host,
        DriverError::Panicked => Code::Internal,
    }
}

/// The study is right when all that it lacks is root.
pub(crate) fn code_of_problems(problems: &[Problem]) -> Code {
    if problems
        .iter()
        .all(|problem| problem.code == rookery_study::Code::NeedsRoot)
    {
        Code::Host
    } else {
        Code::Study
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::from_error(Code::Store, &error)
    }
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Self {
        let code = match error {
            ReportError::Store(_) => Code::Store,
            ReportError::Page(_) => Code::Internal,
        };
        Self::from_error(code, &error)
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        let code = match error {
            ExportError::NoTable { .. } => Code::Usage,
            ExportError::Store(_) | ExportError::Write { .. } => Code::Store,
        };
        Self::from_error(code, &error)
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        if let LabError::Store(error) = error {
            return error.into();
        }
        let code = match &error {
            LabError::DriverElsewhere
            | LabError::DriverHere
            | LabError::NotDrivenElsewhere { .. }
            | LabError::DriverLost { .. }
            | LabError::Recording(_)
            | LabError::Topology(_)
            | LabError::Settings(_)
            | LabError::Fio(_)
            | LabError::Iperf(_)
            | LabError::Limits(_)
            | LabError::Disk(_)
            | LabError::OtherCpus { .. }
            | LabError::GroupsElsewhere
            | LabError::NoSuchHost { .. }
            | LabError::NoLabLeft
            | LabError::Elsewhere { .. }
            | LabError::NothingToRehearse
            | LabError::NeedsDatabase
            | LabError::Stack(
                StackError::HostNotReady { .. }
                | StackError::Guest(GuestError::HostNotReady { .. }),
            )
            | LabError::Guest(GuestError::HostNotReady { .. } | GuestError::NoDirectWay { .. }) => {
                Code::Host
            }
            LabError::UnknownProfile { .. }
            | LabError::Setting { .. }
            | LabError::Stack(StackError::OtherWorkload { .. }) => Code::Study,
            LabError::Guest(_)
            | LabError::Left(_)
            | LabError::Stack(_)
            | LabError::Rehearsal { .. } => Code::Guest,
            LabError::Driver(_) => Code::Driver,
            LabError::Store(_)
            | LabError::File { .. }
            | LabError::NoRun { .. }
            | LabError::Busy { .. } => Code::Store,
            LabError::Profile(_)
            | LabError::NotMounted
            | LabError::NotSimulated
            | LabError::Sampling(_)
            | LabError::NoPoint { .. }
            | LabError::Search(_)
            | LabError::EndlessSearch { .. }
            | LabError::Json(_) => Code::Internal,
        };
        Self::from_error(code, &error)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use rookery_analysis::compare::CompareError;
    use rookery_driver::DriverError;
    use rookery_host::{
        HostError,
        fio::FioError,
        settings::{Profile, SettingsError},
    };
    use rookery_oltp::OltpError;
    use rookery_report::ReportError;
    use rookery_stack::dvdstore_files::FilesError;
    use rookery_store::{CellError, Damage};
    use rookery_study::Document;
    use rookery_workload::orderentry::ScaleError;

    use super::*;

    #[test]
    fn every_problem_of_a_study_is_an_object_of_json() {
        let problems = Document::parse("s.toml", "title = 1\nlaod = 2\n").expect_err("wrong");
        let json = Failure::from_problems(problems).to_json();
        assert_eq!(json["exit_code"], 3);
        assert_eq!(json["errors"][0]["code"], "study::wrong-type");
        assert_eq!(json["errors"][0]["place"], "s.toml:1:9");
        assert_eq!(json["errors"][1]["code"], "study::unknown-key");
        assert_eq!(json["errors"][1]["place"], "s.toml:2:1");
        assert!(json["errors"][1]["help"].is_string());
    }

    #[test]
    fn every_problem_of_a_profile_is_an_object_of_json() {
        let error = Profile::parse("p.toml", "name = \"p\"\ntitel = \"t\"\n").expect_err("wrong");
        let failure = Failure::from_profile(Code::Usage, &error);
        let json = failure.to_json();
        let codes: Vec<_> = json["errors"].as_array().into_iter().flatten().collect();
        assert!(codes.len() > 1 && codes.iter().all(|error| error["code"] == "host::profile"));
        assert!(failure.to_string().contains("at: p.toml:2:1"), "{failure}");
    }

    #[test]
    fn a_damaged_store_names_its_table_through_a_report() {
        let error = ReportError::from(StoreError::Damaged {
            path: PathBuf::from("run.sqlite"),
            table: "guests",
            row: Some("trial 3, guest g1".to_owned()),
            source: Box::new(Damage::from(CellError::Missing {
                column: "users".to_owned(),
            })),
        });
        assert_eq!(
            Failure::from_error(Code::Store, &error).to_json(),
            serde_json::json!({
                "exit_code": 8,
                "errors": [{
                    "code": "store::damaged",
                    "message": "table guests is damaged: users is missing",
                    "place": "run.sqlite, guests: trial 3, guest g1",
                    "help": "restore the file from a copy, or run the study again",
                    "causes": [],
                }],
            })
        );
    }

    #[test]
    fn errors_of_every_crate_have_their_code_and_help_in_json() {
        let refused = || HostError::refused("no room", "make room");
        let template = || GuestError::Template {
            what: "no room".to_owned(),
            help: "make room".to_owned(),
        };
        let config = DriverError::Config {
            what: "no room".to_owned(),
            help: "make room",
        };
        let busy = SettingsError::Busy {
            who: "another process".to_owned(),
            help: "make room",
        };
        let loaded = OltpError::Foreign {
            target: "mysql://h/d".to_owned(),
            address: [192, 0, 2, 1].into(),
        };
        let exists = FilesError::Exists {
            path: PathBuf::from("cust.csv"),
        };
        let errors: [(&dyn Diagnosis, &str, &str); 13] = [
            (&refused(), "host::refused", "make room"),
            (&busy, "host::settings-busy", "make room"),
            (&FioError::Missing, "host::fio-missing", "apt install fio"),
            (&template(), "guest::template", "make room"),
            (&config, "driver::config", "make room"),
            (
                &loaded,
                "oltp::foreign-target",
                "--confirm-target 192.0.2.1",
            ),
            (
                &StackError::from(template()),
                "guest::template",
                "make room",
            ),
            (&exists, "stack::file-exists", "--overwrite"),
            (&missing_run(), "store::missing", "run.sqlite"),
            (&LabError::Limits(refused()), "host::refused", "make room"),
            (
                &LabError::from(missing_run()),
                "store::missing",
                "run.sqlite",
            ),
            (&CompareError::Ignore, "analysis::ignored-share", "2%"),
            (&ScaleError::Divisor(3), "workload::divisor", "100"),
        ];
        for (error, code, help) in errors {
            let json = Failure::from_error(Code::Usage, error).to_json();
            let fields = &json["errors"][0];
            assert_eq!(fields["code"], code, "{json}");
            assert_eq!(fields["message"], error.to_string(), "{json}");
            let said = fields["help"].as_str().unwrap_or_default();
            assert!(said.contains(help), "{json}");
        }
    }

    fn missing_run() -> StoreError {
        StoreError::Missing {
            path: PathBuf::from("run.sqlite"),
        }
    }
}
