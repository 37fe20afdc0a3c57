//! A stack as the lab handles it: its template, what each guest runs, the state before the load, the proof after it.

mod builder;
mod copy;
mod database;
mod embedded;
mod lamp;
mod layers;
mod sqlite;
mod tuned;

use std::{
    net::SocketAddr,
    ops::ControlFlow,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use rookery_guest::{Guest, GuestError, GuestFile, Health, Kind, Lab, Recipe, Site, Template};
use rookery_oltp::Target;
use rookery_stack::{database::BufferCounters, tuning::Effective};
use rookery_stats::LedgerCounts;
use rookery_study::{Point, PointData, Study};
use rookery_workload::dvdstore::Size;

pub(crate) use builder::builder_run;

use crate::{Event, LabError, Listener, rehearsal::page};

/// How long a guest may take to end by itself after a trial.
pub(crate) const STOP_GRACE: Duration = Duration::from_secs(10);

/// A purchase of one item by the first customer.
const PURCHASE: &str = "dspurchase.php?confirmpurchase=yes&customerid=1&item%5B%5D=1&quan%5B%5D=1";

/// Where a stack is at work.
pub(crate) struct Place<'a> {
    pub(crate) lab: &'a dyn Lab,
    /// Of the run, for other labs beside this one.
    pub(crate) site: &'a Site,
    pub(crate) program: &'a Path,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) listener: &'a Listener<'a>,
}

impl Place<'_> {
    /// Whether the user wants to go on.
    pub(crate) fn go_on(&self) -> ControlFlow<()> {
        if self.stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// A template, built or found. The wait for another builder is told once, and ends when the user wants no more.
    pub(crate) fn template(&self, recipe: &Recipe<'_>) -> Result<Template, GuestError> {
        let told = AtomicBool::new(false);
        let patience = || {
            if !told.swap(true, Ordering::Relaxed) {
                self.building(
                    "template",
                    "waiting for another run that builds a template".to_owned(),
                );
            }
            self.go_on()
        };
        self.lab.template(recipe, &patience)
    }

    /// All that guests of a stack with such data stand on, built or found.
    pub(crate) fn grounded(
        &self,
        stack: &dyn Stack,
        data: PointData,
    ) -> Result<Template, LabError> {
        let template = stack.template(self, data)?;
        self.lab.prepare(
            &template,
            &|what, detail| self.building(what, detail.to_owned()),
            &|| self.go_on(),
        )?;
        Ok(template)
    }

    /// Tell of a part of a template that takes a while.
    pub(crate) fn building(&self, what: &str, detail: String) {
        (self.listener)(&Event::Building {
            what: what.to_owned(),
            detail,
        });
    }
}

/// What one guest runs.
pub(crate) struct Service {
    /// Arguments of the program.
    pub(crate) args: Vec<String>,
    /// Files that the guest finds.
    pub(crate) files: Vec<GuestFile>,
    /// User of a container's first process.
    pub(crate) user: Option<u32>,
    pub(crate) port: u16,
    pub(crate) health: Health,
    /// Unix sockets below its data directory by which the host talks to it.
    pub(crate) sockets: Vec<String>,
}

/// What the load left in a guest's database.
pub(crate) struct Found {
    /// Orders beyond the loaded ones.
    pub(crate) orders: u64,
    /// Of an order-entry database, all that came beyond the loaded rows.
    pub(crate) ledger: Option<LedgerCounts>,
    /// What does not fit together, in words.
    pub(crate) faults: Vec<String>,
}

/// One setting of a guest as it was read back.
pub(crate) struct Reading {
    pub(crate) name: String,
    /// Asked for; empty where nobody asked.
    pub(crate) asked: String,
    /// In force; empty where the server does not tell.
    pub(crate) in_force: String,
}

impl From<Effective> for Reading {
    fn from(found: Effective) -> Self {
        Self {
            name: found.name,
            asked: found.asked.unwrap_or_default(),
            in_force: found.effective.unwrap_or_default(),
        }
    }
}

/// One kind of stack, as one variant of a study uses it.
pub(crate) trait Stack: Sync {
    /// URL directory of its pages, without slashes.
    fn directory(&self) -> &'static str;

    /// Whether this host has what the stack needs in guests of `kind`, with `templates` as far as they are built. Changes nothing.
    ///
    /// # Errors
    /// What is missing, with its mend.
    fn check_host(&self, kind: Kind, templates: &Path) -> Result<(), LabError>;

    /// Whether what is asked of guest `index` of `point` has a value there.
    ///
    /// # Errors
    /// The setting, what is wrong with it, and the mend.
    fn check_settings(&self, point: &Point, index: usize) -> Result<(), String>;

