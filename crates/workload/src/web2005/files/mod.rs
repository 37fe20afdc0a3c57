//! File sets: names, sizes and bytes of every file, as arithmetic.
//!
//! A [`Shape`] is a whole set: fixed images, one padding file per page, and so many units (users
//! with check images, product lines, download directories). Every byte follows from the shape's
//! seed, so that a set of any size needs no memory and can be checked without being read.

mod content;
mod downloads;
mod images;
mod pages;
mod shape;

pub use content::{Content, ContentKind, MARKER_BYTES, marker, modified_s};
pub use downloads::{CLASSES, DOWNLOADS, Download, DownloadClass};
pub use images::ImageUse;
pub use pages::{PageFiles, page, pages};
pub use shape::{FileEntry, LARGEST_IDENTITY, Shape, ShapeError};
