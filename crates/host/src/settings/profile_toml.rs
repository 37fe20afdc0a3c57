//! The text of a profile: every problem at once, each with its place and the help.
//!
//! Keys and settings are looked at one by one, so that one mistake does not hide the others; what a
//! key holds is read by serde.

use std::{ops::Range, sync::Arc};

use serde::Deserialize;
use toml::{
    Spanned,
    de::{DeTable, DeValue, ValueDeserializer},
};

use super::{
    catalogue::{KNOBS, knob},
    knob::{Knob, Place, numbers},
    profile::{Profile, ProfileError, ProfileProblem, Setting, Wanted},
};

/// Longest profile that is read, bytes.
const MAX_TEXT: usize = 256 * 1024;
/// Longest name or value that is repeated in a message, characters.
const MAX_QUOTE: usize = 60;

/// Keys of the file.
const PROFILE_KEYS: &[&str] = &["name", "title", "include", "setting"];
/// Keys of a `[[setting]]`.
const SETTING_KEYS: &[&str] = &[
    "knob", "value", "values", "at_least", "devices", "reason", "source",
];

/// What the file says beside its settings.
#[derive(Deserialize)]
struct ProfileTable {
    name: Option<Spanned<Line>>,
    title: Option<Line>,
    include: Option<Spanned<Vec<Spanned<String>>>>,
}

/// Name and text of the profiles that come with Rookery.
const EMBEDDED: &[(&str, &str)] = &[
    (
        "enterprise-storage",
        include_str!("../../../../stacks/host/enterprise-storage.toml"),
    ),
    (
        "few-services",
        include_str!("../../../../stacks/host/few-services.toml"),
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
        parse(file, text).map_err(|problems| ProfileError {
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

/// What a `[[setting]]` says.
#[derive(Deserialize)]
struct SettingTable {
    knob: Option<Spanned<Line>>,
    value: Option<Spanned<Scalar>>,
    values: Option<Spanned<Vec<Spanned<Scalar>>>>,
    at_least: Option<Spanned<Scalar>>,
    devices: Option<Spanned<Vec<Spanned<Device>>>>,
    reason: Option<Line>,
    source: Option<Line>,
}

/// A text of one line that says something.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Line(String);

impl TryFrom<String> for Line {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let trimmed = text.trim();
        if trimmed.is_empty() || trimmed.chars().any(char::is_control) {
            return Err("expected a text of one line");
        }
        Ok(Self(trimmed.to_owned()))
    }
}

/// A name as in `/sys/block`, possibly with `*`.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Device(String);

impl TryFrom<String> for Device {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.is_empty() || text.contains(['/', '\n']) {
            return Err("a device is no name as in /sys/block");
        }
        Ok(Self(text))
    }
}

/// A value of a knob.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a text or a whole number")]
enum Scalar {
    Text(String),
    Number(i64),
}

impl Scalar {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
        }
    }
}

/// Read the text of a profile; `file` is for messages.
pub(super) fn parse(file: &str, text: &str) -> Result<Profile, Vec<ProfileProblem>> {
    let mut reader = Reader {
        file: file.into(),
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
    let profile = reader.profile(root.into_inner());
    reader.problems.sort_by_key(|problem| problem.line);
    match profile {
        Some(profile) if reader.problems.is_empty() => Ok(profile),
        _ => Err(reader.problems),
    }
}

/// Settings with those that are included: of a knob that both have, the own one stays.
fn with_included(own: Vec<Setting>, included: Vec<Setting>) -> Vec<Setting> {
    let mut all = own;
    let known: Vec<&str> = all.iter().map(|setting| setting.knob.key).collect();
    all.extend(
        included
            .into_iter()
            .filter(|setting| !known.contains(&setting.knob.key)),
    );
    all.sort_by_key(|setting| KNOBS.iter().position(|knob| knob.key == setting.knob.key));
    all
}

struct Reader<'t> {
    file: Arc<str>,
    text: &'t str,
    problems: Vec<ProfileProblem>,
}

