//! What users do. A script reads like what a user does: each step is one awaited request.

mod dvdstore;
mod page;

pub(crate) use dvdstore::CONFLICT;

use crate::{
    config::Script,
    site::Site,
    user::{Failed, User},
};

/// The first page of a new user.
pub(crate) async fn arrive(user: &mut User) -> Result<(), Failed> {
    let site = user.site.clone();
    match &site.script {
        Script::DvdStore {
            directory,
            page_type,
            ..
        } => dvdstore::arrive(user, directory, page_type).await,
        Script::Page { path } => page::view(user, path).await,
    }
}

/// One order, or one page of a page script.
pub(crate) async fn act(user: &mut User) -> Result<(), Failed> {
    let site = user.site.clone();
    match &site.script {
        Script::DvdStore {
            directory,
            page_type,
            shopper,
        } => dvdstore::order(user, directory, page_type, shopper).await,
        Script::Page { path } => page::view(user, path).await,
    }
}

/// Whether an act of the script is a whole order of several requests.
pub(crate) fn has_orders(site: &Site) -> bool {
    matches!(site.script, Script::DvdStore { .. })
}
