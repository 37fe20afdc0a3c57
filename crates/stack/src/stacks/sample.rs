//! The stack that comes with the sample workload.

use std::{fs, path::Path, time::Instant};

use rookery_guest::{Fill, FillError, Recipe};
use rookery_stats::DatabaseLoad;
use rookery_study::{PointData, SampleUse, Study, Workload, WorkloadKind};

use rookery_workload::sample::SampleData;

use crate::{
    BuiltStack, DatabaseLoader, Stack, StackContext, StackError,
    sample::{RECORDS_FILE, load},
    service::USER,
    template::{FileLoader, give_to_guests},
    workloads::{BUNDLED, SampleGuests},
};

/// Its name in errors.
const NAME: &str = "the server of the sample workload";

/// The stack as a study asks for it.
#[derive(Clone)]
struct SampleStack {
    wanted: SampleUse,
}

/// The stack of a study of this workload.
///
/// # Errors
/// When the study has another workload.
pub(crate) fn open_sample(study: &Study) -> Result<Box<dyn Stack>, StackError> {
    match &study.workload {
        Workload::Sample(wanted) => Ok(Box::new(SampleStack {
            wanted: wanted.clone(),
        })),
        other => Err(StackError::OtherWorkload {
            stack: NAME,
            workload: other.kind().name(),
        }),
    }
}

impl Stack for SampleStack {
    fn name(&self) -> &'static str {
        NAME
    }

    fn serves(&self) -> &'static [WorkloadKind] {
        BUNDLED
    }

    fn build(&self, context: &StackContext<'_>, data: PointData) -> Result<BuiltStack, StackError> {
        let data = data
            .sample()
            .ok_or_else(|| StackError::other_data(NAME, data))?;
        let recipe = Recipe {
            description: format!("sample {data}, of user {USER}"),
            program: context.program.to_owned(),
            base: None,
            fill: Fill::Data(&|directory| {
                let load = fill(directory, data).map_err(FillError::from)?;
                give_to_guests(directory).map_err(FillError::from)?;
                Ok(Some(load))
            }),
        };
        Ok(BuiltStack::Sample(Box::new(SampleGuests {
            wanted: self.wanted.clone(),
            data,
            template: context.template(&recipe)?,
        })))
    }

    fn loader(
        &self,
        context: &StackContext<'_>,
        data: PointData,
    ) -> Result<Box<dyn DatabaseLoader>, StackError> {
        let data = data
            .sample()
            .ok_or_else(|| StackError::other_data(NAME, data))?;
        let load = move |_: &StackContext<'_>, directory: &Path| fill(directory, data);
        Ok(Box::new(FileLoader::new(context, load)?))
    }
}

/// Write the records into a directory: there is no more to make.
fn fill(directory: &Path, data: SampleData) -> Result<DatabaseLoad, StackError> {
    let began = Instant::now();
    let file = directory.join(RECORDS_FILE);
    load(&file, data).map_err(StackError::bundled)?;
    Ok(DatabaseLoad {
        rows_s: began.elapsed().as_secs_f64(),
        rows: u64::from(data.records),
        bytes: fs::metadata(&file).map_or(0, |file| file.len()),
        ..DatabaseLoad::default()
    })
}
