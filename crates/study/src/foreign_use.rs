//! Systems of the user: where they are, and the commands that the user gives for them.

use std::{net::SocketAddr, time::Duration};

use serde::{Deserialize, Serialize};

/// A system that runs already: it is measured, and left as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalUse {
    /// Where it listens.
    pub target: SocketAddr,
    /// Path that it answers with 200 when it is ready.
    pub health: String,
    /// By what its use of CPU and memory is seen.
    pub usage: UsageSource,
    /// What is run for it, on this host.
    pub commands: StackCommands,
}

/// By what the use of CPU and memory of a system is seen that runs already.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UsageSource {
    /// By nothing: it is on another host, or nobody said.
    #[default]
    Unknown,
    /// By the process of this number, with its descendants.
    Process(u32),
    /// By the process whose number this file holds, with its descendants.
    PidFile(String),
    /// By this control group, a directory.
    Cgroup(String),
}

/// What the user has run for a system. Each is a program with its arguments, which no shell reads;
/// without words nothing is run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackCommands {
    /// Before each trial: puts back what the trial before changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reset: Vec<String>,
    /// Before the load of each trial: warms the system.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prepare: Vec<String>,
    /// Before and after the load: prints the settings in force, as lines `NAME = VALUE`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_settings: Vec<String>,
    /// After the load: looks at what it left, and may print what it counted, as lines
    /// `NAME = NUMBER`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audit: Vec<String>,
    /// How long each of them may take.
    pub limit: Duration,
}
