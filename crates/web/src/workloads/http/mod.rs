//! Web workloads as data: users that do what a workload file says.

mod begin;
mod capture;
mod compiled;
mod delimited;
pub mod dry_run;
mod judge;
mod page;
mod request;
mod visitor;

use std::{cell::RefCell, collections::HashMap, net::SocketAddr};

use rookery_cast::count_u8;
use rookery_driver::{OperationId, OperationTable, Span, seconds};
use rookery_workload::{
    data_driven::{Course, DescribedUser, Population, RecordCount, Steps},
    http::{HttpCounters, HttpWorkload, PAGE},
};
use serde::{Deserialize, Serialize};

use self::compiled::Compiled;
use super::problem::ScriptProblem;
use crate::browser::{
    cache::{SharedValidators, Validator},
    tls::{TlsClient, TlsUser},
};

pub(crate) use visitor::Visitor;

/// Any operation with all that is loaded behind it.
const WHOLE: OperationId = OperationId::new(0);

/// What the users of one guest are configured with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HttpScript {
    /// What they do.
    pub workload: HttpWorkload,
    /// Where they do it.
    pub site: SiteName,
}

/// A site as its users write it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteName {
    /// Connections are encrypted.
    pub https: bool,
    /// Host and port, as in the header `Host`.
    pub authority: String,
    /// What stands before every path; empty or beginning with `/`.
    pub base: String,
}

impl SiteName {
    /// The site at an address, by its number.
    #[must_use]
    pub fn at(address: SocketAddr) -> Self {
        Self {
            https: false,
            authority: address.to_string(),
            base: String::new(),
        }
    }

    pub(crate) fn scheme(&self) -> &'static str {
        if self.https { "https" } else { "http" }
    }

    /// The host without the port.
    pub(super) fn host(&self) -> &str {
        match self.authority.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => &self.authority,
        }
    }
}

impl HttpScript {
    pub(crate) fn operations(&self) -> OperationTable {
        let names = self.workload.operations.iter().map(|op| op.name.as_str());
        OperationTable::of_names(PAGE, names)
    }

    pub(crate) fn check(&self) -> Result<(), ScriptProblem> {
        ScriptProblem::unless_plain(&self.site.authority)?;
        ScriptProblem::unless_plain(&self.site.base)?;
        self.workload
            .check()
            .map_err(|fault| problem(fault.to_string()))?;
        Compiled::new(&self.workload).map_err(problem)?;
        if self.site.https {
            TlsClient::new(&self.workload.tls, self.site.host()).map_err(problem)?;
        }
        Ok(())
    }
}

fn problem(what: String) -> ScriptProblem {
    ScriptProblem {
        what,
        help: "change the workload file",
    }
}

/// The place of an operation in the table.
fn id_of(operation: usize) -> OperationId {
    OperationId::new(count_u8(operation + 1))
}

/// The users of one guest on one thread: their workload, and what they count.
#[derive(Debug)]
pub(crate) struct HttpSite {
    workload: HttpWorkload,
    compiled: Compiled,
    site: SiteName,
    target: SocketAddr,
    /// Who draws from its data.
    population: Population,
    tls: Option<TlsClient>,
    record: RefCell<HttpCounters>,
    /// Versions of objects whose requests are conditional by chance, by target.
    versions: RefCell<HashMap<Vec<u8>, Validator>>,
    /// Those that the caches of users hold.
    validators: RefCell<SharedValidators>,
}

impl HttpSite {
    /// # Errors
    /// When the script cannot be done.
    pub(crate) fn new(
        script: &HttpScript,
        target: SocketAddr,
        population: Population,
    ) -> Result<Self, ScriptProblem> {
        let workload = script.workload.clone();
        let tls = match script.site.https {
            true => Some(TlsClient::new(&workload.tls, script.site.host()).map_err(problem)?),
            false => None,
        };
        Ok(Self {
            compiled: Compiled::new(&workload).map_err(problem)?,
            record: RefCell::new(empty_counters(&workload)),
            workload,
            site: script.site.clone(),
            target,
            population,
            tls,
            versions: RefCell::default(),
            validators: RefCell::default(),
        })
    }

    fn course(&self) -> Course<'_> {
        self.workload.course(&self.compiled.session_feeders)
    }

    /// The draws of a user of a guest.
    fn user(&self, seed: u64, guest: u32, number: u32) -> DescribedUser {
        let feeders = self.workload.feeders.len();
        DescribedUser::new(feeders, seed, guest, number, self.population)
    }

    fn tls_user(&self) -> Option<TlsUser> {
        self.tls.as_ref().map(TlsClient::user)
    }

    /// The trial ended while an operation was under way.
    pub(crate) fn unfinished(&self, operation: OperationId, written: bool) {
        if written && let Some(index) = operation.index().checked_sub(1) {
            self.count_record(index, false);
        }
    }

    /// What was counted; the site counts anew from here.
    pub(crate) fn take_record(&self) -> HttpRecord {
        HttpRecord(self.record.replace(empty_counters(&self.workload)))
    }

    /// An operation that makes records on the server ended, or its outcome is not known.
    fn count_record(&self, operation: usize, acknowledged: bool) {
        let Some(what) = &self.workload.operations[operation].counts else {
            return;
        };
        RecordCount::count(&mut self.record.borrow_mut().records, what, acknowledged);
    }

    /// After the operation `from` (none at the begin of a session) came `to` (none at its end).
    fn count_step(&self, from: Option<usize>, to: Option<usize>) {
        self.record.borrow_mut().steps.count(from, to);
    }
}

/// Counters of a workload, all zero.
fn empty_counters(workload: &HttpWorkload) -> HttpCounters {
    let names = workload.operations.iter();
    HttpCounters {
        steps: Steps::new(
            &workload.walk,
            names.map(|operation| operation.name.as_str()),
        ),
        records: workload.records(),
        ..HttpCounters::default()
    }
}

/// The counters of one guest on one thread, or on several.
#[derive(Clone, Debug, Default)]
pub(crate) struct HttpRecord(HttpCounters);

impl HttpRecord {
    /// Nothing was counted yet.
    pub(crate) fn new(script: &HttpScript) -> Self {
        Self(empty_counters(&script.workload))
    }

    /// Adds what another thread counted.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0);
    }

    /// The counters over `window`.
    pub(crate) fn counters(self, window: Span) -> HttpCounters {
        HttpCounters {
            window_s: seconds(window.length()),
            ..self.0
        }
    }
}
