//! Content management: users who read, log in, create and log out, and judge every answer.

mod exchange;
mod visitor;

use std::{cell::RefCell, collections::HashMap, net::SocketAddr};

use rookery_cast::count_u8;
use rookery_driver::{OperationId, OperationTable, Span, seconds};
use rookery_stats::Pacing;
use rookery_workload::{
    cms::{
        CmsCounters, CmsData, CmsMatrix, CmsOperation, CmsPace, CmsPlaces, Contract, NodeKind,
        OPERATION, OnError, RandomPage,
    },
    http::Tls,
};
use serde::{Deserialize, Serialize};

use super::{http::SiteName, problem::ScriptProblem};
use crate::browser::tls::{TlsClient, TlsUser};

pub(crate) use visitor::CmsVisitor;

/// Any operation with all of its requests.
const WHOLE: OperationId = OperationId::new(0);

/// What the users of one guest are configured with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CmsScript {
    /// What the site holds.
    pub data: CmsData,
    /// Which pages it has.
    pub contract: Contract,
    /// Where it is.
    pub site: SiteName,
    /// Which operation follows which.
    pub matrix: CmsMatrix,
    /// Think or cycle pacing.
    pub pacing: Pacing,
    /// How long users wait.
    pub pace: CmsPace,
    /// What becomes of a user whose operation failed.
    pub on_error: OnError,
    /// What a random page is.
    pub random_page: RandomPage,
    /// Users go to the first so many pages of the list; `None` = all.
    pub random_page_max: Option<u32>,
    /// Share of the logins of users that are tried with a wrong password first, millionths.
    pub wrong_login_ppm: u32,
    /// Users take compressed pages.
    pub gzip: bool,
    /// Users keep their cookies when they have logged out.
    pub keep_cookies: bool,
    /// How users encrypt, where the site wants it.
    pub tls: Tls,
}

impl CmsScript {
    pub(crate) fn operations(&self) -> OperationTable {
        OperationTable::of_names(OPERATION, CmsOperation::ALL.iter().map(|one| one.name()))
    }

    pub(crate) fn check(&self) -> Result<(), ScriptProblem> {
        ScriptProblem::unless_plain(&self.site.authority)?;
        ScriptProblem::unless_plain(&self.site.base)?;
        if self.data.nodes == 0 || self.data.users == 0 {
            return Err(ScriptProblem {
                what: "users have no nodes to read, or no accounts to log in with".to_owned(),
                help: "give at least one node and one account",
            });
        }
        self.tls().map(|_| ())
    }

    fn tls(&self) -> Result<Option<TlsClient>, ScriptProblem> {
        if !self.site.https {
            return Ok(None);
        }
        let client = TlsClient::new(&self.tls, self.site.host());
        client.map(Some).map_err(|what| ScriptProblem {
            what,
            help: "give the certificate that signs the server's, or say that it is not verified",
        })
    }

    /// Counters of its users, all zero.
    fn empty(&self) -> CmsCounters {
        CmsCounters {
            contract: self.contract,
            pace: self.pace,
            cycles: self.pacing == Pacing::Cycle,
            ..CmsCounters::new(&self.matrix)
        }
    }
}

/// The place of an operation in the table.
fn id_of(operation: CmsOperation) -> OperationId {
    OperationId::new(count_u8(operation.index() + 1))
}

/// The users of one guest on one thread: what they know, and what they count.
#[derive(Debug)]
pub(crate) struct CmsSite {
    script: CmsScript,
    places: CmsPlaces,
    target: SocketAddr,
    tls: Option<TlsClient>,
    record: RefCell<CmsCounters>,
    /// By the number of the user: what the request under way creates.
    pending: RefCell<HashMap<u32, NodeKind>>,
}

impl CmsSite {
    /// # Errors
    /// When the script cannot be done.
    pub(crate) fn new(script: &CmsScript, target: SocketAddr) -> Result<Self, ScriptProblem> {
        Ok(Self {
            places: CmsPlaces::new(script.data, script.random_page, script.random_page_max)
                .with_wrong_logins(script.wrong_login_ppm),
            tls: script.tls()?,
            record: RefCell::new(script.empty()),
            pending: RefCell::default(),
            script: script.clone(),
            target,
        })
    }

