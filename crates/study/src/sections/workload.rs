//! `[workload]`: what the emulated users do. The keys of single workloads are in
//! [`crate::workloads`].

use crate::{
    grammar::{Context, KeyInfo, Reader, SectionInfo, keys, kinds::Choice},
    workloads::{OwnKeys, Pace, Workload, WorkloadKind},
};

pub(super) const SECTION: SectionInfo = SectionInfo {
    name: "workload",
    many: false,
    meaning: "What the emulated users do.",
    keys: all_keys,
    below: &[],
};

keys! {
    /// The keys of `[workload]` that all workloads share.
    WorkloadKeys {
        /// Which workload.
        kind: Choice<WorkloadKind> = Choice::NEW, Required;
        /// How users pace themselves.
        pacing: Choice<Pace> = Choice::NEW, Optional("\"think\"; order entry: as its profile says");
    }
}

fn all_keys() -> Vec<KeyInfo> {
    let mut keys = WorkloadKeys::keys();
    keys.extend(OwnKeys::keys());
    keys
}

/// The whole of `[workload]`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WorkloadSection {
    shared: WorkloadKeys,
    own: Option<OwnKeys>,
}

impl WorkloadSection {
    pub(crate) fn read(reader: &mut Reader<'_, '_, '_>) -> Self {
        let shared = WorkloadKeys::read(reader);
        let own = OwnKeys::read(shared.kind, reader);
        Self { shared, own }
    }

    /// The names of its operations in their order, those that only the study knows last.
    pub(crate) fn operation_names(&self) -> Vec<String> {
        let listed = self
            .shared
            .kind
            .iter()
            .flat_map(|kind| kind.info().operations);
        let own = self.own.iter().flat_map(OwnKeys::operation_names);
        let listed = listed.map(|operation| operation.name.to_owned());
        listed.chain(own).collect()
    }

    pub(crate) fn build(self, context: &mut Context) -> Option<Workload> {
        self.own?.build(self.shared.pacing, context)
    }

    pub(crate) fn from_workload(workload: &Workload) -> Self {
        let (own, pace) = OwnKeys::from_workload(workload);
        Self {
            shared: WorkloadKeys {
                kind: Some(workload.kind()),
                pacing: Some(pace),
            },
            own: Some(own),
        }
    }

    /// Appends the section.
    pub(crate) fn write(&self, out: &mut String) {
        self.shared.write(out);
        if let Some(own) = &self.own {
            own.write(out);
        }
    }
}
