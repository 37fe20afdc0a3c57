//! The user's own commands: how they are run, and what is read in what they say.

use rookery_guest::{CommandVariables, Guest, GuestCommand};
use rookery_study::StackCommands;
use rookery_workload::FoundRow;

use crate::{AuditScope, EffectiveSetting, Found, StackError};

/// Most lines of an answer in which something is read.
const MOST_LINES: usize = 200;
/// Most characters of a name, and of a value.
const LONGEST: usize = 200;
/// Most characters of a command's words that are kept.
const MOST_WORDS: usize = 1000;

/// What a key of `[stack]` has run.
struct Order<'a> {
    key: &'static str,
    words: &'a [String],
}

/// The commands that a user gives for a stack, with what they are told.
pub(super) struct UserCommands<'a> {
    commands: &'a StackCommands,
    variables: CommandVariables,
    /// Texts that are not kept, whatever a command says.
    hidden: Vec<String>,
}

impl<'a> UserCommands<'a> {
    /// Without any variables but those of their guest.
    pub(super) fn new(commands: &'a StackCommands) -> Self {
        Self::with(commands, CommandVariables::default(), Vec::new())
    }

    /// With these variables; the hidden texts are not kept of what the commands say.
    pub(super) fn with(
        commands: &'a StackCommands,
        variables: CommandVariables,
        hidden: Vec<String>,
    ) -> Self {
        Self {
            commands,
            variables,
            hidden,
        }
    }

    /// Put back what the trial before changed.
    pub(super) fn reset(&self, guest: &dyn Guest) -> Result<(), StackError> {
        let order = Order {
            key: "reset",
            words: &self.commands.reset,
        };
        self.run(&order, guest).map(drop)
    }

    /// Bring the system into the state in which the load shall find it.
    pub(super) fn prepare(&self, guest: &dyn Guest) -> Result<(), StackError> {
        let order = Order {
            key: "prepare",
            words: &self.commands.prepare,
        };
        self.run(&order, guest).map(drop)
    }

    /// The settings in force.
    pub(super) fn settings(&self, guest: &dyn Guest) -> Result<Vec<EffectiveSetting>, StackError> {
        let order = Order {
            key: "read_settings",
            words: &self.commands.read_settings,
        };
        let said = self.run(&order, guest)?;
        let read = said.lines().take(MOST_LINES).filter_map(pair);
        Ok(read
            .map(|(name, value)| EffectiveSetting {
                name: format!("stack.{name}"),
                asked: String::new(),
                in_force: value.to_owned(),
            })
            .collect())
    }

    /// How much the audit looks for.
    pub(super) fn audit_scope(&self) -> AuditScope {
        if self.commands.audit.is_empty() {
            AuditScope::Nothing
        } else {
            AuditScope::Counted
        }
    }

    /// What the user's audit finds. That it fails is a fault of what it looks at, and its words say
    /// which.
    pub(super) fn audit(&self, guest: &dyn Guest) -> Result<Found, StackError> {
        let order = Order {
            key: "audit",
            words: &self.commands.audit,
        };
        match self.run(&order, guest) {
            Ok(said) => Ok(counted(&said)),
            Err(error @ StackError::Command { .. }) => Ok(Found {
                faults: vec![error.to_string()],
                ..Found::default()
            }),
            Err(error) => Err(error),
        }
    }

    /// Run a command where the system is; gives its words.
    fn run(&self, order: &Order<'_>, guest: &dyn Guest) -> Result<String, StackError> {
        if order.words.is_empty() {
            return Ok(String::new());
        }
        let end = guest.run(&GuestCommand {
            words: order.words.to_vec(),
            variables: self.variables.clone(),
            limit: self.commands.limit,
        })?;
        let output = without(&end.output, &self.hidden);
        match end.failure {
            None => Ok(output),
            Some(failure) => Err(StackError::Command {
                key: order.key,
                failure,
                output: shown(&output),
            }),
        }
    }
}

/// A text without the hidden ones.
fn without(text: &str, hidden: &[String]) -> String {
    let long = hidden.iter().filter(|hidden| !hidden.trim().is_empty());
    long.fold(text.to_owned(), |text, hidden| text.replace(hidden, "***"))
}

/// What an audit counted, line by line; everything else that it says is kept as it is.
fn counted(said: &str) -> Found {
    let (mut rows, mut words) = (Vec::new(), Vec::new());
    for line in said.lines().take(MOST_LINES) {
        match pair(line).and_then(|(name, value)| Some((name, value.parse().ok()?))) {
            Some((name, number)) => rows.push(FoundRow::new(name, number)),
            None if line.trim().is_empty() => {}
            None => words.push(line.trim().to_owned()),
        }
    }
    let words = shown(&words.join("; "));
    Found {
        rows,
        faults: Vec::new(),
        remarks: (!words.is_empty()).then_some(words).into_iter().collect(),
    }
}

/// `NAME = VALUE`.
fn pair(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let (name, value) = (name.trim(), value.trim());
    let fits = |text: &str| text.chars().count() <= LONGEST && !text.contains(char::is_control);
    (!name.is_empty() && fits(name) && fits(value)).then_some((name, value))
}

/// Words as they are kept: one line, cut.
fn shown(words: &str) -> String {
    let line = words.lines().map(str::trim).collect::<Vec<_>>().join("; ");
    let plain: String = line
        .chars()
        .filter(|c| !c.is_control())
        .take(MOST_WORDS)
        .collect();
    plain.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rows_and_all_else_is_words() {
        let found = counted("looking ...\nnew records = 12\n\nsize = big\nnew bytes=480\n");
        assert_eq!(
            found.rows,
            [
                FoundRow::new("new records", 12),
                FoundRow::new("new bytes", 480)
            ]
        );
        assert_eq!(found.remarks, ["looking ...; size = big"]);
        assert_eq!(counted(""), Found::default());
        assert!(counted("x = -1\n= 3\nno\n").rows.is_empty());
    }

    #[test]
    fn secrets_are_not_kept() {
        let hidden = ["hunter2".to_owned(), String::new()];
        assert_eq!(
            without("the password is hunter2", &hidden),
            "the password is ***"
        );
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let endless = "x = 1\n".repeat(100_000) + &"y".repeat(1_000_000);
        assert_eq!(counted(&endless).rows.len(), MOST_LINES);
        assert_eq!(
            shown(&"\u{1b}[31mä\n".repeat(9999)).chars().count(),
            MOST_WORDS
        );
        assert_eq!(pair(&format!("{} = 1", "n".repeat(LONGEST + 1))), None);
    }
}
