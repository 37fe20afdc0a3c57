//! Database workloads as data, as a study uses them.

mod file;
mod keys;
mod operations;
#[cfg(test)]
mod tests;

use rookery_stats::Pacing;
use rookery_workload::{
    MixShare, RandomDelay,
    sql::{OPERATION, SqlWorkload, SqlWorkloadFault, split},
};
use serde::{Deserialize, Serialize};

use self::keys::{AuditKeys, ContentKeys, MOST_SETUP, OperationKeys, StatementKeys, StudyKeys};
use super::{
    CONNECTIONS_OF_OPEN_LOADS, DataRequest, OtherSections, Pace, PointData, WorkloadKind,
    WorkloadUse,
    data_driven::{
        CompanionsHandle, Defaults, check_names,
        feeders::{self, FeederPlace},
        file::{Content as _, content, refuse_beside},
        mix::{self, MixPlaces},
        refuse_file, refuse_no_operations, words,
    },
    web_pace,
};
use crate::{
    StackKind,
    companions::beside,
    grammar::{Context, KeyInfo, Reader},
    problem::Code,
    source::quoted,
    values::{GuestKind, LoopType},
};

/// The stacks that serve it.
pub(super) const STACKS: [StackKind; 3] =
    [StackKind::Mariadb, StackKind::Postgresql, StackKind::Sqlite];

/// What a reader must know of limits on its operations.
pub(super) const LIMITS: &str = "SQL: `operation` is any operation; `[qos.NAME]` limits the \
                                 operation of this name in the workload.";

/// Filling tables, MiB/s: statements of a script that come one after the other.
pub(super) const LOAD_MIB_PER_S: f64 = 5.0;

/// MiB on disk per expected MiB under load: logs and new rows included.
pub(super) const USED_MIB_PER_MIB: f64 = 4.0;

/// Keys of a database workload as data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SqlUse {
    /// What users do.
    pub workload: SqlWorkload,
    /// What a delay counts from.
    pub pacing: Pacing,
    /// MiB that the tables are expected to take.
    pub expected_mib: u32,
}

/// All keys that `[workload]` may have with this kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SqlKeys {
    study: StudyKeys,
    content: ContentKeys,
    /// The workload file that the content is in.
    file: Option<String>,
    /// The companions of the study, for scripts and tables of feeders.
    companions: CompanionsHandle,
}

impl SqlKeys {
    /// All keys, for schema and reference.
    pub(super) fn keys() -> Vec<KeyInfo> {
        let mut keys = StudyKeys::keys();
        keys.extend(ContentKeys::keys());
        keys
    }

    pub(super) fn read(reader: &mut Reader<'_, '_, '_>) -> Self {
        let mut study = StudyKeys::read(reader);
        let companions = reader.context.companions.clone();
        let (content, file) = match study.file.take() {
            None => (ContentKeys::read(reader), None),
            Some(name) => {
                refuse_beside::<ContentKeys>(reader);
                let pauses = study.pauses();
                let content = content::<ContentKeys>(&name, pauses, &companions, reader.context);
                (content.unwrap_or_default(), Some(name))
            }
        };
        Self {
            study,
            content,
            file,
            companions: CompanionsHandle(companions),
        }
    }

    /// The names of the operations, whether or not all else is right.
    pub(super) fn operation_names(&self) -> Vec<String> {
        let operations = self.content.operation.iter().flatten();
        operations
            .filter_map(|operation| operation.name.clone())
            .collect()
    }

    /// The tables that `[workload]` and workload files have below them, for the reference.
    pub(super) fn tables() -> [(&'static str, &'static str, Vec<KeyInfo>); 3] {
        [
            (
                "[[workload.operation]]",
                "An operation of a database workload (`kind = \"sql\"`); `[[operation]]` in a \
                 workload file.",
                OperationKeys::keys(),
            ),
            (
                "[[workload.operation.statement]]",
                "A statement of such an operation; `[[operation.statement]]` in a workload file.",
                StatementKeys::keys(),
            ),
            (
                "[[workload.audit]]",
                "A number of records that a database workload must have left; `[[audit]]` in a \
                 workload file.",
                AuditKeys::keys(),
            ),
        ]
    }

    pub(super) fn build(mut self, pace: Option<Pace>, context: &mut Context) -> Option<SqlUse> {
        let StudyKeys {
            think_time,
            think_distribution,
            expected_mib,
            ..
        } = self.study;
        let (pacing, defaults) = Defaults::new(
            WorkloadKind::Sql,
            pace,
            think_time,
            think_distribution,
            context,
        )?;
        let workload = self.workload(defaults, context)?;
        check(&workload, context)?;
        Some(SqlUse {
            workload,
            pacing,
            expected_mib: expected_mib?,
        })
    }

