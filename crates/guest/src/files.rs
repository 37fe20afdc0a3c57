//! What a guest is told before each start: arguments and files, with the words for its places replaced.

use std::{
    fs, io,
    net::SocketAddr,
    os::unix::fs::PermissionsExt,
    path::{Component, Path},
};

use crate::{GuestSpec, site::remove_tree};

/// Most bytes of all files of a guest together: they are configuration, not data.
const MAX_BYTES: usize = 16 << 20;

/// The places of a guest as it sees them.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(crate) data: String,
    pub(crate) conf: String,
    pub(crate) run: String,
    pub(crate) program: String,
    pub(crate) listen: SocketAddr,
}

impl Places {
    /// A text with the words replaced, in one pass: what a word stands for is not looked at again.
    pub(crate) fn filled(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(brace) = rest.find('{') {
            let (before, from) = rest.split_at(brace);
            out.push_str(before);
            let word = from[1..].split_once('}').and_then(|(word, after)| Some((self.value(word)?, after)));
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

/// What is wrong with the files of a spec.
pub(crate) fn file_problems(spec: &GuestSpec) -> Vec<String> {
    let mut problems = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for file in &spec.files {
        let plain = Path::new(&file.path).components().all(|part| matches!(part, Component::Normal(_)));
        // Said twice, as `a/./b` and `a//b` are plain to `components`.
        let same = Path::new(&file.path).components().collect::<std::path::PathBuf>().as_os_str() == file.path.as_str();
        if !plain || !same || file.path.is_empty() || file.path.contains('\0') {
            problems.push(format!("`{}` is no relative path of plain components", file.path));
        } else if !seen.insert(&file.path) {
            problems.push(format!("the file `{}` is there twice", file.path));
        }
    }
    if spec.files.iter().map(|file| file.text.len()).sum::<usize>() > MAX_BYTES {
        problems.push(format!("the files are larger than {} MiB", MAX_BYTES >> 20));
    }
    problems
}

/// Write the files of a guest below `conf`, in place of what is there. Every user may read them, whatever the umask.
///
/// # Errors
/// When the disk fails; the path is named.
pub(crate) fn write_files(conf: &Path, spec: &GuestSpec, places: &Places) -> io::Result<()> {
    remove_tree(conf)?;
    open_directory(conf)?;
    for file in &spec.files {
        let path = conf.join(&file.path);
        let mut directory = conf.to_owned();
        for part in Path::new(&file.path).parent().into_iter().flat_map(Path::components) {
            directory.push(part);
            if !directory.is_dir() {
                open_directory(&directory)?;
            }
        }
        fs::write(&path, places.filled(&file.text))
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o644)))
            .map_err(|error| named(&path, &error))?;
    }
    Ok(())
}

/// Make a directory that every user may enter and read.
pub(crate) fn open_directory(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(0o755)))
        .map_err(|error| named(path, &error))
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GuestFile, site::tests::spec};

    fn places() -> Places {
        Places {
            data: "/d{run}".into(),
            conf: "/conf".into(),
            run: "/run".into(),
            program: "/program".into(),
            listen: "10.77.0.1:8080".parse().expect("address"),
        }
    }

    #[test]
    fn only_the_known_words_are_replaced_and_only_once() {
        let text = "{data} {conf}/x {run} {program} {address}|{port}|{listen} {} {other} {{port}} if (1) { echo '{$a}'; } {port";
        assert_eq!(
            places().filled(text),
            "/d{run} /conf/x /run /program 10.77.0.1|8080|10.77.0.1:8080 {} {other} {8080} if (1) { echo '{$a}'; } {port"
        );
    }

    #[test]
    fn files_stay_below_their_directory() {
        let with = |paths: &[&str]| GuestSpec {
            files: paths
                .iter()
                .map(|path| GuestFile {
                    path: (*path).into(),
                    text: "{port}".into(),
                })
                .collect(),
            ..spec("a")
        };
        for bad in ["", "/etc/passwd", "../x", "a/../b", "a//b", "./a", "a/"] {
            assert_eq!(file_problems(&with(&[bad])).len(), 1, "{bad}");
        }
        assert_eq!(file_problems(&with(&["a", "a"])).len(), 1);
        assert!(file_problems(&with(&["a", "b/c.php", "b/d"])).is_empty());

        let base = tempfile::tempdir().expect("temporary directory");
        let conf = base.path().join("conf");
        write_files(&conf, &with(&["a", "b/c/d", "b/e"]), &places()).expect("written");
        assert_eq!(fs::read_to_string(conf.join("b/c/d")).expect("read"), "8080");
        write_files(&conf, &with(&["b/e"]), &places()).expect("written again");
        assert!(
            conf.join("b/e").is_file() && !conf.join("a").exists(),
            "files of the start before are gone"
        );
    }
}
