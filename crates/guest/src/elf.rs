//! What a program needs to run in an otherwise empty root: its loader and its shared libraries.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fs, io,
    path::{Path, PathBuf},
};

use elf::{
    ElfBytes,
    abi::{DT_NEEDED, DT_RPATH, DT_RUNPATH, PT_INTERP},
    endian::AnyEndian,
};

/// Limit on the number of libraries of one program.
const MAX_LIBRARIES: usize = 500;

/// Loader and libraries of a program, as paths of this host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// The loader that the program names.
    pub(crate) loader: Option<PathBuf>,
    /// Libraries, direct and indirect.
    pub(crate) libraries: BTreeSet<PathBuf>,
}

/// Find what a program needs. A program that is no ELF file (a script) or static needs nothing.
///
/// # Errors
/// When a file cannot be read or a library is not found.
pub(crate) fn needs_of(program: &Path) -> io::Result<Needs> {
    let mut needs = Needs::default();
    let mut seen: BTreeMap<String, PathBuf> = BTreeMap::new();
    let mut queue = VecDeque::from([program.to_owned()]);
    let system = system_directories();
    while let Some(path) = queue.pop_front() {
        let Some(object) = Object::read(&path)? else {
            continue;
        };
        if path == program {
            needs.loader.clone_from(&object.loader);
        }
        for name in &object.needed {
            if seen.contains_key(name)
                || needs
                    .loader
                    .as_ref()
                    .is_some_and(|loader| loader.ends_with(name))
            {
                continue;
            }
            let library = find(name, &object, &system).ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::NotFound,
                    format!(
                        "{} needs the library {name}, which is not on this host",
                        path.display()
                    ),
                )
            })?;
            if seen.len() >= MAX_LIBRARIES {
                return Err(io::Error::other(format!(
                    "{} needs more than {MAX_LIBRARIES} libraries",
                    program.display()
                )));
            }
            seen.insert(name.clone(), library.clone());
            queue.push_back(library);
        }
    }
    needs.libraries = seen.into_values().collect();
    Ok(needs)
}

/// The parts of an ELF file that matter here.
struct Object {
    machine: u16,
    loader: Option<PathBuf>,
    needed: Vec<String>,
    search: Vec<PathBuf>,
}

impl Object {
    /// `None` when the file is no ELF file.
    fn read(path: &Path) -> io::Result<Option<Self>> {
        let bytes = fs::read(path).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        })?;
        if !bytes.starts_with(b"\x7fELF") {
            return Ok(None);
        }
        let origin = path.parent().unwrap_or(Path::new("/"));
        Self::parse(&bytes, origin)
            .map(Some)
            .map_err(|error| io::Error::other(format!("{}: {error}", path.display())))
    }

    fn parse(bytes: &[u8], origin: &Path) -> Result<Self, elf::ParseError> {
        let file = ElfBytes::<AnyEndian>::minimal_parse(bytes)?;
        let mut object = Self {
            machine: file.ehdr.e_machine,
            loader: None,
            needed: Vec::new(),
            search: Vec::new(),
        };
        if let Some(header) = file.segments().and_then(|segments| {
            segments
                .into_iter()
                .find(|header| header.p_type == PT_INTERP)
        }) {
            let name = file.segment_data(&header)?;
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            object.loader = Some(PathBuf::from(String::from_utf8_lossy(name).into_owned()));
        }
        let Some(dynamic) = file.dynamic()? else {
            return Ok(object);
        };
        let Some(names) = file.find_common_data()?.dynsyms_strs else {
            return Ok(object);
        };
        for entry in dynamic {
            let text = || names.get(usize::try_from(entry.d_val()).unwrap_or(usize::MAX));
            match entry.d_tag {
                DT_NEEDED => object.needed.push(text()?.to_owned()),
                DT_RPATH | DT_RUNPATH => {
                    let origin = origin.to_string_lossy();
                    let expanded = text()?
                        .replace("${ORIGIN}", &origin)
                        .replace("$ORIGIN", &origin);
                    object.search.extend(
                        expanded
                            .split(':')
                            .filter(|part| !part.is_empty())
                            .map(PathBuf::from),
                    );
                }
                _ => {}
            }
        }
        Ok(object)
    }
}

/// First directory on the loader's road (ld.so(8)) that has the library for the same machine.
fn find(name: &str, object: &Object, system: &[PathBuf]) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| path.exists());
    }
    let candidates = object
        .search
        .iter()
        .chain(system)
        .map(|directory| directory.join(name));
    candidates.into_iter().filter(|path| path.is_file()).find(
        |path| matches!(Object::read(path), Ok(Some(other)) if other.machine == object.machine),
    )
}

/// Directories of `LD_LIBRARY_PATH`, of `/etc/ld.so.conf`, and the loader's own.
fn system_directories() -> Vec<PathBuf> {
    let own = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    let mut directories: Vec<PathBuf> = own
        .split(':')
        .filter(|part| !part.is_empty())
        .map(PathBuf::from)
        .collect();
    let mut configurations = vec![PathBuf::from("/etc/ld.so.conf")];
    let mut fragments: Vec<PathBuf> = fs::read_dir("/etc/ld.so.conf.d")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    fragments.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "conf")
    });
    fragments.sort();
    configurations.extend(fragments);
    for configuration in configurations {
        directories.extend(configured(
            &fs::read_to_string(configuration).unwrap_or_default(),
        ));
    }
    let triple = format!("{}-linux-gnu", std::env::consts::ARCH);
    let builtin = [
        format!("/lib/{triple}"),
        format!("/usr/lib/{triple}"),
        "/lib64".into(),
        "/usr/lib64".into(),
        "/lib".into(),
        "/usr/lib".into(),
    ];
    directories.extend(builtin.map(PathBuf::from));
    directories
}

/// Absolute directories in the text of a file such as `/etc/ld.so.conf`.
fn configured(text: &str) -> Vec<PathBuf> {
    text.lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .filter(|line| line.starts_with('/'))
        .map(PathBuf::from)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_very_program_needs_its_loader_and_libc() {
        let own = std::env::current_exe().expect("own path");
        let needs = needs_of(&own).expect("read");
        let loader = needs.loader.expect("dynamic");
        assert!(loader.is_file(), "{loader:?}");
        assert!(
            needs
                .libraries
                .iter()
                .any(|path| path.to_string_lossy().contains("libc.")),
            "{:?}",
            needs.libraries
        );
        assert!(
            !needs
                .libraries
                .iter()
                .any(|path| path.file_name() == loader.file_name()),
            "the loader is listed once"
        );
    }

    #[test]
    fn a_script_needs_nothing_and_a_broken_file_is_an_error() {
        let file = tempfile::NamedTempFile::new().expect("temporary file");
        fs::write(file.path(), "#!/bin/sh\n").expect("written");
        assert_eq!(needs_of(file.path()).expect("read"), Needs::default());
        fs::write(file.path(), b"\x7fELF\x02\x01\x01").expect("written");
        assert!(needs_of(file.path()).is_err());
    }

    #[test]
    fn configuration_lines() {
        assert_eq!(
            configured("include /etc/ld.so.conf.d/*.conf\n# note\n/opt/lib # here\n\n"),
            [PathBuf::from("/opt/lib")]
        );
    }
}
