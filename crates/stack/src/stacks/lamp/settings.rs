//! The settings that a study asks of LAMP guests, and those in force.

use std::{collections::BTreeMap, path::Path};

use rookery_guest::Guest;
use rookery_study::{GuestShape, LampUse, Point, Study, WebServer, nearest_name};

use crate::{
    StackContext, StackError, StackPart,
    lamp::{READ_BACK_PATHS, ReadBack, Software},
    page::get,
    tuning::{Component, Effective, Family, KnownSettings, RequestedSettings, Tuned, TuningError},
};

/// What the names of the database's settings begin with.
pub(in crate::stacks) const OF_DATABASE: &str = "mariadb.";
/// What the names of settings begin with that pages before a database have.
pub(in crate::stacks) const OF_PAGES: &str = "pages.";

/// The one switch of pages that have no others: whether they keep their connection to the database.
pub(in crate::stacks) const PERSISTENT: &str = "persistent";

/// What one variant of a study asks for.
#[derive(Clone)]
pub(in crate::stacks) struct LampSettings {
    wanted: LampUse,
    /// Users of a guest that has none of its own: visitors that may be present, of an open load, or
    /// those of its callers.
    present: Option<u32>,
    /// Guests that call one.
    callers: u32,
    guest: GuestShape,
    /// What its pages can be told.
    switches: &'static [&'static str],
}

impl LampSettings {
    /// As a study asks for it, of pages with such switches.
    pub(in crate::stacks) fn new(
        study: &Study,
        wanted: &LampUse,
        part: StackPart,
        switches: &'static [&'static str],
    ) -> Self {
        let (of_callers, callers) = match part {
            StackPart::Tier { users, callers } => (Some(users), callers),
            StackPart::Whole | StackPart::Front => (None, 1),
        };
        Self {
            wanted: wanted.clone(),
            present: study.load.max_in_flight().or(of_callers),
            callers,
            guest: study.guest.clone(),
            switches,
        }
    }

    /// The tuning for one guest of a point.
    pub(in crate::stacks) fn tuned(
        &self,
        point: &Point,
        index: usize,
    ) -> Result<Tuned, TuningError> {
        let requested = RequestedSettings {
            family: Family::Lamp,
            profile: self.wanted.tuning,
            settings: &self.wanted.settings,
            max_in_flight: self.present,
            callers: self.callers,
        };
        requested.evaluate(point, index)
    }

    /// Whether what is asked of a guest is known to its servers, and has a value.
    pub(in crate::stacks) fn check(&self, point: &Point, index: usize) -> Result<(), StackError> {
        self.check_switches()?;
        let tuned = self.tuned(point, index)?;
        let server = Software::find(Path::new("/")).map(|found| found.mariadbd);
        let known =
            KnownSettings::new(Component::Mariadb, &server.unwrap_or_default(), &self.guest);
        known.check(&self.wanted.settings, &tuned, point, index)?;
        Ok(())
    }
}

impl LampSettings {
    /// Whether the pages have the switches that are asked of them.
    fn check_switches(&self) -> Result<(), TuningError> {
        let asked = self.wanted.settings.keys();
        let unknown = asked
            .filter_map(|key| key.strip_prefix(OF_PAGES))
            .find(|name| !self.switches.contains(name));
        unknown.map_or(Ok(()), |name| {
            let near = nearest_name(name, self.switches).unwrap_or_else(|| self.switches[0]);
            Err(TuningError::Setting {
                key: format!("{OF_PAGES}{name}"),
                what: "the pages of this workload have no such switch".to_owned(),
                help: format!("write \"{OF_PAGES}{near}\", or leave it out"),
            })
        })
    }
}

/// The settings of a tuning beside those in force: of the database, and of Apache and PHP of a
/// guest that is asked. What is not answered is shown as not known.
pub(in crate::stacks) fn read_back(
    pages: Option<(&StackContext<'_>, &dyn Guest)>,
    database: Option<BTreeMap<String, String>>,
    tuned: &Tuned,
    server: WebServer,
) -> Vec<Effective> {
    let bodies: BTreeMap<String, String> = pages
        .into_iter()
        .flat_map(|asked| READ_BACK_PATHS.map(|path| (asked, path)))
        .filter_map(|((context, guest), path)| {
            let body = get(context.lab.network(), guest.address(), path).ok()?;
            Some((path.to_owned(), body))
        })
        .collect();
    ReadBack::parse(database, &bodies).compare(tuned, server)
}
