//! Web workloads as data, as a study uses them.

mod file;
mod from_har;
mod keys;
mod operations;
#[cfg(test)]
mod tests;

use rookery_stats::Pacing;
use rookery_workload::{
    MixShare, RandomDelay,
    http::{Browser, HttpWorkload, PAGE, Tls, WorkloadFault},
};
use serde::{Deserialize, Serialize};

pub use self::from_har::{HarError, MOST_HAR_BYTES, draft_from_har};
use self::keys::{ContentKeys, OperationKeys, StudyKeys};
use super::{
    DataRequest, Pace, PointData, WorkloadKind, WorkloadUse,
    data_driven::{
        CompanionsHandle, Defaults, check_names,
        feeders::{self, FeederPlace},
        file::{Content as _, content, refuse_beside},
        keys::FeederKeys,
        mix::{self, MixPlaces},
        refuse_no_operations, words,
    },
    web_pace,
};
use crate::{
    Amount, StackKind,
    grammar::{Context, KeyInfo, Reader},
    problem::Code,
};

/// The stacks that serve it.
pub(super) const STACKS: [StackKind; 4] = [
    StackKind::Embedded,
    StackKind::Lamp,
    StackKind::External,
    StackKind::Image,
];

/// What a reader must know of limits on its operations.
pub(super) const LIMITS: &str = "HTTP: `page` is any operation; `[qos.NAME]` limits the operation \
                                 of this name in the workload.";

/// Keys of a web workload as data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HttpUse {
    /// What users do.
    pub workload: HttpWorkload,
    /// What a delay counts from.
    pub pacing: Pacing,
    /// The database of each guest, where its stack has one.
    pub database: Amount,
}

/// All keys that `[workload]` may have with this kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HttpKeys {
    study: StudyKeys,
    content: ContentKeys,
    /// The workload file that the content is in.
    file: Option<String>,
    /// The companions of the study, for tables of feeders.
    companions: CompanionsHandle,
}

impl HttpKeys {
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
                let content =
                    content::<ContentKeys>(&name, study.pauses(), &companions, reader.context);
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
    pub(super) fn tables() -> [(&'static str, &'static str, Vec<KeyInfo>); 2] {
        [
            (
                "[[workload.operation]]",
                "An operation of a web workload; `[[operation]]` in a workload file.",
                OperationKeys::keys(),
            ),
            (
                "[[workload.feeder]]",
                "A source of values of a web workload, with exactly one of `range`, `values`, `csv`, \
                 `rows`, `letters`, `words` and `id`; `[[feeder]]` in a workload file.",
                FeederKeys::keys(),
            ),
        ]
    }

    pub(super) fn build(mut self, pace: Option<Pace>, context: &mut Context) -> Option<HttpUse> {
        let StudyKeys {
            think_time,
            think_distribution,
            ..
        } = self.study;
        let (pacing, defaults) = Defaults::new(
            WorkloadKind::Http,
            pace,
            think_time,
            think_distribution,
            context,
        )?;
        let workload = self.workload(defaults, context)?;
        // What was refused may have given a value.
        if !context.findings.is_empty() {
            return None;
        }
        check(&workload, context)?;
        Some(HttpUse {
            workload,
            pacing,
            database: self.study.database?,
        })
    }

    fn workload(&mut self, defaults: Defaults, context: &mut Context) -> Option<HttpWorkload> {
        let before = context.findings.len();
        let mix = mix_places(&mut self.content).take();
        let keys = std::mem::take(&mut self.content);
        let feeders = feeders::build(
            keys.feeder.clone().unwrap_or_default(),
            &FeederPlace {
                file: self.file.as_deref().unwrap_or_default(),
                companions: &self.companions.0,
            },
            context,
        );
        let Some(given) = keys.operation.clone() else {
            return refuse_no_operations(ContentKeys::FIRST, before, self.file.as_deref(), context);
        };
        let count = given.len();
        let all: Vec<_> = given
            .into_iter()
            .enumerate()
            .filter_map(|(index, keys)| {
                let path = format!("workload.operation[{index}]");
                operations::build(keys, defaults, &path, context)
            })
            .collect();
        if all.len() != count {
            return None;
        }
        let names: Vec<&str> = all
            .iter()
            .map(|operation| operation.name.as_str())
            .collect();
        check_names(&names, PAGE, context);
        let login = match &keys.login {
            Some(name) => Some(mix::place(name, &names, "workload.login", context)?),
            None => None,
        };
        let walk = mix.build(&names, login, context);
        let headers = operations::headers(keys.headers.clone(), "workload.headers", context);
        let workload = HttpWorkload {
            walk: walk?,
            login,
            feeders: feeders?,
            on_failure: keys.on_failure?,
            session_pause: keys.session_pause.map(|mean| RandomDelay {
                mean,
                distribution: keys.session_pause_distribution.unwrap_or_default(),
            }),
            headers: headers?,
            browser: Browser {
                connections: keys.connections?,
                cache: keys.browser_cache?,
                gzip: keys.gzip?,
                receive_rate: keys.receive_rate,
            },
            tls: Tls {
                ca: keys.ca,
                insecure: keys.insecure?,
                version: keys.tls_version,
            },
            operations: all,
        };
        (context.findings.len() == before).then_some(workload)
    }

