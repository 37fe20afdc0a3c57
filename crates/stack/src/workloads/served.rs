//! Systems of the user: they serve whatever is asked over HTTP.

use rookery_guest::Guest;
use rookery_study::{Point, PointData, SampleUse, Workload, WorkloadKind};
use rookery_workload::{dvdstore::Size, sample::SampleData};

use super::{BuiltStack, DvdstoreStack, SampleStack};
use crate::{AuditScope, EffectiveSetting, Found, GuestStack, Origin, StackContext, StackError};

/// The workloads over HTTP.
pub(crate) const SERVED: &[WorkloadKind] = &[
    WorkloadKind::Dvdstore,
    WorkloadKind::Http,
    WorkloadKind::WebBanking,
    WorkloadKind::WebEcommerce,
    WorkloadKind::WebSupport,
    WorkloadKind::Sample,
];

/// URL directory of the pages of a DVD Store.
const DIRECTORY: &str = "ds2";

/// Guests that serve a workload which they do not know: what is asked of it, and its data.
struct Served<W, D> {
    guests: Box<dyn GuestStack>,
    wanted: W,
    data: D,
}

/// Guests that serve a workload over HTTP, whatever they are.
///
/// # Errors
/// When the workload is another one, or the data are those of another.
pub(crate) fn serve(
    stack: &'static str,
    guests: Box<dyn GuestStack>,
    workload: &Workload,
    data: PointData,
) -> Result<BuiltStack, StackError> {
    match (workload, data) {
        (Workload::Dvdstore(wanted), PointData::Dvdstore(data)) => {
            let shop = Served {
                guests,
                wanted: (),
                data,
            };
            Ok(BuiltStack::Dvdstore(Box::new(shop), wanted.clone()))
        }
        (Workload::Http(wanted), PointData::Http(_)) => {
            Ok(BuiltStack::Http(guests, Box::new(wanted.clone())))
        }
        (
            Workload::WebBanking(wanted)
            | Workload::WebEcommerce(wanted)
            | Workload::WebSupport(wanted),
            PointData::Web2005(dataset),
        ) => Ok(BuiltStack::Web2005(
            guests,
            Box::new(wanted.clone()),
            dataset,
        )),
        (Workload::Cms(wanted), PointData::Cms(data)) => {
            Ok(BuiltStack::Cms(guests, Box::new(wanted.clone()), data))
        }
        (Workload::Sample(wanted), PointData::Sample(data)) => {
            let wanted = wanted.clone();
            Ok(BuiltStack::Sample(Box::new(Served {
                guests,
                wanted,
                data,
            })))
        }
        (
            Workload::Dvdstore(_)
            | Workload::Http(_)
            | Workload::WebBanking(_)
            | Workload::WebEcommerce(_)
            | Workload::WebSupport(_)
            | Workload::Cms(_)
            | Workload::Sample(_),
            data,
        ) => Err(StackError::other_data(stack, data)),
        (Workload::Orderentry(_) | Workload::Sql(_) | Workload::Netstream(_), _) => {
            Err(StackError::OtherWorkload {
                stack,
                workload: workload.kind().name(),
            })
        }
    }
}

impl<W: Send + Sync, D: Send + Sync> GuestStack for Served<W, D> {
    fn origin(&self) -> Origin<'_> {
        self.guests.origin()
    }

    fn warm(&self, context: &StackContext<'_>, guest: &mut dyn Guest) -> Result<(), StackError> {
        self.guests.warm(context, guest)
    }

    fn settings(
        &self,
        context: &StackContext<'_>,
        guest: &dyn Guest,
        point: &Point,
        index: usize,
    ) -> Result<Vec<EffectiveSetting>, StackError> {
        self.guests.settings(context, guest, point, index)
    }

    fn answer(&self, context: &StackContext<'_>, guest: &dyn Guest) -> Result<(), StackError> {
        self.guests.answer(context, guest)
    }

    fn audit_scope(&self) -> AuditScope {
        self.guests.audit_scope()
    }

    fn audit(
        &self,
        context: &StackContext<'_>,
        guest: &mut dyn Guest,
        died: bool,
    ) -> Result<Found, StackError> {
        self.guests.audit(context, guest, died)
    }
}

impl DvdstoreStack for Served<(), Size> {
    fn directory(&self) -> &'static str {
        DIRECTORY
    }

    fn size(&self) -> Size {
        self.data
    }
}

impl SampleStack for Served<SampleUse, SampleData> {
    fn wanted(&self) -> &SampleUse {
        &self.wanted
    }

    fn data(&self) -> SampleData {
        self.data
    }
}
