//! `rookery studies`: the studies that are built into the program.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::Path,
};

use rookery_text::hanging;
use serde_json::json;

use crate::{
    cli::StudiesArgs,
    exit::{Code, Failure},
    output,
    studies::{self, BuiltIn},
};

pub(crate) fn run(args: &StudiesArgs) -> Result<Code, Failure> {
    if let Some(name) = &args.study {
        let study = studies::find(name)?;
        match &args.into {
            Some(directory) => write(&study, directory)?,
            None => output::result(study.text),
        }
        return Ok(Code::Done);
    }
    let all = studies::all();
    if args.json {
        let all: Vec<_> = all
            .iter()
            .map(|study| json!({ "name": study.name, "title": title(study) }))
            .collect();
        return output::json(&all);
    }
    let width = all.iter().map(|study| study.name.len()).max().unwrap_or(0);
    for study in &all {
        let label = format!("@{:width$}  ", study.name);
        output::result(hanging(&label, &title(study), output::width()).join("\n"));
    }
    output::remark(
        "`rookery run @quick` runs one of them; `rookery studies quick --into DIR` makes a copy to \
         change, with the files that it names",
    );
    Ok(Code::Done)
}

/// Write a study and the files that it names into a directory, which is made where it is missing.
/// Nothing is overwritten: where one of the files exists, none is written.
fn write(study: &BuiltIn, directory: &Path) -> Result<(), Failure> {
    let files = study.files()?;
    let paths = || files.iter().map(|(name, _)| directory.join(name));
    if let Some(path) = paths().find(|path| path.symlink_metadata().is_ok()) {
        return Err(Failure::new(
            Code::Usage,
            format!("{} exists, and is not overwritten", path.display()),
        )
        .help("name a directory that is new, or that has no file of this study"));
    }
    for (path, (_, text)) in paths().zip(&files) {
        write_new(&path, text).map_err(|error| {
            Failure::new(
                Code::Usage,
                format!("cannot write {}: {error}", path.display()),
            )
            .help("name a directory that can be written to")
        })?;
    }
    let shown = directory.join(study.file());
    let (shown, count) = (shown.display(), files.len() - 1);
    let with = match count {
        0 => String::new(),
        1 => ", with the file that it names,".to_owned(),
        _ => format!(", with the {count} files that it names,"),
    };
    output::result(format!(
        "{shown}{with} is written; `rookery plan {shown}` shows what it would run, `rookery run \
         {shown}` runs it"
    ));
    Ok(())
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
}

/// What a study is about, in its own words.
fn title(study: &BuiltIn) -> String {
    study
        .document()
        .map_or_else(|_| String::new(), |document| document.study().title.clone())
}
