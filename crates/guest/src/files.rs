//! What a guest is told before each start: arguments and files, with the words for its paths and
//! its address replaced.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write as _},
    net::SocketAddr,
    os::unix::fs::{PermissionsExt, fchown},
    path::Path,
};

use rookery_host::without_links;
use rookery_study::StorageRole;

use crate::{
    paths::{named, open_directory, remove_tree},
    spec::{FileReaders, GuestFile, GuestSpec, GuestUser},
};

/// Paths and address of a guest as it sees them: what the words in its arguments and files stand
/// for.
#[derive(Clone, Debug)]
pub(crate) struct GuestPaths {
    pub(crate) data: String,
    /// What all guests of a template read and none writes.
    pub(crate) shared: String,
    pub(crate) conf: String,
    pub(crate) run: String,
    pub(crate) program: String,
    pub(crate) listen: SocketAddr,
    /// Directories of roles on volumes of their own.
    pub(crate) roles: BTreeMap<StorageRole, String>,
}

impl GuestPaths {
    /// A text with the words replaced, in one pass: what a word stands for is not looked at again.
    pub(crate) fn filled(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(brace) = rest.find('{') {
            let (before, from) = rest.split_at(brace);
            out.push_str(before);
            let word = from[1..]
                .split_once('}')
                .and_then(|(word, after)| Some((self.value(word)?, after)));
            match word {
                Some((value, after)) => {
                    out.push_str(&value);
                    rest = after;
                }
                None => {
                    out.push('{');
                    rest = &from[1..];
                }
            }
        }
        out + rest
    }

    /// The text of a file as the guest finds it.
    pub(crate) fn text_of(&self, file: &GuestFile) -> String {
        match file.readers {
            FileReaders::All => self.filled(&file.text),
            FileReaders::GuestUser => file.text.clone(),
        }
    }

    /// All arguments of a guest, filled.
    pub(crate) fn args(&self, spec: &GuestSpec) -> Vec<String> {
        spec.args.iter().map(|arg| self.filled(arg)).collect()
    }

    fn value(&self, word: &str) -> Option<String> {
        Some(match word {
            "data" => self.data.clone(),
            "shared" => self.shared.clone(),
            "conf" => self.conf.clone(),
            "run" => self.run.clone(),
            "program" => self.program.clone(),
            "address" => self.listen.ip().to_string(),
            "port" => self.listen.port().to_string(),
            "listen" => self.listen.to_string(),
            _ => {
                let mut roles = self.roles.iter();
                let (_, directory) = roles.find(|(role, _)| role.name() == word)?;
                directory.clone()
            }
        })
    }
}

/// Write the files of a guest below `conf`, in place of what is there. Every user may read them,
/// whatever the umask.
///
/// # Errors
/// When the disk fails; the path is named.
pub(crate) fn write_files(conf: &Path, spec: &GuestSpec, paths: &GuestPaths) -> io::Result<()> {
    remove_tree(conf)?;
    open_directory(conf)?;
    for file in &spec.files {
        let path = conf.join(&file.path);
        let mut directory = conf.to_owned();
        for part in Path::new(&file.path)
            .parent()
            .into_iter()
            .flat_map(Path::components)
        {
            directory.push(part);
            if !directory.is_dir() {
                open_directory(&directory)?;
            }
        }
        let text = paths.text_of(file);
        let written = match file.readers {
            FileReaders::All => without_links::write(&path, text.as_bytes())
                .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o644))),
            FileReaders::GuestUser => write_for_user(&path, &text, spec.user),
        };
        written.map_err(|error| named(&path, &error))?;
    }
    Ok(())
}

/// Write a file that a user alone reads; it is closed to all others before anything is in it.
fn write_for_user(path: &Path, text: &str, user: Option<GuestUser>) -> io::Result<()> {
    let mut file = without_links::replace(path)?;
    file.set_permissions(fs::Permissions::from_mode(0o400))?;
    if let Some(GuestUser { user, group }) = user {
        fchown(&file, Some(user), Some(group))?;
    }
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::spec;

    fn own_paths() -> GuestPaths {
        GuestPaths {
            data: "/d{run}".into(),
            shared: "/d/rookery-shared".into(),
            conf: "/conf".into(),
            run: "/run".into(),
            program: "/program".into(),
            listen: "10.77.0.1:8080".parse().expect("address"),
            roles: BTreeMap::from([(StorageRole::Log, "/volumes/log".into())]),
        }
    }

    #[test]
    fn only_the_known_words_are_replaced_and_only_once() {
        let text = "{data} {conf}/x {run} {program} {address}|{port}|{listen} {} {other} {log} {temporary} \
                    {{port}} if (1) { echo '{$a}'; } {port";
        assert_eq!(
            own_paths().filled(text),
            "/d{run} /conf/x /run /program 10.77.0.1|8080|10.77.0.1:8080 {} {other} /volumes/log {temporary} \
             {8080} if (1) { echo '{$a}'; } {port"
        );
    }

    #[test]
    fn a_file_for_the_user_alone_is_closed_and_taken_as_it_is() {
        let mut spec = spec("a");
        spec.files = vec![GuestFile {
            path: "secrets/A".into(),
            text: "{port}".into(),
            readers: FileReaders::GuestUser,
        }];
        let base = tempfile::tempdir().expect("temporary directory");
        write_files(base.path(), &spec, &own_paths()).expect("written");
        let path = base.path().join("secrets/A");
        assert_eq!(fs::read_to_string(&path).expect("read"), "{port}");
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o400);
    }

    #[test]
    fn files_replace_those_of_the_start_before() {
        let with = |files: &[&str]| GuestSpec {
            files: files
                .iter()
                .map(|path| GuestFile {
                    path: (*path).into(),
                    text: "{port}".into(),
                    readers: FileReaders::All,
                })
                .collect(),
            ..spec("a")
        };
        let base = tempfile::tempdir().expect("temporary directory");
        let conf = base.path().join("conf");
        write_files(&conf, &with(&["a", "b/c/d", "b/e"]), &own_paths()).expect("written");
        assert_eq!(
            fs::read_to_string(conf.join("b/c/d")).expect("read"),
            "8080"
        );
        write_files(&conf, &with(&["b/e"]), &own_paths()).expect("written again");
        assert!(
            conf.join("b/e").is_file() && !conf.join("a").exists(),
            "files of the start before are gone"
        );
    }
}