    fn workload(&mut self, defaults: Defaults, context: &mut Context) -> Option<SqlWorkload> {
        let before = context.findings.len();
        let mix = mix_places(&mut self.content).take();
        let mut keys = std::mem::take(&mut self.content);
        let setup = self.setup(&mut keys, context);
        let place = FeederPlace {
            file: self.file.as_deref().unwrap_or_default(),
            companions: &self.companions.0,
        };
        let feeders = feeders::build(keys.feeder.take().unwrap_or_default(), &place, context);
        let Some(given) = keys.operation.take() else {
            return refuse_no_operations(ContentKeys::FIRST, before, self.file.as_deref(), context);
        };
        let all: Vec<Option<_>> = given
            .into_iter()
            .enumerate()
            .map(|(index, keys)| {
                let path = format!("workload.operation[{index}]");
                operations::build(keys, defaults, &path, context)
            })
            .collect();
        let all: Vec<_> = all.into_iter().collect::<Option<_>>()?;
        let names: Vec<&str> = all
            .iter()
            .map(|operation| operation.name.as_str())
            .collect();
        check_names(&names, OPERATION, context);
        let login = match &keys.login {
            Some(name) => Some(mix::place(name, &names, "workload.login", context)?),
            None => None,
        };
        let walk = mix.build(&names, login, context);
        let audits = keys.audit.unwrap_or_default().into_iter();
        let workload = SqlWorkload {
            setup: setup?,
            walk: walk?,
            login,
            feeders: feeders?,
            on_failure: keys.on_failure?,
            session_pause: keys.session_pause.map(|mean| RandomDelay {
                mean,
                distribution: keys.session_pause_distribution.unwrap_or_default(),
            }),
            retries: keys.retries?,
            audits: audits.map(operations::audit).collect::<Option<_>>()?,
            operations: all,
        };
        (context.findings.len() == before).then_some(workload)
    }

    /// The statements that make and fill the tables.
    fn setup(&self, keys: &mut ContentKeys, context: &mut Context) -> Option<Vec<String>> {
        let (setup, file) = (keys.setup.take(), keys.setup_file.take());
        // What was refused has its problem already.
        let is_refused = context.spans.has("workload.setup")
            || context.spans.has("workload.setup_file")
            || self.file.is_some() && keys.operation.is_none();
        let mut refuse = |key: &str, code, message: String, help: &str| {
            let span = context.spans.nearest(key);
            context.refuse(code, span, message, help)
        };
        let help = "write `setup = [\"CREATE TABLE ...\"]`, or name a script of statements with \
                    `setup_file = \"tables.sql\"`";
        let name = match (setup, file) {
            (Some(setup), None) if !setup.is_empty() => return Some(setup),
            (None, Some(name)) => name,
            (Some(_), None) => {
                let message = "`workload.setup` is an empty list".to_owned();
                return refuse("workload.setup", Code::EmptyList, message, help);
            }
            (Some(_), Some(_)) => {
                let message = "both `workload.setup` and `workload.setup_file` make the tables";
                let help = "keep one of them";
                return refuse(
                    "workload.setup_file",
                    Code::Contradiction,
                    message.to_owned(),
                    help,
                );
            }
            (None, None) if is_refused => return None,
            (None, None) => {
                let message = "nothing makes the tables of the workload".to_owned();
                return refuse("workload", Code::MissingKey, message, help);
            }
        };
        self.script(&name, context)
    }

    /// The statements of a script beside the study or the workload file.
    fn script(&self, name: &str, context: &mut Context) -> Option<Vec<String>> {
        let span = context.spans.nearest("workload.setup_file");
        let name = beside(self.file.as_deref().unwrap_or_default(), name);
        let text = match self.companions.0.get(&name) {
            Ok(file) => file.text().to_owned(),
            Err(why) => return refuse_file(&name, why, span, context),
        };
        let why = match split(&text) {
            Ok(statements) if statements.len() <= MOST_SETUP => return Some(statements),
            Ok(statements) => format!(
                "there are {} statements in it, at most {MOST_SETUP} are allowed",
                statements.len()
            ),
            Err(error) => error.to_string(),
        };
        let message = format!("{}: {why}", quoted(&name));
        let help = "a script has statements that end with `;`; insert many rows by one statement";
        context.refuse(Code::Companion, span, message, help)
    }

    pub(super) fn from_use(wanted: &SqlUse) -> Self {
        let workload = &wanted.workload;
        let some_of = |feeders: Vec<_>| Some(feeders).filter(|feeders| !feeders.is_empty());
        let audits: Vec<_> = workload
            .audits
            .iter()
            .map(operations::keys_of_audit)
            .collect();
        let mut content = ContentKeys {
            setup: Some(workload.setup.clone()),
            operation: Some(
                workload
                    .operations
                    .iter()
                    .map(operations::keys_of)
                    .collect(),
            ),
            feeder: some_of(workload.feeders.iter().map(feeders::keys_of).collect()),
            audit: Some(audits).filter(|audits| !audits.is_empty()),
            login: workload
                .login
                .map(|login| workload.operations[login].name.clone()),
            on_failure: Some(workload.on_failure),
            session_pause: workload.session_pause.map(|pause| pause.mean),
            session_pause_distribution: workload.session_pause.map(|pause| pause.distribution),
            retries: Some(workload.retries),
            ..ContentKeys::default()
        };
        let mix = mix::keys_of(&workload.walk, &names_of(workload));
        mix_places(&mut content).put(mix);
        Self {
            study: StudyKeys {
                expected_mib: Some(wanted.expected_mib),
                ..StudyKeys::default()
            },
            content,
            file: None,
            companions: CompanionsHandle::default(),
        }
    }

