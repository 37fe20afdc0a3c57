//! A first draft of a workload file from a HAR, the archive that browsers write of what they sent.
//!
//! Whatever an archive holds, the draft is a workload file that is right, and no secret of the
//! archive stands in it: passwords, tokens, cookies are captured from an answer before or replaced.

mod archive;
mod decode;
mod draft;
mod exchange;
mod find;
mod request;
mod secrets;
mod similar;
mod steps;
#[cfg(test)]
mod tests;
mod values;
mod varied;

use rookery_diagnosis::Diagnosis;
use thiserror::Error;

use self::archive::{Archive, Record};
use crate::companions::MOST_COMPANION_BYTES;

/// Most bytes of an archive.
pub const MOST_HAR_BYTES: usize = 64 << 20;

/// Why no draft can be made of an archive.
#[derive(Debug, Error)]
pub enum HarError {
    /// It is no JSON.
    #[error("it is no HAR")]
    NoJson(#[source] serde_json::Error),
    /// It is too large.
    #[error("it has more than {} MiB", MOST_HAR_BYTES >> 20)]
    TooLarge,
    /// There is no request in it that a user could make.
    #[error("it holds no page and no request for data: {entries} entries")]
    NoRequests {
        /// Entries that it has.
        entries: usize,
    },
}

impl Diagnosis for HarError {
    fn code(&self) -> &'static str {
        match self {
            Self::NoJson(_) => "har::no-json",
            Self::TooLarge => "har::too-large",
            Self::NoRequests { .. } => "har::no-requests",
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::NoJson(_) => "save it from the network tool of a browser: \"Save all as HAR\"",
            Self::TooLarge => "save it without the content of images, or of fewer pages",
            Self::NoRequests { .. } => {
                "open the network tool first, then load the pages, then save them with their content"
            }
        };
        Some(help.to_owned())
    }
}

/// Derives a draft from the bytes of an archive; `name` is what the draft calls it.
///
/// # Errors
/// When the bytes are no archive, or one without a request that a user could make.
pub fn draft_from_har(name: &str, har: &[u8]) -> Result<String, HarError> {
    if har.len() > MOST_HAR_BYTES {
        return Err(HarError::TooLarge);
    }
    let har = har.strip_prefix(b"\xef\xbb\xbf").unwrap_or(har);
    let Record(archive) =
        serde_json::from_slice::<Record<Archive>>(har).map_err(HarError::NoJson)?;
    let (exchanges, unused) = exchange::exchanges(archive);
    let entries = exchanges.len() + unused;
    let mut recorded = steps::recorded(exchanges).ok_or(HarError::NoRequests { entries })?;
    let mut text = draft::text(name, &recorded, unused);
    // What is replaced may be longer than what it replaces.
    while text.len() > MOST_COMPANION_BYTES && recorded.operations.len() > 1 {
        recorded.truncate(recorded.operations.len() / 2);
        text = draft::text(name, &recorded, unused);
    }
    Ok(text)
}
