//! What containers leave on a host: the mounts of their clones, and runc's state.

use std::{io, path::PathBuf};

use rookery_host::{RunId, detach, mounts};

use super::STATE;
use crate::{
    label::run_of_name,
    paths::{clone_of_mount, remove_tree},
    registry::Registry,
    sweep::{KindSweep, Remnant, state_dirs},
};

/// The sweep of containers.
pub(crate) struct Sweep;

impl KindSweep for Sweep {
    fn state_dirs(&self) -> &'static [&'static str] {
        &[STATE]
    }

    fn discover(&self, registry: &Registry) -> io::Result<Vec<Remnant>> {
        // The last mounted first: they may stand on each other.
        let mut found: Vec<Remnant> = mounts()?
            .into_iter()
            .rev()
            .filter_map(|mount| Some(clone(run_of_name(&mount.source)?, mount.point)))
            .collect();
        found.extend(state_dirs(registry, STATE).map(|(run, state)| {
            let name = state.display().to_string();
            Remnant::new(run, "runc state", name, move || remove_tree(&state))
        }));
        Ok(found)
    }
}

/// A mount whose source is a run's name; that of a clone goes with the clone. Others may mount
/// something under such a name.
fn clone(run: RunId, point: PathBuf) -> Remnant {
    Remnant {
        what: "mount",
        name: point.display().to_string(),
        is_proof: clone_of_mount(&point).is_some(),
        remove: Box::new(move |report| {
            report.note(format!("mount {}", point.display()), detach(&point));
            if let Some(clone) = clone_of_mount(&point) {
                report.note(format!("clone {}", clone.display()), remove_tree(clone));
            }
        }),
        run,
    }
}
