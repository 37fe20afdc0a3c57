//! Word lists as named on the command line.

use std::{borrow::Cow, path::Path};

use rookery_workload::dvdstore::WordLists;

use crate::{
    cli::WordArgs,
    exit::{Code, Failure},
};

/// The lists that `args` ask for; Rookery's own without any.
pub(crate) fn lists(args: &WordArgs) -> Result<Cow<'static, WordLists>, Failure> {
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
