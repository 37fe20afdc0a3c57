//! What machines leave on a host: domains on the host's libvirt, the directory of the lab's own,
//! and volumes of LVM.

use std::io;

use rookery_host::{RealHost, RunId};

use super::{
    connection,
    libvirtd::{self, STATE},
    pool::tagged_volumes,
};
use crate::{
    paths::remove_tree,
    registry::Registry,
    sweep::{KindSweep, Remnant, state_dirs},
};

/// The sweep of machines.
pub(crate) struct Sweep;

impl KindSweep for Sweep {
    fn state_dirs(&self) -> &'static [&'static str] {
        &[STATE]
    }

    // Before their emulators are gone: only then can the host's libvirt tell whose its machines
    // are.
    fn end(&self, registry: &Registry, run: &RunId) -> io::Result<Vec<String>> {
        connection::sweep(&RealHost, &registry.state_dir(STATE, run), run)
    }

    fn discover(&self, registry: &Registry) -> io::Result<Vec<Remnant>> {
        let libvirts = state_dirs(registry, STATE).map(|(run, state)| {
            let name = state.display().to_string();
            Remnant::new(run, "libvirt", name, move || remove_tree(&state))
        });
        let volumes = tagged_volumes(&RealHost).into_iter().map(|volume| {
            let (run, name) = (volume.run.clone(), volume.name.clone());
            Remnant::new(run, "volume", name, move || volume.remove(&RealHost))
        });
        Ok(libvirts.chain(volumes).collect())
    }

    fn tidy(&self, registry: &Registry) {
        libvirtd::tidy(&registry.state_dirs(STATE));
    }
}
