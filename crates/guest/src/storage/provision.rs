//! What a guest gets beyond its shape: memory nodes, storage, limits on I/O.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rookery_host::{
    HostError,
    io::{Device, IoLimits, disk_of},
};

use super::volume::Volume;
use crate::paths::remove_tree;

/// What a guest gets beyond its shape. The default is nothing: any memory node, a clone in the
/// run's directory, no limits.
#[derive(Clone, Debug, Default)]
pub struct Provision {
    /// Memory nodes that it may use; empty = all. Containers alone are held to them.
    pub nodes: Vec<u32>,
    /// The volume that holds its data, alone or with others; `None` = the run's directory.
    pub volume: Option<Arc<Volume>>,
    /// Most I/O on the device of its data. Containers alone are held to it.
    pub limits: IoLimits,
}

/// A guest's storage, once it is made: where its data go, and on which device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    pub(crate) volume: Option<Arc<Volume>>,
    /// Directory of this guest on the volume.
    pub(crate) home: Option<PathBuf>,
    pub(crate) limits: IoLimits,
    /// The device that is limited; known where there are limits.
    pub(crate) device: Option<Device>,
    pub(crate) nodes: Vec<u32>,
}

impl Store {
    /// The storage of a guest of this name whose clone lies below `dir`.
    ///
    /// # Errors
    /// When limits are asked for and the directory lies on nothing that can be limited.
    pub(crate) fn new(provision: &Provision, guest: &str, dir: &Path) -> Result<Self, HostError> {
        let volume = provision.volume.clone();
        let device = match &volume {
            _ if provision.limits.is_none() => None,
            Some(volume) => Some(volume.device().device),
            None => Some(disk_of(dir)?),
        };
        Ok(Self {
            home: volume
                .as_ref()
                .and_then(|volume| Some(volume.point()?.join(guest))),
            volume,
            limits: provision.limits,
            device,
            nodes: provision.nodes.clone(),
        })
    }

    /// The device number of a raw volume.
    pub(crate) fn raw(&self) -> Option<Device> {
        let volume = self
            .volume
            .as_ref()
            .filter(|volume| volume.point().is_none())?;
        Some(volume.device().device)
    }

    /// Write out the copy of the data: the load shall not pay for it.
    pub(crate) fn settle(&self) {
        if let Some(volume) = &self.volume {
            volume.sync();
        }
    }

    /// Give back: the guest's directory, and the volume when it was its last guest.
    ///
    /// # Errors
    /// When something stays.
    pub(crate) fn release(&mut self) -> std::io::Result<()> {
        if let Some(home) = &self.home {
            remove_tree(home)?;
            self.home = None;
        }
        match self.volume.take().and_then(Arc::into_inner) {
            Some(mut last) => last.remove(),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_without_provision_has_plain_storage() {
        let mut store = Store::new(&Provision::default(), "g1", Path::new("/proc/self"))
            .expect("no device needed");
        assert!(store.home.is_none() && store.device.is_none() && store.raw().is_none());
        store.release().expect("nothing to give back");
    }
}
