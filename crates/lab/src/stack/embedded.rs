//! The embedded stack: this very program serves the pages from one SQLite file.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use rookery_guest::{Fill, Guest, Health, Kind, Recipe, Template};
use rookery_stack::embedded::{self, Behaviour};
use rookery_study::{Pages, Point, PointData, Study};
use rookery_workload::dvdstore::WordLists;

use super::{Found, Place, Reading, STOP_GRACE, Service, Stack, dvdstore};
use crate::{Event, LabError};

/// The embedded stack.
pub(super) struct Embedded {
    behaviour: Behaviour,
    extra_cpu: Duration,
}

impl Embedded {
    pub(super) fn of(study: &Study) -> Self {
        Self {
            behaviour: match study.stack.pages {
                Pages::Faithful => Behaviour::Faithful,
                Pages::Corrected => Behaviour::Corrected,
            },
            extra_cpu: study.stack.extra_cpu,
        }
    }
}

impl Stack for Embedded {
    fn directory(&self) -> &'static str {
        embedded::DIRECTORY
    }

    /// It brings all it needs.
    fn check_host(&self, _kind: Kind, _templates: &Path) -> Result<(), LabError> {
        Ok(())
    }

    /// It has no settings beyond those of the study.
    fn check_settings(&self, _point: &Point, _index: usize) -> Result<(), String> {
        Ok(())
    }

    fn template(&self, place: &Place<'_>, data: PointData) -> Result<Template, LabError> {
        let size = dvdstore(data).map_err(LabError::Internal)?;
        let began = Instant::now();
        let words = WordLists::own();
        let recipe = Recipe {
            description: format!("embedded dvdstore {size}, own words"),
            program: place.program.to_owned(),
            base: None,
            fill: Fill::Data(&|data| {
                embedded::load(&data.join(embedded::DATABASE_FILE), size, words, &|_| {
                    place.go_on()
                })
                .map(|_| ())
                .map_err(|error| error.to_string())
            }),
        };
        let template = place.template(&recipe)?;
        (place.listener)(&Event::Template {
            database: size.to_string(),
            seconds: began.elapsed().as_secs_f64(),
        });
        Ok(template)
    }

    fn service(
        &self,
        _template: &Template,
        point: &Point,
        _index: usize,
    ) -> Result<Service, String> {
        Ok(Service {
            args: embedded::guest_args(
                point.vcpus.whole_cpus() as usize,
                self.behaviour,
                self.extra_cpu,
            ),
            files: Vec::new(),
            user: None,
            port: embedded::PORT,
            health: Health::Http(embedded::HEALTH_PATH.to_owned()),
            sockets: Vec::new(),
        })
    }

    /// Its buffers are the kernel's page cache: there is nothing to do.
    fn warm(&self, _guest: &dyn Guest) -> Result<(), String> {
        Ok(())
    }

    /// It has no settings beyond those of the study.
    fn settings(
        &self,
        _place: &Place<'_>,
        _guest: &dyn Guest,
        _point: &Point,
        _index: usize,
    ) -> Result<Vec<Reading>, String> {
        Ok(Vec::new())
    }

    fn audit(
        &self,
        _place: &Place<'_>,
        guest: &mut dyn Guest,
        _data: PointData,
        _dead: bool,
    ) -> Result<Found, String> {
        // A guest that does not end is killed with its removal; its data are audited all the same.
        let _ = guest.stop(STOP_GRACE);
        let found = embedded::audit(&guest.data_dir().join(embedded::DATABASE_FILE))
            .map_err(|error| error.to_string())?;
        Ok(Found {
            orders: found.orders,
            ledger: None,
            faults: found.faults(self.behaviour),
        })
    }
}
