//! A database workload in a file of its own.

use super::keys::{ContentKeys, StudyKeys};
use crate::{
    grammar::{KeyInfo, Reader},
    workloads::data_driven::file::{Content, Pauses},
};

impl Content for ContentKeys {
    const FIRST: &'static str = "`name = \"read\"` and `statement = [{sql = \"SELECT 1\"}]`";
    const BESIDE: &'static str = "`think_time`, `think_distribution`, `pacing` and `expected_mib`";

    fn keys() -> Vec<KeyInfo> {
        Self::keys()
    }

    fn read(reader: &mut Reader<'_, '_, '_>) -> Self {
        Self::read(reader)
    }

    fn has_operations(&self) -> bool {
        self.operation.is_some()
    }
}

impl StudyKeys {
    /// What it says of pauses.
    pub(super) fn pauses(&mut self) -> Pauses<'_> {
        Pauses {
            think_time: &mut self.think_time,
            distribution: &mut self.think_distribution,
        }
    }
}
