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

/// What is wrong with the files of a spec.
pub(crate) fn file_problems(spec: &GuestSpec) -> Vec<String> {
    let mut problems = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for file in &spec.files {
        if !is_plain(&file.path) {
            problems.push(format!(
                "`{}` is no relative path of plain components",
                file.path
            ));
        } else if !seen.insert(&file.path) {
            problems.push(format!("the file `{}` is there twice", file.path));
        }
    }
    if spec.files.iter().map(|file| file.text.len()).sum::<usize>() > MAX_BYTES {
        problems.push(format!("the files are larger than {} MiB", MAX_BYTES >> 20));
    }
    problems
}

/// Longest path of a socket below the data directory, bytes: sockets have short paths on every host.
const MAX_SOCKET: usize = 48;
/// Most sockets of a guest.
const MAX_SOCKETS: usize = 8;

/// What is wrong with the sockets of a spec.
pub(crate) fn socket_problems(spec: &GuestSpec) -> Vec<String> {
    let mut problems = Vec::new();
    for socket in &spec.sockets {
        if !is_plain(socket) || socket.contains(char::is_control) {
            problems.push(format!(
                "the socket {socket:?} is no relative path of plain components"
            ));
        } else if socket.len() > MAX_SOCKET {
            problems.push(format!(
                "the socket `{socket}` has a path of more than {MAX_SOCKET} bytes"
            ));
        }
    }
    if spec.sockets.len() > MAX_SOCKETS {
        problems.push(format!(
            "{} sockets are more than {MAX_SOCKETS}",
            spec.sockets.len()
        ));
    }
    problems
}

/// Whether it is a relative path of plain components, written plainly: `a/./b` and `a//b` are plain to `components`.
fn is_plain(path: &str) -> bool {
    let parts = Path::new(path).components();
    let plain = parts
        .clone()
        .all(|part| matches!(part, Component::Normal(_)));
    let same = parts.collect::<std::path::PathBuf>().as_os_str() == path;
    plain && same && !path.is_empty() && !path.contains('\0')
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

        let leads = |sockets: &[&str]| {
            socket_problems(&GuestSpec {
                sockets: sockets.iter().map(|socket| (*socket).to_owned()).collect(),
                ..spec("a")
            })
        };
        assert!(leads(&["mysql.sock", "run/a b.sock"]).is_empty());
        for bad in ["", "/mysql.sock", "../x", "a\nb", &"x".repeat(49)] {
            assert_eq!(leads(&[bad]).len(), 1, "{bad}");
        }
        assert_eq!(leads(&["x"; 9]).len(), 1);

        let base = tempfile::tempdir().expect("temporary directory");
        let conf = base.path().join("conf");
        write_files(&conf, &with(&["a", "b/c/d", "b/e"]), &places()).expect("written");
        assert_eq!(
            fs::read_to_string(conf.join("b/c/d")).expect("read"),
            "8080"
        );
        write_files(&conf, &with(&["b/e"]), &places()).expect("written again");
        assert!(
            conf.join("b/e").is_file() && !conf.join("a").exists(),
            "files of the start before are gone"
        );
    }
}
