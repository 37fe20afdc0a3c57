//! A Drupal of the user as the site of LAMP guests.
//!
//! The user names its tree, or an archive of it ([`SiteTree`]). It lies in a layer of the guests'
//! root, read-only, with settings of our own; what it writes lies in their data. It is installed by
//! its own installer, and then the same accounts and nodes are loaded into its tables ([`tables`])
//! as into those of the small site.

mod error;
mod guest;
mod layer;
mod tables;
mod tree;

use rookery_workload::cms::Contract;

pub use error::SiteError;
pub(crate) use guest::{
    CREATE, DATABASE, EXTENSIONS, FILES, install_command, installer, service, switches,
};
pub(crate) use layer::put_tree;
pub(crate) use tables::{NODES_7, NODES_10, PASS_7, PASS_10, tables_7, tables_10};
pub(crate) use tree::SiteTree;

/// Drupals that differ in their tables and settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Generation {
    /// Drupal 7.
    Seven,
    /// Drupal 10 and 11.
    Ten,
}

impl Generation {
    /// The one of a release, by its first number.
    fn of_major(major: u32) -> Option<Self> {
        match major {
            7 => Some(Self::Seven),
            10 | 11 => Some(Self::Ten),
            _ => None,
        }
    }

    /// The one whose pages are these.
    pub(crate) fn of_contract(contract: Contract) -> Option<Self> {
        match contract {
            Contract::Drupal7 => Some(Self::Seven),
            Contract::Drupal10 => Some(Self::Ten),
            Contract::Smallcms | Contract::Wordpress | Contract::WordpressForms => None,
        }
    }

    /// Its pages.
    pub(crate) fn contract(self) -> Contract {
        match self {
            Self::Seven => Contract::Drupal7,
            Self::Ten => Contract::Drupal10,
        }
    }
}
