//! The embedded stack of banking, e-commerce and support: this very program serves pages and files,
//! and is the back-end behind them.

mod lamp;

use std::{path::Path, time::Instant};

use rookery_guest::{Fill, FillError, Guest, Health, Recipe, Template};
use rookery_stats::DatabaseLoad;
use rookery_study::{Point, PointData, Study, Vcpus, Web2005Use, WorkloadKind};
use rookery_workload::web2005::{Model, WebDataset, files::Shape};

use crate::{
    BuiltStack, ClonedGuests, DatabaseLoader, Found, GuestStack, Origin, Service, Stack,
    StackContext, StackError,
    api::STOP_GRACE,
    page::get,
    service::{GUEST, USER},
    template::{FileLoader, give_to_guests},
    web2005::{
        ExtraTime, FILES_DIRECTORY, FilesetOptions, HEALTH_PATH, INIT_PATH, LEDGER_FILE, PORT,
        page_args, read_ledger, write_fileset,
    },
    workloads::PAGES,
};

pub(crate) use lamp::WebLampStack;

/// Its name in errors.
const NAME: &str = "the embedded stack";

/// Threads that make a file set.
const THREADS: usize = 2;

/// The stack as a study asks for it.
#[derive(Clone)]
pub(crate) struct WebStack {
    wanted: Web2005Use,
    extra: ExtraTime,
    processors_per_vcpu: u32,
}

impl WebStack {
    /// As a study asks for it.
    ///
    /// # Errors
    /// When the study has another workload.
    pub(crate) fn new(
        study: &Study,
        extra: ExtraTime,
        processors_per_vcpu: u32,
    ) -> Result<Self, StackError> {
        Ok(Self {
            wanted: wanted_of(NAME, study)?,
            extra,
            processors_per_vcpu,
        })
    }

    /// The time that pages of a guest take, and how many at once.
    fn extra(&self, vcpus: Vcpus) -> ExtraTime {
        let processors = u64::from(self.processors_per_vcpu) * u64::from(vcpus.0);
        ExtraTime {
            processors: rookery_cast::index(processors.div_ceil(1_000)),
            ..self.extra
        }
    }
}

/// What a study asks of these workloads.
fn wanted_of(stack: &'static str, study: &Study) -> Result<Web2005Use, StackError> {
    let wanted = study.workload.web2005().cloned();
    wanted.ok_or_else(|| StackError::OtherWorkload {
        stack,
        workload: study.workload.kind().name(),
    })
}

/// What decides the content of a guest's file set, in words.
fn description(dataset: &WebDataset) -> String {
    format!("{} {dataset}, seed {}", dataset.model.name(), dataset.seed)
}

/// The file set of a guest, from the numbers of its point.
fn dataset_of(stack: &'static str, data: PointData) -> Result<(WebDataset, Shape), StackError> {
    let dataset = data
        .web2005()
        .ok_or_else(|| StackError::other_data(stack, data))?;
    // Studies with sets that cannot be are refused.
    let shape = dataset
        .shape()
        .map_err(|_| StackError::other_data(stack, data))?;
    Ok((dataset, shape))
}

impl Stack for WebStack {
    fn name(&self) -> &'static str {
        NAME
    }

    fn serves(&self) -> &'static [WorkloadKind] {
        PAGES
    }

    fn build(&self, context: &StackContext<'_>, data: PointData) -> Result<BuiltStack, StackError> {
        let (dataset, shape) = dataset_of(NAME, data)?;
        let recipe = Recipe {
            description: format!("{}, shared, of user {USER}", description(&dataset)),
            program: context.program.to_owned(),
            base: None,
            fill: Fill::Data(&|directory| {
                let load = fill(context, &shape, directory).map_err(FillError::from)?;
                give_to_guests(directory).map_err(FillError::from)?;
                Ok(Some(load))
            }),
        };
        let guests = WebGuests {
            stack: self.clone(),
            dataset,
            shape,
            template: context.template(&recipe)?,
        };
        Ok(BuiltStack::Web2005(
            Box::new(guests),
            Box::new(self.wanted.clone()),
            dataset,
        ))
    }

    fn loader(
        &self,
        context: &StackContext<'_>,
        data: PointData,
    ) -> Result<Box<dyn DatabaseLoader>, StackError> {
        let (_, shape) = dataset_of(NAME, data)?;
        let load =
            move |context: &StackContext<'_>, directory: &Path| fill(context, &shape, directory);
        Ok(Box::new(FileLoader::new(context, load)?))
    }
}

