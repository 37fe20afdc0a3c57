//! Requests that differ in one value: a segment of the path, a value of the query, a field of a
//! form. They are one operation, and a feeder gives the value.

use std::collections::{BTreeMap, BTreeSet};

use rookery_workload::http::is_secret;

use super::{
    decode::{looks_like_a_number, unescaped},
    exchange::{Exchange, plain_mime},
    secrets::Secrets,
    varied::{Slot, Varied},
};
use crate::workloads::http::keys::is_field;

/// Most operations with a value from a feeder.
pub(super) const MOST_VARIED: usize = 16;
/// Most steps that are compared; later ones are as they were recorded.
const MOST_COMPARED: usize = 3_000;
/// Most values of a request that are looked at.
const MOST_SLOTS: usize = 24;
/// Longest value that is given by a feeder.
const LONGEST_VALUE: usize = 200;
/// So many words in a path are the names of things of one kind; fewer may be pages of their own.
const WORDS_OF_A_PATH: usize = 4;
/// A value of so many letters and digits that has no word in it is a key that the server made up.
const KEY_LENGTH: usize = 12;
/// Names of values that say what a page does.
const SELECTORS: [&str; 12] = [
    "act",
    "action",
    "cmd",
    "command",
    "controller",
    "do",
    "mode",
    "op",
    "route",
    "step",
    "tab",
    "view",
];

/// A value of a request that a feeder may give.
#[derive(Debug)]
struct Place {
    slot: Slot,
    of: String,
    value: String,
}

/// The requests of a group, by what they have in common.
#[derive(Debug, Default)]
struct Group {
    steps: Vec<(usize, Place)>,
}

/// What was asked for, and what came back in the end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'e> {
    pub(super) request: &'e Exchange,
    pub(super) answer: &'e Exchange,
}

