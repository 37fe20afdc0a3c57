//! Whether the known defects of the original pages are reproduced.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// How the pages behave where the original ones are known to be wrong.
///
/// | defect of the original | `Faithful` | `Corrected` |
/// |---|---|---|
/// | history rows of rolled-back orders stay in `CUST_HIST` | yes | no |
/// | stock is read first and written back later as an absolute number: concurrent orders lose updates | yes | no |
/// | a deadlock is answered as `Insufficient stock` | cannot occur: SQLite has one writer at a time | no |
/// | input reaches the database as SQL, and pages as HTML | no: parameters are bound and output escaped in both modes | no |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Behaviour {
    /// As the original pages, with their defects as far as SQLite can have them.
    Faithful,
    /// Without the defects: stock changes by a checked relative update, history belongs to the order's transaction.
    #[default]
    Corrected,
}

/// A text that names no [`Behaviour`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a behaviour of the pages; write `faithful` or `corrected`")]
pub struct ParseBehaviourError(pub String);

impl FromStr for Behaviour {
    type Err = ParseBehaviourError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "faithful" => Ok(Self::Faithful),
            "corrected" => Ok(Self::Corrected),
            other => Err(ParseBehaviourError(other.to_owned())),
        }
    }
}

impl fmt::Display for Behaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Faithful => "faithful",
            Self::Corrected => "corrected",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for behaviour in [Behaviour::Faithful, Behaviour::Corrected] {
            assert_eq!(behaviour.to_string().parse(), Ok(behaviour));
        }
        assert_eq!(
            "Faithful".parse::<Behaviour>(),
            Err(ParseBehaviourError("Faithful".to_owned()))
        );
    }
}
