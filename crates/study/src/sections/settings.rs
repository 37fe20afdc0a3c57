//! `[stack.settings]`: single settings of the servers,
//! `"mariadb.innodb_buffer_pool_size" = "8MiB"`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::{
    grammar::{Context, Free, FreeInfo, kinds::number, write_line},
    problem::Code,
    source::{printable, quoted},
    stack_use::SettingValue,
};

pub(crate) const NAME: &str = "settings";

pub(super) const MEANING: &str = "Single settings of the servers on top of the tuning: keys of \
     your choice, the name of the component before the first dot. Which settings exist is known \
     to the servers, not to the study.";

/// Components that have settings.
pub(crate) const COMPONENTS: [&str; 5] = ["mariadb", "postgresql", "apache", "php", "pages"];

/// Most settings of a study.
const MOST_SETTINGS: usize = 64;

/// Longest name and longest text of a setting, characters.
const LONGEST_NAME: usize = 80;
const LONGEST_TEXT: usize = 200;

/// Tables within each other: `php.opcache.enable` without quotes is three.
const DEEPEST: usize = 4;

/// Names as they are written, and their values.
pub(super) type Settings = BTreeMap<String, SettingValue>;

pub(super) const INFO: FreeInfo = FreeInfo {
    name: "COMPONENT.NAME",
    describe: "boolean, number, text of up to 200 characters, or a rule over vcpus, memory, users, \
               guests and callers, such as \"64 * vcpus\"; \
               components are mariadb, postgresql, apache, php, pages",
    example: "\"mariadb.innodb_buffer_pool_size\" = \"80% * memory\"",
    schema,
};

fn schema() -> Json {
    let one = json!({"type": ["boolean", "number", "string"], "maxLength": LONGEST_TEXT});
    json!({"anyOf": [one, {"type": "array", "items": one, "minItems": 1, "uniqueItems": true}, {"type": "object"}]})
}

/// One setting of a file, before its value is read.
pub(crate) struct Written<'t, 'i> {
    /// `mariadb.innodb_buffer_pool_size`
    pub(crate) name: String,
    /// The keys that lead to it below `settings`.
    pub(crate) keys: Vec<&'t str>,
    pub(crate) value: &'t Spanned<DeValue<'i>>,
}

/// All settings of the table, those without quotes (tables in tables) too, bounded in number and
/// depth.
pub(crate) fn written<'t, 'i>(table: &'t DeTable<'i>) -> Vec<Written<'t, 'i>> {
    let mut found = Vec::new();
    collect(table, &[], &mut found);
    found.sort_by_key(|setting| setting.value.span().start);
    found
}

