//! Why a trial is void, for programs and for readers.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A reason for which a trial is void.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// For programs.
    pub code: FaultCode,
    /// In words.
    pub text: String,
}

impl Fault {
    /// A reason in words, under its code.
    #[must_use]
    pub fn new(code: FaultCode, text: String) -> Self {
        Self { code, text }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Kinds of reasons; their names stand in stores and exports, and do not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultCode {
    /// The driver had too little CPU.
    Cpu,
    /// The driver was late.
    Lag,
    /// Little's law does not hold.
    Little,
    /// Users were not there all the time.
    Presence,
    /// Think times were not kept.
    Pacing,
    /// Users never connected.
    Unconnected,
    /// Operations failed by the driver itself.
    DriverErrors,
    /// The driver ran out of ports or descriptors.
    Exhausted,
    /// Arrivals were dropped.
    ArrivalsDropped,
    /// Arrivals are not accounted for.
    ArrivalsLost,
    /// More arrived than was served.
    Overload,
    /// Operations were not drawn in their shares.
    Mix,
    /// The workload's own checks.
    Workload,
    /// The driver's memory grew.
    Memory,
    /// There was no steady state.
    SteadyState,
    /// A clock was wrong, or was set.
    Clock,
    /// A server stood still up to the end.
    Standstill,
    /// Work on the host that is no part of the trial took its CPUs.
    OtherWork,
}

impl FaultCode {
    /// Its name in stores and exports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Lag => "lag",
            Self::Little => "little",
            Self::Presence => "presence",
            Self::Pacing => "pacing",
            Self::Unconnected => "unconnected",
            Self::DriverErrors => "driver-errors",
            Self::Exhausted => "exhausted",
            Self::ArrivalsDropped => "arrivals-dropped",
            Self::ArrivalsLost => "arrivals-lost",
            Self::Overload => "overload",
            Self::Mix => "mix",
            Self::Workload => "workload",
            Self::Memory => "memory",
            Self::SteadyState => "steady-state",
            Self::Clock => "clock",
            Self::Standstill => "standstill",
            Self::OtherWork => "other-work",
        }
    }
}
