//! `rookery workload from-har`: a first draft of a workload file from what a browser recorded.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use clap::Args;
use rookery_study::{MOST_HAR_BYTES, draft_from_har};

use crate::{
    exit::{Code, Failure},
    output,
};

#[derive(Debug, Args)]
pub(crate) struct FromHarArgs {
    /// HAR that a browser saved
    har: PathBuf,
    /// File to write; it must not exist [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file
    #[arg(long, requires = "output")]
    overwrite: bool,
}

pub(crate) fn run(args: &FromHarArgs) -> Result<Code, Failure> {
    let shown = args.har.display().to_string();
    let bytes = bytes_of(&args.har).map_err(|error| {
        Failure::new(Code::Usage, format!("cannot read {shown}: {error}"))
            .help("name a HAR that a browser saved")
    })?;
    let name = args.har.file_name().unwrap_or_default().to_string_lossy();
    let draft = draft_from_har(&name, &bytes)
        .map_err(|error| Failure::from_error(Code::Usage, &error).at(&shown))?;
    let Some(path) = &args.output else {
        output::result(draft.trim_end());
        return Ok(Code::Done);
    };
    write(path, &draft, args.overwrite)?;
    let file = path.display();
    output::text(format!(
        "{file} is written; look at every line of it, then try it: rookery workload check {file} \
         --try URL"
    ));
    Ok(Code::Done)
}

/// One byte more than may be, so that the draft can say so.
fn bytes_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(MOST_HAR_BYTES as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn write(path: &Path, text: &str, overwrite: bool) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true);
    if overwrite {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let written = options
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        let help = match error.kind() {
            io::ErrorKind::AlreadyExists => "name another file, or add --overwrite",
            _ => "name a file in a directory that exists and may be written to",
        };
        Failure::new(
            Code::Usage,
            format!("cannot write {}: {error}", path.display()),
        )
        .help(help)
    })
}
