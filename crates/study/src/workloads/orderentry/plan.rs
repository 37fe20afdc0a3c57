//! How large the order-entry databases of a point are.

use rookery_cast::{truncate_u32, truncate_u64};
use rookery_workload::orderentry::{Dialect, MAX_WAREHOUSES, Scale};

use super::{
    super::{DataRequest, PlannedData},
    DatabaseSize, OrderentryData, OrderentryUse, dialect,
};
use crate::{
    Amount, EvaluationError, Variables,
    expression::{BYTES, NO_UNITS},
    grammar::Context,
    problem::Code,
};

const MIB: f64 = 1_048_576.0;

/// The database of one guest.
pub(super) fn data(
    wanted: &OrderentryUse,
    request: &DataRequest<'_>,
    context: &mut Context,
) -> Option<OrderentryData> {
    // Another stack was refused for this workload.
    let dialect = dialect(request.stack)?;
    let guests = request.guests;
    let scale = match &wanted.size {
        DatabaseSize::Warehouses(amount) => {
            let exact = amount.each(request.guest, &NO_UNITS);
            let why = match exact {
                Ok(exact) if exact > 0.0 && exact <= f64::from(MAX_WAREHOUSES) => {
                    let scale = Scale::new(whole(exact), wanted.divisor).ok()?;
                    return Some(with(wanted, request.seed, dialect, scale));
                }
                Ok(exact) => {
                    format!("{exact} warehouses, where 1 to {MAX_WAREHOUSES} are possible")
                }
                Err(error) => error.to_string(),
            };
            let message = format!("the database of {guests}: {why}");
            return context.refuse(
                Code::Database,
                context.spans.nearest("workload.warehouses"),
                message,
                "change the number of warehouses",
            );
        }
        DatabaseSize::Mib(amount) => match mib(amount, request.guest) {
            Ok(mib) if mib > 0.0 => Scale::for_bytes(truncate_u64(mib * MIB), dialect),
            other => {
                let why = match other {
                    Ok(mib) => format!("{mib} MiB is no size"),
                    Err(error) => error.to_string(),
                };
                let message = format!("the database of {guests}: {why}");
                return context.refuse(
                    Code::Database,
                    context.spans.nearest("workload.db_size"),
                    message,
                    "change the rule",
                );
            }
        },
    };
    let scale = Scale::new(scale.warehouses(), wanted.divisor).ok()?;
    Some(with(wanted, request.seed, dialect, scale))
}

fn with(wanted: &OrderentryUse, seed: u64, dialect: Dialect, scale: Scale) -> OrderentryData {
    OrderentryData {
        scale,
        seed,
        dialect,
        foreign_keys: wanted.foreign_keys,
        history_pk: wanted.history_pk,
    }
}

/// Warehouses, rounded up; what floats add beyond a millionth is not another one.
fn whole(exact: f64) -> u32 {
    truncate_u32((exact - 1e-6).ceil()).max(1)
}

fn mib(amount: &Amount, guest: &Variables) -> Result<f64, EvaluationError> {
    let each = amount.each(guest, &BYTES)?;
    Ok(match amount {
        Amount::Rule(_) => each / MIB,
        Amount::Scaled(_) => each,
    })
}

/// What sizes became: warehouses, and whether the figures mean anything.
pub(in crate::workloads) fn size_notes(planned: &[PlannedData<'_>]) -> Vec<String> {
    let mut notes = Vec::new();
    let by_bytes = planned.iter().find(|planned| {
        planned
            .workload
            .orderentry()
            .is_some_and(|wanted| matches!(wanted.size, DatabaseSize::Mib(_)))
    });
    if let Some(planned) = by_bytes {
        notes.push(format!(
            "`db_size` gives whole warehouses: {} of about {} MiB in all (point {})",
            planned.data,
            planned.data.megabytes(),
            planned.point
        ));
    }
    if planned
        .iter()
        .filter_map(|planned| planned.data.orderentry())
        .any(|data| data.scale.is_mini())
    {
        notes.push("divided databases are for tests: their figures mean nothing".to_owned());
    }
    notes
}

#[cfg(test)]
mod tests {
    use crate::{Document, HostFacts, Plan};

    fn host() -> HostFacts {
        HostFacts {
            cpus: vec![0, 1],
            memory_mib: 65_536,
            disk_free_mib: 200_000,
            root: true,
            places: Vec::new(),
        }
    }

    fn planned(workload: &str, layout: &str) -> Result<Plan, String> {
        let text = format!(
            "title = \"t\"\n[workload]\nkind = \"orderentry\"\n{workload}\n[stack]\nkind \
             = \"postgresql\"\n[host]\novercommit = 8\n[[layout]]\nname = \
             \"a\"\n{layout}\n"
        );
        let document = Document::parse("s.toml", &text).map_err(|problems| problems.to_string())?;
        Plan::of(&document, &host()).map_err(|problems| problems.to_string())
    }

    fn databases(workload: &str, layout: &str) -> Vec<String> {
        let plan = planned(workload, layout).unwrap_or_else(|problems| panic!("{problems}"));
        plan.points
            .iter()
            .map(|point| point.only_group().database.to_string())
            .collect()
    }

    #[test]
    fn warehouses_and_sizes_become_populations() {
        assert_eq!(databases("", ""), ["1 warehouse"]);
        assert_eq!(
            databases("warehouses = \"4 per host\"", "guests = [1, 3]"),
            ["4 warehouses", "2 warehouses"]
        );
        assert_eq!(
            databases("warehouses = \"3 * guests\"\nprofile = \"mini\"", ""),
            ["3 warehouses of 1/100"]
        );
        assert_eq!(databases("db_size = \"207MiB\"", ""), ["2 warehouses"]);
        assert_eq!(
            databases("db_size = \"50% * memory\"", "[guest]\nmemory = \"640MiB\""),
            ["3 warehouses"]
        );
        assert_eq!(databases("profile = \"seed001\"", ""), ["64 warehouses"]);
    }

    #[test]
    fn users_come_from_the_profile_where_the_study_has_none() {
        let users = |workload: &str| {
            let plan = planned(workload, "").unwrap_or_else(|problems| panic!("{problems}"));
            plan.points
                .iter()
                .map(crate::Point::total_users)
                .collect::<Vec<_>>()
        };
        assert_eq!(users(""), [8]);
        assert_eq!(users("profile = \"mini\""), [4]);
        assert_eq!(users("profile = \"spec\"\nwarehouses = 3"), [30]);
        let refused = planned("profile = \"spec\"\ndb_size = \"1GB\"", "")
            .expect_err("nobody knows how many");
        assert!(refused.contains("write `users` into [load]"), "{refused}");
    }
}
