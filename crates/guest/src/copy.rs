//! Copies of files and directories; blocks are shared where the file system can, and holes stay
//! holes.

use std::{
    fs::{self, File, FileTimes},
    io,
    os::unix::fs::{MetadataExt, chown, lchown},
    path::Path,
};

use rustix::{
    fs::{SeekFrom, copy_file_range, ioctl_ficlone, seek},
    io::Errno,
};

/// Limit on the depth of a copied tree.
const MAX_DEPTH: u32 = 64;

/// Copy a file with its permissions and its time of modification, which servers of files tell their
/// clients: a shared-block clone where the file system can, else the bytes
/// between its holes.
pub(crate) fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let source = File::open(from)?;
    let target = File::create_new(to)?;
    if ioctl_ficlone(&target, &source).is_err() {
        copy_extents(&source, &target)?;
    }
    let data = source.metadata()?;
    target.set_times(FileTimes::new().set_modified(data.modified()?))?;
    target.set_permissions(data.permissions())
}

/// Copy what is no hole, and give the target the source's length.
fn copy_extents(source: &File, target: &File) -> io::Result<()> {
    let length = source.metadata()?.len();
    target.set_len(length)?;
    let mut offset = 0;
    while offset < length {
        let begin = match seek(source, SeekFrom::Data(offset)) {
            Ok(begin) => begin,
            // Nothing but a hole up to the end.
            Err(Errno::NXIO) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        offset = seek(source, SeekFrom::Hole(begin))?;
        copy_range(source, target, begin, offset)?;
    }
    Ok(())
}

fn copy_range(mut source: &File, mut target: &File, begin: u64, end: u64) -> io::Result<()> {
    let (mut read, mut written) = (begin, begin);
    while read < end {
        let rest = usize::try_from(end - read).unwrap_or(usize::MAX);
        match copy_file_range(source, Some(&mut read), target, Some(&mut written), rest) {
            // Cut short while we copy.
            Ok(0) => return Ok(()),
            Ok(_) | Err(Errno::INTR) => {}
            // Two file systems that do not know each other.
            Err(Errno::XDEV | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                use io::{Read, Seek};
                source.seek(io::SeekFrom::Start(read))?;
                target.seek(io::SeekFrom::Start(written))?;
                return io::copy(&mut source.take(end - read), &mut target).map(drop);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Copy a directory of files, directories and symbolic links; root keeps their owners. Sockets are
/// left out: without its server one is nothing. `to` must not exist.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    copy_tree_without(from, to, None)
}

/// The same without what has this name in the tree's own directory.
pub(crate) fn copy_tree_without(from: &Path, to: &Path, without: Option<&str>) -> io::Result<()> {
    let keep_owners = rustix::process::geteuid().is_root();
    copy_level(from, to, without, (keep_owners, MAX_DEPTH))
}

fn copy_level(
    from: &Path,
    to: &Path,
    without: Option<&str>,
    (keep_owners, depth): (bool, u32),
) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt;
    if depth == 0 {
        return Err(io::Error::other(format!(
            "{}: directories nest too deep",
            from.display()
        )));
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if without.is_some_and(|name| entry.file_name() == name) {
            continue;
        }
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_level(&source, &target, None, (keep_owners, depth - 1))?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&source)?, &target)?;
        } else if kind.is_file() {
            copy_file(&source, &target)?;
        } else if kind.is_socket() {
            continue;
        } else {
            return Err(io::Error::other(format!(
                "{}: neither file, directory nor link",
                source.display()
            )));
        }
        if keep_owners {
            let owner = entry.metadata()?;
            lchown(&target, Some(owner.uid()), Some(owner.gid()))?;
        }
    }
    let data = fs::metadata(from)?;
    if keep_owners {
        chown(to, Some(data.uid()), Some(data.gid()))?;
    }
    fs::set_permissions(to, data.permissions())
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
        let file = File::options().write(true).open(from.join("deep/file"));
        let past =
            std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_104_537_600);
        file.and_then(|file| file.set_modified(past)).expect("set");
        std::os::unix::fs::symlink("deep/file", from.join("link")).expect("link");
        copy_tree(&from, &to).expect("copied");
        let modified = |root: &Path| {
            let data = fs::metadata(root.join("deep/file")).expect("file");
            data.modified().expect("a time")
        };
        assert_eq!(modified(&to), modified(&from));
        fs::write(to.join("link"), "new").expect("written through the link");
        assert_eq!(
            fs::read_to_string(to.join("deep/file")).expect("read"),
            "new"
        );
        assert_eq!(
            fs::read_to_string(from.join("deep/file")).expect("read"),
            "old"
        );
        assert!(
            copy_tree(&from, &to).is_err(),
            "an existing target is not merged into"
        );
    }

    #[test]
    fn what_is_left_out_lies_at_the_top_alone() {
        let base = tempfile::tempdir().expect("temporary directory");
        let (from, to) = (base.path().join("from"), base.path().join("to"));
        for directory in ["shared", "own/shared"] {
            fs::create_dir_all(from.join(directory)).expect("directory");
            fs::write(from.join(directory).join("file"), "1").expect("file");
        }
        copy_tree_without(&from, &to, Some("shared")).expect("copied");
        assert!(!to.join("shared").exists() && to.join("own/shared/file").exists());
    }
    #[test]
    fn holes_stay_holes_and_sockets_stay_behind() {
        use std::io::{Seek, Write};
        let base = tempfile::tempdir().expect("temporary directory");
        let (from, to) = (base.path().join("from"), base.path().join("to"));
        fs::create_dir(&from).expect("directory");
        let mut sparse = File::create(from.join("sparse")).expect("file");
        for place in [1 << 20, 5 << 20] {
            sparse.seek(io::SeekFrom::Start(place)).expect("sought");
            sparse.write_all(b"data").expect("written");
        }
        sparse.set_len(64 << 20).expect("grown");
        let _socket = std::os::unix::net::UnixListener::bind(from.join("socket")).expect("bound");
        copy_tree(&from, &to).expect("copied");
        assert_eq!(
            fs::read(to.join("sparse")).expect("read"),
            fs::read(from.join("sparse")).expect("read")
        );
        let blocks = to.join("sparse").metadata().expect("there").blocks();
        assert!(blocks * 512 < 1 << 20, "{blocks} blocks for 8 bytes");
        assert!(!to.join("socket").exists());
    }
}
