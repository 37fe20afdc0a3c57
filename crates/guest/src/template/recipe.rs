//! What a template is made of, and the template itself.

use std::{
    collections::BTreeMap,
    fmt,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use rookery_stats::DatabaseLoad;

use super::lease::Lease;
use crate::error::FillError;

/// Names of what a root holds, such as `mariadb-server-core`, with their versions.
pub type Versions = BTreeMap<String, String>;

/// How a layer gets its content.
#[derive(Clone, Copy)]
pub enum Fill<'a> {
    /// Fills the data directory, and says how a database was loaded, where it holds one. The
    /// program is installed in the layer as well, so that guests can stand on it.
    Data(&'a (dyn Fn(&Path) -> Result<Option<DatabaseLoad>, FillError> + Sync)),
    /// Fills the data directory, and the program has no part in it: the layer holds none (a new
    /// program leaves it valid). Guests stand on it [with a program](Template::with_program).
    DataOnly(&'a (dyn Fn(&Path) -> Result<Option<DatabaseLoad>, FillError> + Sync)),
    /// The program and nothing else, to be put on data.
    Program,
    /// Makes a whole root file system in an empty directory, and says what is in it. The layer
    /// holds no program (a new program leaves it valid): it is a base for data layers, not for
    /// guests.
    Root(&'a (dyn Fn(&Path) -> Result<Versions, FillError> + Sync)),
    /// Puts files and links on a base, in an empty directory that is laid over it. The layer holds
    /// no program, as that of a root.
    Files(&'a (dyn Fn(&Path) -> Result<(), FillError> + Sync)),
}

impl fmt::Debug for Fill<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Data(_) => "Data",
            Self::DataOnly(_) => "DataOnly",
            Self::Program => "Program",
            Self::Root(_) => "Root",
            Self::Files(_) => "Files",
        })
    }
}

/// How a template is built; its digest is the template's address.
#[derive(Clone, Debug)]
pub struct Recipe<'a> {
    /// Everything that decides the content, as text: stack, version, data size, seed, ...
    pub description: String,
    /// The program that guests run; copied with its shared libraries into a layer of [`Fill::Data`]
    /// or [`Fill::Program`].
    pub program: PathBuf,
    /// The template on which this one stands as a further layer; `None` = it stands alone. A
    /// [`Fill::Root`] and a
    /// [`Fill::Program`] stand alone.
    pub base: Option<&'a Template>,
    /// The content, made once.
    pub fill: Fill<'a>,
}

/// Asked several times a second while somebody else builds or removes templates in the same
/// directory; `Break` gives up.
pub type Patience<'a> = &'a (dyn Fn() -> ControlFlow<()> + Sync);

/// The [`Patience`] that waits for ever.
pub fn patient() -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// A built template. While one value of it lives, it cannot be removed.
#[derive(Clone, Debug)]
pub struct Template {
    /// Digest of the recipe.
    pub digest: String,
    /// Root directory of the top layer, or of the one below a program that was put on it; the
    /// loaded data lies in `root/data`.
    pub root: PathBuf,
    /// The program on the host. A base, and data alone, have none.
    pub program: PathBuf,
    /// Root directories of all layers, the top first.
    pub layers: Vec<PathBuf>,
    /// How its database was loaded when it was built, where it holds one.
    pub load: Option<DatabaseLoad>,
    /// Whether it was built just now, and not found.
    pub built: bool,
    /// Keeps it from being removed.
    pub(super) lease: Lease,
}

impl Template {
    /// This template with the program of a [`Fill::Program`] on top: what guests stand on.
    #[must_use]
    pub fn with_program(&self, program: &Self) -> Self {
        Self {
            program: program.program.clone(),
            layers: std::iter::once(&program.root)
                .chain(&self.layers)
                .cloned()
                .collect(),
            lease: program.lease.and(&self.lease),
            ..self.clone()
        }
    }
}
