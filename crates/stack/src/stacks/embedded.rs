//! The embedded stack: this very program serves the pages from one SQLite file.

use std::{path::Path, time::Duration};

use rookery_guest::{Fill, FillError, Guest, Health, Recipe, Template};
use rookery_stats::DatabaseLoad;
use rookery_study::{Pages, Point, PointData, Study, WorkloadKind};
use rookery_workload::dvdstore::{Size, WordLists};

use crate::{
    BuiltStack, ClonedGuests, DatabaseLoader, DvdstoreStack, Found, GuestStack, Origin, Service,
    Stack, StackContext, StackError,
    api::STOP_GRACE,
    embedded::{DATABASE_FILE, DIRECTORY, HEALTH_PATH, PORT, audit, guest_args, load},
    service::{GUEST, USER},
    template::{FileLoader, give_to_guests},
    workloads::{PAGES, ShopWorkload, answer_purchase, found, shop_of, size_of},
};

/// Its name in errors.
const NAME: &str = "the embedded stack";

/// The embedded stack.
#[derive(Clone)]
pub(crate) struct EmbeddedStack {
    shop: ShopWorkload,
    pages: Pages,
    extra_cpu: Duration,
}

impl EmbeddedStack {
    /// As a study asks for it.
    ///
    /// # Errors
    /// When the study has another workload.
    pub(crate) fn new(
        study: &Study,
        pages: Pages,
        extra_cpu: Duration,
    ) -> Result<Self, StackError> {
        Ok(Self {
            shop: shop_of(NAME, study)?,
            pages,
            extra_cpu,
        })
    }
}

impl Stack for EmbeddedStack {
    fn name(&self) -> &'static str {
        NAME
    }

    fn serves(&self) -> &'static [WorkloadKind] {
        PAGES
    }

    fn build(&self, context: &StackContext<'_>, data: PointData) -> Result<BuiltStack, StackError> {
        let size = size_of(NAME, data)?;
        let recipe = Recipe {
            description: format!("embedded dvdstore {size}, own words, data of user {USER}"),
            program: context.program.to_owned(),
            base: None,
            fill: Fill::Data(&|data| {
                let load = fill(context, size, data).map_err(FillError::from)?;
                give_to_guests(data).map_err(FillError::from)?;
                Ok(Some(load))
            }),
        };
        let guests = EmbeddedGuests {
            stack: self.clone(),
            size,
            template: context.template(&recipe)?,
        };
        Ok(self.shop.served_by(Box::new(guests)))
    }

    fn loader(
        &self,
        context: &StackContext<'_>,
        data: PointData,
    ) -> Result<Box<dyn DatabaseLoader>, StackError> {
        let size = size_of(NAME, data)?;
        let load = move |context: &StackContext<'_>, data: &Path| fill(context, size, data);
        Ok(Box::new(FileLoader::new(context, load)?))
    }
}

/// Make the database of `size` in the directory `data`.
fn fill(context: &StackContext<'_>, size: Size, data: &Path) -> Result<DatabaseLoad, StackError> {
    let summary = load(&data.join(DATABASE_FILE), size, WordLists::own(), &|_| {
        context.go_on()
    })?;
    Ok(summary.parts)
}

/// Guests of the embedded stack.
struct EmbeddedGuests {
    stack: EmbeddedStack,
    size: Size,
    template: Template,
}

impl ClonedGuests for EmbeddedGuests {
    fn template(&self) -> &Template {
        &self.template
    }

    fn service(&self, point: &Point, _index: usize) -> Result<Service, StackError> {
        Ok(Service {
            args: guest_args(
                point.only_group().vcpus.whole_cpus() as usize,
                self.stack.pages,
                self.stack.extra_cpu,
            ),
            files: Vec::new(),
            port: PORT,
            health: Health::Http(HEALTH_PATH.to_owned()),
            sockets: Vec::new(),
            user: GUEST,
        })
    }
}

impl GuestStack for EmbeddedGuests {
    fn origin(&self) -> Origin<'_> {
        Origin::Cloned(self)
    }

    fn answer(&self, context: &StackContext<'_>, guest: &dyn Guest) -> Result<(), StackError> {
        answer_purchase(context, guest, DIRECTORY)
    }

    fn audit(
        &self,
        _context: &StackContext<'_>,
        guest: &mut dyn Guest,
        _died: bool,
    ) -> Result<Found, StackError> {
        // A guest that does not end is killed with its removal; its data are audited all the same.
        let _ = guest.stop(STOP_GRACE);
        let audit = audit(&guest.data_dir().join(DATABASE_FILE))?;
        Ok(found(&audit, self.stack.pages))
    }
}

impl DvdstoreStack for EmbeddedGuests {
    fn directory(&self) -> &'static str {
        DIRECTORY
    }

    fn size(&self) -> Size {
        self.size
    }
}
