//! What order entry adds to a study as a whole: what does not go together with it, and what its
//! profile presets outside of its own section.

use rookery_workload::orderentry::terminal::Pacing;

use super::{
    super::{CONNECTIONS_OF_OPEN_LOADS, OtherSections},
    OrderentryUse, dialect, profile_limits,
};
use crate::{
    StackUse,
    grammar::Context,
    problem::Code,
    values::{GuestKind, LoadModel, LoopType, Over},
};

/// Workload, stack, guests and load must go together.
pub(super) fn check(wanted: &OrderentryUse, sections: &OtherSections<'_>, context: &mut Context) {
    if let Some(dialect) = sections.stack.and_then(dialect)
        && let Err(error) = wanted.statements.on(dialect)
    {
        let span = context.spans.nearest("workload.statements");
        context.refuse::<()>(
            Code::Contradiction,
            span,
            error.to_string(),
            "write `statements = \"plain\"` in [workload]",
        );
    }
    if wanted.hit_target.is_some()
        && sections
            .stack
            .is_some_and(|stack| *stack == StackUse::Sqlite)
    {
        let span = context.spans.nearest("workload.hit_target");
        let message = "`workload.hit_target` sizes a buffer pool that all terminals share, and \
                       SQLite has none";
        context.refuse::<()>(
            Code::Contradiction,
            span,
            message,
            "write `kind = \"mariadb\"` or `kind = \"postgresql\"` in [stack]",
        );
    }
    if sections
        .guest
        .is_some_and(|guest| guest.kind() == GuestKind::Fake)
    {
        let span = context.spans.nearest("guest.kind");
        let message = "`guest.kind` is \"fake\", but order entry needs a database that runs";
        context.refuse::<()>(
            Code::Contradiction,
            span,
            message,
            "write `kind = \"bare\"` or `kind = \"container\"` in [guest]",
        );
    }
    check_load(sections, wanted.pacing, context);
}

/// What an open load of transactions cannot have.
fn check_load(sections: &OtherSections<'_>, pacing: Pacing, context: &mut Context) {
    let Some(model) = sections.model else { return };
    if model == LoadModel::PartlyOpen {
        let span = context.spans.nearest("load.model");
        let message = "`load.model` is \"partly-open\", but order entry has no visits: every \
                       transaction arrives for itself";
        context.refuse::<()>(
            Code::Contradiction,
            span,
            message,
            "write `model = \"open\"` in [load]",
        );
    }
    if model == LoadModel::Open && pacing != Pacing::None && context.spans.has("workload.pacing") {
        let span = context.spans.nearest("workload.pacing");
        let message =
            "`workload.pacing` has no meaning in an open load, whose transactions arrive at a rate";
        context.refuse::<()>(
            Code::Contradiction,
            span,
            message,
            "write `pacing = \"none\"`, or remove it",
        );
    }
}

/// What the profile presets in other sections, where the file says nothing.
pub(super) fn fill_in(
    wanted: &mut OrderentryUse,
    sections: &mut OtherSections<'_>,
    context: &mut Context,
) {
    if let Some(qos) = &mut sections.qos
        && qos.percentiles.is_empty()
    {
        qos.percentiles = profile_limits(wanted.profile);
    }
    let Some(load) = &mut sections.load else {
        return;
    };
    let users = match &mut load.loop_type {
        LoopType::Closed { users } => users,
        LoopType::Open(open) => {
            wanted.pacing = Pacing::None;
            if !context.spans.has("load.max_in_flight") {
                open.max_in_flight = CONNECTIONS_OF_OPEN_LOADS;
            }
            return;
        }
    };
    let over_users = load
        .search
        .as_ref()
        .is_some_and(|search| search.over == Over::Users);
    if !users.is_empty()
        || context.spans.has("load.users")
        || sections.layouts_have_users
        || over_users
    {
        return;
    }
    match wanted.default_users() {
        Some(default) => users.push(default),
        None => {
            let span = context.spans.nearest("workload.profile");
            let message = "the profile counts terminals by warehouses, and the number of \
                           warehouses is not a plain one";
            context.refuse::<()>(
                Code::MissingKey,
                span,
                message,
                "write `users` into [load], or a number of `warehouses` into [workload]",
            );
        }
    }
}
