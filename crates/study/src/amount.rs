//! Amounts that grow with the layout: users, memory, databases.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{EvaluationError, Expression, Variables, expression::Units};

/// What a scaled quantity is counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    /// Per vCPU of the guest.
    Vcpu,
    /// Per guest.
    Guest,
    /// For all guests together, shared out evenly.
    Host,
}

/// A number and what it is counted by: `640MiB per vcpu`, `50 per guest`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaled {
    /// The amount, in the unit of the key (users, MiB, nominal MB).
    pub amount: f64,
    /// What it is counted by.
    pub per: Per,
}

/// An amount of one guest: a scaled number, or a rule such as `max(640MiB, 2560MiB * vcpus)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Amount {
    /// A number with what it is counted by.
    Scaled(Scaled),
    /// An expression, evaluated for every guest. Sizes are in bytes; in `workload.database` they
    /// are nominal.
    Rule(Expression),
}

impl Amount {
    /// The amount of one guest of this shape; rules in `units`.
    pub(crate) fn each(&self, guest: &Variables, units: &Units) -> Result<f64, EvaluationError> {
        match self {
            Self::Scaled(scaled) => Ok(match scaled.per {
                Per::Guest => scaled.amount,
                Per::Vcpu => scaled.amount * guest.vcpus,
                Per::Host => scaled.amount / guest.guests,
            }),
            Self::Rule(rule) => rule.evaluate_in(guest, units),
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scaled(scaled) => scaled.fmt(f),
            Self::Rule(rule) => rule.fmt(f),
        }
    }
}

/// Without the unit of its key: `50 per vcpu`.
impl fmt::Display for Scaled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let per = match self.per {
            Per::Vcpu => "vcpu",
            Per::Guest => "guest",
            Per::Host => "host",
        };
        write!(f, "{} per {per}", self.amount)
    }
}

impl From<Scaled> for Amount {
    fn from(scaled: Scaled) -> Self {
        Self::Scaled(scaled)
    }
}

/// Numbers of users, or rates of arrivals: one or several, each a point of its own.
pub type Users = Vec<Amount>;
