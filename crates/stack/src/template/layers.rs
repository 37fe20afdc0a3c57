//! The layers of a template: a root for containers, the data on it, the program on top.

use std::path::Path;

use rookery_guest::{Fill, FillError, Kind, LayerKind, Recipe, Template};
use rookery_stats::DatabaseLoad;
use rustix::fs::{Gid, Uid, chown};

use crate::{
    StackContext, StackError,
    root::{RootRecipe, build_root, check_host},
    service::USER,
};

/// Whether guests of a kind stand on a root of their own.
pub(crate) fn has_root(kind: Kind) -> bool {
    matches!(kind, Kind::Container | Kind::Vm)
}

/// Whether a root of this kind is among the `templates`, or can be built on this host. Changes
/// nothing.
///
/// # Errors
/// What is missing.
pub(crate) fn check_root(
    guests: Kind,
    root: &RootRecipe,
    templates: &Path,
) -> Result<(), StackError> {
    if guests == Kind::Vm {
        // Their databases are made in one.
        rookery_guest::check_host(Kind::Container)?;
    }
    let description = root.description();
    let built = rookery_guest::templates(templates)?.iter().any(|template| {
        template.kind == Some(LayerKind::Root) && template.description == description
    });
    if built { Ok(()) } else { Ok(check_host()?) }
}

/// The root of guests, built or found. Bare guests use the host's own.
///
/// # Errors
/// When it cannot be built.
pub(crate) fn root(
    context: &StackContext<'_>,
    recipe: &RootRecipe,
    guests: &str,
) -> Result<Option<Template>, StackError> {
    if !has_root(context.lab.kind()) {
        return Ok(None);
    }
    let what = format!("root of {guests} guests");
    let fill = |root: &Path| {
        build_root(
            root,
            recipe,
            &|progress| context.building(&what, &progress.step.to_string()),
            context.stop,
        )
        .map_err(FillError::from)
    };
    let template = context.template(&Recipe {
        description: recipe.description(),
        program: context.program.to_owned(),
        base: None,
        fill: Fill::Root(&fill),
    })?;
    Ok(Some(template))
}

/// The data of containers belong to the user that runs everything in them, and so does their
/// directory.
///
/// # Errors
/// When the system refuses.
fn own(root: Option<&Template>, data: &Path) -> Result<(), StackError> {
    let owner = root.map(|_| USER);
    chown(data, owner.map(Uid::from_raw), owner.map(Gid::from_raw)).map_err(|error| {
        StackError::Io {
            what: format!("giving {} to its user", data.display()),
            source: error.into(),
        }
    })
}

/// The layer of guests that begin without data, built or found.
///
/// # Errors
/// When it cannot be made.
pub(crate) fn empty_layer(
    context: &StackContext<'_>,
    root: Option<&Template>,
    description: String,
) -> Result<Template, StackError> {
    data_layer(context, root, description, |_| Ok(None))
}

/// The layer whose data `fill` puts into a directory, built or found; they belong to the guests'
/// user. It says how a database was loaded.
///
/// # Errors
/// When it cannot be made; what `fill` says is in the error.
pub(crate) fn data_layer(
    context: &StackContext<'_>,
    root: Option<&Template>,
    description: String,
    fill: impl Fn(&Path) -> Result<Option<DatabaseLoad>, StackError> + Sync,
) -> Result<Template, StackError> {
    let owned = |data: &Path| {
        own(root, data)
            .and_then(|()| fill(data))
            .map_err(FillError::from)
    };
    layer(context, root, description, Fill::DataOnly(&owned))
}

/// The layer of files that `fill` puts on a root, built or found. No guest stands on it: data are
/// missing.
///
/// # Errors
/// When it cannot be made.
pub(crate) fn files_layer(
    context: &StackContext<'_>,
    root: &Template,
    description: String,
    fill: impl Fn(&Path) -> Result<(), FillError> + Sync,
) -> Result<Template, StackError> {
    context.template(&Recipe {
        description,
        program: context.program.to_owned(),
        base: Some(root),
        fill: Fill::Files(&fill),
    })
}

/// A layer of data on `root`, with the program on top. The program has no part in the data: a new
/// one finds them as they are.
///
/// # Errors
/// When it cannot be made.
fn layer(
    context: &StackContext<'_>,
    root: Option<&Template>,
    description: String,
    fill: Fill<'_>,
) -> Result<Template, StackError> {
    let recipe = |description: String, base, fill| Recipe {
        description,
        program: context.program.to_owned(),
        base,
        fill,
    };
    let program = context.template(&recipe(
        format!("rookery {}", env!("CARGO_PKG_VERSION")),
        None,
        Fill::Program,
    ))?;
    Ok(context
        .template(&recipe(description, root, fill))?
        .with_program(&program))
}