    pub(super) fn from_use(wanted: &HttpUse) -> Self {
        let HttpUse {
            workload, database, ..
        } = wanted;
        let mut content = ContentKeys {
            operation: Some(
                workload
                    .operations
                    .iter()
                    .map(operations::keys_of)
                    .collect(),
            ),
            feeder: Some(workload.feeders.iter().map(feeders::keys_of).collect())
                .filter(|feeders: &Vec<_>| !feeders.is_empty()),
            login: workload
                .login
                .map(|login| workload.operations[login].name.clone()),
            on_failure: Some(workload.on_failure),
            session_pause: workload.session_pause.map(|pause| pause.mean),
            session_pause_distribution: workload.session_pause.map(|pause| pause.distribution),
            headers: operations::header_keys(&workload.headers),
            connections: Some(workload.browser.connections),
            browser_cache: Some(workload.browser.cache),
            gzip: Some(workload.browser.gzip),
            receive_rate: workload.browser.receive_rate,
            tls_version: workload.tls.version,
            ca: workload.tls.ca.clone(),
            insecure: Some(workload.tls.insecure),
            ..ContentKeys::default()
        };
        let mix = mix::keys_of(&workload.walk, &names_of(workload));
        mix_places(&mut content).put(mix);
        Self {
            study: StudyKeys {
                database: Some(database.clone()),
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

fn names_of(workload: &HttpWorkload) -> Vec<&str> {
    workload
        .operations
        .iter()
        .map(|operation| operation.name.as_str())
        .collect()
}

/// Refuses what cannot be seen in one operation alone.
fn check(workload: &HttpWorkload, context: &mut Context) -> Option<()> {
    let Err(fault) = workload.check() else {
        return Some(());
    };
    let span = match &fault {
        WorkloadFault::UnknownValue(unknown) => {
            let mut names = names_of(workload).into_iter();
            let index = names.position(|name| name == unknown.operation);
            let path = format!("workload.operation[{}]", index.unwrap_or_default());
            context.spans.nearest(&path)
        }
        WorkloadFault::Operations(_) => context.spans.nearest("workload.operation"),
    };
    let help = "add a `[[feeder]]` of this name, or capture the value in an operation before";
    context.refuse(Code::UnknownChoice, span, fault.to_string(), help)
}

/// The pace as the study file has it.
pub(super) fn pace(wanted: &HttpUse) -> Pace {
    web_pace(wanted.pacing)
}

impl HttpUse {
    /// The names of its operations.
    pub(super) fn operation_names(&self) -> Vec<&str> {
        names_of(&self.workload)
    }
}

impl WorkloadUse for HttpUse {
    fn data(&self, request: &DataRequest<'_>, context: &mut Context) -> Option<PointData> {
        let has_database = matches!(request.stack.kind(), StackKind::Embedded | StackKind::Lamp);
        if !has_database {
            return Some(PointData::Http(None));
        }
        super::database_size(&self.database, request, context)
            .map(|size| PointData::Http(Some(size)))
    }

    fn size_key(&self) -> &'static str {
        "workload.database"
    }

    fn pace(&self) -> String {
        words::pace(self.workload.mean_delay(), self.pacing)
    }

    fn describe(&self) -> String {
        let workload = &self.workload;
        let names = names_of(workload);
        words::course(&workload.walk, &names, workload.login, &workload.feeders)
    }

    fn describe_in_plan(&self, _is_factor: &dyn Fn(&str) -> bool) -> Option<String> {
        Some(self.describe())
    }

    fn pauses(&self) -> String {
        let operations = self.workload.operations.iter();
        let delays = operations.map(|operation| (&*operation.name, operation.delay));
        words::pauses(delays, self.pacing)
    }

    fn unit_of_work(&self) -> String {
        // Whatever changes a request or the mix changes what a page is.
        let mut bare = self.workload.clone();
        for operation in &mut bare.operations {
            operation.delay = RandomDelay::default();
        }
        format!("http, {bare:?}")
    }

    fn copy_s(&self, megabytes: f64) -> f64 {
        megabytes / super::COPY_MIB_PER_S
    }

    /// Steps are checked one by one against the mix.
    fn mix(&self) -> Vec<MixShare> {
        Vec::new()
    }
}
