//! Users of a DVD Store: what the driver is told, and what must be in the database afterwards.

use rookery_stack::DvdstoreStack;
use rookery_study::{DvdstoreUse, PointData, Workload};
use rookery_web::{
    Config, Script,
    workloads::dvdstore::{DvdstoreScript, PURCHASE, SearchWords},
};
use rookery_workload::{
    FoundRow,
    dvdstore::{NEW_ORDERS, ShopperParams, Size},
};

use super::{
    ComputedLoad, LoadRequest,
    web_users::{Behaviour, Users, config},
};
use crate::error::LabError;

/// URL directory of the pages of systems that have none.
const COMPUTED_DIRECTORY: &str = "ds2";

/// The load of one group of a trial on guests that serve a shop.
pub(super) fn load(
    request: &LoadRequest<'_>,
    stack: &dyn DvdstoreStack,
    wanted: &DvdstoreUse,
) -> Users {
    let shop = Shop {
        wanted,
        size: stack.size(),
        directory: stack.directory(),
    };
    Users(shop.config(request))
}

/// The load of one trial on a system that is computed.
///
/// # Errors
/// When the point has another workload: the grammar gives simulated systems no other, but a stored
/// plan may come from anywhere.
pub(super) fn computed_load(request: &LoadRequest<'_>) -> Result<ComputedLoad, LabError> {
    let (Workload::Dvdstore(wanted), PointData::Dvdstore(size)) =
        (&request.study.workload, request.point.only_group().database)
    else {
        return Err(LabError::NotSimulated);
    };
    let shop = Shop {
        wanted,
        size,
        directory: COMPUTED_DIRECTORY,
    };
    Ok(ComputedLoad {
        config: shop.config(request),
        requests_per_unit: f64::from(wanted.searches) + 2.0,
        commits: PURCHASE,
    })
}

/// What the audit of a computed system finds: its orders.
pub(super) fn computed_row(orders: u64) -> FoundRow {
    FoundRow::new(NEW_ORDERS, orders)
}

/// The shop of each guest.
struct Shop<'a> {
    wanted: &'a DvdstoreUse,
    size: Size,
    directory: &'a str,
}

impl Shop<'_> {
    fn config(&self, request: &LoadRequest<'_>) -> Config {
        let wanted = self.wanted;
        let script = |_| {
            Script::Dvdstore(DvdstoreScript {
                directory: self.directory.to_owned(),
                page_type: "php".to_owned(),
                shopper: ShopperParams {
                    size: self.size,
                    new_customers: wanted.new_customers,
                    searches: wanted.searches,
                    search_batch: wanted.search_batch,
                    line_items: wanted.line_items,
                },
                words: SearchWords::BuiltIn,
            })
        };
        let behaviour = Behaviour {
            script: &script,
            pacing: wanted.pacing,
            think_time: wanted.think_time,
            think_distribution: wanted.think_distribution,
        };
        config(request, &behaviour)
    }
}
