//! What keeps a template from being removed while it is in use.

use std::{fs::File, io, path::Path, sync::Arc};

/// File whose time of change is the time of last use, beside the root.
pub(super) const USED: &str = "used";

/// Shared locks on the directories of a template's layers. The kernel lets go of them with the
/// process, however it ends.
#[derive(Clone, Debug)]
pub(super) struct Lease {
    layers: Vec<Arc<SharedLock>>,
}

#[derive(Debug)]
struct SharedLock(File);

impl Drop for SharedLock {
    fn drop(&mut self) {
        // Closing is not enough: a child that another thread is just starting shares the lock until
        // its exec.
        let _ = self.0.unlock();
    }
}

impl Lease {
    /// Hold a layer, if it is there; its time of last use is now.
    ///
    /// # Errors
    /// When the directory cannot be opened or locked.
    pub(super) fn take(layer: &Path) -> io::Result<Option<Self>> {
        loop {
            let directory = match File::open(layer) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                opened => opened?,
            };
            directory.lock_shared()?;
            // It may have been removed (renamed, that is) while we waited, and even been built
            // anew.
            if same_place(&directory, layer)? {
                // A user who may not write there uses it all the same.
                let _ = std::fs::write(layer.join(USED), "");
                return Ok(Some(Self {
                    layers: vec![Arc::new(SharedLock(directory))],
                }));
            }
        }
    }

    /// This one and another together.
    pub(super) fn and(&self, other: &Self) -> Self {
        Self {
            layers: self.layers.iter().chain(&other.layers).cloned().collect(),
        }
    }
}

fn same_place(directory: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let own = directory.metadata()?;
    match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        there => there.map(|there| (there.dev(), there.ino()) == (own.dev(), own.ino())),
    }
}
