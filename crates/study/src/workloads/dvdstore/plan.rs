//! How large the databases of a point are.

use rookery_cast::{low_u32, truncate_u64};
use rookery_workload::dvdstore::Size;

use super::super::{DataRequest, PlannedData};
use crate::{Amount, expression::NOMINAL_MEGABYTES, grammar::Context, problem::Code};

/// The database of one guest of this shape: whole megabytes, at least one; beyond 1023 whole
/// gigabytes.
pub(in crate::workloads) fn size(
    database: &Amount,
    request: &DataRequest<'_>,
    context: &mut Context,
) -> Option<Size> {
    let guests = request.guests;
    let each = match database.each(request.guest, &NOMINAL_MEGABYTES) {
        Ok(each) if each > 0.0 => each,
        other => {
            let why = other.map_or_else(
                |error| error.to_string(),
                |each| format!("{each}MB is no size"),
            );
            let message = format!("the database of {guests}: {why}");
            return context.refuse(
                Code::Database,
                context.spans.nearest("workload.database"),
                message,
                "change the rule",
            );
        }
    };
    let mb = nominal_mb(each);
    if mb <= 1023 {
        return Some(Size::Mb(low_u32(mb)));
    }
    match mb.div_ceil(1024) {
        gb @ ..=1023 => Some(Size::Gb(low_u32(gb))),
        gb => {
            let span = context.spans.nearest("workload.database");
            let message = format!(
                "each of {guests} would have a database of {gb}GB, the largest size is 1023GB"
            );
            context.refuse(Code::Database, span, message, "make the database smaller")
        }
    }
}

/// Nominal megabytes, rounded up; what floats add beyond a millionth is not another megabyte.
fn nominal_mb(amount: f64) -> u64 {
    truncate_u64((amount - 1e-6).ceil()).max(1)
}

/// Sizes that became other sizes.
pub(in crate::workloads) fn size_notes(planned: &[PlannedData<'_>]) -> Vec<String> {
    let odd = planned.iter().find_map(|planned| {
        let exact = exact_mb(planned)?;
        ((exact - planned.data.megabytes() as f64).abs() > 1e-6).then_some((exact, planned))
    });
    let Some((exact, planned)) = odd else {
        return Vec::new();
    };
    vec![format!(
        "databases are rounded up to sizes that exist: {}MB become {} (point {})",
        (exact * 1000.0).round() / 1000.0,
        planned.data,
        planned.point
    )]
}

/// Megabytes of each guest's database before they became a size.
fn exact_mb(planned: &PlannedData<'_>) -> Option<f64> {
    planned
        .workload
        .dvdstore()?
        .database
        .each(&planned.guest, &NOMINAL_MEGABYTES)
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn megabytes_are_whole_and_at_least_one() {
        assert_eq!(nominal_mb(0.001), 1);
        assert_eq!(nominal_mb(2.5), 3);
        assert_eq!(nominal_mb(10.0 * 0.1 * 3.0), 3);
    }
}
