//! Workload files, read with the files that they name.

use std::path::Path;

use rookery_study::{Companion, MOST_COMPANION_BYTES, Problems, names_in_companion};

use crate::{
    companions,
    exit::{Code, Failure},
};

/// What reads a workload file: its name for messages, its text, the files that it names.
pub(super) type Parse<U> = fn(&str, &str, &[Companion]) -> Result<U, Problems>;

/// The text of a file that was named on the command line.
pub(super) fn text(path: &Path) -> Result<String, Failure> {
    companions::text_of(path).map_err(|error| {
        Failure::new(
            Code::Usage,
            format!("cannot read {}: {error}", path.display()),
        )
        .help("name an existing file")
    })
}

/// Reads a workload file: what it says, or what is wrong with it.
pub(super) fn parse<U>(path: &Path, parse: Parse<U>) -> Result<Result<U, Problems>, Failure> {
    let text = text(path)?;
    if text.len() > MOST_COMPANION_BYTES {
        let what = format!(
            "{} has more than {MOST_COMPANION_BYTES} bytes",
            path.display()
        );
        return Err(Failure::new(Code::Usage, what).help("is this a workload file?"));
    }
    let files = companions::beside(path, names_in_companion("", &text));
    Ok(parse(&path.display().to_string(), &text, &files))
}

/// Reads a workload file that must be right.
pub(super) fn load<U>(path: &Path, parsed: Parse<U>) -> Result<U, Failure> {
    parse(path, parsed)?.map_err(Failure::from_problems)
}
