//! The layers of a template as one tree: hard links, so that nothing is copied.

use std::{
    fs, io,
    os::unix::fs::{MetadataExt, chown, lchown, symlink},
    path::{Component, Path, PathBuf},
};

/// Limit on the depth of a tree.
const MAX_DEPTH: u32 = 64;

/// Lay the layers (the top first) over one another in `target`, which must not exist. The tree is
/// only to be read: its files are those of the layers.
///
/// # Errors
/// When the disk fails, or a layer lies on another file system.
pub(super) fn merge_layers(layers: &[PathBuf], target: &Path) -> io::Result<()> {
    fs::create_dir(target)?;
    layers
        .iter()
        .rev()
        .try_for_each(|layer| lay(layer, target, MAX_DEPTH))
}

fn lay(from: &Path, to: &Path, depth: u32) -> io::Result<()> {
    if depth == 0 {
        return Err(io::Error::other(format!(
            "{}: directories nest too deep",
            from.display()
        )));
    }
    let data = fs::metadata(from)?;
    chown(to, Some(data.uid()), Some(data.gid()))?;
    fs::set_permissions(to, data.permissions())?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, place) = (entry.path(), to.join(entry.file_name()));
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("{}: {error}", source.display()))
        };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if !is_directory_within(&place) {
                give_way(&place)?;
                fs::create_dir(&place).map_err(named)?;
            }
            lay(&source, &place, depth - 1)?;
        } else if kind.is_symlink() {
            give_way(&place)?;
            symlink(fs::read_link(&source)?, &place).map_err(named)?;
            let data = entry.metadata()?;
            lchown(&place, Some(data.uid()), Some(data.gid()))?;
        } else if kind.is_file() {
            give_way(&place)?;
            fs::hard_link(&source, &place).map_err(named)?;
        }
    }
    Ok(())
}

/// Whether it is a directory, or a link to one below it: `bin` over `bin -> usr/bin` goes where the
/// link leads. No other link is followed, for it may lead out of the tree.
fn is_directory_within(place: &Path) -> bool {
    let inside = |link: PathBuf| {
        link.components()
            .all(|part| matches!(part, Component::Normal(_)))
    };
    match place.symlink_metadata() {
        Ok(data) if data.is_symlink() => place.is_dir() && fs::read_link(place).is_ok_and(inside),
        Ok(data) => data.is_dir(),
        Err(_) => false,
    }
}

/// Remove what a lower layer has put there.
fn give_way(place: &Path) -> io::Result<()> {
    match place.symlink_metadata() {
        Ok(data) if data.is_dir() => fs::remove_dir_all(place),
        Ok(_) => fs::remove_file(place),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_top_layer_wins_and_no_layer_is_changed() {
        let base = tempfile::tempdir().expect("temporary directory");
        let layer = |name: &str, files: &[(&str, &str)]| {
            let root = base.path().join(name);
            for (path, text) in files {
                fs::create_dir_all(root.join(path).parent().expect("a directory")).expect("made");
                fs::write(root.join(path), text).expect("written");
            }
            root
        };
        let lower = layer(
            "lower",
            &[
                ("data/row", "old"),
                ("etc/release", "base"),
                ("usr/bin/sh", "sh"),
            ],
        );
        symlink("usr/bin", lower.join("bin")).expect("link");
        let outside = tempfile::tempdir().expect("temporary directory");
        symlink(outside.path(), lower.join("out")).expect("link");
        let upper = layer(
            "upper",
            &[("data/row", "new"), ("bin/tool", "tool"), ("out/file", "x")],
        );
        let target = base.path().join("target");
        merge_layers(&[upper, lower.clone()], &target).expect("merged");
        let read = |path: &str| fs::read_to_string(target.join(path)).expect("read");
        assert_eq!(
            (read("data/row").as_str(), read("etc/release").as_str()),
            ("new", "base")
        );
        assert_eq!(
            read("usr/bin/tool"),
            "tool",
            "through the link of the lower layer"
        );
        assert_eq!(read("out/file"), "x");
        assert_eq!(
            fs::read_dir(outside.path()).expect("read").count(),
            0,
            "no link out of the tree is followed"
        );
        assert_eq!(
            fs::read_to_string(lower.join("data/row")).expect("read"),
            "old"
        );
    }
}
