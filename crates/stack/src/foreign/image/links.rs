//! Paths of an image whose links are followed as in it.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

/// Most links that one path may lead through.
const MOST_LINKS: u32 = 40;

/// A relative path with the links of `root` followed as in it: none leads out of it. What is not
/// there stays as it is.
pub(super) fn resolved(root: &Path, path: &Path) -> io::Result<PathBuf> {
    let mut left: Vec<PathBuf> = parts(path);
    let mut done = PathBuf::new();
    let mut links = 0;
    while let Some(part) = left.pop() {
        if part == Path::new("..") {
            done.pop();
            continue;
        }
        let next = done.join(&part);
        match fs::read_link(root.join(&next)) {
            Ok(target) => {
                links += 1;
                if links > MOST_LINKS {
                    return Err(io::Error::other("the path leads through too many links"));
                }
                if target.is_absolute() {
                    done = PathBuf::new();
                }
                left.extend(parts(&target));
            }
            Err(_) => done = next,
        }
    }
    Ok(done)
}

/// The parts of a path, the last first.
fn parts(path: &Path) -> Vec<PathBuf> {
    let names = path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(PathBuf::from(name)),
        Component::ParentDir => Some(PathBuf::from("..")),
        _ => None,
    });
    names.collect()
}
