//! The small site in PHP, in every guest.

use std::path::Path;

use rookery_guest::{Guest, Kind, Template};
use rookery_study::WebServer;
use rookery_workload::cms::Contract;

use super::{Filling, LampSite};
use crate::{
    StackContext, StackError, SupervisedService,
    cms::{SiteNodes, SiteTables, small_tables},
    lamp::{LoadError, Software, cms, sql::Database},
    root::RootKind,
    stacks::lamp::{check_software, software},
    tuning::Tuned,
};

/// Raised when the same data give another template.
const VERSION: u32 = 2;

/// The site that comes with Rookery.
pub(super) struct SmallSite;

impl LampSite for SmallSite {
    fn contract(&self) -> Contract {
        Contract::Smallcms
    }

    fn switches(&self) -> &'static [&'static str] {
        &cms::SWITCHES
    }

    fn database(&self) -> &'static str {
        cms::DATABASE
    }

    fn nodes(&self) -> &'static SiteNodes {
        &cms::NODES
    }

    fn check_host(&self, kind: Kind, templates: &Path) -> Result<(), StackError> {
        check_software(RootKind::Lamp, kind, templates)
    }

    fn base(&self, context: &StackContext<'_>) -> Result<(Option<Template>, Software), StackError> {
        software(context, RootKind::Lamp)
    }

    fn description(&self) -> Result<String, StackError> {
        Ok(format!("lamp cms, schema {VERSION}"))
    }

    fn service(
        &self,
        software: &Software,
        tuned: &Tuned,
        server: WebServer,
    ) -> Result<SupervisedService, StackError> {
        Ok(cms::service(software, tuned, server))
    }

    fn create(
        &self,
        _filling: &Filling<'_>,
        _guest: &dyn Guest,
        database: &mut Database,
    ) -> Result<SiteTables, StackError> {
        database
            .execute_script(cms::TABLES)
            .map_err(LoadError::from)?;
        Ok(small_tables())
    }
}
