//! Random stacks of layers, unpacked and applied to a model: a map of paths. Both must come to the
//! same tree, or both refuse it.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::Path,
};

use proptest::{collection::vec, prelude::*};
use rookery_image::{Options, Ownership};
use tar::EntryType;

use crate::build::{Entries, Image, Place};

/// Names from the root.
type Names = Vec<String>;

#[derive(Clone, Debug)]
enum Operation {
    File(Names, u8),
    Directory(Names, u32),
    Symlink(Names, &'static str),
    Link(Names, Names),
    Pipe(Names),
    Remove(Names),
    Empty(Names),
}

/// What is at a path. A file has a number of its own: its links have the same.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    File { number: usize, content: String },
    Directory { mode: u32 },
    Symlink(String),
}

type Tree = BTreeMap<Names, Node>;

/// The model does what the format says, as simply as can be.
#[derive(Default)]
struct Model {
    tree: Tree,
    files: usize,
}

struct Refused;

impl Model {
    fn layer(&mut self, operations: &[Operation]) -> Result<(), Refused> {
        for operation in operations {
            match operation {
                Operation::Remove(names) => {
                    let Some(path) = self.place(names, false).or_else(nothing)? else {
                        continue;
                    };
                    self.remove(&path);
                }
                Operation::Empty(names) => {
                    if let Some(directory) = self.directory(names, false).or_else(nothing)? {
                        self.tree.retain(|path, _| !inside(path, &directory));
                    }
                }
                _ => {}
            }
        }
        operations
            .iter()
            .try_for_each(|operation| self.put(operation))
    }

    fn put(&mut self, operation: &Operation) -> Result<(), Refused> {
        let names = match operation {
            Operation::Remove(_) | Operation::Empty(_) => return Ok(()),
            Operation::File(names, _)
            | Operation::Directory(names, _)
            | Operation::Symlink(names, _)
            | Operation::Link(names, _)
            | Operation::Pipe(names) => names,
        };
        let path = self.place(names, true).map_err(|_| Refused)?;
        let path = path.ok_or(Refused)?;
        let node = match operation {
            Operation::File(_, content) => {
                self.files += 1;
                Node::File {
                    number: self.files,
                    content: content.to_string(),
                }
            }
            Operation::Directory(_, mode) => {
                let mode = *mode;
                if let Some(Node::Directory { mode: old }) = self.tree.get_mut(&path) {
                    *old = mode;
                    return Ok(());
                }
                Node::Directory { mode }
            }
            Operation::Symlink(_, target) => Node::Symlink((*target).to_owned()),
            Operation::Link(_, target) => {
                let from = self.place(target, false).map_err(|_| Refused)?;
                let from = from.ok_or(Refused)?;
                let node = self.tree.get(&from).cloned().ok_or(Refused)?;
                if matches!(node, Node::Directory { .. }) || inside(&from, &path) {
                    return Err(Refused);
                }
                node
            }
            _ => {
                self.remove(&path);
                return Ok(());
            }
        };
        self.remove(&path);
        self.tree.insert(path, node);
        Ok(())
    }

    fn remove(&mut self, removed: &[String]) {
        self.tree
            .retain(|path, _| path != removed && !inside(path, removed));
    }

    /// Where `names` lead: all but the last through links.
    fn place(&mut self, names: &[String], make: bool) -> Result<Option<Names>, Wrong> {
        let (last, directories) = names.split_last().expect("never empty");
        let directory = self.directory(directories, make)?;
        Ok(directory.map(|mut path| {
            path.push(last.clone());
            path
        }))
    }

    fn directory(&mut self, names: &[String], make: bool) -> Result<Option<Names>, Wrong> {
        let mut rest: Names = names.iter().rev().cloned().collect();
        let (mut path, mut links) = (Names::new(), 0);
        while let Some(name) = rest.pop() {
            if name == ".." {
                path.pop();
                continue;
            }
            path.push(name);
            match self.tree.get(&path) {
                Some(Node::Directory { .. }) => {}
                Some(Node::File { .. }) => return Err(Wrong::NoDirectory),
                Some(Node::Symlink(target)) => {
                    links += 1;
                    if links > 40 {
                        return Err(Wrong::Circle);
                    }
                    path.pop();
                    if target.starts_with('/') {
                        path.clear();
                    }
                    let target = target.split('/').filter(|name| !name.is_empty());
                    rest.extend(target.rev().map(str::to_owned));
                }
                None if make => {
                    self.tree
                        .insert(path.clone(), Node::Directory { mode: 0o755 });
                }
                None => return Ok(None),
            }
        }
        Ok(Some(path))
    }
}

enum Wrong {
    NoDirectory,
    Circle,
}

