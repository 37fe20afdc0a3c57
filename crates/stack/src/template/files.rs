//! Databases that are files: loaded by this program itself, without a server.

use std::{io, path::Path, thread};

use rookery_guest::{Guest, Health, Template};
use rookery_stats::DatabaseLoad;
use rookery_study::Point;
use rustix::thread::{CpuSet, sched_setaffinity};

use super::layers::empty_layer;
use crate::{
    api::{DatabaseLoader, StackContext},
    error::StackError,
    service::{GUEST, Service},
};

/// The layer of guests that begin without files.
const EMPTY: &str = "no files 1";
/// No server runs while files are made; a guest has a port all the same.
const PORT: u16 = 8080;

/// Loads files into the data directories of guests that are never started.
pub(crate) struct FileLoader<L> {
    template: Template,
    load: L,
}

impl<L> FileLoader<L>
where
    L: Fn(&StackContext<'_>, &Path) -> Result<DatabaseLoad, StackError> + Send + Sync,
{
    /// Guests whose files `load` makes in a directory.
    ///
    /// # Errors
    /// When the layer that they stand on cannot be made.
    pub(crate) fn new(context: &StackContext<'_>, load: L) -> Result<Self, StackError> {
        let template = empty_layer(context, None, EMPTY.to_owned())?;
        Ok(Self { template, load })
    }
}

impl<L> DatabaseLoader for FileLoader<L>
where
    L: Fn(&StackContext<'_>, &Path) -> Result<DatabaseLoad, StackError> + Send + Sync,
{
    fn template(&self) -> &Template {
        &self.template
    }

    fn service(&self, _point: &Point, _index: usize) -> Result<Service, StackError> {
        Ok(Service {
            args: Vec::new(),
            files: Vec::new(),
            port: PORT,
            health: Health::Http("/".to_owned()),
            sockets: Vec::new(),
            user: GUEST,
        })
    }

    fn load(
        &self,
        context: &StackContext<'_>,
        guest: &mut dyn Guest,
        cpus: &[u32],
    ) -> Result<DatabaseLoad, StackError> {
        let directory = guest.data_dir();
        // Threads that the load starts have the CPUs of the one that starts them.
        thread::scope(|scope| {
            let loading = thread::Builder::new()
                .name("load".to_owned())
                .spawn_scoped(scope, || {
                    stay_on(cpus).map_err(|source| StackError::Io {
                        what: format!("loading on the CPUs {cpus:?}"),
                        source,
                    })?;
                    (self.load)(context, directory)
                })
                .map_err(|source| StackError::Io {
                    what: "starting a thread for the load".to_owned(),
                    source,
                })?;
            loading
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

/// Hold this thread to CPUs; none = as it is.
fn stay_on(cpus: &[u32]) -> io::Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut mask = CpuSet::new();
    for cpu in cpus.iter().map(|cpu| *cpu as usize) {
        if cpu >= CpuSet::MAX_CPU {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        mask.set(cpu);
    }
    Ok(sched_setaffinity(None, &mask)?)
}
