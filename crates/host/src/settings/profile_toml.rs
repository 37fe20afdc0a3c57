//! The text of a profile: every problem at once, each with its line and the mend.

use std::ops::Range;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    catalogue::{KNOBS, knob},
    knob::{Knob, numbers},
    profile::{Profile, ProfileError, ProfileProblem, Setting, Wanted},
};

/// Longest profile that is read, bytes.
const MAX_TEXT: usize = 256 * 1024;
/// Longest name or value that is repeated in a message, characters.
const MAX_QUOTE: usize = 60;

/// Keys of the file.
const PROFILE_KEYS: &[&str] = &["name", "title", "setting"];
/// Keys of a `[[setting]]`.
const SETTING_KEYS: &[&str] = &[
    "knob", "value", "values", "at_least", "devices", "reason", "source",
];

type Value<'a> = Spanned<DeValue<'a>>;

/// Name and text of the profiles that come with Rookery.
const EMBEDDED: &[(&str, &str)] = &[
    (
        "enterprise-storage",
        include_str!("../../../../stacks/host/enterprise-storage.toml"),
    ),
    (
        "many-connections",
        include_str!("../../../../stacks/host/many-connections.toml"),
    ),
    (
        "shared-memory",
        include_str!("../../../../stacks/host/shared-memory.toml"),
    ),
    (
        "throughput",
        include_str!("../../../../stacks/host/throughput.toml"),
    ),
];

impl Profile {
    /// Read the text of a profile; `file` is for messages.
    ///
    /// # Errors
    /// With every problem of the text at once.
    pub fn parse(file: &str, text: &str) -> Result<Self, ProfileError> {
        parse(text).map_err(|problems| ProfileError {
            file: file.to_owned(),
            problems,
        })
    }

    /// Names of the profiles that come with Rookery.
    pub fn embedded_names() -> impl Iterator<Item = &'static str> {
        EMBEDDED.iter().map(|(name, _)| *name)
    }

    /// One of the profiles that come with Rookery; `None` when there is none of this name.
    ///
    /// # Errors
    /// Never in a build whose tests pass.
    #[must_use]
    pub fn embedded(name: &str) -> Option<Result<Self, ProfileError>> {
        let (name, text) = EMBEDDED.iter().find(|(known, _)| *known == name)?;
        Some(Self::parse(name, text))
    }
}

/// Read the text of a profile.
fn parse(text: &str) -> Result<Profile, Vec<ProfileProblem>> {
    let mut reader = Reader {
        text,
        problems: Vec::new(),
    };
    if text.len() > MAX_TEXT {
        reader.say(
            &(0..0),
            "it is longer than 256 KiB",
            "a profile has one [[setting]] per knob",
        );
        return Err(reader.problems);
    }
    let (root, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        reader.say(
            &error.span().unwrap_or(0..0),
            error.message(),
            "write it as TOML: key = \"value\"",
        );
    }
    let profile = reader.profile(root.get_ref());
    reader.problems.sort_by_key(|problem| problem.line);
    match profile {
        Some(profile) if reader.problems.is_empty() => Ok(profile),
        _ => Err(reader.problems),
    }
}

struct Reader<'t> {
    text: &'t str,
    problems: Vec<ProfileProblem>,
}

