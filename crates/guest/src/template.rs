//! Templates: content-addressed roots, built once, shared by all runs.
//!
//! A template lies in `<templates>/<digest>/root`. It is built in `<digest>.part` under a lock and renamed when it is whole, so that a
//! directory with the name of a digest is always complete.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use rookery_host::Host;
use sha2::{Digest, Sha256};

use crate::{GuestError, Recipe, Template, copy::copy_file, elf::needs_of};

/// Part of every digest; raised when the layout of templates changes.
const LAYOUT: &str = "rookery template 1";
/// File beside the root with the directories of the program's libraries.
const LIBRARY_PATH: &str = "library-path";

/// Build the template of a recipe below `templates`, or find it built.
///
/// # Errors
/// When the program cannot be read, the recipe's fill fails, or the disk does.
pub(crate) fn build(host: &dyn Host, templates: &Path, recipe: &Recipe<'_>) -> Result<Template, GuestError> {
    let fail = |step: &'static str| {
        move |what: String| GuestError::Step {
            guest: "template".to_owned(),
            step,
            what,
        }
    };
    let at = |path: &Path, error: io::Error| format!("{}: {error}", path.display());
    let digest = digest(recipe).map_err(|error| fail("reading the program")(at(&recipe.program, error)))?;
    let whole = templates.join(&digest);
    let template = Template {
        root: whole.join("root"),
        program: whole.join("root/program"),
        digest,
    };
    if whole.exists() {
        return Ok(template);
    }
    let locking = fail("locking the template directory");
    host.step("template directory")
        .and_then(|()| fs::create_dir_all(templates))
        .map_err(|error| locking(at(templates, error)))?;
    // The directory itself is the lock: a lock file could not be removed without a race.
    let lock = File::open(templates)
        .and_then(|directory| directory.lock().map(|()| directory))
        .map_err(|error| locking(at(templates, error)))?;
    if whole.exists() {
        return Ok(template);
    }
    let part = templates.join(format!("{}.part", template.digest));
    let built = fill(host, &part, recipe).and_then(|()| {
        host.step("template rename")
            .and_then(|()| fs::rename(&part, &whole))
            .map_err(|error| fail("completing the template")(at(&whole, error)))
    });
    if built.is_err() {
        let _ = fs::remove_dir_all(&part);
    }
    drop(lock);
    built.map(|()| template)
}

/// Directories for `LD_LIBRARY_PATH` inside the root; empty for a static program.
pub(crate) fn library_path(template: &Template) -> String {
    let file = template.root.parent().map(|whole| whole.join(LIBRARY_PATH));
    file.and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default()
}

/// Digest of everything that decides the content.
fn digest(recipe: &Recipe<'_>) -> io::Result<String> {
    let mut program = Sha256::new();
    let mut file = File::open(&recipe.program)?;
    let mut buffer = vec![0; 256 * 1024];
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        program.update(&buffer[..length]);
    }
    let mut whole = Sha256::new();
    for part in [LAYOUT.as_bytes(), std::env::consts::ARCH.as_bytes(), recipe.description.as_bytes()] {
        whole.update((part.len() as u64).to_le_bytes());
        whole.update(part);
    }
    whole.update(program.finalize());
    Ok(whole.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Make the content of a template in `part`, which is emptied first: a builder that died left it.
fn fill(host: &dyn Host, part: &Path, recipe: &Recipe<'_>) -> Result<(), GuestError> {
    let fail = |step: &'static str, what: String| GuestError::Step {
        guest: "template".to_owned(),
        step,
        what,
    };
    let root = part.join("root");
    let skeleton = || {
        host.step("template skeleton")?;
        match fs::remove_dir_all(part) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        for directory in ["data", "tmp", "proc", "sys", "dev", "run", "etc"] {
            fs::create_dir_all(root.join(directory))?;
        }
        fs::set_permissions(root.join("tmp"), std::os::unix::fs::PermissionsExt::from_mode(0o1777))?;
        fs::write(root.join("etc/passwd"), "root:x:0:0:root:/:/sbin/nologin\n")?;
        fs::write(root.join("etc/group"), "root:x:0:\n")
    };
    skeleton().map_err(|error| fail("making the root", format!("{}: {error}", part.display())))?;
    let program = || {
        host.step("template program")?;
        install(&recipe.program, &root)
    };
    let directories = program().map_err(|error| fail("installing the program", error.to_string()))?;
    fs::write(part.join(LIBRARY_PATH), directories).map_err(|error| fail("installing the program", error.to_string()))?;
    host.step("template data")
        .map_err(|error| fail("filling the data directory", error.to_string()))?;
    (recipe.fill)(&root.join("data")).map_err(|what| fail("filling the data directory", what))
}

