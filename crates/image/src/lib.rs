//! Container images from files: read, checked, and unpacked safely into a directory.
//!
//! [`ImageSource`] says where an image is: an OCI layout directory, an archive of one, or what
//! `docker save` and `podman save` write. [`describe`] reads what the image says about itself, an
//! [`ImageDescription`]; [`unpack`] makes its files. No program of the image is run, nothing is
//! fetched from anywhere.
//!
//! An image is not trusted. Every document and every layer has the digest that it should have, or
//! nothing of it is used; [`Limits`] bound bytes, entries, names and ratios; the directory is
//! written in a way that no path, link or removal leads out of. Device nodes and pipes are left
//! out, set-user-ID and set-group-ID bits and extended attributes (capabilities among them) are
//! dropped, and all of that is counted in [`UnpackedImage::dropped`]. Sparse files and archives
//! whose entries contradict themselves are refused.
//!
//! Layers are plain, or compressed by gzip or zstd, within the same bounds.
//! [`unpack_archive`] takes an archive that is no image in the same way.
//!
//! Errors are [`ImageError`]s; after one, nothing of the image is left.

mod change;
mod description;
mod digest;
mod documents;
mod error;
mod files;
#[doc(hidden)]
pub mod fuzzing;
mod layer;
mod limits;
mod plain;
mod platform;
mod problem;
mod reference;
mod source;
mod tar;
mod tree;
mod unpack;

pub use description::{ExposedPort, ImageDescription, UnpackedImage};
pub use digest::{Digest, NotADigest};
pub use error::{DocumentProblem, ImageError};
pub use limits::{Limits, Options, Ownership};
pub use plain::{VisitFile, survey_archive, unpack_archive};
pub use problem::{Exceeded, LayerProblem, LimitKind, TarProblem};
pub use source::ImageSource;
pub use tree::{Dropped, Drops, Loss};
pub use unpack::{describe, unpack};
