//! What was planned, and where it stands.

use rookery_store::{Cell, Store};
use rookery_study::Callers;

use super::{number, optional_text, text, whole};
use crate::{
    ExportError, Table,
    column::{self, RowVisitor, Source},
};

pub(super) const POINTS: Table = Table {
    name: "points",
    row: "point: one layout with one level of each factor and one load",
    columns: &[
        column::whole("point", "Number of the point."),
        column::text("label", "Short name, as in the report."),
        column::text("layouts", "The layouts that contain it, joined by commas."),
        column::whole(
            "variant",
            "Number of its variant; 1 has the first level of every factor.",
        ),
        column::whole("guests", "Number of guests."),
        column::number(
            "vcpus",
            "vCPUs of each guest; nothing where guests differ, see `groups`.",
        ),
        column::whole(
            "memory_mib",
            "Memory limit of each guest; nothing where guests differ, see `groups`.",
        ),
        column::whole(
            "users",
            "Users, or terminals, over all guests; 0 of an open load.",
        ),
        column::number(
            "rate_per_s",
            "Arrivals at all guests together; nothing of a closed load.",
        ),
        column::text(
            "database",
            "What each guest has in its database; nothing where guests differ, see `groups`.",
        ),
        column::number(
            "capacity_cpus",
            "Host CPUs that its guests together can use at most.",
        ),
        column::whole(
            "baseline_point",
            "The point with one big guest of equal capacity and load.",
        ),
        column::whole(
            "search",
            "The search that tried it; nothing for a point of the study.",
        ),
    ],
    source: Source::Computed(points),
};

pub(super) const GROUPS: Table = Table {
    name: "groups",
    row: "group of guests of a point; one without a name where guests are all alike",
    columns: &[
        column::whole("point", "Number of the point."),
        column::whole("part", "Place of the group in its point, from 0."),
        column::text(
            "group",
            "Name of the group; nothing where guests are all alike.",
        ),
        column::text(
            "tier_of",
            "The group whose guests call it; nothing where users do.",
        ),
        column::text(
            "host",
            "Name of the host in the hosts file that has its guests; nothing where one host, \
             whichever, has those of all groups.",
        ),
        column::whole("tiles", "How often the groups of the point are repeated."),
        column::whole("guests", "Number of its guests in all tiles."),
        column::text("kind", "Kind of its guests."),
        column::text("stack", "Stack of its guests."),
        column::text("workload", "Name of its workload."),
        column::number("vcpus", "vCPUs of each guest."),
        column::whole("memory_mib", "Memory limit of each guest."),
        column::whole(
            "users",
            "Users, or terminals, over its guests; 0 of an open load and of a tier.",
        ),
        column::number(
            "rate_per_s",
            "Arrivals at its guests together; nothing of a closed load.",
        ),
        column::text("database", "What each guest has in its database."),
        column::text("pins", "CPUs of each guest, guests joined by bars."),
        column::text(
            "driver_cpus",
            "CPUs of the driver that load it, joined by commas.",
        ),
    ],
    source: Source::Computed(groups),
};

pub(super) const LEVELS: Table = Table {
    name: "levels",
    row: "factor of a point",
    columns: &[
        column::whole("point", "Number of the point."),
        column::text("factor", "Key of the factor: `stack.tuning`."),
        column::text("level", "Its value at this point."),
    ],
    source: Source::Computed(levels),
};

pub(super) const ATTEMPTS: Table = Table {
    name: "attempts",
    row: "begin of a trial",
    columns: &[
        column::whole("trial", "Number of the trial."),
        column::whole("attempt", "1, 2, 3, ..."),
        column::text("started_at", "Begin, RFC 3339."),
        column::text("ended_at", "End, RFC 3339; nothing where it never ended."),
        column::text(
            "ended_as",
            "`done`, `void`, `failed`, `interrupted`; nothing while it runs.",
        ),
    ],
    source: Source::Stored {
        from: "attempts",
        order: "trial, attempt",
    },
};

pub(super) const REASONS: Table = Table {
    name: "reasons",
    row: "reason why a trial is void or failed",
    columns: &[
        column::whole("trial", "Number of the trial."),
        column::text(
            "code",
            "For programs: `lag`, `guest-died`; empty where there is none.",
        ),
        column::text("reason", "In words."),
    ],
    source: Source::Stored {
        from: "reasons",
        order: "trial, position",
    },
};

fn points(store: &Store, visit: &mut RowVisitor<'_>) -> Result<(), ExportError> {
    for point in &store.header()?.plan.points {
        let alike = point.alike();
        visit(&[
            whole(Some(point.id)),
            text(point.label()),
            text(point.layouts.join(", ")),
            whole(Some(point.variant)),
            whole(Some(point.guests())),
            number(alike.map(|group| group.vcpus.cpus())),
            whole(alike.map(|group| group.memory_mib)),
            whole(Some(point.total_users())),
            number(point.rate_per_s()),
            alike.map_or(Cell::Null, |group| text(group.database.to_string())),
            number(Some(point.capacity_cpus)),
            whole(point.baseline),
            whole(point.search),
        ])?;
    }
    Ok(())
}

fn groups(store: &Store, visit: &mut RowVisitor<'_>) -> Result<(), ExportError> {
    let plan = store.header()?.plan;
    for point in &plan.points {
        for (part, (own, study)) in plan.parts(point).into_iter().enumerate() {
            let group = own.only_group();
            let tier_of = match &group.callers {
                Callers::Users => None,
                Callers::Group(front) => Some(front.as_str()),
            };
            let pins: Vec<String> = group.pins.iter().map(|cpus| joined(cpus)).collect();
            visit(&[
                whole(Some(point.id)),
                whole(u32::try_from(part).ok()),
                optional_text(Some(group.name.as_str()).filter(|name| !name.is_empty())),
                optional_text(tier_of),
                optional_text(group.host.as_deref()),
                whole(Some(point.tiles)),
                whole(Some(group.guests)),
                text(study.guest.kind().name()),
                text(study.stack.kind().name()),
                text(study.workload.kind().info().name),
                number(Some(group.vcpus.cpus())),
                whole(Some(group.memory_mib)),
                whole(Some(group.total_users())),
                number(group.rate_per_s),
                text(group.database.to_string()),
                text(pins.join(" | ")),
                text(joined(&point.driver_cpus(part, &plan.driver_cpus))),
            ])?;
        }
    }
    Ok(())
}

fn joined(cpus: &[u32]) -> String {
    let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
    cpus.join(",")
}

fn levels(store: &Store, visit: &mut RowVisitor<'_>) -> Result<(), ExportError> {
    for point in &store.header()?.plan.points {
        for level in &point.levels {
            visit(&[whole(Some(point.id)), text(&level.key), text(&level.value)])?;
        }
    }
    Ok(())
}
