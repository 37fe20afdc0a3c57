//! What is wrong with a study: every problem with its place and its help, rendered as plain text.

use std::{fmt, ops::Range, sync::Arc};

use rookery_diagnosis::Diagnosis;

use crate::source::Source;

/// The kind of a problem, stable across releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// The file is not TOML.
    Syntax,
    /// A key or section is given twice.
    DuplicateKey,
    /// The file is too large to be a study.
    TooLarge,
    /// A key or section that the grammar does not have.
    UnknownKey,
    /// A key or section that must be there is not.
    MissingKey,
    /// A value of the wrong TOML type.
    WrongType,
    /// A quantity without a unit, or with one that does not fit.
    WrongUnit,
    /// A text that cannot be read as the quantity it should be.
    Malformed,
    /// A word that is not one of the choices.
    UnknownChoice,
    /// A number beyond its range.
    OutOfRange,
    /// A list without anything in it.
    EmptyList,
    /// The same thing twice in a list, or two layouts of one name.
    DuplicateValue,
    /// Two settings that cannot hold together.
    Contradiction,
    /// A file that the study names and that cannot be read.
    Companion,
    /// More points, trials or guests than one study may have.
    TooMany,
    /// A CPU that this host does not have.
    NoSuchCpu,
    /// Driver and guests on one CPU.
    SharedCpu,
    /// More vCPUs than the guest CPUs carry.
    TooFewCpus,
    /// Guests that need more memory than there is, or have too little to start.
    Memory,
    /// Databases that need more disk than there is.
    Disk,
    /// A database that is larger than the largest size.
    Database,
    /// Guests that only root can make.
    NeedsRoot,
    /// Fewer users than guests, or more than a driver can carry.
    Users,
}

impl Code {
    /// The name as printed: `study::unknown-key`. `study::` problems lie in the file alone,
    /// `plan::` problems in the file on this host.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Syntax => "study::syntax",
            Self::DuplicateKey => "study::duplicate-key",
            Self::TooLarge => "study::too-large",
            Self::UnknownKey => "study::unknown-key",
            Self::MissingKey => "study::missing-key",
            Self::WrongType => "study::wrong-type",
            Self::WrongUnit => "study::wrong-unit",
            Self::Malformed => "study::malformed",
            Self::UnknownChoice => "study::unknown-choice",
            Self::OutOfRange => "study::out-of-range",
            Self::EmptyList => "study::empty-list",
            Self::DuplicateValue => "study::duplicate-value",
            Self::Contradiction => "study::contradiction",
            Self::Companion => "study::companion",
            Self::TooMany => "study::too-many",
            Self::NoSuchCpu => "plan::no-such-cpu",
            Self::SharedCpu => "plan::shared-cpu",
            Self::TooFewCpus => "plan::too-few-cpus",
            Self::Memory => "plan::memory",
            Self::Disk => "plan::disk",
            Self::Database => "plan::database",
            Self::NeedsRoot => "plan::needs-root",
            Self::Users => "plan::users",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One problem. Prints as what is wrong, without its place and help.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    /// Name of the file.
    pub file: Arc<str>,
    /// What kind.
    pub code: Code,
    /// 1-based line.
    pub line: usize,
    /// 1-based column, in characters.
    pub column: usize,
    /// Bytes of the file; of a file that the study names, counted on behind the study.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What the user can do.
    pub help: String,
}

impl Diagnosis for Problem {
    fn code(&self) -> &'static str {
        self.code.as_str()
    }

    fn place(&self) -> Option<String> {
        Some(format!("{}:{}:{}", self.file, self.line, self.column))
    }

    fn help(&self) -> Option<String> {
        Some(self.help.clone())
    }
}

/// A problem before its line is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) code: Code,
    pub(crate) span: Range<usize>,
    pub(crate) message: String,
    pub(crate) help: String,
}

/// All problems of one file, sorted by place. Prints as the report that a user reads.
#[derive(Clone, Debug)]
pub struct Problems {
    source: Source,
    list: Vec<Problem>,
    omitted: usize,
}

/// A report beyond this length helps nobody; the rest is counted.
const MOST_SHOWN: usize = 100;
/// Text that is no study at all is wrong in every line.
const MOST_SYNTAX: usize = 5;

impl Problems {
    /// Sorts the findings and gives them their lines. `findings` must not be empty.
    pub(crate) fn new(source: &Source, mut findings: Vec<Finding>) -> Self {
        debug_assert!(!findings.is_empty(), "a refusal has a reason");
        findings.sort_by(|a, b| {
            (a.span.start, a.code, a.span.end)
                .cmp(&(b.span.start, b.code, b.span.end))
                .then_with(|| a.message.cmp(&b.message))
        });
        findings.dedup();
        let all = findings.len();
        let mut left = MOST_SYNTAX;
        findings.retain(|finding| {
            let shown = finding.code != Code::Syntax || left > 0;
            left = left.saturating_sub(usize::from(finding.code == Code::Syntax));
            shown
        });
        findings.truncate(MOST_SHOWN);
        let omitted = all - findings.len();
        let list = findings.into_iter().map(|finding| Problem {
            file: source.file(finding.span.start),
            code: finding.code,
            line: source.line(finding.span.start),
            column: source.column(finding.span.start),
            span: finding.span,
            message: finding.message,
            help: finding.help,
        });
        Self {
            list: list.collect(),
            source: source.clone(),
            omitted,
        }
    }

