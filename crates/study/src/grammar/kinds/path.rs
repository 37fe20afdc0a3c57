//! Paths: of files of a host, of pages of a server.

use serde_json::{Value as Json, json};
use toml::{Spanned, de::DeValue};

use super::number::integer;
use crate::{
    grammar::{At, Context, Kind},
    problem::Code,
};

/// A path from the root, of a file or of a page.
pub(crate) struct PathFromRoot {
    pub(crate) example: &'static str,
}

/// Most bytes of a path.
const LONGEST: usize = 4095;

impl PathFromRoot {
    fn problem(text: &str) -> Option<&'static str> {
        if !text.starts_with('/') {
            Some("does not begin with `/`")
        } else if text.len() > LONGEST {
            Some("is longer than 4095 bytes")
        } else if text.contains(|c: char| c.is_control() || c.is_whitespace()) {
            Some("has blanks or control characters")
        } else if text.split('/').any(|part| part == "..") {
            Some("leads upwards with `..`")
        } else {
            None
        }
    }
}

impl Kind for PathFromRoot {
    type Value = String;

    fn read(&self, value: &Spanned<DeValue<'_>>, at: &At, context: &mut Context) -> Option<String> {
        let DeValue::String(text) = value.get_ref() else {
            return context.wrong_type(value, at, self);
        };
        let Some(problem) = Self::problem(text) else {
            return Some(text.to_string());
        };
        let help = format!("write `{} = {}`", at.key, self.example());
        context.refuse(
            Code::Malformed,
            value.span(),
            format!("{at} {problem}"),
            help,
        )
    }

    fn write(&self, value: &String) -> String {
        toml::Value::String(value.clone()).to_string()
    }

    fn describe(&self) -> String {
        "path that begins with `/`".to_owned()
    }

    fn example(&self) -> String {
        format!("\"{}\"", self.example)
    }

    fn schema(&self) -> Json {
        json!({"type": "string", "pattern": "^/[^ ]*$", "maxLength": LONGEST})
    }
}

/// A process: its number, or the path of the file that holds it.
pub(crate) struct ProcessKind;

/// The process that a study names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProcessName {
    Number(u32),
    File(String),
}

/// The largest number that Linux gives to a process.
const LAST_PROCESS: u32 = 4_194_304;

const FILE: PathFromRoot = PathFromRoot {
    example: "/run/site.pid",
};

impl Kind for ProcessKind {
    type Value = ProcessName;

    fn read(
        &self,
        value: &Spanned<DeValue<'_>>,
        at: &At,
        context: &mut Context,
    ) -> Option<ProcessName> {
        match value.get_ref() {
            DeValue::Integer(number) => {
                match integer(number).and_then(|number| u32::try_from(number).ok()) {
                    Some(number @ 1..=LAST_PROCESS) => Some(ProcessName::Number(number)),
                    _ => context.out_of_range(value, at, "is no number of a process", self),
                }
            }
            DeValue::String(_) => FILE.read(value, at, context).map(ProcessName::File),
            _ => context.wrong_type(value, at, self),
        }
    }

    fn write(&self, value: &ProcessName) -> String {
        match value {
            ProcessName::Number(number) => number.to_string(),
            ProcessName::File(path) => FILE.write(path),
        }
    }

    fn describe(&self) -> String {
        "number of a process, or the path of a file that holds it".to_owned()
    }

    fn example(&self) -> String {
        FILE.example()
    }

    fn schema(&self) -> Json {
        json!({"anyOf": [
            {"type": "integer", "minimum": 1, "maximum": LAST_PROCESS},
            FILE.schema(),
        ]})
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};

    const PAGE: PathFromRoot = PathFromRoot { example: "/health" };

    #[test]
    fn paths_begin_at_the_root_and_stay_below_it() {
        assert_eq!(read(&PAGE, "'/a/b?c=d'").as_deref(), Ok("/a/b?c=d"));
        for text in ["a", "", "/a b", "/a/../b", "/..", "//host\\n"] {
            let code = code(&PAGE, &format!("\"{text}\""));
            assert_eq!(code, Code::Malformed, "{text}");
        }
        assert_eq!(code(&PAGE, "1"), Code::WrongType);
    }

    #[test]
    fn a_process_is_a_number_or_a_file() {
        assert_eq!(read(&ProcessKind, "17"), Ok(ProcessName::Number(17)));
        let file = ProcessName::File("/run/a.pid".to_owned());
        assert_eq!(read(&ProcessKind, "'/run/a.pid'"), Ok(file));
        assert_eq!(code(&ProcessKind, "0"), Code::OutOfRange);
        assert_eq!(code(&ProcessKind, "4194305"), Code::OutOfRange);
        assert_eq!(code(&ProcessKind, "'17'"), Code::Malformed);
        assert_eq!(code(&ProcessKind, "true"), Code::WrongType);
    }
}
