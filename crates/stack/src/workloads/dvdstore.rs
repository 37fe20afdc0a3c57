//! Stacks that serve a DVD Store over HTTP.

use rookery_guest::Guest;
use rookery_study::{DvdstoreUse, HttpUse, Pages, PointData, Study, Workload};
use rookery_workload::{
    FoundRow,
    dvdstore::{NEW_ORDERS, Size},
};

use crate::{
    BuiltStack, GuestStack, StackContext, StackError, api::Found, audit::OrderAudit, page::get,
};

/// A purchase of one item by the first customer.
const PURCHASE: &str = "dspurchase.php?confirmpurchase=yes&customerid=1&item%5B%5D=1&quan%5B%5D=1";

/// A stack that serves the pages of a DVD Store.
pub trait DvdstoreStack: GuestStack {
    /// URL directory of the pages, without slashes.
    fn directory(&self) -> &'static str;

    /// The size of its database.
    fn size(&self) -> Size;
}

/// What users do to a shop: its own workload, or one that someone wrote down.
#[derive(Clone)]
pub(crate) enum ShopWorkload {
    /// Users of a DVD Store.
    Own(DvdstoreUse),
    /// What a workload file says.
    Written(Box<HttpUse>),
}

impl ShopWorkload {
    /// Guests that serve a shop to these users.
    pub(crate) fn served_by(&self, guests: Box<dyn DvdstoreStack>) -> BuiltStack {
        match self {
            Self::Own(wanted) => BuiltStack::Dvdstore(guests, wanted.clone()),
            Self::Written(wanted) => BuiltStack::Http(guests, wanted.clone()),
        }
    }
}

/// What a study asks of the users of a shop.
///
/// # Errors
/// When the study has another workload than `stack` serves.
pub(crate) fn shop_of(stack: &'static str, study: &Study) -> Result<ShopWorkload, StackError> {
    match &study.workload {
        Workload::Dvdstore(wanted) => Ok(ShopWorkload::Own(wanted.clone())),
        Workload::Http(wanted) => Ok(ShopWorkload::Written(Box::new(wanted.clone()))),
        other => Err(StackError::OtherWorkload {
            stack,
            workload: other.kind().name(),
        }),
    }
}

/// The size of the DVD Store that a point asks for.
///
/// # Errors
/// When the point has the data of another workload.
pub(crate) fn size_of(stack: &'static str, data: PointData) -> Result<Size, StackError> {
    data.dvdstore()
        .ok_or_else(|| StackError::other_data(stack, data))
}

/// Let a guest sell one DVD.
///
/// # Errors
/// When it is not answered as it should be.
pub(crate) fn answer_purchase(
    context: &StackContext<'_>,
    guest: &dyn Guest,
    directory: &str,
) -> Result<(), StackError> {
    answer_page(
        context,
        guest,
        &format!("/{directory}/{PURCHASE}"),
        "ORDER NUMBER",
    )
}

/// One page of a guest, which must hold the text `wanted`.
///
/// # Errors
/// When it is not answered, or without that text.
pub(crate) fn answer_page(
    context: &StackContext<'_>,
    guest: &dyn Guest,
    path: &str,
    wanted: &str,
) -> Result<(), StackError> {
    let body = get(context.lab.network(), guest.address(), path)?;
    if body.contains(wanted) {
        return Ok(());
    }
    Err(StackError::Page {
        url: format!("http://{}{path}", guest.address()),
        what: format!("the answer has no `{wanted}`"),
    })
}

/// What a shop's database holds beyond the loaded rows.
pub(crate) fn found(audit: &OrderAudit, behaviour: Pages) -> Found {
    Found {
        rows: vec![FoundRow::new(NEW_ORDERS, audit.orders)],
        faults: audit.faults(behaviour),
        ..Found::default()
    }
}
