//! What becomes of each value that was sent: it is written down, captured from an answer before, or
//! replaced because it is a secret.

use rookery_workload::{
    data_driven::OWN_VALUES,
    http::{CaptureSource, is_secret},
};

use super::{find, similar::MOST_VARIED, steps::Recorded, varied::Varied};
use crate::workloads::data_driven::keys::MOST_FEEDERS;

/// Shortest value that is looked for in answers: of a secret, and of any other.
const SHORTEST_CAPTURE: [usize; 2] = [4, 8];
/// Most feeders that stand where secrets were.
const MOST_REMOVED: usize = MOST_FEEDERS - MOST_VARIED;
/// Most captures of the draft.
const MOST_CAPTURES: usize = 64;
/// So many bytes of answers are searched, all in all.
const MOST_SEARCHED: usize = 1 << 30;
/// Longest name of a value.
const LONGEST_NAME: usize = 40;
/// Stands where a secret was until all else is escaped. It has no meaning of its own.
const MARK: char = '\u{e000}';

/// A capture of the draft.
#[derive(Debug)]
pub(super) struct CaptureDraft {
    pub(super) name: String,
    pub(super) source: CaptureSource,
    value: String,
}

/// A feeder of the draft: it stands where a secret was.
#[derive(Debug)]
pub(super) struct FeederDraft {
    pub(super) name: String,
    /// Name of the field that it is for.
    pub(super) of: String,
}

/// A feeder of values that were seen in the requests of an operation.
#[derive(Debug)]
pub(super) struct SeenDraft {
    pub(super) name: String,
    /// The operation.
    pub(super) operation: usize,
}

/// What a value is replaced by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Replaced {
    /// The name of a value of the draft.
    pub(super) name: String,
    /// The operation that captures it; nothing where a feeder gives it.
    pub(super) captured_by: Option<usize>,
}

/// The values of a draft.
#[derive(Debug)]
pub(super) struct Values<'r> {
    recorded: &'r Recorded,
    /// By operation.
    pub(super) captures: Vec<Vec<CaptureDraft>>,
    pub(super) feeders: Vec<FeederDraft>,
    pub(super) seen: Vec<SeenDraft>,
    names: Vec<String>,
    searched: usize,
}

impl<'r> Values<'r> {
    pub(super) fn new(recorded: &'r Recorded) -> Self {
        Self {
            recorded,
            captures: recorded.operations.iter().map(|_| Vec::new()).collect(),
            feeders: Vec::new(),
            seen: Vec::new(),
            names: OWN_VALUES.map(str::to_owned).to_vec(),
            searched: 0,
        }
    }

    /// What stands for a value that the operation sends under a name; nothing where it may be
    /// written down. `private` values are replaced whatever their names.
    pub(super) fn replaced(
        &mut self,
        operation: usize,
        name: &str,
        value: &str,
        private: bool,
    ) -> Option<Replaced> {
        if value.is_empty() {
            return None;
        }
        let secret = is_secret(name);
        if let Some(captured) = self.captured(operation, name, value, secret) {
            return Some(captured);
        }
        (secret || private).then(|| self.fed(name))
    }

    /// A text as a template, without the secrets that stand in it.
    pub(super) fn literal(&mut self, text: &str) -> String {
        let text = text.replace(MARK, "?");
        let masked = self.recorded.secrets.replaced(&text, &MARK.to_string());
        let escaped = masked.replace('$', "$$");
        if !escaped.contains(MARK) {
            return escaped;
        }
        let replaced = self.fed("removed");
        escaped.replace(MARK, &format!("${{{}}}", replaced.name))
    }

    /// The feeder of the values that were seen in the requests of an operation.
    pub(super) fn seen(&mut self, operation: usize, varied: &Varied) -> String {
        let mut known = self.seen.iter();
        if let Some(known) = known.find(|seen| seen.operation == operation) {
            return known.name.clone();
        }
        let name = self.unique(&varied.of);
        self.seen.push(SeenDraft {
            name: name.clone(),
            operation,
        });
        name
    }

    /// Whether a secret stands in a text.
    pub(super) fn holds_secret(&self, text: &str) -> bool {
        self.recorded.secrets.holds(text)
    }

    /// The feeder for a field.
    fn fed(&mut self, of: &str) -> Replaced {
        let known = self.feeders.iter().find(|feeder| feeder.of == of);
        // The last one stands for all others.
        let known = known.or_else(|| self.feeders.get(MOST_REMOVED - 1));
        let name = match known {
            Some(feeder) => feeder.name.clone(),
            None => {
                let name = self.unique(of);
                self.feeders.push(FeederDraft {
                    name: name.clone(),
                    of: of.to_owned(),
                });
                name
            }
        };
        Replaced {
            name,
            captured_by: None,
        }
    }

    /// A value that an answer before the operation holds, taken from the last that does.
    fn captured(
        &mut self,
        operation: usize,
        name: &str,
        value: &str,
        secret: bool,
    ) -> Option<Replaced> {
        let recorded = self.recorded;
        if value.len() < SHORTEST_CAPTURE[usize::from(!secret)] {
            return None;
        }
        let first = recorded
            .script
            .iter()
            .position(|place| *place == operation)?;
        let mut before: Vec<usize> = recorded.script[..first].to_vec();
        before.reverse();
        let mut seen = Vec::new();
        for place in before {
            if seen.contains(&place) {
                continue;
            }
            seen.push(place);
            if let Some(found) = self.captured_by(place, name, value, secret) {
                return Some(found);
            }
        }
        None
    }

    fn captured_by(
        &mut self,
        place: usize,
        name: &str,
        value: &str,
        secret: bool,
    ) -> Option<Replaced> {
        let of = |name: &str| Replaced {
            name: name.to_owned(),
            captured_by: Some(place),
        };
        let known = self.captures[place].iter().find(|one| one.value == value);
        if let Some(known) = known {
            return Some(of(&known.name));
        }
        let recorded = self.recorded;
        let all: usize = self.captures.iter().map(Vec::len).sum();
        if all >= MOST_CAPTURES {
            return None;
        }
        let mut answers = recorded.operations[place].answers();
        let source = answers.find_map(|answer| {
            if self.searched > MOST_SEARCHED {
                return None;
            }
            self.searched += answer.body.len() + 1;
            find::source(answer, name, value, secret)
        })?;
        // Another answer of the same operation has another value in the same place.
        let same = self.captures[place].iter().find(|one| one.source == source);
        if let Some(same) = same {
            return Some(of(&same.name));
        }
        let (CaptureSource::Regex(text)
        | CaptureSource::Json(text)
        | CaptureSource::Header(text)
        | CaptureSource::Cookie(text)) = &source;
        if self.holds_secret(text) {
            return None;
        }
        let name = self.unique(name);
        self.captures[place].push(CaptureDraft {
            name: name.clone(),
            source,
            value: value.to_owned(),
        });
        Some(of(&name))
    }

    /// A name for a value that no other has.
    fn unique(&mut self, from: &str) -> String {
        let plain: String = from
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() {
                    c.to_ascii_lowercase()
                } else {
                    '_'
                }
            })
            .take(LONGEST_NAME)
            .collect();
        let plain = plain.trim_matches('_');
        let first = if plain.is_empty() || self.holds_secret(plain) {
            "value"
        } else {
            plain
        };
        let mut name = first.to_owned();
        let mut number = 2;
        while self.names.contains(&name) {
            name = format!("{first}_{number}");
            number += 1;
        }
        self.names.push(name.clone());
        name
    }
}