fn collect<'t, 'i>(table: &'t DeTable<'i>, above: &[&'t str], found: &mut Vec<Written<'t, 'i>>) {
    for (key, value) in table {
        if found.len() > MOST_SETTINGS {
            return;
        }
        let keys: Vec<&str> = above
            .iter()
            .copied()
            .chain([key.get_ref().as_ref()])
            .collect();
        match value.get_ref() {
            DeValue::Table(below) if keys.len() < DEEPEST => collect(below, &keys, found),
            _ => found.push(Written {
                name: keys.join("."),
                keys,
                value,
            }),
        }
    }
}

pub(super) fn read(section: Free<'_, '_, '_>) -> Option<Settings> {
    let Some(table) = section.table else {
        return section.absent.then(Settings::new);
    };
    let context = section.context;
    let mut settings = Some(Settings::new());
    let (written, mut names) = (written(table), BTreeSet::new());
    for (index, setting) in written.iter().enumerate() {
        if index == MOST_SETTINGS {
            let message = format!("there are more than {MOST_SETTINGS} settings");
            return context.refuse(
                Code::TooMany,
                setting.value.span(),
                message,
                "put the common ones into a tuning",
            );
        }
        context
            .spans
            .insert(setting.name.clone(), setting.value.span());
        if !names.insert(setting.name.as_str()) {
            let message = format!("the setting {} is given twice", quoted(&setting.name));
            settings = context.refuse(
                Code::DuplicateKey,
                setting.value.span(),
                message,
                "keep one of the two",
            );
            continue;
        }
        let value = check_name(setting, context).and_then(|()| read_value(setting, context));
        settings = settings.zip(value).map(|(mut settings, value)| {
            settings.insert(setting.name.clone(), value);
            settings
        });
    }
    settings
}

fn check_name(setting: &Written<'_, '_>, context: &mut Context) -> Option<()> {
    let (component, name) = setting.name.split_once('.').unwrap_or(("", &setting.name));
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let (message, help) = if !COMPONENTS.contains(&component) {
        let near = crate::names::nearest(component, &COMPONENTS);
        let help = match near {
            Some(near) => format!("write `\"{near}.{}\"`", printable(name, 40)),
            None => "write the component before the name, for instance \
                     `\"mariadb.max_connections\" = 200`"
                .to_owned(),
        };
        let components = COMPONENTS.join(", ");
        (
            format!(
                "the setting {} names no component ({components})",
                quoted(&setting.name)
            ),
            help,
        )
    } else if name.is_empty()
        || name.len() > LONGEST_NAME
        || !name.chars().all(plain)
        || !name.starts_with(|c: char| c.is_ascii_alphabetic())
    {
        let message = format!("{} is not a name of a setting", quoted(&setting.name));
        (
            message,
            format!("use up to {LONGEST_NAME} letters, digits, `_`, `-` and `.`, a letter first"),
        )
    } else {
        return Some(());
    };
    context.refuse(Code::Malformed, setting.value.span(), message, help)
}

fn read_value(setting: &Written<'_, '_>, context: &mut Context) -> Option<SettingValue> {
    let (name, span) = (quoted(&setting.name), setting.value.span());
    let text = match setting.value.get_ref() {
        DeValue::Boolean(value) => return Some(SettingValue::Boolean(*value)),
        DeValue::String(text) => text.trim().to_owned(),
        number @ (DeValue::Integer(_) | DeValue::Float(_)) => match number::float(number) {
            Some(value) => value.to_string(),
            None => {
                return context.refuse(
                    Code::OutOfRange,
                    span,
                    format!("{name} is not a finite number"),
                    "write a finite number",
                );
            }
        },
        _ => {
            let help = format!(
                "write a boolean, a number or a text, for instance `{}`",
                INFO.example
            );
            return context.refuse(
                Code::WrongType,
                span,
                format!("the setting {name} has no single value"),
                help,
            );
        }
    };
    if text.is_empty() || text.chars().count() > LONGEST_TEXT || text.contains(char::is_control) {
        let message = format!(
            "the value of {name} is blank, longer than {LONGEST_TEXT} characters, or has control \
             characters"
        );
        return context.refuse(Code::Malformed, span, message, "write one short line");
    }
    match SettingValue::parse(&text) {
        Ok(value) => Some(value),
        Err(error) => context.refuse(
            Code::Malformed,
            span,
            format!("{name}: {}", error.message),
            error.help,
        ),
    }
}

/// Appends one line for each setting.
pub(super) fn write(settings: &Settings, out: &mut String) {
    for (name, value) in settings {
        let value = match value {
            SettingValue::Boolean(value) => value.to_string(),
            text => toml::Value::String(text.to_string()).to_string(),
        };
        write_line(out, name, &value);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};
    use crate::Expression;

    fn settings(lines: &str) -> Result<Settings, String> {
        let text = format!("[stack]\nkind = \"lamp\"\n[stack.settings]\n{lines}\n");
        match with(&text) {
            Ok(study) => Ok(study.stack.lamp().expect("lamp").settings.clone()),
            Err(_) => Err(refusal(&text)),
        }
    }

    #[test]
    fn settings_are_words_numbers_and_rules() {
        let found = settings(
            "\"mariadb.innodb_buffer_pool_size\" = \"80% * memory\"\n\"apache.KeepAlive\" = \
             true\nphp.opcache.enable = 1\n\
             \"mariadb.innodb_flush_method\" = \"O_DIRECT\"\n",
        )
        .expect("valid");
        let rule =
            |text: &str| SettingValue::Expression(Expression::parse(text).expect("an expression"));
        let expected = [
            ("apache.KeepAlive", SettingValue::Boolean(true)),
            ("mariadb.innodb_buffer_pool_size", rule("80% * memory")),
            (
                "mariadb.innodb_flush_method",
                SettingValue::Text("O_DIRECT".into()),
            ),
            ("php.opcache.enable", rule("1")),
        ];
        assert_eq!(
            found,
            expected
                .map(|(name, value)| (name.to_owned(), value))
                .into()
        );
    }

    #[test]
    fn refusals() {
        for (line, expected) in [
            (
                "\"mysql.x\" = 1",
                "the setting `mysql.x` names no component",
            ),
            ("x = 1", "the setting `x` names no component"),
            (
                "\"mariadb.a b\" = 1",
                "`mariadb.a b` is not a name of a setting",
            ),
            (
                "\"mariadb.x\" = \"64 * vcpu\"",
                "`mariadb.x`: `vcpu` is neither",
            ),
            (
                "\"mariadb.x\" = \"a\\nb\"",
                "the value of `mariadb.x` is blank",
            ),
            ("\"mariadb.x\" = inf", "`mariadb.x` is not a finite number"),
            (
                "\"mariadb.x\" = 1\nmariadb.x = 2",
                "the setting `mariadb.x` is given twice",
            ),
            (
                "\"mariadb.x\" = 1979-05-27",
                "the setting `mariadb.x` has no single value",
            ),
        ] {
            let refused = settings(line).expect_err(line);
            assert!(refused.contains(expected), "{line}: {refused}");
        }
        let two =
            settings("\"php.a\" = inf\n\"php.b\" = 1\n\"php.c\" = nan").expect_err("two problems");
        assert_eq!(two.lines().count(), 2, "{two}");
        let many: String = (0..70).map(|n| format!("\"php.x{n}\" = 1\n")).collect();
        assert!(
            settings(&many)
                .expect_err("many")
                .contains("more than 64 settings")
        );
    }
}
