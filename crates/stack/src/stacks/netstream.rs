//! The stack that comes with the netstream workload.

use std::{
    io,
    path::{Path, PathBuf},
};

use rookery_guest::{Fill, FillError, Kind, Recipe, content_digest, install_with_libraries};
use rookery_host::{find_program, iperf::IperfError};
use rookery_stats::DatabaseLoad;
use rookery_study::{NetstreamUse, Point, PointData, Study, Workload, WorkloadKind};
use rookery_workload::netstream::StreamProgram;

use crate::{
    BuiltStack, DatabaseLoader, Stack, StackContext, StackError, StackPart,
    netstream::IPERF3_DIRECTORY,
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

impl NetstreamStack {
    /// iperf3 of this host, where the study asks for it.
    fn iperf3(&self) -> Result<Option<PathBuf>, StackError> {
        match self.wanted.program {
            StreamProgram::Rookery => Ok(None),
            StreamProgram::Iperf3 => find_program("iperf3")
                .map(Some)
                .ok_or_else(|| StackError::bundled(IperfError::Missing)),
        }
    }
}

/// Put iperf3 with its libraries into the data of guests, whatever kind they are of.
fn install(program: &Path, data: &Path) -> Result<(), StackError> {
    let directory = data.join(IPERF3_DIRECTORY);
    std::fs::create_dir(&directory)
        .and_then(|()| install_with_libraries(program, &directory))
        .map_err(installing)
}

fn installing(source: io::Error) -> StackError {
    StackError::Io {
        what: "putting iperf3 into the template".to_owned(),
        source,
    }
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

    fn check_host(&self, _kind: Kind, _templates: &Path) -> Result<(), StackError> {
        self.iperf3()
            .map(drop)
            .map_err(|error| StackError::not_ready(NAME, error))
    }

    fn check_settings(&self, point: &Point, index: usize) -> Result<(), StackError> {
        let guest = point.each_guest().nth(index);
        let streams = guest.map_or(0, |guest| guest.users());
        if self.wanted.program == StreamProgram::Iperf3 && streams > StreamProgram::MOST_STREAMS {
            return Err(StackError::TooManyStreams { streams });
        }
        Ok(())
    }

    fn build(
        &self,
        context: &StackContext<'_>,
        _data: PointData,
    ) -> Result<BuiltStack, StackError> {
        let iperf3 = self.iperf3()?;
        let fill = |directory: &Path| {
            if let Some(program) = &iperf3 {
                install(program, directory).map_err(FillError::from)?;
            }
            give_to_guests(directory).map_err(FillError::from)?;
            Ok(None)
        };
        let beside = iperf3.as_deref().map(content_digest).transpose();
        let beside = beside
            .map_err(installing)?
            .map_or_else(String::new, |digest| format!(", with iperf3 {digest}"));
        let recipe = Recipe {
            description: format!("netstream, of user {USER}{beside}"),
            program: context.program.to_owned(),
            base: None,
            fill: Fill::Data(&fill),
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
