//! Templates: content-addressed layers, built once, shared by all runs.
//!
//! A layer lies in `<templates>/<digest>/root`, with what is known of it in `template.json` and the
//! time of its last use in `used`. It is built in `<digest>.part` under a lock and renamed when it
//! is whole, so that a directory with the name of a digest is always complete.
//!
//! A template is a chain of layers: a data layer alone, or a data layer on a base (a whole root
//! file system). The program lies in the data layer, or, where it does not decide the data, in a
//! layer of its own that is put on top: a new program then leaves the data as they are. A
//! container's clone is an overlay of all layers; note that an overlay copies a whole file when it
//! is first opened for writing (by sharing its blocks where the file system can, as btrfs and XFS
//! do; its holes are kept). There is no cheaper way that is as safe: `metacopy` spares the copy for
//! changes of owner and mode alone.

mod catalogue;
mod digest;
mod install;
mod known;
mod lease;
mod metadata;
mod recipe;
mod removal;
mod seal;
mod trust;

use std::{
    fs::{self, File, TryLockError},
    io,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rookery_host::{Host, HostError, RealHost, detach, free_space, mounts};

use crate::{
    error::{GuestError, StepError},
    paths::{open_directory, remove_tree},
};
pub use catalogue::{TemplateInfo, templates};
pub use digest::content_digest;
use digest::digest;
pub(crate) use install::{LIBRARIES, LOADER, PROGRAM};
pub use install::{install_with_libraries, installed_command};
use lease::Lease;
use metadata::Filled;
pub use metadata::LayerKind;
pub use recipe::{Fill, Patience, Recipe, Template, Versions, patient};
pub use removal::{TemplateChoice, TemplateRemoval, remove_templates, short_digest};
pub(crate) use trust::make_templates;

/// How often a builder who waits for another looks again.
const LOOK: Duration = Duration::from_millis(100);

/// Build the template of a recipe below `templates` without a lab, or find it built.
///
/// # Errors
/// When the program cannot be read, the recipe's fill fails, or the disk does; nothing is left
/// then. [`GuestError::Stopped`] when the patience ends.
pub fn build_template(
    templates: &Path,
    recipe: &Recipe<'_>,
    patience: Patience<'_>,
) -> Result<Template, GuestError> {
    build(&RealHost, templates, recipe, patience)
}

/// Build the template of a recipe below `templates`, or find it built.
///
/// # Errors
/// When the program cannot be read, the recipe's fill fails, or the disk does; when the patience
/// ends.
pub(crate) fn build(
    host: &dyn Host,
    templates: &Path,
    recipe: &Recipe<'_>,
    patience: Patience<'_>,
) -> Result<Template, GuestError> {
    if matches!(recipe.fill, Fill::Root(_) | Fill::Program) && recipe.base.is_some() {
        let what = "a whole root and a program stand alone, not on a base";
        return Err(GuestError::in_template(
            "reading the recipe",
            StepError::Refused(what.to_owned()),
        ));
    }
    if matches!(recipe.fill, Fill::Files(_)) && recipe.base.is_none() {
        let what = "files are put on a base";
        return Err(GuestError::in_template(
            "reading the recipe",
            StepError::Refused(what.to_owned()),
        ));
    }
    let digest = digest(recipe).map_err(|error| {
        GuestError::in_template("reading the program", HostError::at(&recipe.program, error))
    })?;
    let whole = templates.join(&digest);
    let found = |lease| template(&whole, &digest, recipe, lease, false);
    let leasing = |error: io::Error| {
        GuestError::in_template("holding the template", HostError::at(&whole, error))
    };
    if let Some(lease) = Lease::take(&whole).map_err(leasing)? {
        trust::check(templates, &whole, recipe)?;
        return Ok(found(lease));
    }
    host.step("template directory")
        .and_then(|()| make_templates(templates))
        .map_err(|error| {
            GuestError::in_template(
                "making the template directory",
                HostError::at(templates, error),
            )
        })?;
    let lock = lock_patiently(templates, patience)?;
    if let Some(lease) = Lease::take(&whole).map_err(leasing)? {
        trust::check(templates, &whole, recipe)?;
        return Ok(found(lease));
    }
    let part = templates.join(format!("{digest}{PART}"));
    let built = fill(host, &part, recipe).and_then(|()| {
        host.step("template rename")
            .and_then(|()| fs::rename(&part, &whole))
            .map_err(|error| {
                GuestError::in_template("completing the template", HostError::at(&whole, error))
            })
    });
    if let Err(error) = built {
        let error = explained(error, templates);
        let _ = delete_part(&part);
        return Err(error);
    }
    let lease = Lease::take(&whole).map_err(leasing)?;
    drop(lock);
    let built = |lease| template(&whole, &digest, recipe, lease, true);
    lease.map(built).ok_or_else(|| {
        GuestError::in_template(
            "holding the template",
            StepError::Refused(format!("{} is gone again", whole.display())),
        )
    })
}

/// Suffix of a layer that is being built or removed. What a builder or a remover that died left is
/// deleted by the next.
pub(crate) const PART: &str = ".part";

/// Wait for the lock on all templates: held while one is built or removed. The directory itself is
/// the lock: a lock file could not be removed without a race.
pub(crate) fn lock(templates: &Path) -> Result<File, GuestError> {
    File::open(templates)
        .and_then(|directory| directory.lock().map(|()| directory))
        .map_err(|error| {
            GuestError::in_template(
                "locking the template directory",
                HostError::at(templates, error),
            )
        })
}

/// Delete what is being built or removed, or what a dead builder left. A builder of a root mounts
/// `/proc`, `/sys` and `/dev` of the host in it for moments: what is still mounted is unmounted
/// first, so that nothing is deleted through it. Absent is fine.
///
/// # Errors
/// When the disk fails or something stays mounted.
fn delete_part(part: &Path) -> io::Result<()> {
    let deadline = Instant::now() + LAST_WRITES;
    loop {
        match delete_part_once(part) {
            // A builder that was killed a moment ago may be at its last system call.
            Err(error)
                if error.kind() == io::ErrorKind::DirectoryNotEmpty
                    && Instant::now() < deadline =>
            {
                thread::sleep(LOOK);
            }
            deleted => return deleted,
        }
    }
}

/// How long the processes of a killed builder may go on writing.
const LAST_WRITES: Duration = Duration::from_secs(5);

fn delete_part_once(part: &Path) -> io::Result<()> {
    let Ok(real) = part.canonicalize() else {
        return remove_tree(part);
    };
    let beneath = || {
        Ok::<_, io::Error>(
            mounts()?
                .into_iter()
                .filter(|mount| mount.point.starts_with(&real)),
        )
    };
    let points: Vec<_> = beneath()?.map(|mount| mount.point).collect();
    for point in points.iter().rev() {
        detach(point)?;
    }
    if let Some(mount) = beneath()?.next() {
        return Err(io::Error::other(format!(
            "{} is still mounted",
            mount.point.display()
        )));
    }
    remove_tree(&real)
}

/// As [`lock`], as long as there is patience.
fn lock_patiently(templates: &Path, patience: Patience<'_>) -> Result<File, GuestError> {
    let failed = |error: io::Error| {
        GuestError::in_template(
            "locking the template directory",
            HostError::at(templates, error),
        )
    };
    let directory = File::open(templates).map_err(failed)?;
    loop {
        match directory.try_lock() {
            Ok(()) => return Ok(directory),
            Err(TryLockError::WouldBlock) if patience().is_break() => {
                return Err(GuestError::Stopped {
                    doing: "waiting for another run that builds a template",
                });
            }
            Err(TryLockError::WouldBlock) => thread::sleep(LOOK),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
    }
}

fn template(
    whole: &Path,
    digest: &str,
    recipe: &Recipe<'_>,
    lease: Lease,
    built: bool,
) -> Template {
    let root = whole.join("root");
    let below = recipe
        .base
        .into_iter()
        .flat_map(|base| base.layers.iter().cloned());
    Template {
        digest: digest.to_owned(),
        program: root.join(PROGRAM),
        layers: std::iter::once(root.clone()).chain(below).collect(),
        root,
        load: metadata::load_of(whole),
        built,
        lease: match recipe.base {
            Some(base) => lease.and(&base.lease),
            None => lease,
        },
    }
}

/// Refuse a template in which there is nothing to run.
///
/// # Errors
/// When no layer holds a program.
pub(crate) fn check_top(template: &Template, guest: &str) -> Result<(), GuestError> {
    if template.program.exists() {
        return Ok(());
    }
    let what = format!("{} has no program; put one on it", template.root.display());
    Err(GuestError::in_guest(
        guest,
        "checking its template",
        StepError::Refused(what),
    ))
}

/// Make a layer in `part`, which is emptied first: a builder that died left it.
fn fill(host: &dyn Host, part: &Path, recipe: &Recipe<'_>) -> Result<(), GuestError> {
    let began = Instant::now();
    let root = part.join("root");
    let skeleton = || {
        host.step("template skeleton")?;
        delete_part(part)?;
        fs::create_dir(part)?;
        open_directory(&root)
    };
    skeleton()
        .map_err(|error| GuestError::in_template("making the root", HostError::at(part, error)))?;
    let filled = match recipe.fill {
        Fill::Root(fill_root) => {
            const STEP: &str = "making the root file system";
            host.step("template root")
                .map_err(|error| GuestError::in_template(STEP, error))?;
            let versions = fill_root(&root)
                .map_err(|error| GuestError::in_template(STEP, StepError::Fill(error)))?;
            mount_points(&root)
                .map_err(|error| GuestError::in_template(STEP, HostError::at(&root, error)))?;
            Filled {
                versions,
                load: None,
            }
        }
        Fill::Program => {
            install_program(host, recipe, &root)?;
            Filled::default()
        }
        Fill::Files(fill_files) => {
            const STEP: &str = "putting files on the root";
            host.step("template files")
                .map_err(|error| GuestError::in_template(STEP, error))?;
            fill_files(&root)
                .map_err(|error| GuestError::in_template(STEP, StepError::Fill(error)))?;
            Filled::default()
        }
        Fill::Data(fill_data) | Fill::DataOnly(fill_data) => {
            skeleton_of_data(host, &root, recipe.base.is_some()).map_err(|error| {
                GuestError::in_template("making the root", HostError::at(&root, error))
            })?;
            if matches!(recipe.fill, Fill::Data(_)) {
                install_program(host, recipe, &root)?;
            }
            const STEP: &str = "filling the data directory";
            host.step("template data")
                .map_err(|error| GuestError::in_template(STEP, error))?;
            let load = fill_data(&root.join("data"))
                .map_err(|error| GuestError::in_template(STEP, StepError::Fill(error)))?;
            Filled {
                versions: Versions::new(),
                load,
            }
        }
    };
    host.step("template metadata")
        .and_then(|()| metadata::write(part, recipe, filled, began.elapsed()))
        .map_err(|error| {
            GuestError::in_template("describing the template", HostError::at(part, error))
        })
}

fn install_program(host: &dyn Host, recipe: &Recipe<'_>, root: &Path) -> Result<(), GuestError> {
    host.step("template program")
        .and_then(|()| install_with_libraries(&recipe.program, root))
        .map_err(|error| GuestError::in_template("installing the program", error))
}

/// What a data layer holds besides data and program: on a base nothing, alone just enough of a
/// root.
fn skeleton_of_data(host: &dyn Host, root: &Path, on_a_base: bool) -> io::Result<()> {
    host.step("template data skeleton")?;
    for directory in ["data", "conf"] {
        open_directory(&root.join(directory))?;
    }
    if on_a_base {
        return Ok(());
    }
    mount_points(root)?;
    open_directory(&root.join("etc"))?;
    fs::write(root.join("etc/passwd"), "root:x:0:0:root:/:/sbin/nologin\n")?;
    fs::write(root.join("etc/group"), "root:x:0:\n")
}

/// Directories that every root must have, as far as they are not there. Every user may write to
/// `/tmp` and `/run`: runc gives a file system that it mounts on a directory the mode of the
/// directory. A link in their place is refused: what it points to would be the host's.
fn mount_points(root: &Path) -> io::Result<()> {
    fs::set_permissions(root, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    for name in ["tmp", "proc", "sys", "dev", "run"] {
        let directory = root.join(name);
        match fs::symlink_metadata(&directory) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                let text = format!("/{name} of the root is no directory");
                return Err(io::Error::other(text));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => open_directory(&directory)?,
            Err(error) => return Err(error),
        }
    }
    ["tmp", "run"].iter().try_for_each(|name| {
        fs::set_permissions(
            root.join(name),
            std::os::unix::fs::PermissionsExt::from_mode(0o1777),
        )
    })
}

/// The error with a full disk named, if the disk is full: what failed (a database, a package) often
/// says it badly.
fn explained(error: GuestError, templates: &Path) -> GuestError {
    match error {
        GuestError::Step {
            subject,
            step,
            source,
        } if free_space::is_full(templates) || free_space::says_full(&source) => GuestError::Step {
            subject,
            step,
            source: full_disk(source, templates),
        },
        other => other,
    }
}

fn full_disk(error: StepError, templates: &Path) -> StepError {
    // What failed may have said it already.
    if error.to_string().contains("the disk is full") {
        return error;
    }
    let free = match free_space::free_mib(templates) {
        Ok(free_mib) => format!("{free_mib} MiB are free"),
        Err(_) => "nothing is free".to_owned(),
    };
    let what = format!(
        "{error}; the disk is full: {free} at {}",
        templates.display()
    );
    let help = "free some (`rookery template list` shows what templates take), or name a directory \
                on another disk with --templates DIR";
    HostError::refused(what, help).into()
}

#[cfg(test)]
mod tests {
    use std::{
        path::PathBuf,
        sync::atomic::{AtomicU32, Ordering},
    };

    use rookery_diagnosis::Diagnosis;
    use rookery_host::FaultyHost;

    use super::*;
    use crate::{error::FillError, template::patient};

    fn program(directory: &Path) -> PathBuf {
        let path = directory.join("script");
        fs::write(&path, "#!/bin/sh\n").expect("written");
        path
    }

    #[test]
    fn a_template_is_built_once() {
        let base = tempfile::tempdir().expect("temporary directory");
        let fills = AtomicU32::new(0);
        let fill = |data: &Path| {
            fills.fetch_add(1, Ordering::Relaxed);
            fs::write(data.join("rows"), "1\n")
                .map(|()| None)
                .map_err(FillError::from)
        };
        let recipe = Recipe {
            description: "one".into(),
            program: program(base.path()),
            base: None,
            fill: Fill::Data(&fill),
        };
        let templates = base.path().join("templates");
        let built = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| build(&RealHost, &templates, &recipe, &patient)))
                .collect();
            workers
                .into_iter()
                .map(|worker| worker.join().expect("no panic").expect("built"))
                .collect::<Vec<_>>()
        });
        assert_eq!(fills.load(Ordering::Relaxed), 1);
        assert!(
            built
                .iter()
                .all(|template| template.digest == built[0].digest)
        );
        assert_eq!(
            fs::read_to_string(built[0].root.join("data/rows")).expect("read"),
            "1\n"
        );
        assert_eq!(
            fs::read_dir(&templates).expect("read").count(),
            1,
            "no part remains"
        );
    }

    #[test]
    fn another_description_or_program_is_another_template() {
        let base = tempfile::tempdir().expect("temporary directory");
        let path = program(base.path());
        let fill = |_: &Path| Ok(None);
        let digest_of = |description: &str| {
            digest(&Recipe {
                description: description.into(),
                program: path.clone(),
                base: None,
                fill: Fill::Data(&fill),
            })
            .expect("digest")
        };
        let first = digest_of("one");
        assert_ne!(first, digest_of("two"));
        fs::write(&path, "#!/bin/sh\nexit\n").expect("written");
        assert_ne!(first, digest_of("one"));
    }

    #[test]
    fn a_new_program_leaves_a_base_as_it_is_and_a_new_base_makes_new_data() {
        let base = tempfile::tempdir().expect("temporary directory");
        let path = program(base.path());
        let templates = base.path().join("templates");
        let built = |description: &str, on: Option<&Template>, fill: Fill<'_>| {
            let recipe = Recipe {
                description: description.into(),
                program: path.clone(),
                base: on,
                fill,
            };
            build(&RealHost, &templates, &recipe, &patient).expect("built")
        };
        let (root, data) = (|_: &Path| Ok(Versions::new()), |_: &Path| Ok(None));
        let (one, two) = (
            built("one", None, Fill::Root(&root)),
            built("two", None, Fill::Root(&root)),
        );
        let on_one = built("data", Some(&one), Fill::Data(&data));
        assert_eq!(on_one.layers, [on_one.root.clone(), one.root.clone()]);
        assert_ne!(
            on_one.digest,
            built("data", Some(&two), Fill::Data(&data)).digest
        );
        assert_ne!(on_one.digest, built("data", None, Fill::Data(&data)).digest);
        assert!(!on_one.root.join("etc").exists(), "the base has one");
        fs::write(&path, "#!/bin/sh\nexit\n").expect("written");
        assert_eq!(one.digest, built("one", None, Fill::Root(&root)).digest);
        assert_ne!(
            on_one.digest,
            built("data", Some(&one), Fill::Data(&data)).digest
        );
        let recipe = Recipe {
            description: "root".into(),
            program: path.clone(),
            base: Some(&one),
            fill: Fill::Root(&root),
        };
        assert!(
            build(&RealHost, &templates, &recipe, &patient).is_err(),
            "a root stands on nothing"
        );
    }

    #[test]
    fn a_new_program_leaves_data_alone_as_they_are() {
        let base = tempfile::tempdir().expect("temporary directory");
        let path = program(base.path());
        let templates = base.path().join("templates");
        let built = |fill: Fill<'_>| {
            let recipe = Recipe {
                description: "one".into(),
                program: path.clone(),
                base: None,
                fill,
            };
            build(&RealHost, &templates, &recipe, &patient).expect("built")
        };
        let fill = |data: &Path| {
            fs::write(data.join("rows"), "1\n")
                .map(|()| None)
                .map_err(FillError::from)
        };
        let (data, first) = (built(Fill::DataOnly(&fill)), built(Fill::Program));
        assert!(check_top(&data, "g1").is_err(), "there is nothing to run");
        let whole = data.with_program(&first);
        check_top(&whole, "g1").expect("a program");
        assert_eq!(whole.layers, [first.root.clone(), data.root.clone()]);
        assert_eq!(
            fs::read_to_string(whole.root.join("data/rows")).expect("read"),
            "1\n"
        );
        fs::write(&path, "#!/bin/sh\nexit\n").expect("written");
        assert_eq!(built(Fill::DataOnly(&fill)).digest, data.digest);
        assert_ne!(built(Fill::Program).digest, first.digest);
        drop((data, first));
        let removal = remove_templates(&templates, &TemplateChoice::All, false).expect("removed");
        assert_eq!(
            (removal.removed.len(), removal.kept.len()),
            (1, 2),
            "what is put together is held whole"
        );
    }

    #[test]
    fn patience_with_another_builder_can_end() {
        let base = tempfile::tempdir().expect("temporary directory");
        let templates = base.path().join("templates");
        let fill = |_: &Path| Ok(None);
        let recipe = Recipe {
            description: "one".into(),
            program: program(base.path()),
            base: None,
            fill: Fill::Data(&fill),
        };
        fs::create_dir(&templates).expect("made");
        let held = lock(&templates).expect("held");
        let asked = AtomicU32::new(0);
        let twice = || match asked.fetch_add(1, Ordering::Relaxed) {
            0 => std::ops::ControlFlow::Continue(()),
            _ => std::ops::ControlFlow::Break(()),
        };
        let error = build(&RealHost, &templates, &recipe, &twice).expect_err("given up");
        assert!(matches!(error, GuestError::Stopped { .. }), "{error}");
        let let_go = || {
            held.unlock().expect("let go");
            std::ops::ControlFlow::Continue(())
        };
        build(&RealHost, &templates, &recipe, &let_go).expect("built once the other is ready");
    }

    #[test]
    fn a_full_disk_is_named_with_help() {
        let failed = |said: &str| {
            let error = StepError::Fill(FillError::from(said.to_owned()));
            GuestError::in_template("filling the data directory", error)
        };
        let here = std::env::temp_dir();
        let said = "disk I/O error";
        assert_eq!(
            explained(failed(said), &here).to_string(),
            failed(said).to_string(),
            "there is room"
        );
        let full = explained(
            failed("write: No space left on device (os error 28)"),
            &here,
        );
        assert!(full.to_string().contains("the disk is full"), "{full}");
        let help = full.help().expect("there is help");
        assert!(help.contains("--templates DIR"), "{help}");
        let once = full_disk(
            StepError::Refused("the disk is full: 0 MiB".to_owned()),
            &here,
        );
        assert_eq!(once.to_string(), "the disk is full: 0 MiB");
    }

    #[test]
    fn a_failed_build_leaves_nothing() {
        let base = tempfile::tempdir().expect("temporary directory");
        let fill = |_: &Path| Err(FillError::from("no data today"));
        let templates = base.path().join("templates");
        let recipe = Recipe {
            description: "one".into(),
            program: program(base.path()),
            base: None,
            fill: Fill::Data(&fill),
        };
        let error = build(&RealHost, &templates, &recipe, &patient).expect_err("fill fails");
        assert!(error.to_string().contains("no data today"), "{error}");
        assert_eq!(fs::read_dir(&templates).expect("read").count(), 0);

        let (data, root) = (|_: &Path| Ok(None), |_: &Path| Ok(Versions::new()));
        for (fill, steps) in [
            (Fill::Data(&data), 7),
            (Fill::DataOnly(&data), 6),
            (Fill::Program, 5),
            (Fill::Root(&root), 5),
        ] {
            let recipe = Recipe {
                fill,
                ..recipe.clone()
            };
            for n in 1.. {
                let templates = base.path().join(format!("{fill:?} {n}"));
                let host = FaultyHost::failing_at(n);
                let result = build(&host, &templates, &recipe, &patient);
                if !host.has_failed() {
                    result.expect("no fault, no failure");
                    assert_eq!(n, steps + 1, "every step can fail");
                    break;
                }
                result.expect_err("fault");
                assert_eq!(
                    fs::read_dir(&templates).map_or(0, Iterator::count),
                    0,
                    "after fault {n}"
                );
            }
        }
    }

    #[test]
    fn a_link_in_the_place_of_a_mount_point_is_not_followed() {
        let dir = tempfile::tempdir().expect("a directory");
        let (root, outside) = (dir.path().join("root"), dir.path().join("outside"));
        fs::create_dir(&root).expect("made");
        fs::create_dir(&outside).expect("made");
        fs::set_permissions(
            &outside,
            std::os::unix::fs::PermissionsExt::from_mode(0o700),
        )
        .expect("set");
        std::os::unix::fs::symlink(&outside, root.join("tmp")).expect("linked");
        let error = mount_points(&root).expect_err("refused");
        assert_eq!(error.to_string(), "/tmp of the root is no directory");
        let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(&outside).expect("there"));
        assert_eq!(mode & 0o7777, 0o700);
    }
}
