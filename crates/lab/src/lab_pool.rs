//! The labs of one run: one for each kind of guest that the trial at hand needs.
//!
//! While guests of one kind are measured nothing of the others is there, neither their bridge nor a
//! libvirt, unless groups of the trial are of those kinds. Each lab beside the first is registered
//! under a label of its own that derives from the run's, so that its guests, networks and
//! directories are apart.

use std::sync::Arc;

use rookery_guest::{GuestError, Lab, LabShape, RunDirs, open_lab};
use rookery_host::{RealHost, RunId};

/// Letters that tell the labs of a run apart; `b` is that of its builders.
const LETTERS: &str = "cdefghijklmnopq";

/// The labs of a run; those in use are open.
pub(crate) struct LabPool {
    dirs: RunDirs,
    open: Vec<OpenLab>,
}

struct OpenLab {
    shape: LabShape,
    /// Which of the run's labels it has, from zero.
    number: usize,
    dirs: RunDirs,
    lab: Box<dyn Lab>,
}

/// The labels of all labs that a run may have, with those of their builders.
#[must_use]
pub fn labels(run: &RunId) -> Vec<RunId> {
    let labs = (0..=LETTERS.len()).map(|number| label(run, number));
    labs.flat_map(|label| [rookery_stack::builder_run(&label), label])
        .collect()
}

/// The label of a lab of a run; the first has the run's own.
fn label(run: &RunId, number: usize) -> RunId {
    let letter = number
        .checked_sub(1)
        .and_then(|place| LETTERS.chars().nth(place));
    // Ids of runs are seven letters and digits, and may have ten.
    letter
        .and_then(|letter| RunId::try_from(format!("{run}{letter}")).ok())
        .unwrap_or_else(|| run.clone())
}

impl LabPool {
    pub(crate) fn new(dirs: RunDirs) -> Self {
        Self {
            dirs,
            open: Vec::new(),
        }
    }

    /// The lab of each of these shapes with its directories, in their order. Those that are not
    /// open are opened; others are closed before.
    ///
    /// # Errors
    /// When one before cannot be closed, or one of these not be opened.
    pub(crate) fn open(
        &mut self,
        shapes: &[&LabShape],
    ) -> Result<Vec<(&dyn Lab, &RunDirs)>, GuestError> {
        while let Some(place) = self
            .open
            .iter()
            .position(|open| !shapes.contains(&&open.shape))
        {
            self.open.remove(place).lab.close()?;
        }
        for shape in shapes {
            if !self.open.iter().any(|open| open.shape == **shape) {
                let open = self.open_one(shape)?;
                self.open.push(open);
            }
        }
        let all = shapes.iter().filter_map(|shape| {
            let open = self.open.iter().find(|open| open.shape == **shape)?;
            Some((&*open.lab, &open.dirs))
        });
        Ok(all.collect())
    }

    fn open_one(&self, shape: &LabShape) -> Result<OpenLab, GuestError> {
        let taken = |number: &usize| self.open.iter().any(|open| open.number == *number);
        let number = (0..=LETTERS.len())
            .find(|number| !taken(number))
            .unwrap_or(0);
        let mut dirs = self.dirs.clone();
        if number > 0 {
            dirs.run = label(&self.dirs.run, number);
            let name = format!("guests-{}", number + 1);
            dirs.dir = self.dirs.dir.with_file_name(name);
        }
        let lab = open_lab(shape, dirs.clone(), Arc::new(RealHost))?;
        Ok(OpenLab {
            shape: shape.clone(),
            number,
            dirs,
            lab,
        })
    }

    /// Close all labs.
    ///
    /// # Errors
    /// When something of one remains; all are tried.
    pub(crate) fn close(&mut self) -> Result<(), GuestError> {
        let closed: Vec<Result<(), GuestError>> = self
            .open
            .drain(..)
            .map(|mut open| open.lab.close())
            .collect();
        closed.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lab_of_a_run_has_a_label_of_its_own() {
        let run = RunId::try_from("0123abc".to_owned()).expect("a run id");
        let mut labels: Vec<String> = labels(&run).iter().map(ToString::to_string).collect();
        assert_eq!(
            labels[..4],
            ["0123abcb", "0123abc", "0123abccb", "0123abcc"]
        );
        let count = labels.len();
        labels.sort();
        labels.dedup();
        assert_eq!(labels.len(), count);
        // As many as a layout may have groups.
        assert_eq!(count, 2 * 16);
    }
}
