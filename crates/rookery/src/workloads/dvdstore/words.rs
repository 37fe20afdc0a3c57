//! Word lists as named on the command line.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
};

use clap::Args;
use rookery_workload::dvdstore::WordLists;

use crate::exit::{Code, Failure};

/// Word lists of titles and actors; Rookery's own by default.
#[derive(Debug, Args)]
pub(crate) struct WordArgs {
    /// File of 1000 title words, one a line
    #[arg(
        long,
        value_name = "FILE",
        requires = "first_names",
        requires = "last_names"
    )]
    title_words: Option<PathBuf>,
    /// File of 200 first names
    #[arg(long, value_name = "FILE", requires = "title_words")]
    first_names: Option<PathBuf>,
    /// File of 200 last names
    #[arg(long, value_name = "FILE", requires = "title_words")]
    last_names: Option<PathBuf>,
    /// Learn the three lists from a product file of another DVD Store
    #[arg(long, value_name = "PROD_CSV", conflicts_with = "title_words")]
    learn_words: Option<PathBuf>,
}

/// The lists that `args` ask for; Rookery's own without any.
pub(super) fn lists(args: &WordArgs) -> Result<Cow<'static, WordLists>, Failure> {
    if let Some(path) = &args.learn_words {
        let lists = WordLists::learn(&read(path)?)
            .map_err(|error| Failure::from_error(Code::Usage, &error).at(path.display()))?;
        return Ok(Cow::Owned(lists));
    }
    let (Some(titles), Some(first), Some(last)) =
        (&args.title_words, &args.first_names, &args.last_names)
    else {
        return Ok(Cow::Borrowed(WordLists::own()));
    };
    let text = |path: &Path| {
        String::from_utf8(read(path)?).map_err(|_| {
            Failure::new(Code::Usage, format!("{} is not UTF-8 text", path.display()))
                .help("one upper-case word a line")
        })
    };
    let lists = WordLists::parse(&text(titles)?, &text(first)?, &text(last)?)
        .map_err(|error| Failure::from_error(Code::Usage, &error))?;
    Ok(Cow::Owned(lists))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| {
        Failure::new(
            Code::Usage,
            format!("cannot read {}: {error}", path.display()),
        )
    })
}
