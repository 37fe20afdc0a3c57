//! Where values come from that no answer gives.

use rand_pcg::Pcg32;
use serde::{Deserialize, Serialize};

use crate::{random::RandomSource as _, streams::uniform};

/// A source of values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feeder {
    /// Its name: that of its value, or what stands before the names of its columns.
    pub name: String,
    /// What it gives.
    pub source: Source,
    /// In which order.
    pub order: Order,
    /// How long a user keeps what it drew.
    pub per: Per,
}

/// What a feeder gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Whole numbers.
    Range {
        /// The first.
        first: u64,
        /// The last.
        last: u64,
    },
    /// One of these.
    Values(Vec<String>),
    /// Rows of several columns: `${name.column}`.
    Table {
        /// The names of the columns.
        columns: Vec<String>,
        /// The rows, each as long as the list of columns.
        rows: Vec<Vec<String>>,
        /// Columns whose values are in no row, but where this says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        secret: Option<SecretColumns>,
    },
    /// So many small letters, at random.
    Letters {
        /// The fewest.
        min: u32,
        /// The most.
        max: u32,
    },
    /// So many words of a built-in list, at random.
    Words {
        /// How many.
        count: u32,
    },
    /// A text that no other user of the trial has, nor any user of a trial with another seed.
    Id,
}

/// The columns of a table whose values are kept nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretColumns {
    /// Their names.
    pub names: Vec<String>,
    /// The file of comma-separated values that has the whole table: a path from the root.
    pub file: String,
}

/// In which order values are given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// At random, again and again.
    #[default]
    Random,
    /// One after the other, each user by itself, from the begin when all were given.
    Sequential,
    /// Each once over all users of a guest; then there are no more.
    Once,
}

/// How long a user keeps what it drew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    /// For one operation that uses it.
    #[default]
    Operation,
    /// For a session.
    Session,
}

/// A feeder has no more to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dry;

/// Which user of which trial draws, and how often it drew before.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    /// Seed of the trial.
    pub seed: u64,
    /// Index of the guest.
    pub guest: u32,
    /// The user's number at its guest.
    pub user: u32,
    /// Who else draws.
    pub population: Population,
    /// How many this user drew from the feeder before.
    pub before: u64,
}

/// Who draws from a feeder at one guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Population {
    /// So many users, each again and again.
    Users(u32),
    /// Visitors of an open load, numbered without end. Each draws at most so often.
    Visitors {
        /// Acts of a visitor: it draws at most once for each.
        draws: u32,
    },
}

impl Drawn {
    /// A number that no other draw from the feeder has at this guest; none is left where a visitor
    /// draws more often than it may.
    fn number(self) -> Option<u64> {
        let user = u64::from(self.user);
        match self.population {
            Population::Users(users) => Some(
                self.before
                    .saturating_mul(u64::from(users))
                    .saturating_add(user),
            ),
            Population::Visitors { draws } => {
                let draws = u64::from(draws);
                (self.before < draws).then(|| user.saturating_mul(draws) + self.before)
            }
        }
    }
}

impl Feeder {
    /// The names of its values.
    #[must_use]
    pub fn values(&self) -> Vec<String> {
        match &self.source {
            Source::Table { columns, .. } => columns
                .iter()
                .map(|column| format!("{}.{column}", self.name))
                .collect(),
            _ => vec![self.name.clone()],
        }
    }

    /// How many different values there are; `None` where they never end.
    #[must_use]
    pub fn len(&self) -> Option<u64> {
        match &self.source {
            Source::Range { first, last } => Some(last.saturating_sub(*first).saturating_add(1)),
            Source::Values(values) => Some(values.len() as u64),
            Source::Table { rows, .. } => Some(rows.len() as u64),
            Source::Letters { .. } | Source::Words { .. } | Source::Id => None,
        }
    }

    /// Whether it has nothing to give at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    /// Draws a value of each column and hands them over.
    ///
    /// # Errors
    /// [`Dry`] when each value was given once.
    pub fn draw(
        &self,
        rng: &mut Pcg32,
        drawn: Drawn,
        mut give: impl FnMut(&[u8]),
    ) -> Result<(), Dry> {
        let index = match self.len() {
            None => 0,
            Some(0) => return Err(Dry),
            Some(length) => match self.order {
                Order::Random => rng.below(length),
                Order::Sequential => drawn.before % length,
                Order::Once => match drawn.number() {
                    Some(number) if number < length => number,
                    _ => return Err(Dry),
                },
            },
        };
        match &self.source {
            Source::Range { first, .. } => give((first + index).to_string().as_bytes()),
            Source::Values(values) => give(values[rookery_cast::index(index)].as_bytes()),
            Source::Table { rows, .. } => rows[rookery_cast::index(index)]
                .iter()
                .for_each(|value| give(value.as_bytes())),
            Source::Letters { min, max } => {
                let length = uniform(rng, *min, *max);
                let letters: Vec<u8> = (0..length).map(|_| uniform(rng, b'a', b'z')).collect();
                give(&letters);
            }
            Source::Words { count } => {
                let words: Vec<&str> = (0..*count).map(|_| WORDS[rng.index(WORDS.len())]).collect();
                give(words.join(" ").as_bytes());
            }
            Source::Id => {
                let Drawn {
                    seed,
                    guest,
                    user,
                    before,
                    ..
                } = drawn;
                give(format!("{:x}-{guest}-{user}-{before}", crate::random::mix(seed)).as_bytes());
            }
        }
        Ok(())
    }
}

