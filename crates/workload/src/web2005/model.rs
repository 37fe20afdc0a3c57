//! The three workloads of the room.

use serde::{Deserialize, Serialize};

/// One of the three workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// Accounts, payments and transfers, over TLS in the original.
    Banking,
    /// A shop with sessions and a cart.
    Ecommerce,
    /// Searching and downloading files, without sessions.
    Support,
}

impl Model {
    /// Every workload, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Banking, Self::Ecommerce, Self::Support];

    /// Its name in options and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Banking => "banking",
            Self::Ecommerce => "ecommerce",
            Self::Support => "support",
        }
    }

    /// First part of the paths of its pages and files, without slashes.
    #[must_use]
    pub const fn directory(self) -> &'static str {
        match self {
            Self::Banking => "bank",
            Self::Ecommerce => "ecommerce",
            Self::Support => "support",
        }
    }

    /// Its number in queries to the back-end: 1, 2 or 3.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Banking => 1,
            Self::Ecommerce => 2,
            Self::Support => 3,
        }
    }

    /// The workload of a number.
    #[must_use]
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|model| model.number() == number)
    }

    /// The workload of a name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|model| model.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_lead_back() {
        for model in Model::ALL {
            assert_eq!(Model::of_number(model.number()), Some(model));
            assert_eq!(Model::of_name(model.name()), Some(model));
        }
        assert_eq!(Model::of_number(0), None);
        assert_eq!(Model::of_name("Banking"), None);
    }
}