/// What cannot be there, nobody misses.
fn nothing(wrong: Wrong) -> Result<Option<Names>, Refused> {
    match wrong {
        Wrong::NoDirectory => Ok(None),
        Wrong::Circle => Err(Refused),
    }
}

fn inside(path: &[String], directory: &[String]) -> bool {
    path.len() > directory.len() && path.starts_with(directory)
}

/// What is on the disk, the number of a file replaced by that of its first name.
fn unpacked(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut open = vec![Names::new()];
    while let Some(names) = open.pop() {
        let directory = root.join(names.join("/"));
        for entry in fs::read_dir(&directory).expect("readable") {
            let entry = entry.expect("readable");
            let mut names = names.clone();
            names.push(entry.file_name().into_string().expect("text"));
            let metadata = entry.metadata().expect("readable");
            let node = if metadata.is_dir() {
                open.push(names.clone());
                Node::Directory {
                    mode: metadata.permissions().mode() & 0o7777,
                }
            } else if metadata.is_symlink() {
                let target = fs::read_link(entry.path()).expect("readable");
                Node::Symlink(target.to_str().expect("text").to_owned())
            } else {
                Node::File {
                    number: usize::try_from(metadata.ino()).expect("a number"),
                    content: fs::read_to_string(entry.path()).expect("readable"),
                }
            };
            tree.insert(names, node);
        }
    }
    numbered(tree)
}

/// Files numbered in the order of their first names.
fn numbered(mut tree: Tree) -> Tree {
    let mut numbers = HashMap::new();
    for node in tree.values_mut() {
        if let Node::File { number, .. } = node {
            let next = numbers.len();
            *number = *numbers.entry(*number).or_insert(next);
        }
    }
    tree
}

fn entries(operations: &[Operation]) -> Entries {
    let mut entries = Entries::new();
    for operation in operations {
        entries = match operation {
            Operation::File(names, content) => entries.file(&names.join("/"), &content.to_string()),
            Operation::Directory(names, mode) => {
                entries.changed(EntryType::Directory, &names.join("/"), |header| {
                    header.set_mode(*mode);
                })
            }
            Operation::Symlink(names, target) => entries.symlink(&names.join("/"), target),
            Operation::Link(names, target) => entries.link(&names.join("/"), &target.join("/")),
            Operation::Pipe(names) => entries.raw(EntryType::Fifo, &names.join("/"), "", b""),
            Operation::Remove(names) => {
                let (last, directory) = names.split_last().expect("never empty");
                let mut names = directory.to_vec();
                names.push(format!(".wh.{last}"));
                entries.file(&names.join("/"), "")
            }
            Operation::Empty(names) => {
                entries.file(&format!("{}/.wh..wh..opq", names.join("/")), "")
            }
        };
    }
    entries
}

fn names() -> impl Strategy<Value = Names> {
    let name = prop::sample::select(&["a", "b", "c"][..]).prop_map(str::to_owned);
    vec(name, 1..4)
}

fn operation() -> impl Strategy<Value = Operation> {
    let target = prop::sample::select(&["a", "../b", "/c", "b/a", "..", "/", "../../outside"][..]);
    let mode = prop::sample::select(&[0o755, 0o700, 0o1777, 0o500][..]);
    prop_oneof![
        6 => (names(), any::<u8>()).prop_map(|(names, content)| Operation::File(names, content)),
        6 => (names(), mode).prop_map(|(names, mode)| Operation::Directory(names, mode)),
        2 => (names(), target).prop_map(|(names, target)| Operation::Symlink(names, target)),
        2 => (names(), names()).prop_map(|(names, target)| Operation::Link(names, target)),
        1 => names().prop_map(Operation::Pipe),
        3 => names().prop_map(Operation::Remove),
        1 => names().prop_map(Operation::Empty),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]
    #[test]
    fn a_stack_of_layers_comes_to_what_the_format_says(layers in vec(vec(operation(), 0..6), 1..4)) {
        let mut model = Model::default();
        let expected = layers.iter().try_for_each(|operations| model.layer(operations));
        let place = Place::new();
        let image = Image::new(layers.iter().map(|operations| entries(operations)));
        let source = place.layout(&image.layout());
        let options = Options { ownership: Ownership::Caller, ..Options::default() };
        let found = place.unpack_with(&source, &options);
        match (expected, found) {
            (Ok(()), Ok(_)) => prop_assert_eq!(unpacked(&place.root()), numbered(model.tree)),
            (Err(Refused), Err(_)) => {}
            (Ok(()), Err(error)) => prop_assert!(false, "refused: {:?}", error),
            (Err(Refused), Ok(_)) => prop_assert!(false, "taken, but the model refuses it"),
        }
    }
}