/// Copy the program, its loader and its libraries into a root, each library to the path it has on the host.
fn install(program: &Path, root: &Path) -> io::Result<String> {
    let name = |path: &Path, error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let needs = needs_of(program)?;
    copy_file(program, &root.join("program")).map_err(|error| name(program, error))?;
    for path in needs.loader.iter().chain(&needs.libraries) {
        let inside = root.join(
            path.strip_prefix("/")
                .map_err(|_| io::Error::other(format!("{} is not absolute", path.display())))?,
        );
        if let Some(parent) = inside.parent() {
            fs::create_dir_all(parent)?;
        }
        match copy_file(path, &inside) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(name(path, error)),
            _ => {}
        }
    }
    let directories: BTreeSet<PathBuf> = needs.libraries.iter().filter_map(|path| Some(path.parent()?.to_owned())).collect();
    Ok(directories
        .iter()
        .map(|path| path.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(":"))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use rookery_host::{FaultyHost, RealHost};

    use super::*;

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
            fs::write(data.join("rows"), "1\n").map_err(|error| error.to_string())
        };
        let recipe = Recipe {
            description: "one".into(),
            program: program(base.path()),
            fill: &fill,
        };
        let templates = base.path().join("templates");
        let built = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..4).map(|_| scope.spawn(|| build(&RealHost, &templates, &recipe))).collect();
            workers
                .into_iter()
                .map(|worker| worker.join().expect("no panic").expect("built"))
                .collect::<Vec<_>>()
        });
        assert_eq!(fills.load(Ordering::Relaxed), 1);
        assert!(built.iter().all(|template| template.digest == built[0].digest));
        assert_eq!(fs::read_to_string(built[0].root.join("data/rows")).expect("read"), "1\n");
        assert_eq!(fs::read_dir(&templates).expect("read").count(), 1, "no part remains");
    }

    #[test]
    fn another_description_or_program_is_another_template() {
        let base = tempfile::tempdir().expect("temporary directory");
        let path = program(base.path());
        let fill = |_: &Path| Ok(());
        let digest_of = |description: &str| {
            digest(&Recipe {
                description: description.into(),
                program: path.clone(),
                fill: &fill,
            })
            .expect("digest")
        };
        let first = digest_of("one");
        assert_ne!(first, digest_of("two"));
        fs::write(&path, "#!/bin/sh\nexit\n").expect("written");
        assert_ne!(first, digest_of("one"));
    }

    #[test]
    fn a_failed_build_leaves_nothing() {
        let base = tempfile::tempdir().expect("temporary directory");
        let fill = |_: &Path| Err("no data today".to_owned());
        let templates = base.path().join("templates");
        let recipe = Recipe {
            description: "one".into(),
            program: program(base.path()),
            fill: &fill,
        };
        let error = build(&RealHost, &templates, &recipe).expect_err("fill fails");
        assert!(error.to_string().contains("no data today"), "{error}");
        assert_eq!(fs::read_dir(&templates).expect("read").count(), 0);

        let fill = |_: &Path| Ok(());
        let recipe = Recipe { fill: &fill, ..recipe };
        for n in 1.. {
            let host = FaultyHost::failing_at(n);
            let result = build(&host, &templates, &recipe);
            if !host.has_failed() {
                result.expect("no fault, no failure");
                assert!(n > 4, "every step can fail");
                break;
            }
            result.expect_err("fault");
            assert_eq!(fs::read_dir(&templates).map_or(0, Iterator::count), 0, "after fault {n}");
        }
    }
}
