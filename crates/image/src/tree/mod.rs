//! The directory that an image is unpacked into.
//!
//! [`Tree`] is the principal type. Nothing outside its directory is ever touched, whatever the
//! entries and whatever links earlier ones made: no path is handed to the system as a whole. Each
//! directory on the way is opened by its name in the one before, without following a link
//! (`position`); a link is read, and its target walked in the same manner from the root of the
//! image, where `..` is taken for what it means inside. Everything is then made, linked or
//! removed by a single name in an open directory.
//!
//! Directories get their modes, owners and times in the end, when nothing is put into them any
//! more.

mod drops;
mod position;
mod remove;

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read},
    os::fd::OwnedFd,
};

use rustix::{
    fs::{
        AtFlags, FileType, Gid, Mode, OFlags, Timespec, Timestamps, Uid, chownat, fchmod, fchown,
        futimens, linkat, mkdirat, openat, symlinkat, utimensat,
    },
    io::Errno,
};

use drops::add;
pub use drops::{Dropped, Drops, Loss};
use position::{Position, Step};
use remove::{kind_of, remove};

use crate::{
    change::{Attributes, Node, Whiteout, split},
    limits::{Limits, Options, Ownership},
    problem::{Exceeded, LayerProblem, LimitKind},
    tar::{Kind, Time, components},
};

pub(crate) use remove::clear;

/// Links that are followed on one way, as many as the system follows.
const MOST_LINKS: u32 = 40;
/// Until it is complete, a directory is its owner's alone.
const PRIVATE: u32 = 0o700;
/// Of a directory that the image does not mention.
const UNMENTIONED: Attributes = Attributes {
    mode: 0o755,
    uid: 0,
    gid: 0,
    mtime: Time {
        seconds: 0,
        nanoseconds: 0,
    },
};

/// What a missing directory on the way means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// It is made.
    Make,
    /// There is nothing.
    Nothing,
}

/// A directory that an image is unpacked into.
pub(crate) struct Tree {
    root: OwnedFd,
    limits: Limits,
    ownership: Ownership,
    /// What directories get in the end, by their path.
    directories: BTreeMap<Vec<u8>, Attributes>,
    directories_bytes: usize,
    drops: Drops,
}

impl Tree {
    /// In the open directory `root`, which must be empty and which no one else writes to.
    pub(crate) fn new(root: OwnedFd, options: &Options) -> Self {
        Self {
            root,
            limits: options.limits.clone(),
            ownership: options.ownership,
            directories: BTreeMap::from([(Vec::new(), UNMENTIONED)]),
            directories_bytes: 0,
            drops: Drops::default(),
        }
    }

    /// Puts an entry in its place. What is there gives way, unless both are directories.
    ///
    /// # Errors
    /// When it has no place, or the disk refuses.
    pub(crate) fn put(&mut self, node: &Node, content: &mut dyn Read) -> Result<(), LayerProblem> {
        self.note_losses(node);
        let (directory, name) = split(&node.path);
        if name.is_empty() {
            return self.keep_directory(Vec::new(), node.attributes);
        }
        let Some(at) = self.enter(directory, Missing::Make)? else {
            return Err(LayerProblem::NotADirectory);
        };
        match &node.kind {
            Kind::Directory => self.put_directory(&at, name, node.attributes),
            Kind::File => {
                self.make_way(&at, name)?;
                self.put_file(&at, name, node.attributes, content)
            }
            Kind::Symlink(target) => {
                self.make_way(&at, name)?;
                self.put_symlink(&at, name, target, node.attributes)
            }
            Kind::HardLink(target) => self.put_link(&at, name, target),
            Kind::Device => {
                add(&mut self.drops, Loss::Device, &node.path);
                self.make_way(&at, name)
            }
            Kind::Fifo => {
                add(&mut self.drops, Loss::Pipe, &node.path);
                self.make_way(&at, name)
            }
        }
    }

    /// Removes what a layer removes. What is not there, nobody misses.
    ///
    /// # Errors
    /// When the disk refuses, or links lead nowhere.
    pub(crate) fn remove(&mut self, whiteout: &Whiteout) -> Result<(), LayerProblem> {
        let entered = match whiteout {
            Whiteout::Path(path) => self.enter(split(path).0, Missing::Nothing),
            Whiteout::Content(directory) => self.enter(directory, Missing::Nothing),
        };
        let at = match entered {
            Ok(Some(at)) => at,
            Ok(None) | Err(LayerProblem::NotADirectory) => return Ok(()),
            Err(problem) => return Err(problem),
        };
        match whiteout {
            Whiteout::Path(path) => self.make_way(&at, split(path).1),
            Whiteout::Content(_) => {
                clear(at.fd(&self.root))?;
                self.forget_inside(&at.path());
                Ok(())
            }
        }
    }

