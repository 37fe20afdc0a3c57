//! The kinds of values that only images have.

use serde_json::{Value as Json, json};
use toml::{Spanned, de::DeValue};

use crate::{
    companions::MOST_COMPANION_BYTES,
    grammar::{
        At, Context, Kind,
        kinds::{PathFromRoot, Read},
        written,
    },
    image_use::SecretSource,
    problem::Code,
    readiness::Readiness,
    source::quoted,
};

/// The name of a Debian package.
pub(super) const PACKAGE: Read<String> = Read {
    what: "name of a Debian package",
    example: "python3",
    parse: |text| {
        let good = (2..=100).contains(&text.len())
            && text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
            && text
                .bytes()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || b"+-.".contains(&c));
        match good {
            true => Ok(text.to_owned()),
            false => Err(format!("{} is no name of a package", quoted(text))),
        }
    },
    write: String::clone,
};

/// The name of a service.
pub(super) const SERVICE: Read<String> = Read {
    what: "name of up to 32 small letters, digits and `-`",
    example: "web",
    parse: |text| {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        match (1..=32).contains(&text.len()) && text.chars().all(plain) {
            true => Ok(text.to_owned()),
            false => Err(format!("{} is no name of a service", quoted(text))),
        }
    },
    write: String::clone,
};

/// How a service is seen to be ready.
pub(super) const READY: Read<Readiness> = Read {
    what: "`file:PATH`, `socket:PATH`, `tcp:ADDRESS:PORT` or `log:TEXT`",
    example: "log:ready for connections",
    parse: |text| text.parse::<Readiness>().map_err(|error| error.to_string()),
    write: Readiness::to_string,
};

/// The mode of a file.
pub(super) const MODE: Read<u32> = Read {
    what: "three octal digits: what owner, group and others may do",
    example: "0644",
    parse: |text| {
        let digits = text.strip_prefix('0').unwrap_or(text);
        match u32::from_str_radix(digits, 8) {
            Ok(mode) if digits.len() == 3 => Ok(mode),
            _ => Err(format!("{} is no mode of a file", quoted(text))),
        }
    },
    write: |mode| format!("0{mode:03o}"),
};

/// The value of a variable.
pub(super) const VALUE: Read<String> = Read {
    what: "text",
    example: "production",
    parse: |text| match text.contains('\0') {
        true => Err("a variable has no character with the number zero".to_owned()),
        false => Ok(text.to_owned()),
    },
    write: String::clone,
};

/// Whether a variable may have this name. Names with `ROOKERY_` mark the processes of a run.
pub(super) fn is_variable(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (1..=100).contains(&name.len())
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(plain)
        && !name.starts_with("ROOKERY_")
}

/// The content of a file.
pub(crate) struct Content;

impl Kind for Content {
    type Value = String;

    fn read(&self, value: &Spanned<DeValue<'_>>, at: &At, context: &mut Context) -> Option<String> {
        match value.get_ref() {
            DeValue::String(text) if text.len() > MOST_COMPANION_BYTES => context.out_of_range(
                value,
                at,
                &format!("is longer than {MOST_COMPANION_BYTES} bytes"),
                self,
            ),
            DeValue::String(text) => Some(text.to_string()),
            _ => context.wrong_type(value, at, self),
        }
    }

    fn write(&self, value: &String) -> String {
        written(value)
    }

    fn describe(&self) -> String {
        format!("text of up to {} KiB", MOST_COMPANION_BYTES / 1024)
    }

    fn example(&self) -> String {
        "\"max_connections = 50\\n\"".to_owned()
    }

    fn schema(&self) -> Json {
        json!({"type": "string", "maxLength": MOST_COMPANION_BYTES})
    }
}

/// Where a secret is: a table with one key.
pub(crate) struct Secret;

const SECRET_FILE: PathFromRoot = PathFromRoot {
    example: "/etc/site/password",
};

impl Kind for Secret {
    type Value = SecretSource;

    fn read(
        &self,
        value: &Spanned<DeValue<'_>>,
        at: &At,
        context: &mut Context,
    ) -> Option<SecretSource> {
        let DeValue::Table(table) = value.get_ref() else {
            // Whoever writes the value itself shall not see it quoted.
            let message = format!("{at} is not said by reference");
            let help = at.write(&self.example());
            return context.refuse(Code::WrongType, value.span(), message, help);
        };
        let mut entries = table.iter();
        let (Some((key, source)), None) = (entries.next(), entries.next()) else {
            let message = format!("{at} needs one key, `file` or `environment`");
            let help = at.write(&self.example());
            return context.refuse(Code::Malformed, value.span(), message, help);
        };
        match key.get_ref().as_ref() {
            "file" => {
                let at = At {
                    path: format!("{}.file", at.path),
                    key: "file",
                };
                SECRET_FILE
                    .read(source, &at, context)
                    .map(SecretSource::File)
            }
            "environment" => {
                let name = source.get_ref().as_str().filter(|name| is_variable(name));
                match name {
                    Some(name) => Some(SecretSource::Environment(name.to_owned())),
                    None => {
                        let message = format!("{at}: `environment` is no name of a variable");
                        let help = at.write("{environment = \"SITE_PASSWORD\"}");
                        context.refuse(Code::Malformed, source.span(), message, help)
                    }
                }
            }
            _ => {
                let message = format!("{at} has another key than `file` or `environment`");
                let help = at.write(&self.example());
                context.refuse(Code::UnknownKey, key.span(), message, help)
            }
        }
    }

    fn write(&self, value: &SecretSource) -> String {
        match value {
            SecretSource::File(path) => format!("{{file = {}}}", SECRET_FILE.write(path)),
            SecretSource::Environment(name) => format!("{{environment = {}}}", written(name)),
        }
    }

    fn describe(&self) -> String {
        "where the value is on this host: `{file = PATH}` or `{environment = NAME}`".to_owned()
    }

    fn example(&self) -> String {
        format!("{{file = {}}}", SECRET_FILE.example())
    }

    fn schema(&self) -> Json {
        json!({
            "type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": false,
            "properties": {"file": SECRET_FILE.schema(), "environment": {"type": "string"}},
        })
    }
}
