//! Stacks that serve a DVD Store over HTTP.

use rookery_guest::Guest;
use rookery_study::{DvdstoreUse, Pages, PointData, Study, Workload};
use rookery_workload::{
    FoundRow,
    dvdstore::{NEW_ORDERS, Size},
};

use crate::{GuestStack, StackContext, StackError, api::Found, audit::OrderAudit, page::get};

/// A purchase of one item by the first customer.
const PURCHASE: &str = "dspurchase.php?confirmpurchase=yes&customerid=1&item%5B%5D=1&quan%5B%5D=1";

/// A stack that serves the pages of a DVD Store.
pub trait DvdstoreStack: GuestStack {
    /// URL directory of the pages, without slashes.
    fn directory(&self) -> &'static str;

    /// What the study asks of the workload.
    fn wanted(&self) -> &DvdstoreUse;

    /// The size of its database.
    fn size(&self) -> Size;
}

/// What a study asks of the workload.
///
/// # Errors
/// When the study has another workload than `stack` serves.
pub(crate) fn shop_of(stack: &'static str, study: &Study) -> Result<DvdstoreUse, StackError> {
    match &study.workload {
        Workload::Dvdstore(wanted) => Ok(wanted.clone()),
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
    }
}
