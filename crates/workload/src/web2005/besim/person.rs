//! Names and addresses.

use super::{
    state::{State, Tag},
    words::{STATES, capitalized, noun},
};

/// A user or customer as the back-end knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// First and last name.
    pub name: String,
    /// House number and street.
    pub street: String,
    /// City.
    pub city: String,
    /// Two capital letters.
    pub state: String,
    /// Five digits.
    pub zip: String,
    /// `206-555-0123`.
    pub phone: String,
    /// An address of a domain that is reserved for examples.
    pub email: String,
}

impl Person {
    /// The person with this identity.
    #[must_use]
    pub fn new(state: &State, identity: u32) -> Self {
        let value = |field| state.value(Tag::Profile, u64::from(identity), field);
        let word = |field| capitalized(noun(value(field)));
        Self {
            name: format!("{} {}", word(0), word(1)),
            street: format!("{} {} Street", 1 + value(2) % 999, word(3)),
            city: format!("{}ton", word(4)),
            state: STATES[rookery_cast::index(value(5) % STATES.len() as u64)].to_owned(),
            zip: format!("{:05}", value(6) % 100_000),
            phone: format!("{}-555-{:04}", 200 + value(7) % 800, value(8) % 10_000),
            email: format!("user{identity}@example.com"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_differ_and_stay_the_same() {
        let state = State::tiny(7);
        let person = Person::new(&state, 58);
        assert_eq!(person, Person::new(&state, 58));
        assert_ne!(person, Person::new(&state, 59));
        assert_ne!(person, Person::new(&State::tiny(8), 58));
        assert_eq!(person.email, "user58@example.com");
        assert_eq!(
            (person.zip.len(), person.phone.len(), person.state.len()),
            (5, 12, 2)
        );
    }
}
