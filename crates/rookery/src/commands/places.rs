//! Where things are kept when nothing names a place.

use std::{
    env,
    path::{Path, PathBuf},
};

use crate::exit::{Code, Failure};

/// Where templates are kept.
pub(crate) fn templates(named: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    let cache = env::var_os("XDG_CACHE_HOME")
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")));
    cache
        .map(|cache| cache.join("rookery").join("templates"))
        .ok_or_else(|| {
            Failure::new(
                Code::Host,
                "neither HOME nor XDG_CACHE_HOME says where to keep templates",
            )
            .help("name a directory with --templates DIR")
        })
}
