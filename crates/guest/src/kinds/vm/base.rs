//! What machines boot from: the lab's own system, which all of them read, or a clone of a cloud
//! image for each.

use std::{
    io,
    path::{Path, PathBuf},
};

use rookery_host::Host;
use rookery_study::vm_shape::DiskClone;

use super::{clone::clone_image, cloud, domain::Boot, image::System, pool::Disk};
use crate::template::Template;

/// What the machines of a lab boot from.
#[derive(Clone, Debug)]
pub(super) enum Base {
    /// Kernel and initial file system are given to them.
    System(System),
    /// The copy of a cloud image.
    Image {
        template: Template,
        /// By UEFI, and not by the firmware of a PC.
        efi: bool,
    },
}

/// The files from which one machine boots.
pub(super) enum Files {
    System {
        kernel: PathBuf,
        initrd: PathBuf,
        image: PathBuf,
    },
    Image {
        seed: PathBuf,
        variables: Option<PathBuf>,
    },
}

impl Base {
    /// A clone of the cloud image in a guest's directory, where there is one.
    ///
    /// # Errors
    /// When the disk fails or is full.
    pub(super) fn clone_system(
        &self,
        host: &dyn Host,
        directory: &Path,
        clone: DiskClone,
    ) -> io::Result<Option<Disk>> {
        let Self::Image { template, .. } = self else {
            return Ok(None);
        };
        let path = clone_image(
            host,
            &cloud::image_file(template),
            directory,
            "system",
            clone,
        )?;
        Ok(Some(Disk::File {
            path,
            qcow2: clone == DiskClone::Overlay,
        }))
    }

    /// The files of a guest.
    pub(super) fn files(&self, directory: &Path) -> Files {
        match self {
            Self::System(system) => Files::System {
                kernel: system.kernel(),
                initrd: system.initrd(),
                image: system.image(),
            },
            Self::Image { efi, .. } => Files::Image {
                seed: directory.join(cloud::SEED_FILE),
                variables: efi.then(|| directory.join("variables.fd")),
            },
        }
    }
}

impl Files {
    /// How a machine comes up with them, and with its clone of the cloud image.
    ///
    /// # Errors
    /// When there is no such clone.
    pub(super) fn boot<'a>(
        &'a self,
        cloud: Option<&'a Disk>,
        command_line: String,
    ) -> io::Result<Boot<'a>> {
        Ok(match self {
            Self::System {
                kernel,
                initrd,
                image,
            } => Boot::Direct {
                kernel,
                initrd,
                command_line,
                system: image,
            },
            Self::Image { seed, variables } => Boot::Disk {
                system: cloud
                    .ok_or_else(|| io::Error::other("it has no clone of the cloud image"))?,
                seed,
                variables: variables.as_deref(),
            },
        })
    }
}
