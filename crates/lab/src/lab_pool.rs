//! The labs of one run: one for each kind of guest, one open at a time.
//!
//! While guests of one kind are measured nothing of the others is there, neither their bridge nor a
//! libvirt.

use std::sync::Arc;

use rookery_guest::{GuestError, Lab, LabShape, RunDirs, open_lab};
use rookery_host::RealHost;
use rookery_study::GuestShape;

/// The labs of a run; the one in use is open.
pub(crate) struct LabPool {
    dirs: RunDirs,
    current: Option<(LabShape, Box<dyn Lab>)>,
}

impl LabPool {
    pub(crate) fn new(dirs: RunDirs) -> Self {
        Self {
            dirs,
            current: None,
        }
    }

    /// The lab of such guests, opened if it is not the open one, and the run's directories.
    ///
    /// # Errors
    /// When the one before cannot be closed, or this one not be opened.
    pub(crate) fn open(&mut self, guest: &GuestShape) -> Result<(&dyn Lab, &RunDirs), GuestError> {
        let shape = &guest.lab;
        let current = match self.current.take_if(|(open, _)| open == shape) {
            Some(current) => current,
            None => {
                self.close()?;
                let lab = open_lab(shape, self.dirs.clone(), Arc::new(RealHost))?;
                (shape.clone(), lab)
            }
        };
        let (_, lab) = self.current.insert(current);
        Ok((&**lab, &self.dirs))
    }

    /// Close the open lab, if there is one.
    ///
    /// # Errors
    /// When something of it remains.
    pub(crate) fn close(&mut self) -> Result<(), GuestError> {
        match self.current.take() {
            Some((_, mut lab)) => lab.close(),
            None => Ok(()),
        }
    }
}
