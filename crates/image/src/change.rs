//! What an entry of a layer changes in the image below it.

use crate::{
    limits::Limits,
    problem::{Exceeded, LayerProblem, LimitKind},
    tar::{Entry, Kind, Time, components, image_path},
};

/// Marks what a layer removes.
const WHITEOUT: &[u8] = b".wh.";
/// Marks a directory whose former content is removed.
const OPAQUE: &[u8] = b".wh..wh..opq";
/// What the file system aufs kept for itself.
const AUFS: &[u8] = b".wh..wh.";
/// Permissions, and the bit that keeps users from removing each other's files.
const PERMISSIONS: i64 = 0o1777;
/// Set-user-ID and set-group-ID.
const PRIVILEGES: i64 = 0o6000;

/// Something that a layer removes from the layers below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Whiteout {
    /// This path.
    Path(Vec<u8>),
    /// What is in this directory.
    Content(Vec<u8>),
}

/// What an entry does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It removes something from the layers below.
    Remove(Whiteout),
    /// It puts something in its place.
    Put(Node),
    /// It belongs to a file system that is none of ours.
    Nothing,
}

/// A checked entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// Relative to the root; empty for the root itself.
    pub(crate) path: Vec<u8>,
    pub(crate) kind: Kind,
    pub(crate) attributes: Attributes,
    /// Whether set-user-ID or set-group-ID was dropped.
    pub(crate) lost_privileges: bool,
    /// Names of extended attributes that were dropped.
    pub(crate) lost_attributes: Vec<Vec<u8>>,
}

/// Mode, owner and time of what is in the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attributes {
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) mtime: Time,
}

impl Change {
    /// # Errors
    /// When the entry leads out of the image, or cannot be on any system.
    pub(crate) fn new(entry: Entry, limits: &Limits) -> Result<Self, LayerProblem> {
        let path = image_path(&entry.path, limits)?;
        if components(&path).any(|name| name.starts_with(AUFS) && name != OPAQUE) {
            return Ok(Self::Nothing);
        }
        let (directory, name) = split(&path);
        if components(directory).any(|name| name.starts_with(WHITEOUT)) {
            return Err(LayerProblem::Reserved);
        }
        if name == OPAQUE {
            return Ok(Self::Remove(Whiteout::Content(directory.to_vec())));
        }
        if let Some(removed) = name.strip_prefix(WHITEOUT) {
            return match removed {
                b"" => Err(LayerProblem::Name),
                b"." | b".." => Err(LayerProblem::Outside),
                removed => Ok(Self::Remove(Whiteout::Path(joined(directory, removed)))),
            };
        }
        if path.is_empty() && entry.kind != Kind::Directory {
            return Err(LayerProblem::Root);
        }
        Ok(Self::Put(node(path, entry, limits)?))
    }
}

fn node(path: Vec<u8>, entry: Entry, limits: &Limits) -> Result<Node, LayerProblem> {
    let kind = match entry.kind {
        Kind::HardLink(target) => {
            let target = image_path(&target, limits)?;
            if target.is_empty() {
                return Err(LayerProblem::LinkTarget);
            }
            Kind::HardLink(target)
        }
        Kind::Symlink(target) => {
            if target.is_empty() || target.contains(&0) {
                return Err(LayerProblem::Name);
            }
            if target.len() > limits.path_bytes {
                return Err(Exceeded::new(LimitKind::PathBytes, limits.path_bytes).into());
            }
            Kind::Symlink(target)
        }
        other => other,
    };
    let permissions = u32::try_from(entry.mode & PERMISSIONS).unwrap_or_default();
    Ok(Node {
        path,
        kind,
        attributes: Attributes {
            mode: permissions,
            uid: owner(entry.uid)?,
            gid: owner(entry.gid)?,
            mtime: entry.mtime,
        },
        lost_privileges: entry.mode & PRIVILEGES != 0,
        lost_attributes: entry.attributes,
    })
}

/// The largest number means "leave the owner as it is" to the system.
fn owner(id: i64) -> Result<u32, LayerProblem> {
    u32::try_from(id)
        .ok()
        .filter(|&id| id != u32::MAX)
        .ok_or(LayerProblem::Owner(id))
}

/// The directory of a path, and its name there.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (b"", path),
    }
}

fn joined(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() {
        name.to_vec()
    } else {
        [directory, b"/", name].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, kind: Kind) -> Result<Change, LayerProblem> {
        let entry = Entry {
            path: path.into(),
            kind,
            mode: 0o104_755,
            uid: 1,
            gid: 2,
            mtime: Time {
                seconds: 3,
                nanoseconds: 4,
            },
            size: 0,
            attributes: Vec::new(),
        };
        Change::new(entry, &Limits::default())
    }

    #[test]
    fn whiteouts_name_what_they_remove() {
        let removed = |path| match change(path, Kind::File) {
            Ok(Change::Remove(whiteout)) => whiteout,
            other => panic!("{path}: {other:?}"),
        };
        assert_eq!(removed("a/.wh.b"), Whiteout::Path(b"a/b".to_vec()));
        assert_eq!(removed(".wh.b"), Whiteout::Path(b"b".to_vec()));
        assert_eq!(removed("a/.wh....b"), Whiteout::Path(b"a/...b".to_vec()));
        assert_eq!(removed("a/.wh..wh..opq"), Whiteout::Content(b"a".to_vec()));
        assert_eq!(removed(".wh..wh..opq"), Whiteout::Content(Vec::new()));
    }

    #[test]
    fn no_whiteout_names_a_directory_above() {
        for path in ["a/.wh...", "a/.wh..", ".wh..."] {
            let refused = change(path, Kind::File);
            assert!(matches!(refused, Err(LayerProblem::Outside)), "{path}");
        }
        assert!(matches!(
            change("a/.wh.", Kind::File),
            Err(LayerProblem::Name)
        ));
        let below = change(".wh.a/b", Kind::File);
        assert!(matches!(below, Err(LayerProblem::Reserved)));
    }

    #[test]
    fn metadata_of_aufs_is_nothing() {
        for path in [".wh..wh.aufs", ".wh..wh.plnk/1.2", "a/.wh..wh.orph"] {
            let nothing = change(path, Kind::Directory).expect("harmless");
            assert_eq!(nothing, Change::Nothing, "{path}");
        }
    }

    #[test]
    fn a_node_has_permissions_alone() {
        let Ok(Change::Put(node)) = change("bin/su", Kind::File) else {
            panic!("a file");
        };
        assert_eq!((node.attributes.mode, node.lost_privileges), (0o755, true));
    }

    #[test]
    fn the_owner_that_means_none_is_refused() {
        assert!(owner(-1).is_err() && owner(0xffff_ffff).is_err() && owner(1 << 32).is_err());
        assert_eq!(owner(0xffff_fffe).expect("an owner"), 0xffff_fffe);
    }
}