    pub(super) fn write(&self, out: &mut String) {
        self.study.write(out);
        self.content.write(out);
    }
}

/// Where the keys hold those of the mix.
fn mix_places(keys: &mut ContentKeys) -> MixPlaces<'_> {
    let operations = keys.operation.iter_mut().flatten();
    MixPlaces {
        script: &mut keys.script,
        start: &mut keys.start,
        session: &mut keys.session_operations,
        operations: operations
            .map(|one| (&mut one.weight, &mut one.next))
            .collect(),
    }
}

fn names_of(workload: &SqlWorkload) -> Vec<&str> {
    let operations = workload.operations.iter();
    operations
        .map(|operation| operation.name.as_str())
        .collect()
}

/// Refuses what cannot be seen in one operation alone.
fn check(workload: &SqlWorkload, context: &mut Context) -> Option<()> {
    let Err(fault) = workload.check() else {
        return Some(());
    };
    let of_operation = |name: &str| {
        let index = names_of(workload).iter().position(|known| *known == name);
        format!("workload.operation[{}]", index.unwrap_or_default())
    };
    let (path, help) = match &fault {
        SqlWorkloadFault::UnknownValue(unknown) => (
            of_operation(&unknown.operation),
            "add a `[[feeder]]` of this name, or capture the value in a statement before",
        ),
        SqlWorkloadFault::Operations(_) => (
            "workload.operation".to_owned(),
            "write some operations, not too many",
        ),
        SqlWorkloadFault::NotAudited { operation, .. } => (
            format!("{}.counts", of_operation(operation)),
            "add an `[[audit]]` with the same `counts`, and a statement `sql` that counts them",
        ),
        SqlWorkloadFault::NotCounted { audit, .. } => (
            format!("workload.audit[{audit}].counts"),
            "let an operation count them: `counts` with the same words",
        ),
    };
    let span = context.spans.nearest(&path);
    context.refuse(Code::UnknownChoice, span, fault.to_string(), help)
}

/// The pace as the study file has it.
pub(super) fn pace(wanted: &SqlUse) -> Pace {
    web_pace(wanted.pacing)
}

impl SqlUse {
    /// The names of its operations.
    pub(super) fn operation_names(&self) -> Vec<&str> {
        names_of(&self.workload)
    }
}

impl WorkloadUse for SqlUse {
    fn check(&self, sections: &OtherSections<'_>, context: &mut Context) {
        if sections
            .guest
            .is_some_and(|guest| guest.kind() == GuestKind::Fake)
        {
            let span = context.spans.nearest("guest.kind");
            let message = "`guest.kind` is \"fake\", but SQL needs a database that runs";
            let help = "write `kind = \"bare\"` or `kind = \"container\"` in [guest]";
            context.refuse::<()>(Code::Contradiction, span, message, help);
        }
    }

    fn fill_in(&mut self, sections: &mut OtherSections<'_>, context: &mut Context) {
        if let Some(load) = &mut sections.load
            && let LoopType::Open(open) = &mut load.loop_type
            && !context.spans.has("load.max_in_flight")
        {
            open.max_in_flight = CONNECTIONS_OF_OPEN_LOADS;
        }
    }

    fn data(&self, _request: &DataRequest<'_>, _context: &mut Context) -> Option<PointData> {
        Some(PointData::Sql {
            mib: self.expected_mib,
        })
    }

    fn size_key(&self) -> &'static str {
        "workload.expected_mib"
    }

    fn pace(&self) -> String {
        words::pace(self.workload.mean_delay(), self.pacing)
    }

    fn describe(&self) -> String {
        let workload = &self.workload;
        let names = names_of(workload);
        words::course(&workload.walk, &names, workload.login, &workload.feeders)
    }

    fn pauses(&self) -> String {
        let operations = self.workload.operations.iter();
        let delays = operations.map(|operation| (&*operation.name, operation.delay));
        words::pauses(delays, self.pacing)
    }

    fn unit_of_work(&self) -> String {
        // Whatever changes a statement, the tables or the mix changes what an operation is.
        let mut bare = self.workload.clone();
        for operation in &mut bare.operations {
            operation.delay = RandomDelay::default();
        }
        format!("sql, {bare:?}")
    }

    fn copy_s(&self, megabytes: f64) -> f64 {
        megabytes / super::COPY_MIB_PER_S
    }

    /// Steps are checked one by one against the mix.
    fn mix(&self) -> Vec<MixShare> {
        Vec::new()
    }
}
