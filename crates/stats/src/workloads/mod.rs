//! What the checks of a trial need of each workload: the one place of this crate that names all of
//! them.

mod cms;
mod data_driven;
mod dvdstore;
mod netstream;
mod orderentry;
mod sample;
mod web2005;

use rookery_workload::{Counters, WorkloadKind, web2005::Model};

use crate::{GuestMeasurement, Measurement, checks::Remark};

/// How often a guest's users drew an operation from the mix, failed ones included.
pub(crate) fn drawn(guest: &GuestMeasurement, operation: &str) -> u64 {
    let started = guest
        .operation(operation)
        .map_or(0, |operation| operation.started);
    match &guest.counters {
        Counters::Dvdstore(counters) => dvdstore::drawn(guest, counters, operation, started),
        Counters::Orderentry(_)
        | Counters::Http(_)
        | Counters::Sql(_)
        | Counters::WebBanking(_)
        | Counters::WebEcommerce(_)
        | Counters::WebSupport(_)
        | Counters::Cms(_)
        | Counters::Netstream(_)
        | Counters::Sample(_) => started,
    }
}

/// What else the mix of a trial must keep, beside the shares of its operations.
pub(crate) fn mix_remarks(measurement: &Measurement) -> Vec<Remark> {
    match measurement.workload() {
        Some(WorkloadKind::Orderentry) => orderentry::mix_remarks(measurement),
        Some(
            WorkloadKind::Dvdstore
            | WorkloadKind::Http
            | WorkloadKind::Sql
            | WorkloadKind::WebBanking
            | WorkloadKind::WebEcommerce
            | WorkloadKind::WebSupport
            | WorkloadKind::Cms
            | WorkloadKind::Netstream
            | WorkloadKind::Sample,
        )
        | None => Vec::new(),
    }
}

/// What the workload's own checks say of a trial; see
/// [`WorkloadInfo::own_checks`](rookery_workload::WorkloadInfo).
pub(crate) fn own_checks(measurement: &Measurement) -> Vec<Remark> {
    match measurement.workload() {
        Some(WorkloadKind::Orderentry) => orderentry::own_checks(measurement),
        Some(WorkloadKind::Http | WorkloadKind::Sql) => data_driven::own_checks(measurement),
        Some(WorkloadKind::WebBanking) => web2005::own_checks(Model::Banking, measurement),
        Some(WorkloadKind::WebEcommerce) => web2005::own_checks(Model::Ecommerce, measurement),
        Some(WorkloadKind::WebSupport) => web2005::own_checks(Model::Support, measurement),
        Some(WorkloadKind::Cms) => cms::own_checks(measurement),
        Some(WorkloadKind::Sample) => sample::own_checks(measurement),
        Some(WorkloadKind::Netstream) => netstream::own_checks(measurement),
        Some(WorkloadKind::Dvdstore) | None => Vec::new(),
    }
}
