//! The trait that every stack implements: what it needs of the host, and how its template is made.

use std::path::Path;

use rookery_guest::Kind;
use rookery_study::{Point, PointData, WorkloadKind};

use crate::{
    api::{DatabaseLoader, StackContext},
    error::StackError,
    workloads::BuiltStack,
};

/// One kind of stack, as one variant of a study uses it. Nothing is made yet.
pub trait Stack: Send + Sync {
    /// Its name as its makers write it.
    fn name(&self) -> &'static str;

    /// The workloads that it serves.
    fn serves(&self) -> &'static [WorkloadKind];

    /// Whether this host has what the stack needs in guests of `kind`, with `templates` as far as
    /// they are built. Changes nothing. Unless a stack says otherwise it brings all it needs.
    ///
    /// # Errors
    /// What is missing.
    fn check_host(&self, _kind: Kind, _templates: &Path) -> Result<(), StackError> {
        Ok(())
    }

    /// Whether what is asked of guest `index` of `point` has a value there. Unless a stack says
    /// otherwise it has no settings beyond those of the study.
    ///
    /// # Errors
    /// The setting and what is wrong with it.
    fn check_settings(&self, _point: &Point, _index: usize) -> Result<(), StackError> {
        Ok(())
    }

    /// Build the template with a database of `data`, or find it built.
    ///
    /// # Errors
    /// When it cannot be built, or the stack does not serve the workload of such data.
    fn build(&self, context: &StackContext<'_>, data: PointData) -> Result<BuiltStack, StackError>;

    /// Guests without data that are to be loaded with a database of `data`. What they stand on is
    /// built or found. A stack whose data are its own matter has none.
    ///
    /// # Errors
    /// As [`Stack::build`].
    fn loader(
        &self,
        _context: &StackContext<'_>,
        data: PointData,
    ) -> Result<Box<dyn DatabaseLoader>, StackError> {
        Err(StackError::other_data(self.name(), data))
    }
}