/// Makes the file set in a guest's data directory.
fn fill(
    context: &StackContext<'_>,
    shape: &Shape,
    directory: &Path,
) -> Result<DatabaseLoad, StackError> {
    let began = Instant::now();
    let options = FilesetOptions {
        threads: THREADS,
        max_bytes: None,
        stop: context.stop,
    };
    let written = write_fileset(
        &directory.join(FILES_DIRECTORY),
        shape,
        &options,
        &|progress| {
            let percent = 100 * progress.bytes / progress.total_bytes.max(1);
            context.building("file set", &format!("{percent} %"));
        },
    )
    .map_err(StackError::bundled)?;
    Ok(DatabaseLoad {
        rows_s: began.elapsed().as_secs_f64(),
        rows: written.manifest.files,
        bytes: written.manifest.bytes,
        ..DatabaseLoad::default()
    })
}

/// The share of a full file set.
fn scale(dataset: &WebDataset) -> f64 {
    f64::from(dataset.scale_ppm) / 1e6
}

/// Lets a server of pages say what it serves.
fn answer_init(
    context: &StackContext<'_>,
    guest: &dyn Guest,
    model: Model,
) -> Result<(), StackError> {
    let body = get(context.lab.network(), guest.address(), INIT_PATH)?;
    let wanted = format!("rk init model={} ", model.name());
    if body.starts_with(&wanted) {
        return Ok(());
    }
    Err(StackError::Page {
        url: format!("http://{}{INIT_PATH}", guest.address()),
        what: format!("the answer does not begin with `{wanted}`"),
    })
}

/// Ends a guest and reads the ledger of its back-end.
fn audit_ledger(guest: &mut dyn Guest, model: Model) -> Result<Found, StackError> {
    // A guest that does not end is killed with its removal; its ledger is read all the same.
    let _ = guest.stop(STOP_GRACE);
    let totals = read_ledger(&guest.data_dir().join(LEDGER_FILE)).map_err(StackError::bundled)?;
    let faults = match totals.faults {
        0 => Vec::new(),
        faults => vec![format!("{faults} lines of the ledger are no entries")],
    };
    Ok(Found {
        rows: totals.found(model),
        faults,
        ..Found::default()
    })
}

/// Guests of the stack.
struct WebGuests {
    stack: WebStack,
    dataset: WebDataset,
    shape: Shape,
    template: Template,
}

impl ClonedGuests for WebGuests {
    fn template(&self) -> &Template {
        &self.template
    }

    fn service(&self, point: &Point, _index: usize) -> Result<Service, StackError> {
        Ok(Service {
            args: page_args(
                &self.shape,
                scale(&self.dataset),
                point.only_group().vcpus.whole_cpus() as usize,
                None,
                self.stack.wanted.encrypted,
                self.stack.wanted.profile,
                self.stack.extra(point.only_group().vcpus),
            ),
            files: Vec::new(),
            port: PORT,
            health: Health::Http(HEALTH_PATH.to_owned()),
            sockets: Vec::new(),
            user: GUEST,
        })
    }
}

impl GuestStack for WebGuests {
    fn origin(&self) -> Origin<'_> {
        Origin::Cloned(self)
    }

    fn answer(&self, context: &StackContext<'_>, guest: &dyn Guest) -> Result<(), StackError> {
        answer_init(context, guest, self.dataset.model)
    }

    fn audit(
        &self,
        _context: &StackContext<'_>,
        guest: &mut dyn Guest,
        _died: bool,
    ) -> Result<Found, StackError> {
        audit_ledger(guest, self.dataset.model)
    }
}
