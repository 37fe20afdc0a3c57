//! What a guest is told before each start: arguments and files, with the words for its paths and
//! its address replaced.

use std::{fs, io, net::SocketAddr, os::unix::fs::PermissionsExt, path::Path};

use rookery_host::without_links;

use crate::{
    paths::{named, open_directory, remove_tree},
    spec::GuestSpec,
};

/// Paths and address of a guest as it sees them: what the words in its arguments and files stand
/// for.
#[derive(Clone, Debug)]
pub(crate) struct GuestPaths {
    pub(crate) data: String,
    pub(crate) conf: String,
    pub(crate) run: String,
    pub(crate) program: String,
    pub(crate) listen: SocketAddr,
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

    /// All arguments of a guest, filled.
    pub(crate) fn args(&self, spec: &GuestSpec) -> Vec<String> {
        spec.args.iter().map(|arg| self.filled(arg)).collect()
    }

    fn value(&self, word: &str) -> Option<String> {
        Some(match word {
            "data" => self.data.clone(),
            "conf" => self.conf.clone(),
            "run" => self.run.clone(),
            "program" => self.program.clone(),
            "address" => self.listen.ip().to_string(),
            "port" => self.listen.port().to_string(),
            "listen" => self.listen.to_string(),
            _ => return None,
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
        without_links::write(&path, paths.filled(&file.text).as_bytes())
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o644)))
            .map_err(|error| named(&path, &error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{GuestFile, spec};

    fn own_paths() -> GuestPaths {
        GuestPaths {
            data: "/d{run}".into(),
            conf: "/conf".into(),
            run: "/run".into(),
            program: "/program".into(),
            listen: "10.77.0.1:8080".parse().expect("address"),
        }
    }

    #[test]
    fn only_the_known_words_are_replaced_and_only_once() {
        let text = "{data} {conf}/x {run} {program} {address}|{port}|{listen} {} {other} {{port}} \
                    if (1) { echo '{$a}'; } {port";
        assert_eq!(
            own_paths().filled(text),
            "/d{run} /conf/x /run /program 10.77.0.1|8080|10.77.0.1:8080 {} {other} {8080} if (1) \
             { echo '{$a}'; } {port"
        );
    }

    #[test]
    fn files_replace_those_of_the_start_before() {
        let with = |files: &[&str]| GuestSpec {
            files: files
                .iter()
                .map(|path| GuestFile {
                    path: (*path).into(),
                    text: "{port}".into(),
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