    fn tls_user(&self) -> Option<TlsUser> {
        self.tls.as_ref().map(TlsClient::user)
    }

    /// A request that creates a node is on its way.
    fn creating(&self, user: u32, kind: NodeKind) {
        self.pending.borrow_mut().insert(user, kind);
    }

    /// That request ended: the node was created, may have been, or was not (`None`).
    fn created(&self, user: u32, acknowledged: Option<bool>) {
        let kind = self.pending.borrow_mut().remove(&user);
        if let (Some(kind), Some(acknowledged)) = (kind, acknowledged) {
            self.record.borrow_mut().created(kind, acknowledged);
        }
    }

    /// What was counted; the site counts anew from here. What is still under way may have been
    /// created.
    pub(crate) fn take_record(&self) -> CmsRecord {
        let users: Vec<u32> = self.pending.borrow().keys().copied().collect();
        for user in users {
            self.created(user, Some(false));
        }
        CmsRecord(self.record.replace(self.script.empty()))
    }
}

/// The counters of one guest on one thread, or on several.
#[derive(Clone, Debug)]
pub(crate) struct CmsRecord(CmsCounters);

impl CmsRecord {
    /// Nothing was counted yet.
    pub(crate) fn new(script: &CmsScript) -> Self {
        Self(script.empty())
    }

    /// Adds what another thread counted.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0);
    }

    /// The counters over `window`.
    pub(crate) fn counters(self, window: Span) -> CmsCounters {
        CmsCounters {
            window_s: seconds(window.length()),
            ..self.0
        }
    }
}

#[cfg(test)]
mod tests {
    use rookery_workload::{
        ProofRow,
        cms::{INFO, NEW_PAGES, NEW_STORIES},
    };

    use super::*;

    fn script() -> CmsScript {
        CmsScript {
            data: CmsData {
                nodes: 100,
                users: 10,
                authors: 5,
                first_node: 1,
                story_ppm: 500_000,
                promoted_ppm: 500_000,
                seed: 3,
            },
            contract: Contract::Smallcms,
            site: SiteName::at(([127, 0, 0, 1], 80).into()),
            matrix: CmsMatrix::default(),
            pacing: Pacing::Cycle,
            pace: CmsPace::default(),
            on_error: OnError::Restart,
            random_page: RandomPage::Listing,
            random_page_max: None,
            wrong_login_ppm: 0,
            gzip: true,
            keep_cookies: true,
            tls: Tls::default(),
        }
    }

    #[test]
    fn every_operation_has_its_place() {
        let operations = script().operations();
        assert_eq!(operations.entries().len(), INFO.operations.len());
        for operation in CmsOperation::ALL {
            assert_eq!(operations.name(id_of(operation)), operation.name());
        }
        assert_eq!(operations.main(), WHOLE);
    }

    #[test]
    fn creations_are_acknowledged_unanswered_or_refused() {
        let site = CmsSite::new(&script(), ([127, 0, 0, 1], 80).into()).expect("a site");
        site.creating(1, NodeKind::Story);
        site.created(1, Some(true));
        site.creating(2, NodeKind::Story);
        site.created(2, None);
        site.creating(3, NodeKind::Page);
        site.created(4, Some(true));
        let mut all = CmsRecord::new(&site.script);
        all.merge(&site.take_record());
        assert_eq!(
            all.counters(Span { start: 0, end: 10 }).proof().rows,
            [
                ProofRow::new(NEW_STORIES, 1, 0),
                ProofRow::new(NEW_PAGES, 0, 1)
            ]
        );
        assert!(site.pending.borrow().is_empty());
    }

    #[test]
    fn scripts_that_cannot_be_done_are_refused() {
        assert!(script().check().is_ok());
        let mut none = script();
        none.data.users = 0;
        assert!(none.check().is_err());
        let mut encrypted = script();
        encrypted.site.https = true;
        assert!(encrypted.check().is_err(), "no certificate is known");
    }
}
