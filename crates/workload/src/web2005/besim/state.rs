//! What all values of the back-end follow from.

use serde::{Deserialize, Serialize};

use crate::{
    random::mix,
    web2005::{
        Day, Model,
        files::{LARGEST_IDENTITY, Shape},
        hash::hash,
    },
};

/// Time that a back-end believes to be at its reset, where no other is asked for: 2004-10-07.
pub const RESET_TIME_S: u64 = 1_097_157_010;

/// Reset arguments of banking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BankingReset {
    /// Seconds since 1970.
    pub time_s: u64,
    /// The lowest user.
    pub min_user: u32,
    /// The highest user.
    pub max_user: u32,
    /// Simultaneous sessions.
    pub load: u32,
    /// What paths of check images begin with, without a slash at the end.
    pub image_base: String,
    /// Directories that user directories are spread over; 0 for none.
    pub sub_directories: u32,
}

/// Reset arguments of e-commerce.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EcommerceReset {
    /// Seconds since 1970.
    pub time_s: u64,
    /// The lowest customer.
    pub min_customer: u32,
    /// The highest customer.
    pub max_customer: u32,
    /// Simultaneous sessions.
    pub load: u32,
    /// What paths of product images begin with, without a slash at the end.
    pub image_base: String,
    /// Product lines, at least 1.
    pub lines: u32,
}

/// Reset arguments of support.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupportReset {
    /// Seconds since 1970.
    pub time_s: u64,
    /// Simultaneous sessions.
    pub load: u32,
    /// Download directories, at least 1.
    pub directories: u32,
}

/// The whole state of a back-end: a seed, and the arguments of the last reset of each workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Whose values they are.
    pub seed: u64,
    /// Banking.
    pub banking: BankingReset,
    /// E-commerce.
    pub ecommerce: EcommerceReset,
    /// Support.
    pub support: SupportReset,
}

/// What a value is drawn for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tag {
    Password = 1,
    Balance = 2,
    AccountCount = 3,
    Payees = 4,
    Payments = 5,
    Profile = 6,
    Confirmation = 7,
    Products = 8,
    Support = 9,
}

/// Customers for each session.
const CUSTOMERS_PER_SLOT: u32 = 10;

impl State {
    /// The state behind a file set. The workloads that the set is not of are as for one session.
    #[must_use]
    pub fn new(seed: u64, shape: &Shape) -> Self {
        let sessions = |model| {
            if shape.model() == model {
                shape.sessions()
            } else {
                1
            }
        };
        let customers = sessions(Model::Ecommerce).saturating_mul(CUSTOMERS_PER_SLOT);
        Self {
            seed,
            banking: BankingReset {
                time_s: RESET_TIME_S,
                min_user: 1,
                max_user: match shape.model() {
                    Model::Banking => shape.units(),
                    Model::Ecommerce | Model::Support => 50,
                },
                load: sessions(Model::Banking),
                image_base: "/bank/images".to_owned(),
                sub_directories: shape.sub_directories(),
            },
            ecommerce: EcommerceReset {
                time_s: RESET_TIME_S,
                min_customer: 1,
                max_customer: customers.min(LARGEST_IDENTITY),
                load: sessions(Model::Ecommerce),
                image_base: "/ecommerce/images".to_owned(),
                lines: shape.lines(),
            },
            support: SupportReset {
                time_s: RESET_TIME_S,
                load: sessions(Model::Support),
                directories: shape.directories(),
            },
        }
    }

    /// A value of the thing (`a`, `b`).
    pub(super) fn value(&self, tag: Tag, a: u64, b: u64) -> u64 {
        hash(self.seed, tag as u64, a, b)
    }

    /// Password of a user or customer: 16 hexadecimal digits.
    #[must_use]
    pub fn password(&self, identity: u32) -> String {
        format!("{:016x}", self.value(Tag::Password, u64::from(identity), 0))
    }

    /// MD5 of the password, as the back-end answers it: 32 hexadecimal digits.
    #[must_use]
    pub fn password_md5(&self, identity: u32) -> String {
        md5_hex(&self.password(identity))
    }

    /// The day of the reset of banking.
    #[must_use]
    pub fn day(&self) -> Day {
        Day::of_time(self.banking.time_s)
    }

    /// A small state for tests: 2,000 users, the sample of the published design.
    #[cfg(test)]
    pub(super) fn tiny(seed: u64) -> Self {
        let shape = |model, sessions| Shape::new(model, sessions, 1.0, seed).expect("a shape");
        let banking = Self::new(seed, &shape(Model::Banking, 40));
        Self {
            ecommerce: Self::new(seed, &shape(Model::Ecommerce, 40)).ecommerce,
            support: Self::new(seed, &shape(Model::Support, 40)).support,
            ..banking
        }
    }
}

/// MD5 of a text, in hexadecimal digits. It protects nothing here: it is what the pages of the
/// original compare.
#[must_use]
pub fn md5_hex(text: &str) -> String {
    use md5::{Digest as _, Md5};

    Md5::digest(text.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// What a write is confirmed with: a number of ten digits that follows from who wrote, the command
/// and all of its arguments, as they were sent to the back-end.
#[must_use]
pub fn confirmation(
    state: &State,
    model: Model,
    command: u8,
    identity: u32,
    arguments: &[&str],
) -> u64 {
    let kind = u64::from(model.number()) << 8 | u64::from(command);
    let start = state.value(Tag::Confirmation, u64::from(identity), kind);
    let folded = arguments.iter().fold(start, |sum, text| fold(sum, text));
    folded % 10_000_000_000
}

/// A value that follows from `sum` and a text.
pub(super) fn fold(sum: u64, text: &str) -> u64 {
    let words = text.as_bytes().chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    let sum = words.fold(sum, |sum, word| mix(sum.wrapping_add(word)));
    mix(sum.wrapping_add(text.len() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_follows_the_file_set() {
        let state = State::tiny(7);
        assert_eq!((state.banking.min_user, state.banking.max_user), (1, 2_000));
        assert_eq!(state.ecommerce.max_customer, 400);
        assert_eq!(
            (state.ecommerce.lines, state.support.directories),
            (200, 10)
        );
        assert_eq!(state.day().to_string(), "20041007");
    }

    #[test]
    fn passwords_are_hashed_as_the_world_hashes_them() {
        // RFC 1321, appendix A.5.
        assert_eq!(md5_hex(""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(
            md5_hex("message digest"),
            "f96b697d7cb7938d525a2f31aaf161d0"
        );
        let state = State::tiny(7);
        let password = state.password(58);
        assert_eq!(password.len(), 16);
        assert_eq!(u64::from_str_radix(&password, 16), Ok(hash(7, 1, 58, 0)));
        assert_eq!(state.password_md5(58), md5_hex(&password));
    }

    #[test]
    fn confirmations_follow_from_every_argument_and_its_place() {
        let state = State::tiny(7);
        let confirm = |arguments: &[&str]| confirmation(&state, Model::Banking, 7, 58, arguments);
        let known = confirm(&["payee", "20041007", "12.00"]);
        assert!(known < 10_000_000_000);
        assert_eq!(known, confirm(&["payee", "20041007", "12.00"]));
        for other in [
            &["payee", "20041007", "12.01"][..],
            &["payee", "20041007"],
            &["payee2", "0041007", "12.00"],
            &["20041007", "payee", "12.00"],
            &["payee", "20041007", "12.00", ""],
        ] {
            assert_ne!(known, confirm(other));
        }
        assert_ne!(
            known,
            super::confirmation(
                &state,
                Model::Banking,
                6,
                58,
                &["payee", "20041007", "12.00"]
            )
        );
    }
}
