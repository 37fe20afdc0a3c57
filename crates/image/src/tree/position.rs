//! A directory of a tree, and the way to it from the root.

use std::os::fd::OwnedFd;

use rustix::{
    fs::{Mode, OFlags, openat, readlinkat},
    io::{self, Errno},
};

use crate::{
    limits::Limits,
    problem::{Exceeded, LimitKind},
};

/// A directory, as the chain of open directories from the root to it: the way back up is known
/// without asking the system for `..`.
#[derive(Default)]
pub(super) struct Position {
    chain: Vec<(Vec<u8>, OwnedFd)>,
    bytes: usize,
}

/// What a name in a directory is.
pub(super) enum Step {
    Directory(OwnedFd),
    /// A symbolic link, with its target.
    Link(Vec<u8>),
    Other,
    Nothing,
}

impl Position {
    /// The directory, open.
    pub(super) fn fd<'a>(&'a self, root: &'a OwnedFd) -> &'a OwnedFd {
        self.chain.last().map_or(root, |(_, fd)| fd)
    }

    /// What `name` is in this directory; no link is followed.
    pub(super) fn step(&self, root: &OwnedFd, name: &[u8]) -> io::Result<Step> {
        let fd = self.fd(root);
        match open(fd, name) {
            Ok(directory) => Ok(Step::Directory(directory)),
            Err(Errno::NOENT) => Ok(Step::Nothing),
            Err(Errno::NOTDIR | Errno::LOOP) => match readlinkat(fd, name, Vec::new()) {
                Ok(target) => Ok(Step::Link(target.into_bytes())),
                Err(Errno::INVAL) => Ok(Step::Other),
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    /// Into the directory `name`, which is open as `fd`.
    pub(super) fn down(
        &mut self,
        name: &[u8],
        fd: OwnedFd,
        limits: &Limits,
    ) -> Result<(), Exceeded> {
        self.bytes += name.len() + 1;
        self.chain.push((name.to_vec(), fd));
        // By way of links a path may be longer than it was written.
        if self.chain.len() > limits.depth {
            return Err(Exceeded::new(LimitKind::Depth, limits.depth));
        }
        if self.bytes > limits.path_bytes {
            return Err(Exceeded::new(LimitKind::PathBytes, limits.path_bytes));
        }
        Ok(())
    }

    /// To the directory around it; above the root is the root.
    pub(super) fn up(&mut self) {
        if let Some((name, _)) = self.chain.pop() {
            self.bytes -= name.len() + 1;
        }
    }

    /// Its path from the root.
    pub(super) fn path(&self) -> Vec<u8> {
        let names: Vec<&[u8]> = self.chain.iter().map(|(name, _)| &name[..]).collect();
        names.join(&b'/')
    }

    /// The path of `name` in it.
    pub(super) fn path_of(&self, name: &[u8]) -> Vec<u8> {
        let mut path = self.path();
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        path
    }
}

/// The directory `name` in `at`; a link is none.
pub(super) fn open(at: &OwnedFd, name: &[u8]) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(at, name, flags, Mode::empty())
}
