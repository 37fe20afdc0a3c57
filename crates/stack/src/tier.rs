//! Guests that others call: where they are, and what lets callers in.

use std::{collections::hash_map::RandomState, fmt, hash::BuildHasher as _, net::SocketAddr};

/// Which part of its stack the guests of a group run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StackPart {
    /// The whole of it.
    #[default]
    Whole,
    /// What users ask, without the database: that is in the guests of another group.
    Front,
    /// The database, for so many users of its callers.
    Tier {
        /// Users of all callers of one guest.
        users: u32,
        /// Guests that call one guest, at least 1.
        callers: u32,
    },
}

/// Where a guest that others call is, and what lets them in.
#[derive(Clone, PartialEq, Eq)]
pub struct TierAccess {
    /// Its address in the lab's network.
    pub address: SocketAddr,
    password: Password,
}

impl TierAccess {
    /// What lets callers in.
    pub(crate) fn new(address: SocketAddr, password: Password) -> Self {
        Self { address, password }
    }

    #[cfg(test)]
    pub(crate) fn of_tests(address: SocketAddr, password: &str) -> Self {
        Self::new(address, Password(password.to_owned()))
    }

    pub(crate) fn password(&self) -> &str {
        &self.password.0
    }
}

impl fmt::Debug for TierAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A password is never shown.
        write!(f, "TierAccess({})", self.address)
    }
}

/// A password of letters and digits, known to the guests of one trial.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Password(String);

impl Password {
    /// One that no one has guessed.
    pub(crate) fn new() -> Self {
        // Keys of hash maps are the random numbers that the standard library takes from the system.
        let part = || format!("{:016x}", RandomState::new().hash_one("tier"));
        Self(part() + &part())
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_its_own_and_is_not_shown() {
        let (one, other) = (Password::new(), Password::new());
        assert!(one != other && one.text().len() == 32);
        let access = TierAccess::new(SocketAddr::from(([10, 77, 0, 1], 3306)), one.clone());
        assert!(!format!("{access:?}").contains(one.text()));
        assert_eq!(access.password(), one.text());
    }
}
