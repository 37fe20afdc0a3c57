//! Whether a template that was found may be used: what it holds is run, by root as the case may be.

use std::{
    fs::{self, Metadata},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::Path,
};

use rookery_host::HostError;
use rustix::process::geteuid;

use super::{
    digest::digest_of_file,
    install::PROGRAM,
    metadata,
    recipe::{Fill, Recipe},
    seal::seal,
};
use crate::error::GuestError;

/// Bits of a mode by which others than the owner may write.
const OTHERS_WRITE: u32 = 0o022;

/// Make the directory of templates as [`check`] wants it, whatever the umask; one that is there
/// stays as it is.
///
/// # Errors
/// When it cannot be made.
pub(crate) fn make_templates(templates: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(templates)
}

/// Check that the directory of templates and the template `whole` in it belong to us or to root,
/// that nobody else may change them, that it holds what it held when it was built, and that the
/// program in it is the one of the recipe.
///
/// # Errors
/// Says what is wrong, and what to do.
pub(super) fn check(templates: &Path, whole: &Path, recipe: &Recipe<'_>) -> Result<(), GuestError> {
    let root = whole.join("root");
    for directory in [templates, whole, &root] {
        check_owner(directory)?;
    }
    if matches!(recipe.fill, Fill::Data(_) | Fill::Program) {
        let inside = root.join(PROGRAM);
        check_owner(&inside)?;
        let same = digest_of_file(&recipe.program)
            .and_then(|wanted| Ok(wanted == digest_of_file(&inside)?))
            .map_err(|error| {
                GuestError::in_template("reading its program", HostError::at(&inside, error))
            })?;
        if !same {
            return Err(refused(
                format!("{} is not the program that was put there", inside.display()),
                whole,
            ));
        }
    }
    check_content(whole, &root)
}

/// The root is as it was when the template was whole.
fn check_content(whole: &Path, root: &Path) -> Result<(), GuestError> {
    let description = whole.join(metadata::FILE);
    let failed = |path: &Path, error: io::Error| {
        GuestError::in_template("looking at its content", HostError::at(path, error))
    };
    let built = fs::read(&description)
        .and_then(|text| Ok(serde_json::from_slice::<metadata::Metadata>(&text)?.content))
        .map_err(|error| failed(&description, error))?;
    if seal(root).map_err(|error| failed(root, error))? == built {
        return Ok(());
    }
    Err(refused(
        format!("{} has changed since it was built", root.display()),
        whole,
    ))
}

fn check_owner(path: &Path) -> Result<(), GuestError> {
    let metadata = fs::symlink_metadata(path).map_err(|error| {
        GuestError::in_template("looking at its owner", HostError::at(path, error))
    })?;
    match distrust(&metadata, geteuid().as_raw()) {
        None => Ok(()),
        Some(why) => Err(GuestError::Template {
            what: format!(
                "{} {why}, and guests would run what it holds",
                path.display()
            ),
            help: format!(
                "`chown` it to yourself and `chmod go-w` it if you know who wrote it; else \
                 `rm -r {}`, and it is built anew",
                path.display()
            ),
        }),
    }
}

fn refused(what: String, whole: &Path) -> GuestError {
    GuestError::Template {
        what,
        help: format!("`rm -r {}`, and it is built anew", whole.display()),
    }
}

/// Why a file of these properties is not trusted by `user`.
fn distrust(metadata: &Metadata, user: u32) -> Option<&'static str> {
    if metadata.is_symlink() {
        Some("is a symbolic link")
    } else if ![0, user].contains(&metadata.uid()) {
        Some("belongs to another user")
    } else if metadata.mode() & OTHERS_WRITE != 0 {
        Some("can be written to by others than its owner")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;
    use crate::{
        FillError,
        template::{Template, build_template, patient},
    };

    fn recipe<'a>(program: &Path, fill: Fill<'a>) -> Recipe<'a> {
        Recipe {
            description: "trust".into(),
            program: program.to_owned(),
            base: None,
            fill,
        }
    }

    /// What comes of the template after `change`, when it is looked for again.
    fn after(change: impl FnOnce(&Path, &Template)) -> Result<(), String> {
        let place = tempfile::tempdir().expect("temporary directory");
        let (program, templates) = (place.path().join("script"), place.path().join("templates"));
        fs::write(&program, "#!/bin/sh\n").expect("written");
        let fill = |_: &Path| Ok::<_, FillError>(None);
        let recipe = recipe(&program, Fill::Data(&fill));
        let built = build_template(&templates, &recipe, &patient).expect("built");
        change(&templates, &built);
        build_template(&templates, &recipe, &patient)
            .map(drop)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_template_that_nobody_touched_is_used() {
        assert_eq!(after(|_, _| ()), Ok(()));
    }

    #[test]
    fn what_others_may_have_changed_is_refused() {
        let open = |path: &Path| {
            fs::set_permissions(path, fs::Permissions::from_mode(0o777)).expect("mode");
        };
        let said = after(|templates, _| open(templates)).expect_err("refused");
        assert!(said.contains("written to by others"), "{said}");
        assert!(after(|_, built| open(&built.root)).is_err());
        assert!(after(|_, built| open(&built.root.join(PROGRAM))).is_err());
        if geteuid().is_root() {
            let given = after(|templates, _| {
                chown(templates, Some(65534), None).expect("given");
            });
            let said = given.expect_err("refused");
            assert!(said.contains("belongs to another user"), "{said}");
        }
    }

    #[test]
    fn a_root_that_is_not_as_it_was_built_is_refused() {
        let changes: [fn(&Path); 4] = [
            |root| fs::write(root.join("etc/passwd"), "x::0:0::/:/bin/sh\n").expect("written"),
            |root| fs::write(root.join("etc/new"), "").expect("written"),
            |root| fs::remove_file(root.join("etc/group")).expect("removed"),
            |root| {
                let mode = fs::Permissions::from_mode(0o4755);
                fs::set_permissions(root.join("etc/group"), mode).expect("mode");
            },
        ];
        for change in changes {
            let said = after(|_, built| change(&built.root)).expect_err("refused");
            assert!(said.contains("has changed since it was built"), "{said}");
        }
    }

    #[test]
    fn another_program_is_refused() {
        let said = after(|_, built| {
            fs::write(built.root.join(PROGRAM), "#!/bin/sh\nrm\n").expect("written");
        })
        .expect_err("refused");
        assert!(said.contains("is not the program"), "{said}");
        let linked = after(|_, built| {
            let program = built.root.join(PROGRAM);
            fs::remove_file(&program).expect("removed");
            symlink("/bin/true", &program).expect("linked");
        });
        assert!(linked.expect_err("refused").contains("symbolic link"));
    }
}
