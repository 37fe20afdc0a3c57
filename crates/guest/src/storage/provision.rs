//! What a guest gets beyond its shape: memory nodes, storage, limits on I/O.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use rookery_host::{
    HostError,
    io::{Device, IoLimits, disk_of},
};

use rookery_study::StorageRole;
use serde::{Deserialize, Serialize};

use super::{
    fault::{VolumeFault, VolumeLook, volume_fault},
    moves::RoleMove,
    roles::{RoleDirectory, RoleStore, release_roles},
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
    /// Volumes of its own for what its server keeps beside its data.
    #[serde(default)]
    pub roles: BTreeMap<StorageRole, RoleProvision>,
    /// Most I/O on the device of its data. Containers alone are held to it.
    pub limits: IoLimits,
}

/// The storage of one role of a guest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoleProvision {
    /// The name of its volume, as [`Lab::volume`](crate::Lab::volume) made it: with a file system,
    /// which a machine mounts itself.
    pub volume: String,
    /// What is moved there from the data of the clone before its first start.
    #[serde(default)]
    pub moved: Vec<RoleMove>,
    /// Most I/O on it. Containers and machines are held to it.
    pub limits: IoLimits,
}

/// The volumes that a provision names.
#[derive(Debug, Default)]
pub(crate) struct ProvidedVolumes {
    /// That of the data, alone or with others.
    pub(crate) data: Option<Arc<Volume>>,
    /// Those of roles beside them.
    pub(crate) roles: BTreeMap<StorageRole, Arc<Volume>>,
}

/// A guest's storage, once it is made: where its data go, and on which device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    pub(crate) volume: Option<Arc<Volume>>,
    /// Directory of this guest on the volume.
    pub(crate) home: Option<PathBuf>,
    /// What lies on volumes beside that of the data.
    pub(crate) roles: BTreeMap<StorageRole, RoleStore>,
    pub(crate) limits: IoLimits,
    /// The device that is limited; known where there are limits.
    pub(crate) device: Option<Device>,
    pub(crate) nodes: Vec<u32>,
}

impl Store {
    /// The storage of a guest of this name whose clone lies below `dir`, on these volumes.
    ///
    /// # Errors
    /// When limits are asked for and the directory lies on nothing that can be limited, or the
    /// volume of a role has no file system.
    pub(crate) fn new(
        provision: &Provision,
        volumes: ProvidedVolumes,
        guest: &str,
        dir: &Path,
    ) -> Result<Self, HostError> {
        let ProvidedVolumes {
            data: volume,
            roles,
        } = volumes;
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
            roles: roles_of(provision, roles, guest)?,
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
        for volume in self.volumes() {
            volume.sync();
        }
    }

    /// All volumes, that of the data first.
    fn volumes(&self) -> impl Iterator<Item = &Volume> {
        let beside = self.roles.values().map(|role| role.volume.as_ref());
        self.volume.as_deref().into_iter().chain(beside)
    }

    /// The directories of roles, where the guest finds them by `inside`.
    pub(crate) fn role_directories(
        &self,
        inside: impl Fn(StorageRole, &Path) -> String,
    ) -> Vec<RoleDirectory> {
        let directory = |(role, store): (&StorageRole, &RoleStore)| RoleDirectory {
            role: *role,
            outside: Some(store.home.clone()),
            inside: inside(*role, &store.home),
        };
        self.roles.iter().map(directory).collect()
    }

    /// What is wrong with one of its volumes; `None` of storage without one.
    pub(crate) fn fault(&self, look: VolumeLook) -> Option<VolumeFault> {
        self.volumes().find_map(|volume| volume_fault(volume, look))
    }

    /// Give back: the guest's directories, and each volume when it was its last guest.
    ///
    /// # Errors
    /// When something stays.
    pub(crate) fn release(&mut self) -> std::io::Result<()> {
        if let Some(home) = self.home.take() {
            // Of a device that fails nothing can be deleted; all of it goes with the volume.
            let _ = remove_tree(&home);
        }
        let beside = release_roles(std::mem::take(&mut self.roles));
        match self.volume.take().and_then(Arc::into_inner) {
            Some(mut last) => last.remove().and(beside),
            None => beside,
        }
    }
}

/// The storage of each role of a guest.
fn roles_of(
    provision: &Provision,
    volumes: BTreeMap<StorageRole, Arc<Volume>>,
    guest: &str,
) -> Result<BTreeMap<StorageRole, RoleStore>, HostError> {
    let store = |(role, volume): (StorageRole, Arc<Volume>)| {
        let home = volume.point().map(|point| point.join(guest));
        let home = home.ok_or_else(|| {
            HostError::refused(
                format!(
                    "the volume of the role `{}` has no file system that the host mounts",
                    role.name()
                ),
                "give it one",
            )
        })?;
        let provided = provision.roles.get(&role);
        let moved = provided.map(|role| role.moved.clone()).unwrap_or_default();
        let limits = provided.map(|role| role.limits).unwrap_or_default();
        Ok((
            role,
            RoleStore {
                volume,
                home,
                moved,
                limits,
            },
        ))
    };
    volumes.into_iter().map(store).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_without_provision_has_plain_storage() {
        let mut store = Store::new(
            &Provision::default(),
            ProvidedVolumes::default(),
            "g1",
            Path::new("/proc/self"),
        )
        .expect("no device needed");
        assert!(store.home.is_none() && store.device.is_none() && store.raw().is_none());
        store.release().expect("nothing to give back");
    }

    #[test]
    fn provisions_come_back_from_json_as_they_were() {
        let provision = Provision {
            nodes: vec![0, 2],
            volume: Some("shared".to_owned()),
            roles: BTreeMap::from([(
                StorageRole::Log,
                RoleProvision {
                    volume: "g1-log".to_owned(),
                    moved: vec![RoleMove::Directory {
                        path: "server/wal".to_owned(),
                        name: "wal".to_owned(),
                    }],
                    limits: IoLimits::default(),
                },
            )]),
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