impl Reader<'_> {
    fn say(&mut self, span: &Range<usize>, message: impl Into<String>, mend: impl Into<String>) {
        let before = self
            .text
            .as_bytes()
            .get(..span.start)
            .unwrap_or(self.text.as_bytes());
        self.problems.push(ProfileProblem {
            line: before.iter().filter(|byte| **byte == b'\n').count() + 1,
            message: message.into(),
            mend: mend.into(),
        });
    }

    fn profile(&mut self, root: &DeTable<'_>) -> Option<Profile> {
        self.refuse_unknown(root, PROFILE_KEYS);
        let name = self.name(root);
        let title = self.string(root, "title", &(0..0));
        let settings = self.settings(root);
        Some(Profile {
            name: name?,
            title: title?,
            settings: settings?,
        })
    }

    fn name(&mut self, root: &DeTable<'_>) -> Option<String> {
        let name = self.string(root, "name", &(0..0))?;
        let valid = (1..=40).contains(&name.len())
            && name
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if !valid {
            let span = root.get("name").map_or(0..0, Spanned::span);
            self.say(
                &span,
                "the name has other characters than a-z, 0-9 and -, or more than 40",
                "name = \"my-profile\"",
            );
        }
        valid.then_some(name)
    }

    /// The settings in the order in which they are applied; `None` when any is wrong.
    fn settings(&mut self, root: &DeTable<'_>) -> Option<Vec<Setting>> {
        let Some(value) = root.get("setting") else {
            self.say(
                &(0..0),
                "it has no setting",
                "add [[setting]] with knob, value, reason and source",
            );
            return None;
        };
        let DeValue::Array(tables) = value.get_ref() else {
            self.say(
                &value.span(),
                "`setting` is not a list of tables",
                "write [[setting]] above each setting",
            );
            return None;
        };
        let mut settings: Vec<Option<Setting>> = Vec::new();
        for table in tables.iter() {
            let setting = match table.get_ref() {
                DeValue::Table(fields) => self.setting(fields, &table.span()),
                _ => {
                    self.say(
                        &table.span(),
                        "a setting is not a table",
                        "write [[setting]] above each setting",
                    );
                    None
                }
            };
            if let Some(setting) = &setting {
                self.refuse_second(setting, &settings, &table.span());
            }
            settings.push(setting);
        }
        let mut settings: Vec<Setting> = settings.into_iter().collect::<Option<_>>()?;
        settings.sort_by_key(|setting| KNOBS.iter().position(|knob| knob.key == setting.knob.key));
        Some(settings)
    }

    /// Two settings of a knob are two opinions, unless each names its own devices.
    fn refuse_second(
        &mut self,
        setting: &Setting,
        before: &[Option<Setting>],
        span: &Range<usize>,
    ) {
        let twice = before.iter().flatten().any(|other| {
            let shared = other
                .devices
                .iter()
                .any(|device| setting.devices.contains(device));
            other.knob.key == setting.knob.key
                && (other.devices.is_empty() || setting.devices.is_empty() || shared)
        });
        if twice {
            let message = format!("`{}` is set twice for the same devices", setting.knob.key);
            self.say(
                span,
                message,
                "remove one of the two, or give each its own `devices`",
            );
        }
    }

    fn setting(&mut self, fields: &DeTable<'_>, span: &Range<usize>) -> Option<Setting> {
        self.refuse_unknown(fields, SETTING_KEYS);
        let knob = self.knob(fields, span);
        let wanted = knob.and_then(|knob| self.wanted(fields, knob, span));
        let devices = self.devices(fields, knob);
        let (reason, source) = (
            self.string(fields, "reason", span),
            self.string(fields, "source", span),
        );
        Some(Setting {
            knob: knob?,
            wanted: wanted?,
            devices: devices?,
            reason: reason?,
            source: source?,
        })
    }

    fn knob(&mut self, fields: &DeTable<'_>, span: &Range<usize>) -> Option<&'static Knob> {
        let name = self.string(fields, "knob", span)?;
        let found = knob(&name);
        if found.is_none() {
            let keys: Vec<&str> = KNOBS.iter().map(|knob| knob.key).collect();
            let span = fields.get("knob").map_or(span.clone(), Spanned::span);
            self.say(
                &span,
                format!("there is no knob `{}`", quote(&name)),
                mend_name(&name, &keys),
            );
        }
        found
    }

    /// Exactly one of `value`, `values` and `at_least`.
    fn wanted(&mut self, fields: &DeTable<'_>, knob: &Knob, span: &Range<usize>) -> Option<Wanted> {
        let given: Vec<(&str, &Value<'_>)> = ["value", "values", "at_least"]
            .into_iter()
            .filter_map(|key| Some((key, fields.get(key)?)))
            .collect();
        match given[..] {
            [("value", value)] => Some(Wanted::OneOf(vec![self.value(value, knob)?])),
            [("values", list)] => {
                let values = self.list(list, "values")?;
                let values: Vec<Option<String>> =
                    values.iter().map(|value| self.value(value, knob)).collect();
                Some(Wanted::OneOf(values.into_iter().collect::<Option<_>>()?))
            }
            [("at_least", value)] => {
                let checked = self.value(value, knob)?;
                let least = numbers(&checked);
                if least.is_none() {
                    let message = format!("`{}` holds a word, which has no least", knob.key);
                    self.say(
                        &value.span(),
                        message,
                        "write value = ... instead of at_least",
                    );
                }
                least.map(Wanted::AtLeast)
            }
            _ => {
                let message = format!(
                    "the setting of `{}` has {} of value, values and at_least",
                    knob.key,
                    given.len()
                );
                self.say(
                    span,
                    message,
                    "give exactly one: value = 10, values = [\"a\", \"b\"] by preference, or \
                     at_least = 10",
                );
                None
            }
        }
    }

    fn value(&mut self, value: &Value<'_>, knob: &Knob) -> Option<String> {
        let text = match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
            _ => {
                self.say(
                    &value.span(),
                    format!(
                        "the value of `{}` is neither text nor a whole number",
                        knob.key
                    ),
                    "write \"...\" or a number",
                );
                return None;
            }
        };
        match knob.checked(&text) {
            Ok(value) => Some(value),
            Err(why) => {
                self.say(
                    &value.span(),
                    format!("`{}`: {}", knob.key, quote(&why.to_string())),
                    "give a value that the kernel can take",
                );
                None
            }
        }
    }

    fn devices(&mut self, fields: &DeTable<'_>, knob: Option<&Knob>) -> Option<Vec<String>> {
        let Some(value) = fields.get("devices") else {
            return Some(Vec::new());
        };
        if let Some(knob) = knob.filter(|knob| {
            matches!(
                knob.place,
                super::knob::Place::File(_) | super::knob::Place::OpenFilesLimit
            )
        }) {
            self.say(
                &value.span(),
                format!("`{}` is no setting of devices", knob.key),
                "remove `devices`",
            );
        }
        let names = self.list(value, "devices")?;
        let mut devices = Vec::new();
        for name in names {
            match name.get_ref() {
                DeValue::String(text) if !text.is_empty() && !text.contains(['/', '\n']) => {
                    devices.push(text.to_string())
                }
                _ => {
                    self.say(
                        &name.span(),
                        "a device is no name as in /sys/block",
                        "devices = [\"sda\", \"nvme*\"]",
                    );
                    return None;
                }
            }
        }
        Some(devices)
    }

    fn list<'v, 'd>(&mut self, value: &'v Value<'d>, key: &str) -> Option<&'v [Value<'d>]> {
        match value.get_ref() {
            DeValue::Array(items) if !items.is_empty() => Some(items),
            _ => {
                self.say(
                    &value.span(),
                    format!("`{key}` is not a list, or empty"),
                    format!("{key} = [\"...\"]"),
                );
                None
            }
        }
    }

    /// A text that must be there and say something.
    fn string(&mut self, table: &DeTable<'_>, key: &str, span: &Range<usize>) -> Option<String> {
        let mend = format!("{key} = \"...\"");
        match table.get(key) {
            Some(value) => match value.get_ref() {
                DeValue::String(text)
                    if !text.trim().is_empty() && !text.chars().any(char::is_control) =>
                {
                    Some(text.trim().to_owned())
                }
                _ => {
                    self.say(
                        &value.span(),
                        format!("`{key}` is not a text of one line"),
                        mend,
                    );
                    None
                }
            },
            None => {
                self.say(span, format!("`{key}` is missing"), mend);
                None
            }
        }
    }

    fn refuse_unknown(&mut self, table: &DeTable<'_>, known: &[&str]) {
        let unknown: Vec<(String, Range<usize>)> = table
            .keys()
            .filter(|key| !known.contains(&key.get_ref().as_ref()))
            .map(|key| (key.get_ref().to_string(), key.span()))
            .collect();
        for (key, span) in unknown {
            self.say(
                &span,
                format!("there is no key `{}`", quote(&key)),
                mend_name(&key, known),
            );
        }
    }
}

