//! What is wrong with a hosts file.

use std::fmt;

use rookery_diagnosis::Diagnosis;

/// One problem of a hosts file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HostsProblem {
    /// What is wrong.
    pub message: String,
    /// Name of the file.
    pub file: String,
    /// 1-based line.
    pub line: usize,
    /// What to write instead.
    pub help: String,
}

impl Diagnosis for HostsProblem {
    fn code(&self) -> &'static str {
        "fleet::hosts-file"
    }

    fn place(&self) -> Option<String> {
        Some(format!("{}:{}", self.file, self.line))
    }

    fn help(&self) -> Option<String> {
        Some(self.help.clone())
    }
}

/// All problems of a hosts file, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostsProblems(pub Vec<HostsProblem>);

impl fmt::Display for HostsProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self
            .0
            .iter()
            .map(|problem| format!("{}:{}: {problem}", problem.file, problem.line))
            .collect();
        f.write_str(&texts.join("\n"))
    }
}

impl std::error::Error for HostsProblems {}