    /// The template with a database of `data`, built or found.
    ///
    /// # Errors
    /// When it cannot be built, or the stack does not carry such data.
    fn template(&self, place: &Place<'_>, data: PointData) -> Result<Template, LabError>;

    /// What guest `index` of `point` runs.
    ///
    /// # Errors
    /// When the settings that the study asks for make no sense for this guest.
    fn service(&self, template: &Template, point: &Point, index: usize) -> Result<Service, String>;

    /// Bring a healthy guest into the state in which the load shall find it.
    ///
    /// # Errors
    /// When the guest does not play along.
    fn warm(&self, guest: &dyn Guest) -> Result<(), String>;

    /// The settings in force in a healthy guest, guest `index` of `point`.
    ///
    /// # Errors
    /// When the guest does not tell.
    fn settings(
        &self,
        place: &Place<'_>,
        guest: &dyn Guest,
        point: &Point,
        index: usize,
    ) -> Result<Vec<Reading>, String>;

    /// Let a healthy guest answer one page of the shop.
    ///
    /// # Errors
    /// When it is not answered as it should be.
    fn answers(&self, place: &Place<'_>, guest: &dyn Guest) -> Result<(), String> {
        page(
            place,
            guest,
            &format!("/{}/{PURCHASE}", self.directory()),
            "ORDER NUMBER",
        )
    }

    /// End the guest, and count what the load left in the database of its shop. A dead guest may be started again for it. Databases of order
    /// entry are audited over [`OrderEntry`] instead.
    ///
    /// # Errors
    /// When the database cannot be read.
    fn audit(
        &self,
        place: &Place<'_>,
        guest: &mut dyn Guest,
        data: PointData,
        dead: bool,
    ) -> Result<Found, String> {
        let _ = (place, guest, dead);
        dvdstore(data).and(Err(
            "the stack has no shop whose orders could be counted".to_owned()
        ))
    }

    /// What order entry needs of its database; nothing where the stack carries something else.
    fn order_entry(&self) -> Option<&dyn OrderEntry> {
        None
    }
}

/// A stack whose guests are databases of order entry.
pub(crate) trait OrderEntry: Sync {
    /// The way that terminals take, over TCP from inside the lab's network.
    fn clients(&self, address: SocketAddr) -> Target;

    /// The way from the host into a living guest with this data directory, outside the load.
    fn inside(&self, data: &Path) -> Target;

    /// The counters of the server's buffers since its start, of the guest with this data directory.
    ///
    /// # Errors
    /// When the server does not tell.
    fn counters(&self, data: &Path) -> Result<BufferCounters, String>;

    /// Prepare the data of a clone that lies before the host, whose server does not run yet.
    ///
    /// # Errors
    /// When they cannot be written.
    fn prepare_clone(&self, data: &Path) -> Result<(), String> {
        let _ = data;
        Ok(())
    }

    /// Let a guest start with a buffer pool of about `bytes`, where its server cannot change it while it runs.
    fn hold_pool(&self, service: &mut Service, bytes: u64) {
        let _ = (service, bytes);
    }

    /// Give a living guest a buffer pool of about `bytes`, if it has another; the size that is then in force.
    ///
    /// # Errors
    /// When the server refuses it, or does not come back.
    fn set_pool(&self, place: &Place<'_>, guest: &mut dyn Guest, bytes: u64)
    -> Result<u64, String>;

    /// The setting that a dialled pool overrules, where there is one.
    fn pool_key(&self) -> Option<&'static str> {
        None
    }

    /// Start a guest again whose server has died, and wait until it has recovered.
    ///
    /// # Errors
    /// When it does not come back.
    fn revive(&self, place: &Place<'_>, guest: &mut dyn Guest) -> Result<(), String>;
}

/// The size of a DVD Store, for stacks that carry nothing else.
pub(crate) fn dvdstore(data: PointData) -> Result<Size, String> {
    data.dvdstore()
        .ok_or_else(|| format!("the stack carries no order-entry database ({data})"))
}

/// The stack of a study's variant without its database, where it can do without.
pub(crate) fn without_database(study: &Study) -> Option<Box<dyn Stack>> {
    let wanted = study.stack.lamp.as_ref()?;
    Some(Box::new(lamp::Lamp::without_database(study, wanted)))
}

/// The stack of a study's variant, which is not simulated: such a one has none.
pub(crate) fn open(study: &Study) -> Box<dyn Stack> {
    if let Some(database) = database::Database::of(study) {
        return Box::new(database);
    }
    if let Some(sqlite) = sqlite::Sqlite::of(study) {
        return Box::new(sqlite);
    }
    match &study.stack.lamp {
        Some(wanted) => Box::new(lamp::Lamp::of(study, wanted)),
        None => Box::new(embedded::Embedded::of(study)),
    }
}