impl Reader<'_> {
    fn say(&mut self, span: &Range<usize>, message: impl Into<String>, help: impl Into<String>) {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        self.problems.push(ProfileProblem {
            file: Arc::clone(&self.file),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.into(),
            help: help.into(),
        });
    }

    fn profile(&mut self, mut root: DeTable<'_>) -> Option<Profile> {
        self.refuse_unknown(&mut root, PROFILE_KEYS);
        let settings = root.remove("setting");
        let table: Option<ProfileTable> = self.read(Spanned::new(0..0, DeValue::Table(root)));
        let settings = self.settings(settings);
        let table = table?;
        let name = self.required(table.name, "name", &(0..0));
        let title = self.required(table.title, "title", &(0..0));
        let name = name.and_then(|name| self.name(name));
        let included = self.included(table.include)?;
        Some(Profile {
            name: name?,
            title: title?.0,
            settings: with_included(settings?, included),
        })
    }

    /// The settings of the profiles that are included, in their order; only those that come with
    /// Rookery can be.
    fn included(&mut self, names: Option<Spanned<Vec<Spanned<String>>>>) -> Option<Vec<Setting>> {
        let mut settings = Vec::new();
        for name in names.into_iter().flat_map(Spanned::into_inner) {
            let own = EMBEDDED
                .iter()
                .find(|(known, text)| *known == name.get_ref().as_str() && *text != self.text);
            match own.and_then(|(name, text)| Profile::parse(name, text).ok()) {
                Some(profile) => settings = with_included(profile.settings, settings),
                None => {
                    let known: Vec<&str> = Profile::embedded_names().collect();
                    let message = format!("no profile `{}` can be included", quote(name.get_ref()));
                    let help = format!("include one of: {}", known.join(", "));
                    self.say(&name.span(), message, help);
                    return None;
                }
            }
        }
        Some(settings)
    }

    /// What serde reads of a table; the key of a value that it refuses is named.
    fn read<'d, T: Deserialize<'d>>(&mut self, table: Spanned<DeValue<'d>>) -> Option<T> {
        let keys: Vec<(String, Range<usize>)> = match table.get_ref() {
            DeValue::Table(table) => table
                .iter()
                .map(|(key, value)| (key.get_ref().to_string(), value.span()))
                .collect(),
            _ => Vec::new(),
        };
        let span = table.span();
        match T::deserialize(ValueDeserializer::from(table)) {
            Ok(read) => Some(read),
            Err(error) => {
                let at = error.span().unwrap_or(span);
                let key = keys
                    .iter()
                    .find(|(_, value)| value.start <= at.start && at.end <= value.end);
                let (message, help) = match key {
                    Some((key, _)) => (format!("`{key}`: {}", error.message()), example(key)),
                    None => (error.message().to_owned(), "write key = \"value\""),
                };
                self.say(&at, message, help);
                None
            }
        }
    }

    fn required<T>(&mut self, value: Option<T>, key: &str, span: &Range<usize>) -> Option<T> {
        if value.is_none() {
            self.say(span, format!("`{key}` is missing"), example(key));
        }
        value
    }

    fn name(&mut self, name: Spanned<Line>) -> Option<String> {
        let span = name.span();
        let Line(name) = name.into_inner();
        let valid = name.len() <= 40
            && name
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if !valid {
            self.say(
                &span,
                "the name has other characters than a-z, 0-9 and -, or more than 40",
                example("name"),
            );
        }
        valid.then_some(name)
    }

    /// The settings in the order in which they are applied; `None` when any is wrong.
    fn settings(&mut self, value: Option<Spanned<DeValue<'_>>>) -> Option<Vec<Setting>> {
        let Some(value) = value else {
            self.say(
                &(0..0),
                "it has no setting",
                "add [[setting]] with knob, value, reason and source",
            );
            return None;
        };
        let span = value.span();
        let DeValue::Array(tables) = value.into_inner() else {
            self.say(
                &span,
                "`setting` is not a list of tables",
                "write [[setting]] above each setting",
            );
            return None;
        };
        let mut settings: Vec<Option<Setting>> = Vec::new();
        for table in tables {
            let span = table.span();
            let setting = self.setting(table);
            if let Some(setting) = &setting {
                self.refuse_second(setting, &settings, &span);
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

    fn setting(&mut self, mut value: Spanned<DeValue<'_>>) -> Option<Setting> {
        let span = value.span();
        let DeValue::Table(fields) = value.get_mut() else {
            self.say(
                &span,
                "a setting is not a table",
                "write [[setting]] above each setting",
            );
            return None;
        };
        self.refuse_unknown(fields, SETTING_KEYS);
        let mut table: SettingTable = self.read(value)?;
        let name = self.required(table.knob.take(), "knob", &span);
        let knob = name.and_then(|name| self.knob(&name));
        let wanted = knob.and_then(|knob| self.wanted(&table, knob, &span));
        let devices = self.devices(table.devices, knob);
        let reason = self.required(table.reason, "reason", &span);
        let source = self.required(table.source, "source", &span);
        Some(Setting {
            knob: knob?,
            wanted: wanted?,
            devices: devices?,
            reason: reason?.0,
            source: source?.0,
        })
    }

    fn knob(&mut self, name: &Spanned<Line>) -> Option<&'static Knob> {
        let Line(text) = name.get_ref();
        let found = knob(text);
        if found.is_none() {
            let keys: Vec<&str> = KNOBS.iter().map(|knob| knob.key).collect();
            self.say(
                &name.span(),
                format!("there is no knob `{}`", quote(text)),
                help_for_name(text, &keys),
            );
        }
        found
    }

    /// Exactly one of `value`, `values` and `at_least`.
    fn wanted(&mut self, table: &SettingTable, knob: &Knob, span: &Range<usize>) -> Option<Wanted> {
        match (&table.value, &table.values, &table.at_least) {
            (Some(value), None, None) => Some(Wanted::OneOf(vec![self.value(value, knob)?])),
            (None, Some(list), None) => {
                self.refuse_empty(list, "values")?;
                let values: Vec<Option<String>> = list
                    .get_ref()
                    .iter()
                    .map(|value| self.value(value, knob))
                    .collect();
                Some(Wanted::OneOf(values.into_iter().collect::<Option<_>>()?))
            }
            (None, None, Some(value)) => {
                let least = numbers(&self.value(value, knob)?);
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
            (value, values, at_least) => {
                let given = [value.is_some(), values.is_some(), at_least.is_some()];
                let message = format!(
                    "the setting of `{}` has {} of value, values and at_least",
                    knob.key,
                    given.into_iter().filter(|given| *given).count()
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

    fn value(&mut self, value: &Spanned<Scalar>, knob: &Knob) -> Option<String> {
        match knob.checked(&value.get_ref().text()) {
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

    fn devices(
        &mut self,
        devices: Option<Spanned<Vec<Spanned<Device>>>>,
        knob: Option<&Knob>,
    ) -> Option<Vec<String>> {
        let Some(devices) = devices else {
            return Some(Vec::new());
        };
        let of_one_file = |knob: &&Knob| {
            matches!(
                knob.place,
                Place::File(_) | Place::ProcessLimit(_) | Place::Swaps
            )
        };
        if let Some(knob) = knob.filter(of_one_file) {
            self.say(
                &devices.span(),
                format!("`{}` is no setting of devices", knob.key),
                "remove `devices`",
            );
        }
        self.refuse_empty(&devices, "devices")?;
        let names = devices.into_inner().into_iter();
        Some(names.map(|name| name.into_inner().0).collect())
    }

    fn refuse_empty<T>(&mut self, list: &Spanned<Vec<T>>, key: &str) -> Option<()> {
        if list.get_ref().is_empty() {
            self.say(&list.span(), format!("`{key}` is empty"), example(key));
            return None;
        }
        Some(())
    }

    /// Says which keys are unknown, and takes them out.
    fn refuse_unknown(&mut self, table: &mut DeTable<'_>, known: &[&str]) {
        let unknown: Vec<(String, Range<usize>)> = table
            .keys()
            .filter(|key| !known.contains(&key.get_ref().as_ref()))
            .map(|key| (key.get_ref().to_string(), key.span()))
            .collect();
        for (key, span) in unknown {
            table.remove(key.as_str());
            self.say(
                &span,
                format!("there is no key `{}`", quote(&key)),
                help_for_name(&key, known),
            );
        }
    }
}

/// How a key is written.
fn example(key: &str) -> &'static str {
    match key {
        "name" => "name = \"my-profile\"",
        "title" => "title = \"What it is for\"",
        "knob" => "knob = \"vm.swappiness\"",
        "value" => "value = 10, or value = \"never\"",
        "values" => "values = [\"mq-deadline\", \"deadline\"]",
        "at_least" => "at_least = 1024",
        "devices" => "devices = [\"sda\", \"nvme*\"]",
        "reason" => "reason = \"why it should be so\"",
        _ => "source = \"who says so\"",
    }
}

/// The nearest known name, or all of them.
fn help_for_name(name: &str, known: &[&str]) -> String {
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
    use rookery_diagnosis::{Diagnosis, ErrorFields};

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
        let problems = parse("mine.toml", text).expect_err("has problems");
        let text = |problem: &ProfileProblem| {
            format!(
                "\nline {}: {problem}\n{}",
                problem.line,
                problem.help().unwrap_or_default()
            )
        };
        problems.iter().map(text).collect()
    }

    #[test]
    fn settings_come_in_the_order_in_which_they_are_applied() {
        let profile = parse("mine.toml", GOOD).expect("valid");
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
    fn every_problem_has_its_line_and_help() {
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
    fn values_of_another_type_are_refused_with_their_key() {
        let text = GOOD
            .replace("title = \"My own\"", "title = 5")
            .replace(
                "at_least = 1024\nreason = \"r\"",
                "at_least = 1024\nreason = \" \"",
            )
            .replace("[\"vd*\"]", "[\"a/b\"]");
        let said = problems(&text);
        for words in [
            "line 3: `title`: invalid type",
            "line 8: `reason`: expected a text of one line\nreason = \"why it should be so\"",
            "line 14: `devices`: a device is no name as in /sys/block\ndevices = [",
        ] {
            assert!(said.contains(words), "`{words}` is missing in:{said}");
        }
    }

    #[test]
    fn a_problem_has_its_parts_as_fields_of_json() {
        let problems = parse("mine.toml", &GOOD.replace("title =", "titel =")).expect_err("wrong");
        assert_eq!(
            serde_json::to_value(ErrorFields::new(&problems[1])).expect("JSON"),
            serde_json::json!({
                "code": "host::profile",
                "message": "there is no key `titel`",
                "place": "mine.toml:3:1",
                "help": "did you mean `title`?",
                "causes": [],
            })
        );
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
            let _ = parse("mine.toml", &String::from_utf8(bytes).expect("ASCII"));
        }
    }

    #[test]
    fn a_profile_includes_others_and_keeps_its_own() {
        let text = "name = \"mine\"\ntitle = \"t\"\ninclude = [\"shared-memory\"]\n\
                    [[setting]]\nknob = \"fs.file-max\"\nat_least = 7\nreason = \"r\"\nsource \
                    = \"s\"\n";
        let profile = Profile::parse("mine.toml", text).unwrap_or_else(|error| panic!("{error}"));
        let of = |key: &str| {
            profile
                .settings
                .iter()
                .find(|setting| setting.knob.key == key)
        };
        assert_eq!(of("fs.file-max").map(|own| own.reason.as_str()), Some("r"));
        assert!(of("kernel.shmmax").is_some() && of("limit.nproc").is_some());
        let unknown = text.replace("shared-memory", "shared");
        let error = Profile::parse("mine.toml", &unknown).expect_err("refused");
        assert_eq!(error.problems[0].line, 3);
        assert_eq!(
            error.problems[0].message,
            "no profile `shared` can be included"
        );
    }
}
