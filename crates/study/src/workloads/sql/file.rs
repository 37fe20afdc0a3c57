//! A database workload in a file of its own.

use super::{
    SqlKeys, SqlUse,
    keys::{ContentKeys, StudyKeys},
};
use crate::{
    Companion,
    grammar::{Context, KeyInfo, Reader},
    problem::Problems,
    workloads::{
        Pace,
        data_driven::file::{Content, Pauses, parse_alone},
    },
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

impl SqlUse {
    /// Reads a workload file by itself. `file_name` is used in messages; `files` are those that it
    /// names.
    ///
    /// # Errors
    /// All problems of the file at once, each with its line and its help.
    pub fn parse_file(file_name: &str, text: &str, files: &[Companion]) -> Result<Self, Problems> {
        let build = |study, content, companions, context: &mut Context| {
            let keys = SqlKeys {
                study,
                content,
                file: Some(String::new()),
                companions,
            };
            keys.build(Some(Pace::Think), context)
        };
        let file = (file_name, text, files);
        parse_alone(file, StudyKeys::read, StudyKeys::pauses, build)
    }
}