/// The nearest known name, or all of them.
fn mend_name(name: &str, known: &[&str]) -> String {
    match nearest(name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known are: {}", known.join(", ")),
    }
}

/// The name that was most probably meant: few letters away, or the same last part (`swappiness` for
/// `vm.swappiness`).
fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let plain = name.to_ascii_lowercase();
    if plain.len() > MAX_QUOTE {
        return None;
    }
    let last = |key: &'k str| key.rsplit('.').next().unwrap_or(key);
    if let Some(same_end) = known
        .iter()
        .find(|key| last(key) == plain.rsplit(['.', '/']).next().unwrap_or(&plain))
    {
        return Some(same_end);
    }
    let near = known
        .iter()
        .map(|key| (*key, strsim::damerau_levenshtein(&plain, key)));
    let (best, distance) = near.min_by_key(|(_, distance)| *distance)?;
    (distance <= (best.len().max(plain.len()) / 3).max(1)).then_some(best)
}

/// Text that a terminal prints and does not obey, cut.
fn quote(text: &str) -> String {
    let cut: String = text.chars().take(MAX_QUOTE * 4).collect();
    cut.chars()
        .flat_map(|c| {
            if c.is_control() {
                c.escape_default().collect::<Vec<_>>()
            } else {
                vec![c]
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
name = "mine"
title = "My own"

[[setting]]
knob = "net.core.somaxconn"
at_least = 1024
reason = "r"
source = "s"

[[setting]]
knob = "block.scheduler"
values = ["mq-deadline", "deadline"]
devices = ["vd*"]
reason = "r"
source = "s"
"#;

    fn problems(text: &str) -> String {
        let problems = parse(text).expect_err("has problems");
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn settings_come_in_the_order_in_which_they_are_applied() {
        let profile = parse(GOOD).expect("valid");
        let keys: Vec<&str> = profile
            .settings
            .iter()
            .map(|setting| setting.knob.key)
            .collect();
        assert_eq!(keys, ["block.scheduler", "net.core.somaxconn"]);
        assert_eq!(profile.settings[0].devices, ["vd*"]);
        assert_eq!(profile.settings[1].wanted, Wanted::AtLeast(vec![1024]));
    }

    #[test]
    fn every_problem_is_told_with_line_and_mend() {
        let text = GOOD
            .replace("net.core.somaxconn", "net.core.somaxcon")
            .replace("\"deadline\"]", "\"dead line\"]")
            .replace("title =", "titel =");
        let said = problems(&text);
        for word in [
            "line 3: there is no key `titel`",
            "did you mean `title`?",
            "line 6: there is no knob `net.core.somaxcon`",
            "did you mean `net.core.somaxconn`?",
            "line 13: `block.scheduler`: `dead line` is none of",
        ] {
            assert!(said.contains(word), "`{word}` is missing in:{said}");
        }
    }

    #[test]
    fn the_last_part_of_a_name_is_enough_for_a_hint() {
        assert_eq!(
            nearest("swappiness", &["vm.swappiness", "ksm.run"]),
            Some("vm.swappiness")
        );
        assert_eq!(
            nearest("/proc/sys/vm/swappiness", &["vm.swappiness"]),
            Some("vm.swappiness")
        );
        assert_eq!(nearest("xyzzy", &["vm.swappiness"]), None);
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(
            problems(&GOOD.replace("at_least = 1024", "at_least = 1024\nvalue = 5"))
                .contains("has 2 of value, values and at_least")
        );
        assert!(problems(&GOOD.replace("at_least = 1024", "")).contains("has 0 of"));
        assert!(
            problems(&format!(
                "{GOOD}{}",
                GOOD.replace("name = \"mine\"\ntitle = \"My own\"\n", "")
            ))
            .contains("set twice")
        );
        assert!(problems(&GOOD.replace("[\"mq-deadline\", \"deadline\"]", "[]")).contains("empty"));
        assert!(
            problems(&GOOD.replace("at_least = 1024", "at_least = 1024\ndevices = [\"sda\"]"))
                .contains("no setting of devices")
        );
        assert!(
            problems(&GOOD.replace(
                "values = [\"mq-deadline\", \"deadline\"]",
                "at_least = \"none\""
            ))
            .contains("has no least")
        );
        assert!(
            problems(&GOOD.replace("name = \"mine\"", "name = \"../x\""))
                .contains("other characters")
        );
        assert!(problems("").contains("`name` is missing"));
        assert!(problems("name = ").contains("line 1"));
    }

    proptest::proptest! {
        #[test]
        fn damaged_text_is_refused_or_read_but_never_a_panic(at in 0..GOOD.len(), byte in 0u8..128) {
            let mut bytes = GOOD.as_bytes().to_vec();
            bytes[at] = byte;
            let _ = parse(&String::from_utf8(bytes).expect("ASCII"));
        }
    }
}