/// Words for searches and texts.
const WORDS: [&str; 64] = [
    "apple", "autumn", "bank", "basket", "bicycle", "bird", "blue", "book", "bread", "bridge",
    "bright", "candle", "chair", "cheese", "city", "cloud", "coffee", "copper", "corner", "cotton",
    "dance", "desk", "door", "early", "evening", "field", "fire", "flower", "forest", "garden",
    "glass", "gold", "green", "harbour", "honey", "house", "island", "kitchen", "lamp", "letter",
    "light", "market", "meadow", "milk", "morning", "mountain", "music", "night", "ocean",
    "orange", "paper", "pepper", "picture", "quiet", "river", "silver", "snow", "stone", "summer",
    "table", "tree", "village", "winter", "yellow",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn feeder(source: Source, order: Order) -> Feeder {
        Feeder {
            name: "f".to_owned(),
            source,
            order,
            per: Per::Operation,
        }
    }

    fn draw(feeder: &Feeder, users: u32, user: u32, before: u64) -> Result<String, Dry> {
        draw_of(feeder, Population::Users(users), user, before)
    }

    fn draw_of(
        feeder: &Feeder,
        population: Population,
        user: u32,
        before: u64,
    ) -> Result<String, Dry> {
        let mut rng = Pcg32::new(1, u64::from(user));
        let drawn = Drawn {
            seed: 7,
            guest: 0,
            user,
            population,
            before,
        };
        let mut out = String::new();
        feeder.draw(&mut rng, drawn, |value| {
            out.push_str(std::str::from_utf8(value).expect("text"));
        })?;
        Ok(out)
    }

    #[test]
    fn each_once_is_shared_out_and_runs_dry() {
        let range = feeder(Source::Range { first: 1, last: 7 }, Order::Once);
        let mut all: Vec<String> = Vec::new();
        for user in 0..3 {
            for before in 0..10 {
                match draw(&range, 3, user, before) {
                    Ok(value) => all.push(value),
                    Err(Dry) => break,
                }
            }
        }
        all.sort();
        assert_eq!(all, ["1", "2", "3", "4", "5", "6", "7"]);
    }

    #[test]
    fn visitors_leave_no_value_out() {
        let range = feeder(Source::Range { first: 1, last: 7 }, Order::Once);
        let once = Population::Visitors { draws: 1 };
        let single = (0..8).map(|visitor| draw_of(&range, once, visitor, 0));
        let given: Vec<_> = single.collect::<Vec<_>>();
        assert_eq!(given[..7].concat_all(), "1234567");
        assert_eq!(given[7], Err(Dry));
        assert_eq!(draw_of(&range, once, 0, 1), Err(Dry));
        let twice = Population::Visitors { draws: 2 };
        let pair = [draw_of(&range, twice, 1, 0), draw_of(&range, twice, 1, 1)];
        assert_eq!(pair.concat_all(), "34");
    }

    trait ConcatAll {
        fn concat_all(&self) -> String;
    }

    impl ConcatAll for [Result<String, Dry>] {
        fn concat_all(&self) -> String {
            self.iter().flatten().map(String::as_str).collect()
        }
    }

    #[test]
    fn sequences_begin_again_and_ids_are_unique() {
        let values = ["a", "b"].map(str::to_owned).to_vec();
        let list = feeder(Source::Values(values), Order::Sequential);
        let three: Vec<_> = (0..3).map(|before| draw(&list, 1, 0, before)).collect();
        assert_eq!(three.concat_all(), "aba");
        let id = feeder(Source::Id, Order::Random);
        let ids: std::collections::BTreeSet<_> = (0..4)
            .flat_map(|user| (0..4).map(move |before| (user, before)))
            .map(|(user, before)| draw(&id, 4, user, before).expect("never dry"))
            .collect();
        assert_eq!(ids.len(), 16);
    }

    /// Chi-square of 10 values: 9 degrees of freedom, 27.9 is passed once in a thousand.
    #[test]
    fn a_range_is_drawn_evenly() {
        let range = feeder(Source::Range { first: 0, last: 9 }, Order::Random);
        let mut rng = Pcg32::new(3, 4);
        let mut counts = [0.0; 10];
        for before in 0..10_000 {
            let drawn = Drawn {
                seed: 1,
                guest: 0,
                user: 0,
                population: Population::Users(1),
                before,
            };
            let mut value = 0;
            range
                .draw(&mut rng, drawn, |text| value = usize::from(text[0] - b'0'))
                .expect("never dry");
            counts[value] += 1.0;
        }
        let chi: f64 = counts
            .iter()
            .map(|count: &f64| (count - 1000.0).powi(2) / 1000.0)
            .sum();
        assert!(chi < 27.9, "{counts:?}: {chi}");
    }
}
