//! What an error says: its code, its place, its help and its causes, apart from each other.
//!
//! Each crate's user-facing error enum implements [`Diagnosis`]. `Display` says what happened and
//! nothing else; the place and the help are methods, the cause is `source()`. The command line
//! turns any of them into [`ErrorFields`], which it prints for people ([`ErrorFields`] implements
//! `Display`) or as JSON. So the words of an error are put together in one place.
//!
//! ```
//! use rookery_diagnosis::{Diagnosis, ErrorFields};
//!
//! #[derive(Debug, thiserror::Error)]
//! enum StoreError {
//!     #[error("cannot read the run")]
//!     Read {
//!         path: String,
//!         #[source]
//!         source: std::io::Error,
//!     },
//! }
//!
//! impl Diagnosis for StoreError {
//!     fn code(&self) -> &'static str {
//!         "store::read"
//!     }
//!     fn place(&self) -> Option<String> {
//!         let Self::Read { path, .. } = self;
//!         Some(path.clone())
//!     }
//!     fn help(&self) -> Option<String> {
//!         Some("name the directory of a run".to_owned())
//!     }
//! }
//!
//! let error = StoreError::Read {
//!     path: "runs/7".to_owned(),
//!     source: std::io::Error::other("disk on fire"),
//! };
//! assert_eq!(
//!     ErrorFields::new(&error).to_string(),
//!     "error[store::read]: cannot read the run\n  \
//!      at: runs/7\n  \
//!      cause: disk on fire\n  \
//!      help: name the directory of a run"
//! );
//! ```

mod fields;
mod outside;

pub use self::{
    fields::ErrorFields,
    outside::{LONGEST_OUTSIDE_TEXT, commands, outside_text},
};

/// An error that a user reads.
///
/// `Display` says what happened, in one sentence and without help; [`std::error::Error::source`]
/// gives the cause, which `Display` does not repeat.
pub trait Diagnosis: std::error::Error {
    /// The kind of error, stable across releases: `crate::kebab-case`, such as `guest::not-ready`.
    fn code(&self) -> &'static str;

    /// Where it happened: `file:line`, or a guest, phase, path or command. `None` where the message
    /// names the place already.
    fn place(&self) -> Option<String> {
        None
    }

    /// What the user can do: the nearest valid key, the package, the command. One or more
    /// sentences without a label in front.
    fn help(&self) -> Option<String> {
        None
    }
}
