//! The initial file system of the machines' kernel: as little as reaches the disk of the system.
//!
//! What Debian makes by itself probes for every kind of root, which is half of a boot where the
//! processor is translated. Here a shell loads the modules of the disk in their order and goes on
//! to the system. It is an archive in the format that the kernel documents as `newc`, made from
//! files of the system's own packages; nothing is compressed, for nothing is gained by it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// What leads to the disks; ext4 is part of the kernel.
const MODULES: [&str; 2] = ["virtio_pci", "virtio_blk"];
/// Its first process.
const INIT: &str = include_str!("system/init.sh");
/// Most modules that are carried: a handful in fact.
const MAX_MODULES: usize = 100;

const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const FILE: u32 = 0o100_644;
/// The name of an archive's last entry.
const END: &str = "TRAILER!!!";

/// The archive for the kernel of this version, from the tree of the system.
///
/// # Errors
/// When the tree lacks a module or the shell.
pub(super) fn initrd(tree: &Path, version: &str) -> io::Result<Vec<u8>> {
    let mut archive = Archive::default();
    for directory in ["dev", "modules", "root"] {
        archive.add(directory, DIRECTORY, &[])?;
    }
    archive.add("busybox", PROGRAM, &read(&tree.join("usr/bin/busybox"))?)?;
    archive.add("init", PROGRAM, INIT.as_bytes())?;
    let home = tree.join("usr/lib/modules").join(version);
    let known = fs::read_to_string(home.join("modules.dep"))?;
    for (number, module) in in_order(&known, &MODULES)?.into_iter().enumerate() {
        let name = module
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        archive.add(
            &format!("modules/{number:02}-{name}"),
            FILE,
            &read(&home.join(&module))?,
        )?;
    }
    archive.end()
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    fs::read(path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

/// The files of modules in the order in which they can be loaded, from the words of `depmod`:
/// `module: last-needed ... first-needed`.
fn in_order(known: &str, modules: &[&str]) -> io::Result<Vec<PathBuf>> {
    let mut order: Vec<PathBuf> = Vec::new();
    for module in modules {
        let line = known.lines().find_map(|line| {
            let (file, needed) = line.split_once(':')?;
            let name = Path::new(file).file_name()?.to_str()?.split('.').next()?;
            (name == *module).then_some((file, needed))
        });
        let (file, needed) =
            line.ok_or_else(|| io::Error::other(format!("the kernel has no module {module}")))?;
        for file in needed.split_whitespace().rev().chain([file]) {
            let file = PathBuf::from(file);
            if !order.contains(&file) {
                order.push(file);
            }
        }
    }
    match order.len() {
        0..=MAX_MODULES => Ok(order),
        many => Err(io::Error::other(format!("the disk needs {many} modules"))),
    }
}

/// An archive of the kind that the kernel unpacks.
#[derive(Debug, Default)]
struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

impl Archive {
    /// Add a file or directory. Every entry is a head of 110 characters, the name, the content,
    /// each part filled up to four bytes.
    fn add(&mut self, name: &str, mode: u32, content: &[u8]) -> io::Result<()> {
        self.entries += 1;
        let size = u32::try_from(content.len()).map_err(io::Error::other)?;
        let name_size = u32::try_from(name.len() + 1).map_err(io::Error::other)?;
        // Number, mode, owner, group, links, time, size, device of the file (2), device that it is
        // (2), size of the name, sum of its bytes.
        let fields = [
            self.entries,
            mode,
            0,
            0,
            1,
            0,
            size,
            0,
            0,
            0,
            0,
            name_size,
            0,
        ];
        self.bytes.extend(b"070701");
        for field in fields {
            self.bytes.extend(format!("{field:08x}").bytes());
        }
        self.bytes.extend(name.bytes());
        self.bytes.push(0);
        self.fill();
        self.bytes.extend(content);
        self.fill();
        Ok(())
    }

    fn fill(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn end(mut self) -> io::Result<Vec<u8>> {
        self.add(END, 0, &[])?;
        Ok(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &str = "kernel/drivers/block/virtio_blk.ko: kernel/drivers/virtio/virtio.ko \
                         kernel/drivers/virtio/virtio_ring.ko\n\
                         kernel/drivers/net/virtio_blk_other.ko:\n\
                         kernel/drivers/virtio/virtio_pci.ko.xz: kernel/drivers/virtio/virtio.ko \
                         kernel/drivers/virtio/virtio_ring.ko\n";

    #[test]
    fn modules_come_after_what_they_need() {
        let order = in_order(KNOWN, &MODULES).expect("known");
        let names: Vec<_> = order
            .iter()
            .map(|path| path.file_name().expect("name").to_str().expect("utf-8"))
            .collect();
        assert_eq!(
            names,
            [
                "virtio_ring.ko",
                "virtio.ko",
                "virtio_pci.ko.xz",
                "virtio_blk.ko"
            ]
        );
        assert!(in_order(KNOWN, &["absent"]).is_err());
    }

    #[test]
    fn the_archive_is_what_the_kernel_documents() {
        let mut archive = Archive::default();
        archive.add("init", PROGRAM, b"hello").expect("small");
        let bytes = archive.end().expect("small");
        let text = String::from_utf8(bytes).expect("ASCII");
        let (head, rest) = text.split_at(110);
        assert_eq!(
            head,
            "0707010000000100\
             0081ed00000000000000000000000100000000000000050000000000000000000000000000000000000005\
             00000000"
        );
        assert!(rest.starts_with("init\0\0hello\0\0\x00070701"), "{rest:?}");
        assert!(text.contains("TRAILER!!!\0") && text.len().is_multiple_of(4));
    }

    #[test]
    fn a_tree_without_its_parts_is_told() {
        let tree = tempfile::tempdir().expect("temporary directory");
        let error = initrd(tree.path(), "6.1").expect_err("nothing there");
        assert!(error.to_string().contains("busybox"), "{error}");
    }
}
