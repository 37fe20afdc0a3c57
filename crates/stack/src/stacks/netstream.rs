//! The stack that comes with the netstream workload.

use std::path::Path;

use rookery_guest::{Fill, FillError, Recipe};
use rookery_stats::DatabaseLoad;
use rookery_study::{NetstreamUse, PointData, Study, Workload, WorkloadKind};

use crate::{
    BuiltStack, DatabaseLoader, Stack, StackContext, StackError, StackPart,
    service::USER,
    template::{FileLoader, give_to_guests},
    workloads::{BUNDLED, NetstreamGuests},
};

/// Its name in errors.
const NAME: &str = "the server of the netstream workload";

/// The stack as a study asks for it.
#[derive(Clone)]
struct NetstreamStack {
    wanted: NetstreamUse,
    part: StackPart,
}

/// The stack of a study of this workload.
///
/// # Errors
/// When the study has another workload.
pub(crate) fn open_netstream(study: &Study, part: StackPart) -> Result<Box<dyn Stack>, StackError> {
    match &study.workload {
        Workload::Netstream(wanted) => Ok(Box::new(NetstreamStack {
            wanted: wanted.clone(),
            part,
        })),
        other => Err(StackError::OtherWorkload {
            stack: NAME,
            workload: other.kind().name(),
        }),
    }
}

impl Stack for NetstreamStack {
    fn name(&self) -> &'static str {
        NAME
    }

    fn serves(&self) -> &'static [WorkloadKind] {
        BUNDLED
    }

    fn build(
        &self,
        context: &StackContext<'_>,
        _data: PointData,
    ) -> Result<BuiltStack, StackError> {
        let recipe = Recipe {
            description: format!("netstream, of user {USER}"),
            program: context.program.to_owned(),
            base: None,
            fill: Fill::Data(&|directory| {
                give_to_guests(directory).map_err(FillError::from)?;
                Ok(None)
            }),
        };
        Ok(BuiltStack::Netstream(Box::new(NetstreamGuests {
            wanted: self.wanted.clone(),
            part: self.part,
            template: context.template(&recipe)?,
        })))
    }

    fn loader(
        &self,
        context: &StackContext<'_>,
        _data: PointData,
    ) -> Result<Box<dyn DatabaseLoader>, StackError> {
        let load = move |_: &StackContext<'_>, _: &Path| Ok(DatabaseLoad::default());
        Ok(Box::new(FileLoader::new(context, load)?))
    }
}
