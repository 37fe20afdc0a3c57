//! From the `[stack]` section of a study to the stack behind it: the one list of stacks.

use rookery_study::{SimulatedUse, StackUse, Study, Workload, WorkloadKind};

use crate::{
    Stack, StackError, StackPart,
    foreign::{ExternalStack, ImageStack},
    stacks::{
        CmsLampStack, CmsStack, DatabaseStack, EmbeddedStack, LampStack, SqliteStack, WebLampStack,
        WebStack, open_netstream, open_sample,
    },
    web2005::ExtraTime,
};

/// What serves the load of a study's variant.
pub enum OpenStack<'s> {
    /// A stack in guests.
    Guests(Box<dyn Stack>),
    /// Nothing: its trials are computed.
    Simulated(&'s SimulatedUse),
}

impl OpenStack<'_> {
    /// The stack, where there is one.
    #[must_use]
    pub fn guests(self) -> Option<Box<dyn Stack>> {
        match self {
            Self::Guests(stack) => Some(stack),
            Self::Simulated(_) => None,
        }
    }
}

/// The stack of a study's variant.
///
/// # Errors
/// When the stack does not serve the study's workload.
pub fn open(study: &Study) -> Result<OpenStack<'_>, StackError> {
    open_part(study, StackPart::Whole)
}

/// A part of the stack of a group's study.
///
/// # Errors
/// As [`open`], and when the stack cannot be divided.
pub fn open_part(study: &Study, part: StackPart) -> Result<OpenStack<'_>, StackError> {
    let divides = match &study.stack {
        StackUse::Lamp(_) => true,
        StackUse::Bundled => study.workload.kind() == WorkloadKind::Netstream,
        _ => false,
    };
    if part != StackPart::Whole && !divides {
        return Err(StackError::NoTiers);
    }
    Ok(OpenStack::Guests(match &study.stack {
        StackUse::Embedded {
            pages,
            extra_cpu,
            extra_wait,
            serial_share,
            processors_per_vcpu,
        } => match &study.workload {
            Workload::WebBanking(_) | Workload::WebEcommerce(_) | Workload::WebSupport(_) => {
                let extra = ExtraTime {
                    cpu: *extra_cpu,
                    wait: *extra_wait,
                    serial_share: *serial_share,
                    processors: 1,
                };
                Box::new(WebStack::new(study, extra, *processors_per_vcpu)?)
            }
            Workload::Cms(_) => Box::new(CmsStack::new(study, *extra_cpu)?),
            _ => Box::new(EmbeddedStack::new(study, *pages, *extra_cpu)?),
        },
        StackUse::Lamp(wanted) => match &study.workload {
            Workload::WebBanking(_) | Workload::WebEcommerce(_) | Workload::WebSupport(_) => {
                Box::new(WebLampStack::new(study, wanted, part)?)
            }
            Workload::Cms(_) => Box::new(CmsLampStack::new(study, wanted, part)?),
            _ => Box::new(LampStack::new(study, wanted, part)?),
        },
        StackUse::Database(wanted) => Box::new(DatabaseStack::new(study, wanted)?),
        StackUse::Sqlite => Box::new(SqliteStack::new(study)?),
        StackUse::Bundled => bundled(study, part)?,
        StackUse::External(wanted) => Box::new(ExternalStack::new(study, wanted)),
        StackUse::Image(wanted) => Box::new(ImageStack::new(study, wanted)),
        StackUse::Simulated(system) => return Ok(OpenStack::Simulated(system)),
    }))
}

/// The stack of a study's variant without its database; nothing where it cannot do without.
///
/// # Errors
/// As [`open()`].
pub fn open_without_database(study: &Study) -> Result<Option<Box<dyn Stack>>, StackError> {
    Ok(match (&study.stack, &study.workload) {
        (StackUse::Lamp(wanted), Workload::Dvdstore(_) | Workload::Http(_)) => {
            Some(Box::new(LampStack::without_database(study, wanted)?))
        }
        _ => None,
    })
}

/// The stack that comes with the workload of a study.
///
/// # Errors
/// When none comes with it.
fn bundled(study: &Study, part: StackPart) -> Result<Box<dyn Stack>, StackError> {
    match study.workload.kind() {
        WorkloadKind::Netstream => open_netstream(study, part),
        WorkloadKind::Sample => open_sample(study),
        other @ (WorkloadKind::Dvdstore
        | WorkloadKind::Orderentry
        | WorkloadKind::Http
        | WorkloadKind::Sql
        | WorkloadKind::WebBanking
        | WorkloadKind::WebEcommerce
        | WorkloadKind::WebSupport
        | WorkloadKind::Cms) => Err(StackError::OtherWorkload {
            stack: "the bundled stack",
            workload: other.name(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use rookery_study::{Document, WorkloadKind};

    use super::*;

    /// Every stack, as studies write it.
    const STACKS: [&str; 9] = [
        "embedded",
        "lamp",
        "mariadb",
        "postgresql",
        "sqlite",
        "bundled",
        "external",
        "image",
        "simulated",
    ];

    /// A study of a workload on a stack; `None` where the grammar refuses that.
    fn study(workload: WorkloadKind, stack: &str) -> Option<Study> {
        let kind = match stack {
            "simulated" => "fake",
            "image" => "container",
            _ => "bare",
        };
        let guest = format!("[guest]\nkind = \"{kind}\"\nmemory = \"512MiB per guest\"\n");
        let (target, guests) = match stack {
            "external" => ("target = \"http://127.0.0.1:8080\"", String::new()),
            "image" => (
                "packages = [\"python3\"]\nport = 80\n\
                 services = [{name = \"web\", command = [\"python3\"]}]",
                guest,
            ),
            _ => ("", guest),
        };
        let text = format!(
            r#"
title = "one of each"
[workload]
kind = "{}"
{}
[load]
users = 4
[stack]
kind = "{stack}"
{target}
{guests}
[[layout]]
name = "one"
"#,
            workload.name(),
            match workload {
                WorkloadKind::Http => "operation = [{name = \"home\", path = \"/\"}]",
                WorkloadKind::Sql => {
                    "setup = \"CREATE TABLE a (b TEXT)\"\n\
                     operation = [{name = \"read\", statement = [{sql = \"SELECT 1\"}]}]"
                }
                _ => "",
            }
        );
        let document = Document::parse("one.toml", &text).ok()?;
        Some(document.study().clone())
    }

    /// The grammar knows without the stacks which of them serve a workload.
    #[test]
    fn studies_take_exactly_the_stacks_that_serve_their_workload() {
        for stack in STACKS {
            let accepted: Vec<(WorkloadKind, Study)> = WorkloadKind::ALL
                .into_iter()
                .filter_map(|workload| Some((workload, study(workload, stack)?)))
                .collect();
            let workloads: Vec<WorkloadKind> =
                accepted.iter().map(|(workload, _)| *workload).collect();
            assert!(!workloads.is_empty(), "no study takes {stack}");
            for (workload, study) in &accepted {
                let opened = open(study).unwrap_or_else(|error| panic!("{stack}: {error}"));
                if let Some(opened) = opened.guests() {
                    assert_eq!(opened.serves(), workloads, "{stack} with {workload:?}");
                }
            }
        }
    }
}
