//! An archive whose members are read where they lie.

use std::{
    collections::BTreeMap,
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{Blob, open_regular};
use crate::{
    error::ImageError,
    limits::Limits,
    problem::{Exceeded, LimitKind, TarProblem},
    tar::{Kind, Reader, Seeking, components, image_path},
};

/// What compressed archives begin with, and what decompresses them.
const COMPRESSED: [(&[u8], &str); 4] = [
    (&[0x1f, 0x8b], "gunzip"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "unzstd"),
    (b"BZh", "bunzip2"),
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "unxz"),
];
/// Links of links that are followed.
const MOST_LINKS: usize = 8;

/// An archive and where its members are.
#[derive(Debug)]
pub(crate) struct Archive {
    path: PathBuf,
    file: Arc<File>,
    members: BTreeMap<Vec<u8>, Member>,
}

#[derive(Debug)]
enum Member {
    At {
        offset: u64,
        bytes: u64,
    },
    /// The name of another: old archives of `docker save` have a layer once.
    Link(Vec<u8>),
}

impl Archive {
    /// # Errors
    /// When it cannot be read, is compressed, or no archive.
    pub(super) fn open(path: &Path, limits: &Limits) -> Result<Self, ImageError> {
        let failed = |error| ImageError::read(path, error);
        let (file, _) = open_regular(path).map_err(failed)?;
        let mut bytes = Seeking::new(&file).map_err(failed)?;
        let first = bytes.peek(8).map_err(failed)?;
        if let Some((_, program)) = COMPRESSED
            .iter()
            .find(|(magic, _)| first.starts_with(magic))
        {
            return Err(ImageError::Compressed {
                path: path.to_owned(),
                program,
            });
        }
        let members =
            members(&mut Reader::new(bytes), limits).map_err(|problem| match problem {
                // Neither a header nor an archive: most likely any other file.
                TarProblem::Checksum | TarProblem::Number(_) => ImageError::NotAnImage {
                    path: path.to_owned(),
                    found: vec!["something that is no archive".to_owned()],
                },
                TarProblem::Limit(exceeded) => {
                    ImageError::limit(path.display().to_string(), exceeded)
                }
                problem => ImageError::Archive {
                    path: path.to_owned(),
                    problem,
                },
            })?;
        Ok(Self {
            path: path.to_owned(),
            file: Arc::new(file),
            members,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        self.members
            .keys()
            .map(|name| String::from_utf8_lossy(name).into_owned())
    }

    /// The member of that name, also by way of links.
    pub(super) fn find(&self, name: &[u8]) -> Option<Blob> {
        let mut name = name;
        for _ in 0..MOST_LINKS {
            match self.members.get(name)? {
                Member::At { offset, bytes } => {
                    return Some(Blob::new(Arc::clone(&self.file), *offset, *bytes));
                }
                Member::Link(target) => name = target,
            }
        }
        None
    }
}

fn members(
    archive: &mut Reader<Seeking<&File>>,
    limits: &Limits,
) -> Result<BTreeMap<Vec<u8>, Member>, TarProblem> {
    let mut members = BTreeMap::new();
    let mut kept = 0;
    let (mut entries, most) = (0, limits.entries);
    while let Some(entry) = archive.next()? {
        entries += 1;
        if entries > most {
            let kind = LimitKind::Entries;
            return Err(Exceeded { kind, most }.into());
        }
        // No file of an image has such a name: it is none.
        let Ok(name) = image_path(&entry.path, limits) else {
            continue;
        };
        let member = match entry.kind {
            Kind::File => Member::At {
                offset: archive.get_ref().position(),
                bytes: entry.size,
            },
            Kind::HardLink(target) => {
                Member::Link(components(&target).collect::<Vec<_>>().join(&b'/'))
            }
            Kind::Symlink(target) => Member::Link(beside(&name, &target)),
            Kind::Directory | Kind::Device | Kind::Fifo => continue,
        };
        kept += name.len();
        if let Member::Link(target) = &member {
            kept += target.len();
        }
        if kept > Limits::KEPT_PATH_BYTES {
            let kind = LimitKind::KeptPathBytes;
            return Err(Exceeded::new(kind, Limits::KEPT_PATH_BYTES).into());
        }
        members.insert(name, member);
    }
    Ok(members)
}

/// The name of what a symbolic link called `name` leads to.
fn beside(name: &[u8], target: &[u8]) -> Vec<u8> {
    let mut names: Vec<&[u8]> = components(name).collect();
    names.pop();
    for component in components(target) {
        if component == b".." {
            names.pop();
        } else {
            names.push(component);
        }
    }
    names.join(&b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_from_the_directory_they_are_in() {
        assert_eq!(beside(b"b/layer.tar", b"../a/layer.tar"), b"a/layer.tar");
        assert_eq!(beside(b"layer.tar", b"../../etc/passwd"), b"etc/passwd");
    }
}
