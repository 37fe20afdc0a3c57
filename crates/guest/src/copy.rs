//! Copies of files and directories; blocks are shared where the file system can.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

/// Limit on the depth of a copied tree.
const MAX_DEPTH: u32 = 64;

/// Copy a file with its permissions: a shared-block clone where the file system can, else the bytes.
pub(crate) fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let source = File::open(from)?;
    let target = File::create_new(to)?;
    if rustix::fs::ioctl_ficlone(&target, &source).is_ok() {
        return target.set_permissions(source.metadata()?.permissions());
    }
    drop(target);
    fs::copy(from, to).map(drop)
}

/// Copy a directory of files, directories and symbolic links. `to` must not exist.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    copy_level(from, to, MAX_DEPTH)
}

fn copy_level(from: &Path, to: &Path, depth: u32) -> io::Result<()> {
    if depth == 0 {
        return Err(io::Error::other(format!("{}: directories nest too deep", from.display())));
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_level(&source, &target, depth - 1)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&source)?, &target)?;
        } else if kind.is_file() {
            copy_file(&source, &target)?;
        } else {
            return Err(io::Error::other(format!("{}: neither file, directory nor link", source.display())));
        }
    }
    fs::set_permissions(to, fs::metadata(from)?.permissions())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_private_and_whole() {
        let base = tempfile::tempdir().expect("temporary directory");
        let (from, to) = (base.path().join("from"), base.path().join("to"));
        fs::create_dir_all(from.join("deep")).expect("directory");
        fs::write(from.join("deep/file"), "old").expect("file");
        std::os::unix::fs::symlink("deep/file", from.join("link")).expect("link");
        copy_tree(&from, &to).expect("copied");
        fs::write(to.join("link"), "new").expect("written through the link");
        assert_eq!(fs::read_to_string(to.join("deep/file")).expect("read"), "new");
        assert_eq!(fs::read_to_string(from.join("deep/file")).expect("read"), "old");
        assert!(copy_tree(&from, &to).is_err(), "an existing target is not merged into");
    }
}
