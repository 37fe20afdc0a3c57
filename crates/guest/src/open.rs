//! Opening a lab: is the host ready, and if not, what is missing.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rookery_host::{Cgroups, Host, RealHost};

use crate::{
    GuestError, Kind, Lab, Site,
    bare::BareLab,
    container::ContainerLab,
    fake::{FakeBehaviour, FakeLab},
    vm::{VmLab, VmShape},
};

/// Prepare the ground for guests of a kind; the run is registered before anything else is made.
///
/// # Errors
/// When the host is not ready (everything that is missing at once), or the run cannot be registered.
pub fn open_lab(kind: Kind, site: Site) -> Result<Box<dyn Lab>, GuestError> {
    open_lab_on(kind, site, Arc::new(RealHost))
}

/// [`open_lab`] with other means of changing the host; for tests that make changes fail.
///
/// # Errors
/// See [`open_lab`]; nothing is left then.
pub fn open_lab_on(
    kind: Kind,
    site: Site,
    host: Arc<dyn Host>,
) -> Result<Box<dyn Lab>, GuestError> {
    check_host(kind)?;
    Ok(match kind {
        Kind::Bare => Box::new(BareLab::open(site, host)?),
        Kind::Container => Box::new(ContainerLab::open(site, host)?),
        Kind::Fake => Box::new(FakeLab::new(site, FakeBehaviour::default())),
        Kind::Vm => Box::new(VmLab::open(site, host, VmShape::default())?),
    })
}

/// [`open_lab`] for virtual machines of a shape.
///
/// # Errors
/// See [`open_lab`]; when the shape is wrong, all that is.
pub fn open_vm_lab(site: Site, shape: VmShape) -> Result<Box<dyn Lab>, GuestError> {
    open_vm_lab_on(site, Arc::new(RealHost), shape)
}

/// [`open_lab_on`] for virtual machines of a shape.
///
/// # Errors
/// See [`open_lab`]; when the shape is wrong, all that is.
pub fn open_vm_lab_on(
    site: Site,
    host: Arc<dyn Host>,
    shape: VmShape,
) -> Result<Box<dyn Lab>, GuestError> {
    check_host(Kind::Vm)?;
    Ok(Box::new(VmLab::open(site, host, shape)?))
}

/// Whether this host can run guests of a kind. Changes nothing.
///
/// # Errors
/// Everything that is missing, at once, each with its mend.
pub fn check_host(kind: Kind) -> Result<(), GuestError> {
    let (name, missing) = match kind {
        Kind::Bare | Kind::Fake => return Ok(()),
        Kind::Container => ("container", missing_for_containers()),
        Kind::Vm => ("vm", missing_for_machines()),
    };
    if missing.is_empty() {
        return Ok(());
    }
    let (what, mend): (Vec<_>, Vec<_>) = missing.into_iter().unzip();
    Err(GuestError::HostNotReady {
        kind: name,
        what: what.join("; "),
        mend: mend.join("; "),
    })
}

/// What every kind with an own network needs: root, programs (each with its package), control groups.
fn missing_for_all(programs: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut missing = Vec::new();
    let mut lacks = |what: &str, mend: &str| missing.push((what.to_owned(), mend.to_owned()));
    if !rustix::process::geteuid().is_root() {
        lacks(
            "it needs root",
            "run as root, or use kind = \"bare\", which needs no root",
        );
    }
    for (program, package) in programs {
        if on_path(program).is_none() {
            lacks(
                &format!("there is no `{program}`"),
                &format!("apt install {package}"),
            );
        }
    }
    missing.extend(missing_controllers());
    missing
}

/// What is missing, each with its mend.
fn missing_for_machines() -> Vec<(String, String)> {
    let programs = [
        ("libvirtd", "libvirt-daemon libvirt-daemon-driver-qemu"),
        ("virsh", "libvirt-clients"),
        ("qemu-system-x86_64", "qemu-system-x86"),
        ("qemu-img", "qemu-utils"),
        ("mke2fs", "e2fsprogs"),
        ("mmdebstrap", "mmdebstrap"),
        ("ip", "iproute2"),
    ];
    let mut missing = missing_for_all(&programs);
    if !Path::new("/dev/net/tun").exists() {
        missing.push((
            "there is no /dev/net/tun".to_owned(),
            "modprobe tun".to_owned(),
        ));
    }
    if std::env::consts::ARCH != "x86_64" {
        missing.push((
            "machines are x86_64".to_owned(),
            "use another kind of guest".to_owned(),
        ));
    }
    missing
}

/// What is missing, each with its mend.
fn missing_for_containers() -> Vec<(String, String)> {
    let mut missing = missing_for_all(&[("runc", "runc"), ("ip", "iproute2")]);
    let mut lacks = |what: &str, mend: &str| missing.push((what.to_owned(), mend.to_owned()));
    let file_systems = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    if !file_systems
        .lines()
        .any(|line| line.split_whitespace().last() == Some("overlay"))
    {
        lacks(
            "the kernel offers no overlay file system",
            "modprobe overlay",
        );
    }
    missing
}

/// Control groups that are missing, with the mend.
fn missing_controllers() -> Vec<(String, String)> {
    let mut missing = Vec::new();
    let mut lacks = |what: &str, mend: &str| missing.push((what.to_owned(), mend.to_owned()));
    match Cgroups::detect() {
        Ok(cgroups) => {
            let absent: Vec<&str> = ["cpu", "cpuset", "memory", "pids"]
                .into_iter()
                .filter(|name| !controller_usable(&cgroups, name))
                .collect();
            if !absent.is_empty() {
                let what = format!(
                    "no cgroup controller {} is mounted ({})",
                    absent.join(", "),
                    cgroups.layout()
                );
                lacks(
                    &what,
                    "mount the controllers below /sys/fs/cgroup, or boot with them enabled",
                );
            }
        }
        Err(error) => lacks(
            &format!("the mounts cannot be read: {error}"),
            "mount /proc",
        ),
    }
    missing
}

/// Version 1: the controller is mounted. Version 2: the root group lists it.
fn controller_usable(cgroups: &Cgroups, name: &str) -> bool {
    let Some(directory) = cgroups.directory(name, "") else {
        return false;
    };
    match std::fs::read_to_string(directory.join("cgroup.controllers")) {
        Ok(controllers) => controllers
            .split_whitespace()
            .any(|controller| controller == name),
        Err(_) => true,
    }
}

pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(program))
        .find(|candidate| is_executable(candidate))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_looked_for_on_the_path() {
        assert!(on_path("sh").is_some());
        assert!(on_path("no-such-program-here").is_none());
    }

    #[test]
    fn bare_and_fake_need_nothing() {
        assert!(check_host(Kind::Bare).is_ok() && check_host(Kind::Fake).is_ok());
    }
}