    /// The problems, sorted by line; at most the first hundred.
    #[must_use]
    pub fn list(&self) -> &[Problem] {
        &self.list
    }

    /// Problems beyond the first hundred.
    #[must_use]
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    /// Name of the file.
    #[must_use]
    pub fn file(&self) -> &str {
        self.source.name()
    }

    /// Number of lines of the file, at least 1.
    #[must_use]
    pub fn lines_of_file(&self) -> usize {
        self.source.lines()
    }

    fn write_one(&self, f: &mut fmt::Formatter<'_>, problem: &Problem) -> fmt::Result {
        let Problem {
            file,
            code,
            line,
            column,
            ..
        } = problem;
        let excerpt = self.source.excerpt(&problem.span);
        let number = line.to_string();
        let gutter = " ".repeat(number.len());
        writeln!(f, "error[{code}]: {}", problem.message)?;
        writeln!(f, "{gutter}--> {file}:{line}:{column}")?;
        writeln!(f, "{gutter} |")?;
        writeln!(f, "{number} | {}", excerpt.text)?;
        let underline = "^".repeat(excerpt.underline.len());
        writeln!(
            f,
            "{gutter} | {}{underline}",
            " ".repeat(excerpt.underline.start)
        )?;
        writeln!(f, "{gutter} = help: {}", problem.help)
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.list {
            self.write_one(f, problem)?;
            writeln!(f)?;
        }
        let count = self.list.len() + self.omitted;
        let plural = if count == 1 { "problem" } else { "problems" };
        if self.omitted > 0 {
            write!(
                f,
                "{count} {plural} in {}, the first {} are shown",
                self.source.name(),
                self.list.len()
            )
        } else {
            write!(f, "{count} {plural} in {}", self.source.name())
        }
    }
}

impl std::error::Error for Problems {}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(span: Range<usize>) -> Finding {
        Finding {
            code: Code::UnknownKey,
            span,
            message: "m".into(),
            help: "n".into(),
        }
    }

    #[test]
    fn problems_are_sorted_and_counted_once() {
        let source = Source::new("s.toml", "a = 1\nb = 2\n");
        let problems = Problems::new(&source, vec![finding(6..7), finding(0..1), finding(6..7)]);
        let lines: Vec<_> = problems
            .list()
            .iter()
            .map(|problem| (problem.line, problem.column))
            .collect();
        assert_eq!(lines, [(1, 1), (2, 1)]);
    }

    #[test]
    fn a_flood_is_cut_and_counted() {
        let source = Source::new("s.toml", &"x\n".repeat(500));
        let problems = Problems::new(
            &source,
            (0..500).map(|n| finding(2 * n..2 * n + 1)).collect(),
        );
        assert_eq!((problems.list().len(), problems.omitted()), (100, 400));
        assert!(
            problems
                .to_string()
                .ends_with("500 problems in s.toml, the first 100 are shown")
        );
    }

    #[test]
    fn a_text_that_is_no_study_is_told_so_five_times() {
        let source = Source::new("README.md", &"x\n".repeat(50));
        let syntax = |n: usize| Finding {
            code: Code::Syntax,
            ..finding(2 * n..2 * n + 1)
        };
        let findings = (0..50).map(syntax).chain([finding(98..99)]);
        let problems = Problems::new(&source, findings.collect());
        assert_eq!((problems.list().len(), problems.omitted()), (6, 45));
    }

    #[test]
    fn a_problem_has_its_parts_as_fields_of_json() {
        let source = Source::new("quick.toml", "[load]\nstedy = \"60s\"\n");
        let problems = Problems::new(&source, vec![finding(7..12)]);
        let fields = rookery_diagnosis::ErrorFields::new(&problems.list()[0]);
        assert_eq!(
            serde_json::to_value(fields).expect("JSON"),
            serde_json::json!({
                "code": "study::unknown-key",
                "message": "m",
                "place": "quick.toml:2:1",
                "help": "n",
                "causes": [],
            })
        );
    }

    #[test]
    fn the_report_points_at_the_place() {
        let source = Source::new("quick.toml", "[load]\nstedy = \"60s\"\n");
        let problems = Problems::new(&source, vec![finding(7..12)]);
        insta::assert_snapshot!(problems.to_string(), @r#"
        error[study::unknown-key]: m
         --> quick.toml:2:1
          |
        2 | stedy = "60s"
          | ^^^^^
          = help: n

        1 problem in quick.toml
        "#);
    }
}
