//! The DVD Store: log in or register, search, buy.

mod operations;
mod record;
mod shopping;
mod virtual_shopper;

use std::cell::RefCell;

use rookery_driver::OperationId;
use rookery_workload::dvdstore::{PageSite, ShopperParams, WordLists};
use serde::{Deserialize, Serialize};

pub(crate) use self::{
    operations::OPERATIONS, record::ShopRecord, shopping::Shopping, virtual_shopper::VirtualShops,
};
use super::problem::ScriptProblem;

pub use self::{
    operations::{BROWSE, INDEX, LOGIN, NEW_CUSTOMER, ORDER, PURCHASE},
    record::OrderTally,
};

/// What the shoppers of one guest are configured with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DvdstoreScript {
    /// Directory of the pages without slashes, `ds2` by default.
    pub directory: String,
    /// Suffix of the pages: `php`, `jsp`, ...
    pub page_type: String,
    /// What a shopper draws.
    pub shopper: ShopperParams,
    /// Words that shoppers search for.
    pub words: SearchWords,
}

impl DvdstoreScript {
    pub(crate) fn check(&self) -> Result<(), ScriptProblem> {
        ScriptProblem::unless_plain(&self.directory)?;
        ScriptProblem::unless_plain(&self.page_type)?;
        let lists = self.words.lists();
        if [&lists.titles, &lists.first_names, &lists.last_names]
            .iter()
            .any(|list| list.is_empty())
        {
            return Err(ScriptProblem {
                what: "shoppers have no words to search for".to_owned(),
                help: "give at least one word of each kind, or use the lists of Rookery",
            });
        }
        Ok(())
    }
}

/// Words that shoppers search for: those that the databases were loaded with, else their searches
/// find nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchWords {
    /// The lists that come with Rookery.
    #[default]
    BuiltIn,
    /// These.
    Lists(WordLists),
}

impl SearchWords {
    /// The lists.
    #[must_use]
    pub fn lists(&self) -> &WordLists {
        match self {
            Self::BuiltIn => WordLists::own(),
            Self::Lists(lists) => lists,
        }
    }
}

/// One guest's shop as the shoppers of one thread share it.
#[derive(Debug)]
pub(crate) struct Shop {
    script: DvdstoreScript,
    record: RefCell<ShopRecord>,
}

impl Shop {
    pub(crate) fn new(script: DvdstoreScript) -> Self {
        Self {
            script,
            record: RefCell::default(),
        }
    }

    fn pages(&self) -> PageSite<'_> {
        PageSite {
            directory: &self.script.directory,
            page_type: &self.script.page_type,
        }
    }

    /// The trial ended while a request was under way.
    pub(crate) fn unfinished(&self, operation: OperationId, written: bool) {
        if operation == PURCHASE && written {
            self.record.borrow_mut().unanswered();
        }
    }

    pub(crate) fn record(&self) -> &RefCell<ShopRecord> {
        &self.record
    }
}
