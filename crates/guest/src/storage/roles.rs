//! Volumes beside that of the data, each for one role: their directories in a guest.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use rookery_host::{
    Host,
    io::{Device, IoLimits},
};
use rookery_study::StorageRole;

use super::{
    moves::{RoleEnds, RoleMove, fill_role},
    volume::Volume,
};
use crate::paths::{open_directory, remove_tree};

/// Where a guest finds the directory of a role on a volume of its own, and where the host does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleDirectory {
    /// What it is for.
    pub role: StorageRole,
    /// As the host sees it; `None` of a machine, whose own kernel alone does.
    pub outside: Option<PathBuf>,
    /// As the guest sees it.
    pub inside: String,
}

/// The storage of one role of a guest.
#[derive(Clone, Debug)]
pub(crate) struct RoleStore {
    pub(crate) volume: Arc<Volume>,
    /// Directory of this guest on the volume.
    pub(crate) home: PathBuf,
    /// What is moved there.
    pub(crate) moved: Vec<RoleMove>,
    pub(crate) limits: IoLimits,
}

impl RoleStore {
    /// The block device that is limited.
    pub(crate) fn device(&self) -> Device {
        self.volume.device().device
    }

    /// Give back: the directory, and the volume when this was its last guest.
    fn release(self) -> io::Result<()> {
        // Of a device that fails nothing can be deleted; all of it goes with the volume.
        let _ = remove_tree(&self.home);
        match Arc::into_inner(self.volume) {
            Some(mut last) => last.remove(),
            None => Ok(()),
        }
    }
}

/// Where a guest with a root of its own finds the directory of a role.
pub(crate) fn role_place(role: StorageRole) -> String {
    format!("/volumes/{}", role.name())
}

/// Make the directories of all roles, for whom the directory of the data is for, and move there
/// what goes there; the guest finds them by `inside`.
///
/// # Errors
/// When one cannot be made, or a file not be moved.
pub(crate) fn make_roles(
    host: &dyn Host,
    roles: &BTreeMap<StorageRole, RoleStore>,
    data: &Path,
    inside: impl Fn(StorageRole, &Path) -> String,
) -> io::Result<()> {
    roles.iter().try_for_each(|(role, store)| {
        host.step("clone roles")?;
        let inside = inside(*role, &store.home);
        let ends = RoleEnds {
            outside: &store.home,
            inside: &inside,
        };
        open_directory(&store.home)?;
        fill_role(data, ends, &store.moved)
    })
}

/// Give all of them back.
///
/// # Errors
/// The first of which something stays; all are tried.
pub(crate) fn release_roles(roles: BTreeMap<StorageRole, RoleStore>) -> io::Result<()> {
    let released: Vec<io::Result<()>> = roles.into_values().map(RoleStore::release).collect();
    released.into_iter().collect()
}
