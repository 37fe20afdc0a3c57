//! The program in a layer.
//!
//! Its loader and its libraries lie beside it in a directory of their own, and the container starts
//! the loader by name: so it runs in an otherwise empty root as well as in a root of another
//! release, whose own libraries are neither used nor hidden. No variable of the environment says
//! so, and nothing is passed on to what the program starts.

use std::{ffi::OsString, fs, io, path::Path};

use crate::{copy::copy_file, elf::needs_of, paths::open_directory};

/// The program, below the root.
pub(crate) const PROGRAM: &str = "program";
/// Directory of its loader and libraries, below the root.
pub(crate) const LIBRARIES: &str = "program.d";
/// Name of the loader in [`LIBRARIES`]; absent for a script or a static program.
pub(crate) const LOADER: &str = "loader";

/// Copy the program, its loader and its libraries into a root.
///
/// # Errors
/// When one cannot be read or written, or a library is not found; the path is named.
pub fn install_with_libraries(program: &Path, root: &Path) -> io::Result<()> {
    let copy = |from: &Path, to: &Path| {
        copy_file(from, to).map_err(|error| {
            io::Error::new(
                error.kind(),
                format!("{} to {}: {error}", from.display(), to.display()),
            )
        })
    };
    let needs = needs_of(program)?;
    let inside = root.join(PROGRAM);
    copy(program, &inside)?;
    readable(&inside)?;
    let Some(loader) = needs.loader else {
        return Ok(());
    };
    let directory = root.join(LIBRARIES);
    open_directory(&directory)?;
    copy(&loader, &directory.join(LOADER))?;
    for library in &needs.libraries {
        let name = library
            .file_name()
            .ok_or_else(|| io::Error::other(format!("{} is no file", library.display())))?;
        copy(library, &directory.join(name))?;
    }
    for file in fs::read_dir(&directory)? {
        readable(&file?.path())?;
    }
    Ok(())
}

/// The words that start a program which [`install_with_libraries`] has put below `root`: by its
/// loader, where it has one.
#[must_use]
pub fn installed_command(root: &Path) -> Vec<OsString> {
    let (program, directory) = (root.join(PROGRAM), root.join(LIBRARIES));
    let loader = directory.join(LOADER);
    if !loader.exists() {
        return vec![program.into()];
    }
    vec![
        loader.into(),
        "--library-path".into(),
        directory.into(),
        program.into(),
    ]
}

/// Whoever the guest's user is, he may run them.
fn readable(path: &Path) -> io::Result<()> {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755))
}