/// What each request shares with others that differ from it in one value, with its own value;
/// nothing where it stands alone.
pub(super) fn varied(steps: &[Asked<'_>], secrets: &Secrets) -> Vec<Option<Varied>> {
    let mut found: Vec<Option<Varied>> = vec![None; steps.len()];
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for (index, step) in steps.iter().enumerate().take(MOST_COMPARED) {
        for (common, place) in places(step, secrets) {
            groups.entry(common).or_default().steps.push((index, place));
        }
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    groups.retain(Group::is_one_operation);
    // The largest first, and of equal ones that which came first.
    groups.sort_by_key(|group| {
        let first = group.steps.first().map(|(index, _)| *index);
        (std::cmp::Reverse(group.values().len()), first)
    });
    let mut number = 0;
    for mut group in groups {
        group.steps.retain(|(index, _)| found[*index].is_none());
        if number >= MOST_VARIED || !group.is_one_operation() {
            continue;
        }
        for (index, Place { slot, of, value }) in group.steps {
            found[index] = Some(Varied {
                group: number,
                slot,
                of,
                values: vec![value],
            });
        }
        number += 1;
    }
    found
}

impl Group {
    fn values(&self) -> BTreeSet<&str> {
        self.steps
            .iter()
            .map(|(_, place)| place.value.as_str())
            .collect()
    }

    /// Whether there are enough values, and of such a kind, that the requests ask for the same of
    /// different things.
    fn is_one_operation(&self) -> bool {
        let values = self.values();
        let Some((_, first)) = self.steps.first() else {
            return false;
        };
        let numbers = values.iter().all(|value| looks_like_a_number(value));
        match first.slot {
            Slot::Path(index) if !numbers => {
                // `/about` and `/contact` are pages of their own.
                index > 0 && values.len() >= WORDS_OF_A_PATH
            }
            _ => values.len() >= 2,
        }
    }
}

/// The values of a request that may differ, each with all that must not.
fn places(step: &Asked<'_>, secrets: &Secrets) -> Vec<(String, Place)> {
    let request = step.request;
    if request.logs_in() {
        return Vec::new();
    }
    let (path, query) = match request.target.split_once('?') {
        Some((path, query)) => (path, query),
        None => (request.target.as_str(), ""),
    };
    let segments: Vec<&str> = path.strip_prefix('/').unwrap_or(path).split('/').collect();
    let pairs: Vec<(&str, Option<&str>)> = query
        .split('&')
        .map(|pair| match pair.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (pair, None),
        })
        .collect();
    let fields = request.sent.form_fields();
    let slots = slots(&segments, &pairs, &fields, secrets);
    let place = |place: Place| {
        let class = if looks_like_a_number(&place.value) {
            "number"
        } else {
            "word"
        };
        let common = [
            alike(step),
            class.to_owned(),
            format!("{:?}", place.slot),
            path_without(&segments, &place.slot),
            query_without(&pairs, &place.slot),
            body_without(request, &fields, &place.slot),
        ];
        (common.join("\n"), place)
    };
    slots.into_iter().take(MOST_SLOTS).map(place).collect()
}

/// What requests and answers of one operation share beside their values.
fn alike(step: &Asked<'_>) -> String {
    let Asked { request, answer } = step;
    format!(
        "{} {:?} {} {} {}",
        request.method.name(),
        request.kind,
        answer.status,
        answer.mime,
        answer.redirects()
    )
}

fn slots(
    segments: &[&str],
    pairs: &[(&str, Option<&str>)],
    fields: &[(String, String)],
    secrets: &Secrets,
) -> Vec<Place> {
    let mut all = Vec::new();
    // A secret may be longer than a segment.
    if !secrets.holds(&segments.join("/")) {
        for (index, segment) in segments.iter().enumerate() {
            let before = index.checked_sub(1).and_then(|before| segments.get(before));
            let is_file = segment.contains('.') && !looks_like_a_number(segment);
            if !is_file {
                all.push(Place {
                    slot: Slot::Path(index),
                    of: before.map_or_else(String::new, |before| unescaped(before, false)),
                    value: unescaped(segment, false),
                });
            }
        }
    }
    for (index, (name, value)) in pairs.iter().enumerate() {
        if let Some(value) = value {
            all.push(Place {
                slot: Slot::Query(index),
                of: unescaped(name, true),
                value: unescaped(value, true),
            });
        }
    }
    for (name, value) in fields {
        let count = fields.iter().filter(|(other, _)| other == name).count();
        if count == 1 && is_field(name) {
            all.push(Place {
                slot: Slot::Field(name.clone()),
                of: name.clone(),
                value: value.clone(),
            });
        }
    }
    all.retain(|place| may_vary(place, secrets));
    all
}

/// Whether a feeder may give a value: no secret, no key of a session, nothing that says what a page
/// does.
fn may_vary(place: &Place, secrets: &Secrets) -> bool {
    let (name, value) = (place.of.to_ascii_lowercase(), place.value.as_str());
    let named = !matches!(place.slot, Slot::Path(_));
    let of_page = name == "page" && !looks_like_a_number(value);
    let selects = named && (SELECTORS.contains(&name.as_str()) || of_page);
    (1..=LONGEST_VALUE).contains(&value.len())
        && !selects
        && !is_secret(&name)
        && !secrets.holds(value)
        && !secrets.holds(&name)
        && !is_key(value)
}

/// Whether a value is one that a server made up: letters and digits without a word among them.
fn is_key(value: &str) -> bool {
    let any = |good: fn(&char) -> bool| value.chars().any(|c| good(&c));
    let is_word = |part: &str| part.len() >= 3 && part.chars().all(char::is_alphabetic);
    value.len() >= KEY_LENGTH
        && any(char::is_ascii_digit)
        && any(char::is_ascii_alphabetic)
        && !value.split(|c: char| !c.is_alphanumeric()).any(is_word)
}

/// Stands where the value was.
const HOLE: &str = "\u{0}";

fn path_without(segments: &[&str], slot: &Slot) -> String {
    let kept = segments.iter().enumerate().map(|(index, segment)| {
        if *slot == Slot::Path(index) {
            HOLE
        } else {
            segment
        }
    });
    kept.collect::<Vec<_>>().join("/")
}

/// The query; what secrets are does not count, they are replaced anyway.
fn query_without(pairs: &[(&str, Option<&str>)], slot: &Slot) -> String {
    let kept = pairs.iter().enumerate().map(|(index, (name, value))| {
        let hole = *slot == Slot::Query(index) || is_secret(&unescaped(name, true));
        match value {
            Some(_) if hole => format!("{name}={HOLE}"),
            Some(value) => format!("{name}={value}"),
            None => (*name).to_owned(),
        }
    });
    kept.collect::<Vec<_>>().join("&")
}

fn body_without(request: &Exchange, fields: &[(String, String)], slot: &Slot) -> String {
    let kind = plain_mime(&request.sent.mime);
    if fields.is_empty() {
        let sent = &request.sent;
        return format!("{kind}\n{}\n{:?}", sent.text, sent.fields);
    }
    let kept = fields.iter().map(|(name, value)| {
        let hole = *slot == Slot::Field(name.clone()) || is_secret(name);
        format!("{name:?}={:?}", if hole { HOLE } else { value })
    });
    format!("{kind}\n{}", kept.collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_no_words() {
        for key in ["a1b2c3d4e5f6", "7f3e-90aa-11c4", "eyJ0b2tlbiI6MX0"] {
            assert!(is_key(key), "{key}");
        }
        for other in [
            "12",
            "1234567890123",
            "blue-shirt-2024-xl",
            "abcdefghijklmn",
        ] {
            assert!(!is_key(other), "{other}");
        }
    }
}
