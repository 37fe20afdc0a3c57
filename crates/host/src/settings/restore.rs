//! Saving a setting with all that hangs on it, and putting it back.

use std::{collections::BTreeSet, io};

use serde::Serialize;

use super::{
    files::{Instance, Root},
    journal::{Change, Layer, Saved, SavedScope},
    knob::{Coupling, Knob, value_in},
};
use crate::Host;

/// A setting that was put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// The knob.
    pub knob: String,
    /// Its device; empty when it has none.
    pub device: String,
    /// The file that was written: its own, or that of a setting that the kernel had changed along
    /// with it.
    pub path: String,
    /// Value before.
    pub from: String,
    /// Value now: that before Rookery changed it.
    pub to: String,
}

/// What came of putting a layer back.
#[derive(Debug, Default)]
pub(crate) struct Restoration {
    /// What had to be written.
    pub(crate) restored: Vec<Restored>,
    /// What is not as before, with the reason.
    pub(crate) failed: Vec<String>,
}

/// A knob as it is, with all that the kernel changes along with it.
pub(crate) fn saved(root: &Root, knob: &Knob, instance: &Instance, present: &str) -> Change {
    let mut files = vec![Saved {
        path: instance.path.clone(),
        value: present.to_owned(),
        words: knob.offers_words(),
    }];
    for path in root.coupled(knob, instance) {
        // What cannot be read (this disk limits no writeback, say) was not there to be lost.
        if let Ok(text) = root.read(&path) {
            files.push(Saved {
                path,
                value: value_in(&text, false),
                words: false,
            });
        }
    }
    if matches!(knob.coupling, Coupling::Exclusive(_)) {
        // Of two that exclude each other the one in force is put back first: it makes the other 0
        // by itself.
        files.sort_by_key(|saved| saved.value == "0");
    }
    Change {
        knob: knob.key.to_owned(),
        device: instance.name.clone(),
        scope: SavedScope::from(knob.scope),
        files,
    }
}

/// Put everything of a layer back, the last change first, and look at the end whether all is as
/// before. Safe to repeat.
pub(crate) fn put_back(root: &Root, host: &dyn Host, layer: &Layer) -> Restoration {
    let mut outcome = Restoration::default();
    let here = (
        root.link("proc/thread-self/ns/net"),
        root.link("proc/thread-self/ns/ipc"),
    );
    for change in layer.changes.iter().rev() {
        match reach(root, change.scope, &layer.namespaces, &here) {
            Reach::Here => {}
            Reach::Gone => continue,
            Reach::Elsewhere(where_) => {
                outcome.failed.push(format!("{}: {where_}", change.knob));
                continue;
            }
        }
        for saved in &change.files {
            match put_file_back(root, host, saved) {
                Ok(None) => {}
                Ok(Some(from)) => outcome.restored.push(Restored {
                    knob: change.knob.clone(),
                    device: change.device.clone(),
                    path: format!("/{}", saved.path),
                    from,
                    to: saved.value.clone(),
                }),
                Err(error) => outcome
                    .failed
                    .push(format!("{}: {error}", named(change, saved))),
            }
        }
    }
    if outcome.failed.is_empty() {
        outcome.failed = differences(root, layer, |change| {
            matches!(
                reach(root, change.scope, &layer.namespaces, &here),
                Reach::Here
            )
        });
    }
    // One line a knob: what follows from it is put back with it.
    outcome
        .restored
        .dedup_by(|later, first| (&later.knob, &later.device) == (&first.knob, &first.device));
    outcome
}

/// Give the value found when it was another one. A file that is gone (a disk was taken out) needs
/// nothing.
fn put_file_back(root: &Root, host: &dyn Host, saved: &Saved) -> io::Result<Option<String>> {
    let present = match root.read(&saved.path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => value_in(&text?, saved.words),
    };
    if present == saved.value {
        return Ok(None);
    }
    host.step("put a host setting back")?;
    root.write(&saved.path, &saved.value)?;
    let now = value_in(&root.read(&saved.path)?, saved.words);
    if now == saved.value {
        Ok(Some(present))
    } else {
        Err(io::Error::other(format!(
            "`{}` was written, but it reads `{now}`",
            saved.value
        )))
    }
}

/// What of a layer is not as before; of a file that was changed twice the first value counts.
fn differences(root: &Root, layer: &Layer, is_here: impl Fn(&Change) -> bool) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    for change in layer.changes.iter().filter(|change| is_here(change)) {
        for saved in change
            .files
            .iter()
            .filter(|saved| seen.insert(saved.path.clone()))
        {
            let Ok(text) = root.read(&saved.path) else {
                continue;
            };
            let now = value_in(&text, saved.words);
            if now != saved.value {
                wrong.push(format!(
                    "{}: it reads `{now}`, not `{}`",
                    named(change, saved),
                    saved.value
                ));
            }
        }
    }
    wrong
}

fn named(change: &Change, saved: &Saved) -> String {
    let device = if change.device.is_empty() {
        String::new()
    } else {
        format!(" of {}", change.device)
    };
    format!("{}{device} (/{})", change.knob, saved.path)
}

/// Where a change can be put back.
enum Reach {
    Here,
    /// Its namespace is no more, and the change with it.
    Gone,
    /// In another namespace, in words.
    Elsewhere(String),
}

/// A namespace's setting is put back in that namespace only.
fn reach(root: &Root, scope: SavedScope, then: &(String, String), now: &(String, String)) -> Reach {
    let (kind, then, now) = match scope {
        SavedScope::Host => return Reach::Here,
        SavedScope::Network => ("net", &then.0, &now.0),
        SavedScope::Ipc => ("ipc", &then.1, &now.1),
    };
    if then == now {
        Reach::Here
    } else if root.namespace_lives(kind, then) {
        Reach::Elsewhere(format!(
            "it was changed in the namespace {then}, and this is {now}; go there with nsenter"
        ))
    } else {
        Reach::Gone
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{super::catalogue::knob, *};

    #[test]
    fn of_two_that_exclude_each_other_the_one_in_force_is_written_first() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let root = Root::at(directory.path());
        let vm = directory.path().join("proc/sys/vm");
        fs::create_dir_all(&vm).expect("made");
        let knob = knob("vm.dirty_ratio").expect("known");
        for (ratio, bytes, first) in [("20", "0", "dirty_ratio"), ("0", "1048576", "dirty_bytes")] {
            fs::write(vm.join("dirty_ratio"), ratio).expect("written");
            fs::write(vm.join("dirty_bytes"), bytes).expect("written");
            let instance = root.instances(knob, &[]).remove(0);
            let change = saved(&root, knob, &instance, ratio);
            // The other order would leave both at 0 for a moment: every writer would stall.
            assert_eq!(change.files[0].path, format!("proc/sys/vm/{first}"));
            assert_eq!(change.files.len(), 2);
        }
    }
}