    /// Sees to it that `name` in the root is a directory.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(crate) fn need_directory(&mut self, name: &[u8]) -> Result<(), LayerProblem> {
        let at = Position::default();
        match kind_of(at.fd(&self.root), name)? {
            Some(FileType::Directory) => return Ok(()),
            Some(_) => add(&mut self.drops, Loss::Place, name),
            None => {}
        }
        self.put_directory(&at, name, UNMENTIONED)
    }

    /// Gives the directories their attributes; what was not taken over.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(crate) fn finish(mut self) -> Result<Drops, LayerProblem> {
        // Those inside before those around them, whose mode may keep us out.
        for (path, attributes) in std::mem::take(&mut self.directories).iter().rev() {
            let mut at = Position::default();
            for name in components(path) {
                match at.step(&self.root, name)? {
                    Step::Directory(fd) => at.down(name, fd, &self.limits)?,
                    _ => return Err(LayerProblem::NotADirectory),
                }
            }
            let fd = at.fd(&self.root);
            if self.ownership == Ownership::Image {
                fchown(fd, Some(uid(*attributes)), Some(gid(*attributes)))?;
            }
            fchmod(fd, Mode::from_raw_mode(attributes.mode))?;
            futimens(fd, &times(attributes.mtime))?;
        }
        Ok(self.drops)
    }

    /// The directory `path`, by way of links, which never lead out.
    fn enter(&mut self, path: &[u8], missing: Missing) -> Result<Option<Position>, LayerProblem> {
        let mut at = Position::default();
        let mut links = 0;
        let mut rest: Vec<Vec<u8>> = components(path).rev().map(<[u8]>::to_vec).collect();
        while let Some(name) = rest.pop() {
            if name == b".." {
                at.up();
                continue;
            }
            match at.step(&self.root, &name)? {
                Step::Directory(fd) => at.down(&name, fd, &self.limits)?,
                Step::Link(target) => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(LayerProblem::TooManyLinks);
                    }
                    if target.starts_with(b"/") {
                        at = Position::default();
                    }
                    rest.extend(components(&target).rev().map(<[u8]>::to_vec));
                }
                Step::Other => return Err(LayerProblem::NotADirectory),
                Step::Nothing if missing == Missing::Nothing => return Ok(None),
                Step::Nothing => {
                    let fd = make_directory(at.fd(&self.root), &name)?;
                    at.down(&name, fd, &self.limits)?;
                    self.keep_directory(at.path(), UNMENTIONED)?;
                }
            }
        }
        Ok(Some(at))
    }

    fn put_directory(
        &mut self,
        at: &Position,
        name: &[u8],
        attributes: Attributes,
    ) -> Result<(), LayerProblem> {
        let fd = at.fd(&self.root);
        if kind_of(fd, name)? != Some(FileType::Directory) {
            self.make_way(at, name)?;
            make_directory(at.fd(&self.root), name)?;
        }
        self.keep_directory(at.path_of(name), attributes)
    }

    fn put_file(
        &self,
        at: &Position,
        name: &[u8],
        attributes: Attributes,
        content: &mut dyn Read,
    ) -> Result<(), LayerProblem> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mode = Mode::from_raw_mode(0o600);
        let fd = openat(at.fd(&self.root), name, flags | OFlags::CLOEXEC, mode)?;
        let mut file = File::from(fd);
        copy(content, &mut file)?;
        // A change of owner may change the mode, and any change the time.
        if self.ownership == Ownership::Image {
            fchown(&file, Some(uid(attributes)), Some(gid(attributes)))?;
        }
        fchmod(&file, Mode::from_raw_mode(attributes.mode))?;
        futimens(&file, &times(attributes.mtime))?;
        Ok(())
    }

    fn put_symlink(
        &self,
        at: &Position,
        name: &[u8],
        target: &[u8],
        attributes: Attributes,
    ) -> Result<(), LayerProblem> {
        let fd = at.fd(&self.root);
        symlinkat(target, fd, name)?;
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        if self.ownership == Ownership::Image {
            chownat(
                fd,
                name,
                Some(uid(attributes)),
                Some(gid(attributes)),
                flags,
            )?;
        }
        utimensat(fd, name, &times(attributes.mtime), flags)?;
        Ok(())
    }

    /// A link that is its own target, as `tar` writes for a file that it is given twice, stays.
    fn put_link(&mut self, at: &Position, name: &[u8], target: &[u8]) -> Result<(), LayerProblem> {
        let (directory, linked) = split(target);
        let from = self.enter(directory, Missing::Nothing);
        let from = match from {
            Ok(Some(from)) => from,
            Ok(None) | Err(LayerProblem::NotADirectory) => return Err(LayerProblem::LinkTarget),
            Err(problem) => return Err(problem),
        };
        match kind_of(from.fd(&self.root), linked)? {
            Some(FileType::RegularFile | FileType::Symlink) => {}
            _ => return Err(LayerProblem::LinkTarget),
        }
        if from.path_of(linked) == at.path_of(name) {
            return Ok(());
        }
        self.make_way(at, name)?;
        let (from, to) = (from.fd(&self.root), at.fd(&self.root));
        // Without the flag that would follow a link.
        linkat(from, linked, to, name, AtFlags::empty()).map_err(|error| match error {
            // It lay in the directory that gave way.
            Errno::NOENT => LayerProblem::LinkTarget,
            error => error.into(),
        })
    }

    /// Removes what is in the way.
    fn make_way(&mut self, at: &Position, name: &[u8]) -> Result<(), LayerProblem> {
        if remove(at.fd(&self.root), name)? == Some(FileType::Directory) {
            let path = at.path_of(name);
            self.forget_inside(&path);
            self.forget(&path);
        }
        Ok(())
    }

    fn keep_directory(
        &mut self,
        path: Vec<u8>,
        attributes: Attributes,
    ) -> Result<(), LayerProblem> {
        let bytes = path.len();
        if self.directories.insert(path, attributes).is_none() {
            self.directories_bytes += bytes;
        }
        if self.directories_bytes > Limits::KEPT_PATH_BYTES {
            let kind = LimitKind::KeptPathBytes;
            return Err(Exceeded::new(kind, Limits::KEPT_PATH_BYTES).into());
        }
        Ok(())
    }

    fn forget(&mut self, path: &[u8]) {
        if self.directories.remove(path).is_some() {
            self.directories_bytes -= path.len();
        }
    }

    fn forget_inside(&mut self, path: &[u8]) {
        let inside: Vec<Vec<u8>> = if path.is_empty() {
            let all = self.directories.keys();
            all.filter(|path| !path.is_empty()).cloned().collect()
        } else {
            // The byte after a slash ends what begins with `path/`.
            let range = [path, b"/"].concat()..[path, &[b'/' + 1]].concat();
            self.directories
                .range(range)
                .map(|(path, _)| path.clone())
                .collect()
        };
        for path in inside {
            self.forget(&path);
        }
    }

    fn note_losses(&mut self, node: &Node) {
        if node.lost_privileges {
            add(&mut self.drops, Loss::Privileges, &node.path);
        }
        for attribute in &node.lost_attributes {
            let loss = if attribute == b"security.capability" {
                Loss::Capabilities
            } else {
                Loss::Attributes
            };
            add(&mut self.drops, loss, &node.path);
        }
        let root_owned = node.attributes.uid == 0 && node.attributes.gid == 0;
        if self.ownership == Ownership::Caller && !root_owned {
            add(&mut self.drops, Loss::Owner, &node.path);
        }
    }
}

fn make_directory(at: &OwnedFd, name: &[u8]) -> Result<OwnedFd, LayerProblem> {
    mkdirat(at, name, Mode::from_raw_mode(PRIVATE))?;
    Ok(position::open(at, name)?)
}

/// Problems with the archive stay what they are; those with the disk are others.
fn copy(content: &mut dyn Read, file: &mut File) -> Result<(), LayerProblem> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = match content.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(LayerProblem::Tar(error.into())),
        };
        io::Write::write_all(file, &buffer[..read]).map_err(LayerProblem::Write)?;
    }
}

fn uid(attributes: Attributes) -> Uid {
    Uid::from_raw(attributes.uid)
}

fn gid(attributes: Attributes) -> Gid {
    Gid::from_raw(attributes.gid)
}

fn times(time: Time) -> Timestamps {
    let time = Timespec {
        tv_sec: time.seconds,
        tv_nsec: time.nanoseconds,
    };
    Timestamps {
        last_access: time,
        last_modification: time,
    }
}
