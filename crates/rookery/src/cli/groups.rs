//! The commands in groups, as `rookery --help` lists them: clap knows groups of options alone.

use std::fmt::Write as _;

use clap::Command;

/// What the commands are about, and their names.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Studies",
        &[
            "run",
            "check",
            "plan",
            "rehearse",
            "studies",
            "new",
            "demo-lab",
            "reference",
        ],
    ),
    (
        "Results",
        &[
            "runs", "live", "report", "compare", "trend", "export", "predict", "fit", "label",
            "delete",
        ],
    ),
    (
        "Parts",
        &["drive", "workload", "app", "data", "load", "verify"],
    ),
    ("Host", &["guests", "clean", "template", "host", "fleet"]),
    ("Program", &["completions", "man", "version", "help"]),
];

/// `command` with its commands in groups in its help.
pub(super) fn with_groups(mut command: Command) -> Command {
    command.build();
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{}\nOptions:\n\
         {{options}}{{after-help}}",
        listed(&command)
    );
    command.help_template(template)
}

fn listed(command: &Command) -> String {
    let width = GROUPS
        .iter()
        .flat_map(|(_, names)| names.iter())
        .map(|name| name.len())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for (group, names) in GROUPS {
        let _ = write!(text, "\n{group}:\n");
        for name in names {
            if let Some(about) = command.find_subcommand(name).and_then(Command::get_about) {
                let about = wrapped(&about.to_string(), width + 4);
                let _ = writeln!(text, "  {name:width$}  {about}");
            }
        }
    }
    text
}

/// Text in lines of 80 columns, all but the first one indented.
fn wrapped(text: &str, indent: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always one");
        if !line.is_empty() && indent + line.chars().count() + 1 + word.chars().count() > 80 {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join(&format!("\n{:indent$}", ""))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_command_that_is_shown_is_in_one_group() {
        let mut command = Cli::command();
        command.build();
        for shown in command
            .get_subcommands()
            .filter(|shown| !shown.is_hide_set())
        {
            let name = shown.get_name();
            let groups = GROUPS
                .iter()
                .filter(|(_, names)| names.contains(&name))
                .count();
            assert_eq!(groups, 1, "{name}");
        }
        for name in GROUPS.iter().flat_map(|(_, names)| names.iter()) {
            assert!(command.find_subcommand(name).is_some(), "{name}");
        }
    }

    #[test]
    fn the_help_lists_the_commands_within_80_columns() {
        let help = with_groups(Cli::command()).render_help().to_string();
        insta::assert_snapshot!(listed(&{
            let mut command = Cli::command();
            command.build();
            command
        }));
        assert!(
            help.contains("Studies:") && help.contains("Options:"),
            "{help}"
        );
    }
}
