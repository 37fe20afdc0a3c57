//! Content management: users who read, log in, create and log out on a site, as a matrix says.
//!
//! After the study "Drupal Performance Improvement via SSD Technology" (E. R. Reid, Sun
//! Microsystems, 2009): eight operations and their state-change matrix.
//!
//! A user is a [`CmsUser`], which walks by a [`CmsMatrix`] and draws the [`CmsWork`] of each
//! operation; a [`CmsTalk`] turns it into requests and judges the answers, for sites of several
//! kinds ([`Contract`]). [`CmsData`] is what a site of ours holds before the load. What is counted
//! is [`CmsCounters`].

mod contract;
mod counters;
mod data;
mod html;
mod info;
mod load_mode;
mod matrix;
mod operation;
mod pace;
mod talk;
mod user;
mod words;

pub use contract::{Contract, PageContract};
pub use counters::{CmsCounters, FailureCount, NEW_PAGES, NEW_STORIES, OperationCount, new_nodes};
pub use data::{ADMIN, CmsData, NODES_PER_PAGE, Node, NodeText, PASSWORD};
pub use info::{INFO, OPERATION};
pub use load_mode::LoadMode;
pub use matrix::{CmsMatrix, CmsMatrixError};
pub use operation::{CmsOperation, NodeKind, OPERATION_COUNT};
pub use pace::{CmsPace, CmsScatter};
pub use talk::{CmsAnswer, CmsFault, CmsLocation, CmsNext, CmsRequest, CmsStep, CmsTalk, CmsWork};
pub use user::{CmsPlaces, CmsUser, OnError, RandomPage};
