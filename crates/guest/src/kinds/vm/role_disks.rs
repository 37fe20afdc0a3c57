//! Disks of a machine beside that of its data, each for one role: the host makes and formats them,
//! the guest's service mounts them.

use std::{collections::BTreeMap, io, path::Path, sync::Arc};

use rookery_host::{HostError, io::IoLimits, volume::InForce as Mounted};
use rookery_study::StorageRole;

use super::{
    document::{disk_of, limits_in_force},
    domain::RoleTarget,
    looks::ask,
    pool::Disk,
    seed::SeedRole,
};
use crate::storage::{
    InForce, Provision, RoleDirectory, RoleMove, Volume, VolumeFault, device_fault, role_place,
    role_readings,
};

/// The request that is answered by what the guest has mounted, by role.
pub(super) const MOUNTS: &str = "mounts";
/// The request that is answered by what is wrong with one of them.
pub(super) const FAULT: &str = "fault";

/// The serial of the disk of a role, by which the guest's service finds it.
pub(super) fn serial(role: StorageRole) -> String {
    format!("rookery-{}", role.name())
}

/// Behind the disks that other machines have too.
fn target(role: StorageRole) -> &'static str {
    match role {
        StorageRole::Log => "vdf",
        StorageRole::Data | StorageRole::Temporary => "vdg",
    }
}

#[derive(Debug)]
struct RoleDisk {
    volume: Arc<Volume>,
    /// The device of the volume.
    disk: Disk,
    /// The file system on it.
    file_system: &'static str,
    moved: Vec<RoleMove>,
    limits: IoLimits,
}

/// The disks of all roles of a machine.
#[derive(Debug)]
pub(super) struct RoleDisks(BTreeMap<StorageRole, RoleDisk>);

impl RoleDisks {
    /// Those that a provision asks for, on these volumes.
    ///
    /// # Errors
    /// When a volume is none that a guest mounts.
    pub(super) fn new(
        provision: &Provision,
        volumes: BTreeMap<StorageRole, Arc<Volume>>,
    ) -> Result<Self, HostError> {
        let disk = |(role, volume): (StorageRole, Arc<Volume>)| {
            let one = volume.spec().devices == 1 && volume.point().is_none();
            let file_system = volume.spec().file_system.filter(|_| one);
            let Some(file_system) = file_system else {
                let name = role.name();
                return Err(HostError::refused(
                    format!("the volume of the role `{name}` is none that a machine can mount"),
                    "give it one device, and a file system that the guest mounts",
                ));
            };
            let provided = provision.roles.get(&role);
            let of_role = RoleDisk {
                disk: Disk::Raw(volume.device().path.clone()),
                file_system: file_system.name(),
                moved: provided.map(|role| role.moved.clone()).unwrap_or_default(),
                limits: provided.map(|role| role.limits).unwrap_or_default(),
                volume,
            };
            Ok((role, of_role))
        };
        volumes
            .into_iter()
            .map(disk)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Where the guest finds their directories.
    pub(super) fn places(&self) -> BTreeMap<StorageRole, String> {
        let roles = self.0.keys();
        roles.map(|role| (*role, role_place(*role))).collect()
    }

    /// The same, for whoever asks for the guest's directories.
    pub(super) fn directories(&self) -> Vec<RoleDirectory> {
        let directory = |role: &StorageRole| RoleDirectory {
            role: *role,
            outside: None,
            inside: role_place(*role),
        };
        self.0.keys().map(directory).collect()
    }

    /// What the guest is told of them.
    pub(super) fn seeds(&self) -> Vec<SeedRole> {
        let seed = |(role, of_role): (&StorageRole, &RoleDisk)| {
            let spec = of_role.volume.spec();
            SeedRole {
                role: *role,
                file_system: of_role.file_system.to_owned(),
                flags: spec.flags().bits(),
                options: spec.data(&[]),
                moved: of_role.moved.clone(),
            }
        };
        self.0.iter().map(seed).collect()
    }

    /// The disks of the machine.
    pub(super) fn targets(&self) -> Vec<RoleTarget<'_>> {
        let of_machine = |(role, of_role)| {
            let (role, of_role): (&StorageRole, &RoleDisk) = (role, of_role);
            RoleTarget {
                disk: &of_role.disk,
                target: target(*role),
                serial: serial(*role),
                limits: of_role.limits,
            }
        };
        self.0.iter().map(of_machine).collect()
    }

    /// What was asked of them, beside what the guest says of its mounts and the document of the
    /// domain of their limits.
    pub(super) fn readings(&self, document: &str, control: &Path) -> Vec<InForce> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let told = ask(control, MOUNTS, true).unwrap_or_default();
        let mounted: BTreeMap<StorageRole, Mounted> =
            serde_json::from_str(told.trim()).unwrap_or_default();
        let reading = |(role, of_role): (&StorageRole, &RoleDisk)| {
            let limits = limits_in_force(&of_role.limits, disk_of(document, target(*role)));
            role_readings(*role, &of_role.volume, mounted.get(role), limits)
        };
        self.0.iter().flat_map(reading).collect()
    }

    /// What is wrong with their devices.
    pub(super) fn device_fault(&self) -> Option<VolumeFault> {
        self.0.values().find_map(|role| device_fault(&role.volume))
    }

    /// What the guest says is wrong with their file systems.
    pub(super) fn told_fault(&self, control: &Path) -> Option<VolumeFault> {
        if self.0.is_empty() {
            return None;
        }
        let told = ask(control, FAULT, true).ok()?;
        serde_json::from_str(told.trim()).unwrap_or_default()
    }

    /// Give them back: each volume goes with its last guest.
    ///
    /// # Errors
    /// The first of which something stays; all are tried.
    pub(super) fn release(&mut self) -> io::Result<()> {
        let volumes = std::mem::take(&mut self.0).into_values();
        let last = volumes.filter_map(|role| Arc::into_inner(role.volume));
        let removed: Vec<io::Result<()>> = last.map(|mut volume| volume.remove()).collect();
        removed.into_iter().collect()
    }
}
