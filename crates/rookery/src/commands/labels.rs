//! `rookery label` and `rookery delete`: what people keep about a run, and its end.

use std::{
    io::{self, IsTerminal as _, Write as _},
    path::PathBuf,
};

use rookery_lab::{DeleteError, LabError, LabelError, RunLabels};

use crate::{
    cli::{DeleteArgs, LabelArgs},
    exit::{Code, Failure},
    output,
};

/// Show the labels of a run, changed as asked.
pub(crate) fn label(args: &LabelArgs) -> Result<Code, Failure> {
    let directory = rookery_lab::find(&args.place.runs, &args.run)?;
    let mut labels = RunLabels::read(&directory);
    let before = labels.clone();
    labels.tags.extend(args.tag.iter().cloned());
    labels.tags.retain(|tag| !args.untag.contains(tag));
    if let Some(note) = &args.note {
        note.trim().clone_into(&mut labels.note);
    }
    if labels != before {
        labels.write(&directory).map_err(|error| {
            let code = match error {
                LabelError::File { .. } => Code::Host,
                LabelError::Tag { .. } | LabelError::TooMany | LabelError::Note => Code::Usage,
            };
            Failure::from_error(code, &error)
        })?;
    }
    if args.json {
        return output::json(&labels);
    }
    output::text(if labels.is_empty() {
        "no labels".to_owned()
    } else {
        words(&labels)
    });
    Ok(Code::Done)
}

/// Labels in lines: the tags in one, then the note.
pub(crate) fn words(labels: &RunLabels) -> String {
    let tags: Vec<&str> = labels.tags.iter().map(String::as_str).collect();
    let tags = tags.join(" ");
    let parts = [tags.as_str(), labels.note.as_str()].into_iter();
    parts
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Delete runs after a question.
pub(crate) fn delete(args: &DeleteArgs) -> Result<Code, Failure> {
    let find = |name: &String| rookery_lab::find(&args.place.runs, name);
    let directories: Vec<PathBuf> = args.run.iter().map(find).collect::<Result<_, LabError>>()?;
    for directory in &directories {
        let name = output::printable(&directory.display().to_string());
        if !args.yes && !agreed(&name)? {
            output::remark(format!("{name} stays"));
            continue;
        }
        rookery_lab::delete(&args.place.runs, directory).map_err(|error| match error {
            DeleteError::Lab(error) => error.into(),
            error @ DeleteError::Elsewhere { .. } => Failure::from_error(Code::Usage, &error),
            error @ DeleteError::LeftOnHost { .. } => Failure::from_error(Code::Host, &error),
        })?;
        output::text(format!("{name} is deleted"));
    }
    Ok(Code::Done)
}

/// Ask at the terminal; where there is none, nothing is deleted unasked.
fn agreed(name: &str) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        let text = "there is no terminal to ask at whether runs are to be deleted";
        return Err(Failure::new(Code::Usage, text).help("add --yes"));
    }
    let mut answer = String::new();
    let asked = write!(
        io::stderr(),
        "delete {name} with everything that was measured? [y/N] "
    )
    .and_then(|()| io::stderr().flush())
    .and_then(|()| io::stdin().read_line(&mut answer));
    Ok(asked.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes"))
}
