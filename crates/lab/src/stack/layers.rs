//! The layers of a template: a root for containers, the data on it, the program on top.

use std::path::Path;

use rookery_guest::{Fill, Kind, LayerKind, Recipe, Template};
use rookery_stack::root::{RootKind, RootRecipe, build_root, check_host};
use rustix::fs::{Gid, Uid, chown};

use super::Place;
use crate::LabError;

/// The user of everything in a container: Debian's `www-data`.
pub(super) const USER: u32 = 33;

/// Whether guests of a kind stand on a root of their own.
pub(super) fn has_root(kind: Kind) -> bool {
    matches!(kind, Kind::Container | Kind::Vm)
}

/// Whether a root of this kind is among the `templates`, or can be built on this host. Changes nothing.
///
/// # Errors
/// The inner error says what is missing, with its mend.
pub(super) fn check_root(
    guests: Kind,
    root: RootKind,
    templates: &Path,
) -> Result<Result<(), String>, LabError> {
    if guests == Kind::Vm {
        // Their databases are made in one.
        rookery_guest::check_host(Kind::Container)?;
    }
    let description = RootRecipe::of_host(root).description();
    let built = rookery_guest::templates(templates)?.iter().any(|template| {
        template.kind == Some(LayerKind::Root) && template.description == description
    });
    Ok(if built {
        Ok(())
    } else {
        check_host().map_err(|error| error.to_string())
    })
}

/// The root of guests, built or found. Bare guests use the host's own.
///
/// # Errors
/// When it cannot be built.
pub(super) fn root(
    place: &Place<'_>,
    kind: RootKind,
    guests: &str,
) -> Result<Option<Template>, LabError> {
    if !has_root(place.lab.kind()) {
        return Ok(None);
    }
    let recipe = RootRecipe::of_host(kind);
    let what = format!("root of {guests} guests");
    let fill = |root: &Path| {
        build_root(
            root,
            &recipe,
            &|progress| place.building(&what, progress.step.to_string()),
            place.stop,
        )
        .map_err(|error| error.to_string())
    };
    let template = place.template(&Recipe {
        description: recipe.description(),
        program: place.program.to_owned(),
        base: None,
        fill: Fill::Root(&fill),
    })?;
    Ok(Some(template))
}

/// The data of containers belong to the user that runs everything in them, and so does their directory.
///
/// # Errors
/// The system's words.
pub(super) fn own(root: Option<&Template>, data: &Path) -> Result<(), String> {
    let owner = root.map(|_| USER);
    chown(data, owner.map(Uid::from_raw), owner.map(Gid::from_raw))
        .map_err(|error| format!("{}: {error}", data.display()))
}

/// A layer of data on `root`, with the program on top. The program has no part in the data: a new one finds them as they are.
///
/// # Errors
/// When it cannot be made.
pub(super) fn layer(
    place: &Place<'_>,
    root: Option<&Template>,
    description: String,
    fill: Fill<'_>,
) -> Result<Template, LabError> {
    let recipe = |description: String, base, fill| Recipe {
        description,
        program: place.program.to_owned(),
        base,
        fill,
    };
    let program = place.template(&recipe(
        format!("rookery {}", env!("CARGO_PKG_VERSION")),
        None,
        Fill::Program,
    ))?;
    Ok(place
        .template(&recipe(description, root, fill))?
        .with_program(&program))
}
