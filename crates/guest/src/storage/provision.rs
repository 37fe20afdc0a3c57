//! What a guest gets beyond its shape: memory nodes, storage, limits on I/O.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rookery_host::{
    HostError,
    io::{Device, IoLimits, disk_of},
};

use serde::{Deserialize, Serialize};

use super::{
    fault::{VolumeFault, VolumeLook, volume_fault},
    volume::Volume,
};
use crate::paths::remove_tree;

/// What a guest gets beyond its shape. The default is nothing: any memory node, a clone in the
/// run's directory, no limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provision {
    /// Memory nodes that it may use; empty = all. Containers alone are held to them.
    pub nodes: Vec<u32>,
    /// The name of the volume that holds its data, alone or with others, as
    /// [`Lab::volume`](crate::Lab::volume) made it; `None` = the run's directory.
    pub volume: Option<String>,
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
    /// The storage of a guest of this name whose clone lies below `dir`, its data on `volume`.
    ///
    /// # Errors
    /// When limits are asked for and the directory lies on nothing that can be limited.
    pub(crate) fn new(
        provision: &Provision,
        volume: Option<Arc<Volume>>,
        guest: &str,
        dir: &Path,
    ) -> Result<Self, HostError> {
        let device = match &volume {
            _ if provision.limits.is_none() => None,
            Some(volume) if volume.devices().count() > 1 => {
                return Err(HostError::refused(
                    "limits on I/O hold for one device, and the volume has several",
                    "remove the limits, or write `tier = \"single\"` in [storage]",
                ));
            }
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

    /// What is wrong with its volume; `None` of storage without one.
    pub(crate) fn fault(&self, look: VolumeLook) -> Option<VolumeFault> {
        volume_fault(self.volume.as_deref()?, look)
    }

    /// Give back: the guest's directory, and the volume when it was its last guest.
    ///
    /// # Errors
    /// When something stays.
    pub(crate) fn release(&mut self) -> std::io::Result<()> {
        if let Some(home) = self.home.take() {
            // Of a device that fails nothing can be deleted; all of it goes with the volume.
            let _ = remove_tree(&home);
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
        let mut store = Store::new(&Provision::default(), None, "g1", Path::new("/proc/self"))
            .expect("no device needed");
        assert!(store.home.is_none() && store.device.is_none() && store.raw().is_none());
        store.release().expect("nothing to give back");
    }

    #[test]
    fn provisions_come_back_from_json_as_they_were() {
        let provision = Provision {
            nodes: vec![0, 2],
            volume: Some("shared".to_owned()),
            limits: IoLimits {
                read_iops: Some(100),
                write_bps: Some(u64::MAX),
                ..IoLimits::default()
            },
        };
        for provision in [provision, Provision::default()] {
            let json = serde_json::to_string(&provision).expect("plain data");
            assert_eq!(
                serde_json::from_str::<Provision>(&json).expect("read again"),
                provision
            );
        }
    }
}
