//! The sections of a study file, one file each: its keys, its own contradictions, and both ways
//! between file and model.

mod guest;
mod homes;
mod host;
mod image;
mod layout;
mod load;
mod machine;
mod measure;
mod network;
pub(crate) mod precision;
mod qos;
mod root;
pub(crate) mod search;
pub(crate) mod settings;
mod stack;
mod storage;
mod workload;

use rookery_stats::qos::Qos;

use crate::{
    grammar::SectionInfo,
    model::Measure,
    stack_use::StackUse,
    storage_use::StorageUse,
    values::{GuestShape, HostUse, Load, LoadModel},
    workloads::{OtherSections, Workload},
};

pub(crate) use guest::{GuestKeys, read_guest};
pub(crate) use homes::home_of;
pub(crate) use host::HostKeys;
pub(crate) use layout::{GROUP, GROUP_SECTION, GroupKeys, LayoutKeys, MOST_GROUPS};
pub(crate) use load::LoadKeys;
pub(crate) use machine::MachineKeys;
pub(crate) use measure::MeasureKeys;
pub(crate) use network::NetworkKeys;
pub(crate) use precision::PrecisionKeys;
pub(crate) use qos::{QosSection, check_operations};
pub(crate) use root::RootKeys;
pub(crate) use search::SearchKeys;
pub(crate) use stack::StackSection;
pub(crate) use storage::StorageKeys;
pub(crate) use workload::WorkloadSection;

pub(crate) use layout::{MOST_GUESTS, MOST_LAYOUTS};

/// All sections in the order of a well-written file; the first has no name, it is the top of the
/// file.
pub(crate) const ALL: [SectionInfo; 11] = [
    root::SECTION,
    workload::SECTION,
    measure::SECTION,
    load::SECTION,
    qos::SECTION,
    stack::SECTION,
    guest::SECTION,
    storage::SECTION,
    network::SECTION,
    host::SECTION,
    layout::SECTION,
];

pub(crate) const WORKLOAD: &str = workload::SECTION.name;
pub(crate) const MEASURE: &str = measure::SECTION.name;
pub(crate) const LOAD: &str = load::SECTION.name;
pub(crate) const QOS: &str = qos::SECTION.name;
pub(crate) const STACK: &str = stack::SECTION.name;
pub(crate) const GUEST: &str = guest::SECTION.name;
pub(crate) const STORAGE: &str = storage::SECTION.name;
pub(crate) const NETWORK: &str = network::SECTION.name;
pub(crate) const HOST: &str = host::SECTION.name;
pub(crate) const LAYOUT: &str = layout::SECTION.name;

/// What the sections say; nothing where one has a problem.
pub(crate) struct Sections {
    pub(crate) root: RootKeys,
    pub(crate) workload: Option<Workload>,
    pub(crate) measure: Option<Measure>,
    /// Known even where the rest of the load was refused.
    pub(crate) model: Option<LoadModel>,
    pub(crate) load: Option<Load>,
    pub(crate) qos: Option<Qos>,
    pub(crate) stack: Option<StackUse>,
    pub(crate) guest: Option<GuestShape>,
    pub(crate) storage: Option<StorageUse>,
    pub(crate) host: Option<HostUse>,
    pub(crate) layouts: Vec<LayoutKeys>,
}

impl Sections {
    /// What a workload may ask of the other sections.
    pub(crate) fn others(&mut self) -> OtherSections<'_> {
        OtherSections {
            stack: self.stack.as_ref(),
            guest: self.guest.as_ref(),
            model: self.model,
            load: self.load.as_mut(),
            qos: self.qos.as_mut(),
            layouts_have_users: self.layouts.iter().all(|layout| layout.users.is_some()),
        }
    }
}

#[cfg(test)]
pub(crate) mod testing {
    //! Whole studies around the section under test.

    use crate::{Document, Problem, Study};

    /// A minimal study with `more` appended.
    pub(crate) fn with(more: &str) -> Result<Study, Vec<Problem>> {
        document(more).map(|document| document.study().clone())
    }

    /// The same with its factors.
    pub(crate) fn document(more: &str) -> Result<Document, Vec<Problem>> {
        let text = format!(
            "title = \"t\"\n{more}\n{}{}[[layout]]\nname = \"one\"\n",
            if more.contains("[workload]") {
                ""
            } else {
                "[workload]\nkind = \"dvdstore\"\n"
            },
            if more.contains("[load]") {
                ""
            } else {
                "[load]\nusers = 5\n"
            }
        );
        Document::parse("s.toml", &text).map_err(|problems| problems.list().to_vec())
    }

    /// The messages of the refusal of `more`.
    pub(crate) fn refusal(more: &str) -> String {
        let problems = with(more).expect_err("refused");
        let messages: Vec<_> = problems
            .iter()
            .map(|problem| format!("{}: {}", problem.code, problem.message))
            .collect();
        messages.join("\n")
    }
}
