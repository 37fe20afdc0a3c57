//! Inside: the disks of roles, mounted below the root of the guest's program.

use std::{
    collections::BTreeMap,
    ffi::CString,
    fs, io,
    path::{Path, PathBuf},
};

use rookery_host::volume::{InForce as Mounted, in_force};
use rookery_study::StorageRole;
use rustix::mount::{MountFlags, mount};

use super::{role_disks::serial, seed::SeedRole, serials::disk_in};
use crate::storage::{RoleEnds, VolumeFault, VolumeLook, file_system_fault, fill_role, role_place};

/// Where a role is mounted below this root.
fn point(root: &Path, role: StorageRole) -> PathBuf {
    root.join(role_place(role).trim_start_matches('/'))
}

/// Mount all of them, and move there what goes there. What was moved is on the disks when this
/// returns.
///
/// # Errors
/// When there is no such disk, the kernel refuses it, or it has no room.
pub(super) fn mount_roles(root: &Path, roles: &[SeedRole]) -> io::Result<()> {
    for of_role in roles {
        let device = device(of_role.role)?;
        let point = point(root, of_role.role);
        fs::create_dir_all(&point)?;
        let options = CString::new(of_role.options.as_str()).map_err(io::Error::other)?;
        mount(
            &device,
            &point,
            of_role.file_system.as_str(),
            MountFlags::from_bits_retain(of_role.flags),
            Some(options.as_c_str()),
        )
        .map_err(|error| {
            let (kind, error) = (&of_role.file_system, io::Error::from(error));
            let at = point.display();
            io::Error::other(format!("{kind} at {at} with {options:?}: {error}"))
        })?;
        let ends = RoleEnds {
            outside: &point,
            inside: &role_place(of_role.role),
        };
        fill_role(&root.join("data"), ends, &of_role.moved)?;
    }
    if !roles.is_empty() {
        // The server must not write to a log that comes a second time after a sudden end.
        rustix::fs::sync();
    }
    Ok(())
}

fn device(role: StorageRole) -> io::Result<PathBuf> {
    disk_in(Path::new("/sys/block"), &serial(role)).ok_or_else(|| {
        let what = format!("the host gave no disk for the role `{}`", role.name());
        io::Error::other(what)
    })
}

/// What is mounted, by role.
pub(super) fn mounted(root: &Path, roles: &[SeedRole]) -> BTreeMap<StorageRole, Mounted> {
    let roles = roles.iter().map(|of_role| of_role.role);
    let found = roles.filter_map(|role| Some((role, in_force(&point(root, role))?)));
    found.collect()
}

/// What is wrong with one that is mounted.
pub(super) fn fault(root: &Path, roles: &[SeedRole], look: VolumeLook) -> Option<VolumeFault> {
    mounted(root, roles).into_keys().find_map(|role| {
        let device = device(role).ok()?;
        file_system_fault(&point(root, role), &device, look)
    })
}
