//! Names of profiles of host settings.

use serde_json::{Value as Json, json};
use toml::{Spanned, de::DeValue};

use crate::{
    grammar::{At, Context, Kind},
    problem::Code,
    source::quoted,
};

/// The name of a profile, or `none`. Which profiles exist is known to the host, not to the study.
pub(crate) struct ProfileName;

const NONE: &str = "none";
const LONGEST: usize = 64;

impl Kind for ProfileName {
    type Value = Option<String>;

    fn read(
        &self,
        value: &Spanned<DeValue<'_>>,
        at: &At,
        context: &mut Context,
    ) -> Option<Option<String>> {
        let DeValue::String(name) = value.get_ref() else {
            return context.wrong_type(value, at, self);
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name.len() > LONGEST || !name.chars().all(plain) {
            let message = format!("{at}: {} is not a name of a profile", quoted(name));
            let help = format!(
                "`rookery host audit` lists the profiles; {}",
                at.write(&self.example())
            );
            return context.refuse(Code::Malformed, value.span(), message, help);
        }
        Some((name != NONE).then(|| name.to_string()))
    }

    fn write(&self, value: &Option<String>) -> String {
        format!("\"{}\"", value.as_deref().unwrap_or(NONE))
    }

    fn describe(&self) -> String {
        "name of a profile, or \"none\"".to_owned()
    }

    fn example(&self) -> String {
        "\"enterprise-storage\"".to_owned()
    }

    fn schema(&self) -> Json {
        json!({"type": "string", "pattern": "^[A-Za-z0-9_-]+$", "maxLength": LONGEST})
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};

    #[test]
    fn profiles_are_named() {
        assert_eq!(
            read(&ProfileName, "'enterprise-storage'"),
            Ok(Some("enterprise-storage".to_owned()))
        );
        assert_eq!(read(&ProfileName, "'none'"), Ok(None));
        assert_eq!(code(&ProfileName, "'../mine.toml'"), Code::Malformed);
        assert_eq!(code(&ProfileName, "true"), Code::WrongType);
    }
}
