//! Volumes beside that of the data, each for one role: their directories in a guest.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::{MetadataExt as _, chown},
    path::{Path, PathBuf},
    sync::Arc,
};

use rookery_host::{
    Host,
    io::{Device, IoLimits},
};
use rookery_study::StorageRole;

use super::volume::Volume;
use crate::paths::{open_directory, remove_tree};

/// Where a guest finds the directory of a role on a volume of its own, and where the host does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleDirectory {
    /// What it is for.
    pub role: StorageRole,
    /// As the host sees it.
    pub outside: PathBuf,
    /// As the guest sees it.
    pub inside: String,
}

/// The storage of one role of a guest.
#[derive(Clone, Debug)]
pub(crate) struct RoleStore {
    pub(crate) volume: Arc<Volume>,
    /// Directory of this guest on the volume.
    pub(crate) home: PathBuf,
    pub(crate) limits: IoLimits,
}

impl RoleStore {
    /// The block device that is limited.
    pub(crate) fn device(&self) -> Device {
        self.volume.device().device
    }

    /// Make its directory, for whom the data are for.
    fn make(&self, data: &Path) -> io::Result<()> {
        let owner = fs::metadata(data)?;
        open_directory(&self.home)?;
        if rustix::process::geteuid().is_root() {
            chown(&self.home, Some(owner.uid()), Some(owner.gid()))?;
        }
        fs::set_permissions(&self.home, owner.permissions())
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

/// Make the directories of all roles, for whom the directory of the data is for.
///
/// # Errors
/// When one cannot be made.
pub(crate) fn make_roles(
    host: &dyn Host,
    roles: &BTreeMap<StorageRole, RoleStore>,
    data: &Path,
) -> io::Result<()> {
    roles.values().try_for_each(|role| {
        host.step("clone roles")?;
        role.make(data)
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
