//! Commands of the user.

use serde_json::{Value as Json, json};
use toml::{Spanned, de::DeValue};

use crate::{
    grammar::{At, Context, Kind, written},
    problem::Code,
};

/// A program with its arguments: a list of words, which no shell reads.
pub(crate) struct CommandLine;

/// Most words of a command.
const MOST_WORDS: usize = 64;
/// Most characters of a word.
const LONGEST_WORD: usize = 4096;

impl Kind for CommandLine {
    type Value = Vec<String>;

    fn read(
        &self,
        value: &Spanned<DeValue<'_>>,
        at: &At,
        context: &mut Context,
    ) -> Option<Vec<String>> {
        let DeValue::Array(list) = value.get_ref() else {
            return context.wrong_type(value, at, self);
        };
        if list.is_empty() {
            let message = format!("{at} is an empty list");
            let help = "write the program and its arguments, or remove the key";
            return context.refuse(Code::EmptyList, value.span(), message, help);
        }
        if list.len() > MOST_WORDS {
            let message = format!(
                "{at} has {} words, at most {MOST_WORDS} are allowed",
                list.len()
            );
            let help = "put the command into a script, and write the path of the script";
            return context.refuse(Code::TooMany, value.span(), message, help);
        }
        let words = list.iter().enumerate().map(|(index, word)| {
            let DeValue::String(text) = word.get_ref() else {
                return context.wrong_type(word, &at.element(index), self);
            };
            if text.contains('\0') || text.chars().count() > LONGEST_WORD {
                let message = format!(
                    "{} is longer than {LONGEST_WORD} characters, or has a character with the \
                     number zero",
                    at.element(index)
                );
                let help = "put it into a file, and write the path of the file";
                return context.refuse(Code::Malformed, word.span(), message, help);
            }
            if index == 0 && text.trim().is_empty() {
                let at = at.element(index);
                return context.out_of_range(word, &at, "is blank and names no program", self);
            }
            Some(text.to_string())
        });
        // Every wrong word is told.
        words.collect::<Vec<_>>().into_iter().collect()
    }

    fn write(&self, value: &Vec<String>) -> String {
        // On one line, whatever a word holds: commands also stand in inline tables.
        let words: Vec<String> = value.iter().map(|word| written(word)).collect();
        format!("[{}]", words.join(", "))
    }

    fn describe(&self) -> String {
        format!(
            "a program and its arguments as a list of up to {MOST_WORDS} texts; no shell reads them"
        )
    }

    fn example(&self) -> String {
        r#"["/usr/local/bin/reset-site", "--fast"]"#.to_owned()
    }

    fn schema(&self) -> Json {
        json!({
            "type": "array", "minItems": 1, "maxItems": MOST_WORDS,
            "items": {"type": "string", "maxLength": LONGEST_WORD},
        })
    }

    fn takes_lists(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};

    #[test]
    fn words_are_kept_as_they_are() {
        let words = read(&CommandLine, r#"["sh", "-c", "echo 'a'\nexit 1", ""]"#);
        let words = words.expect("a command");
        assert_eq!(words, ["sh", "-c", "echo 'a'\nexit 1", ""]);
        assert_eq!(CommandLine.write(&words).lines().count(), 1);
        assert_eq!(read(&CommandLine, &CommandLine.write(&words)), Ok(words));
    }

    #[test]
    fn a_line_for_a_shell_is_no_command() {
        assert_eq!(code(&CommandLine, "'rm -rf /tmp/x'"), Code::WrongType);
        assert_eq!(code(&CommandLine, "['a', 1]"), Code::WrongType);
        assert_eq!(code(&CommandLine, "[]"), Code::EmptyList);
        assert_eq!(code(&CommandLine, "[' ']"), Code::OutOfRange);
        assert_eq!(code(&CommandLine, "[\"a\", \"b\\u0000\"]"), Code::Malformed);
        let many = format!("[{}]", "'a',".repeat(MOST_WORDS + 1));
        assert_eq!(code(&CommandLine, &many), Code::TooMany);
    }
}
