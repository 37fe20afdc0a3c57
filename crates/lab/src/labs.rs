//! The grounds of one run's guests: a lab for each kind, one at a time.
//!
//! While guests of one kind are measured nothing of the others is there, neither their bridge nor a libvirt.

use rookery_guest::{GuestError, Lab, Site, open_lab, open_vm_lab};
use rookery_study::{GuestKind, GuestShape, vm_shape::VmShape};

use crate::stage::guest_kind;

/// What a lab is made for.
#[derive(Clone, Debug, PartialEq)]
enum Purpose {
    Machines(Box<VmShape>),
    Others(GuestKind),
}

impl Purpose {
    fn of(guest: &GuestShape) -> Self {
        match guest.kind {
            GuestKind::Vm => Self::Machines(Box::new(guest.vm.clone())),
            kind => Self::Others(kind),
        }
    }
}

/// The labs of a run; the one in use is open.
pub(crate) struct Labs {
    site: Site,
    open: Option<(Purpose, Box<dyn Lab>)>,
}

impl Labs {
    pub(crate) fn new(site: Site) -> Self {
        Self { site, open: None }
    }

    /// The lab of such guests, opened if it is not the open one, and the run's place.
    ///
    /// # Errors
    /// When the one before cannot be closed, or this one not be opened.
    pub(crate) fn of(&mut self, guest: &GuestShape) -> Result<(&dyn Lab, &Site), GuestError> {
        let purpose = Purpose::of(guest);
        let kept = self.open.take_if(|(open, _)| *open == purpose);
        let open = match kept {
            Some(open) => open,
            None => {
                self.close()?;
                let site = self.site.clone();
                let lab = match &purpose {
                    Purpose::Machines(shape) => open_vm_lab(site, (**shape).clone())?,
                    Purpose::Others(kind) => open_lab(guest_kind(*kind), site)?,
                };
                (purpose, lab)
            }
        };
        let (_, lab) = self.open.insert(open);
        Ok((&**lab, &self.site))
    }

    /// Close the open lab, if there is one.
    ///
    /// # Errors
    /// When something of it remains.
    pub(crate) fn close(&mut self) -> Result<(), GuestError> {
        match self.open.take() {
            Some((_, mut lab)) => lab.close(),
            None => Ok(()),
        }
    }
}
