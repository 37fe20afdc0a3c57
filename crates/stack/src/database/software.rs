//! The programs of a database server in a root file system: where they are and which version.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rookery_host::bound_command;

use super::{DatabaseError, Engine};
use crate::{
    lamp::software::{BOOTSTRAP, MARIADB_SHARE},
    packages::{is_package, package_versions},
};

/// Where the packages put PostgreSQL, one directory for each major version.
const POSTGRESQL: &str = "/usr/lib/postgresql";
/// Where they put what its extensions are made of.
const POSTGRESQL_SHARE: &str = "/usr/share/postgresql";
/// The oldest PostgreSQL whose settings and statements are known.
const OLDEST_POSTGRESQL: u32 = 13;

/// A database server of one root file system; every path is as guests in that root see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Software {
    /// Which.
    pub engine: Engine,
    /// The server.
    pub server: PathBuf,
    /// What makes an empty database: the directory of MariaDB's SQL, or PostgreSQL's `initdb`.
    pub initial: PathBuf,
    /// Whether PostgreSQL can read tables into its buffers on request (`pg_prewarm`).
    pub prewarm: bool,
    /// Full version; empty where nobody tells.
    pub version: String,
}

impl Software {
    /// Find the programs of a server below `root`; `/` is this host.
    ///
    /// # Errors
    /// When something is missing: everything that is, and what installs it.
    pub fn find(engine: Engine, root: &Path) -> Result<Self, DatabaseError> {
        let search = Search { root };
        let mut missing = Vec::new();
        let mut file = |path: PathBuf| {
            if !search.has(&path) {
                missing.push(path.display().to_string());
            }
            path
        };
        let (package, server, initial, prewarm) = match engine {
            Engine::Mariadb => {
                let server = file("/usr/sbin/mariadbd".into());
                for name in BOOTSTRAP {
                    file(Path::new(MARIADB_SHARE).join(name));
                }
                (
                    "mariadb-server-core".to_owned(),
                    server,
                    MARIADB_SHARE.into(),
                    false,
                )
            }
            Engine::Postgresql => {
                let version = search
                    .postgresql()
                    .map_or_else(|| "VERSION".to_owned(), |version| version.to_string());
                let programs = Path::new(POSTGRESQL).join(&version).join("bin");
                let server = file(programs.join("postgres"));
                let initial = file(programs.join("initdb"));
                let extension =
                    format!("{POSTGRESQL_SHARE}/{version}/extension/pg_prewarm.control");
                (
                    format!("postgresql-{version}"),
                    server,
                    initial,
                    search.has(Path::new(&extension)),
                )
            }
        };
        if !missing.is_empty() {
            return Err(refusal(engine, root, missing));
        }
        let version = version(root, &package, &server);
        Ok(Self {
            engine,
            server,
            initial,
            prewarm,
            version,
        })
    }
}

struct Search<'a> {
    root: &'a Path,
}

impl Search<'_> {
    fn path(&self, inside: &Path) -> PathBuf {
        self.root.join(inside.strip_prefix("/").unwrap_or(inside))
    }

    fn has(&self, inside: &Path) -> bool {
        self.path(inside).is_file()
    }

    /// The newest PostgreSQL that has a server; its clients alone leave a directory as well.
    fn postgresql(&self) -> Option<u32> {
        let entries = fs::read_dir(self.path(Path::new(POSTGRESQL)))
            .into_iter()
            .flatten()
            .flatten();
        let versions = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let complete = |version: &u32| {
            self.has(
                &Path::new(POSTGRESQL)
                    .join(version.to_string())
                    .join("bin/postgres"),
            )
        };
        versions
            .filter(|version| *version >= OLDEST_POSTGRESQL)
            .filter(complete)
            .max()
    }
}

fn refusal(engine: Engine, root: &Path, missing: Vec<String>) -> DatabaseError {
    let package = match engine {
        Engine::Mariadb => "mariadb-server-core",
        Engine::Postgresql => "postgresql",
    };
    let help = if root == Path::new("/") {
        format!(
            "apt install --no-install-recommends {package}; or use container guests, which bring \
             their own root"
        )
    } else {
        format!("build the root with the package {package}")
    };
    DatabaseError::Missing {
        engine,
        root: root.display().to_string(),
        missing,
        help,
    }
}

/// The full version: from the package database of the root, else, on this host, from the program
/// itself.
fn version(root: &Path, package: &str, server: &Path) -> String {
    let packages = package_versions(&root.join("var/lib/dpkg/status"));
    if let Some((_, version)) = packages
        .into_iter()
        .find(|(name, _)| is_package(name, package))
    {
        return version;
    }
    let words = bound_command(server)
        .arg("--version")
        .output()
        .ok()
        .filter(|_| root == Path::new("/"));
    let words = words.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    words
        .as_deref()
        .and_then(|text| text.lines().next())
        .unwrap_or_default()
        .trim()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A root with empty files in these places.
    fn root(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a directory");
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().expect("has a parent")).expect("made");
            fs::write(path, "").expect("written");
        }
        root
    }

    #[test]
    fn the_newest_postgresql_with_a_server_is_found() {
        let root = root(&[
            "usr/lib/postgresql/9/bin/postgres",
            "usr/lib/postgresql/15/bin/postgres",
            "usr/lib/postgresql/15/bin/initdb",
            "usr/lib/postgresql/17/bin/psql",
            "usr/share/postgresql/15/extension/pg_prewarm.control",
        ]);
        fs::create_dir_all(root.path().join("var/lib/dpkg")).expect("made");
        let status = "Package: postgresql-15\nStatus: install ok unpacked\nVersion: 15.4-1\n";
        fs::write(root.path().join("var/lib/dpkg/status"), status).expect("written");
        let software = Software::find(Engine::Postgresql, root.path()).expect("complete");
        assert_eq!(
            software.server,
            Path::new("/usr/lib/postgresql/15/bin/postgres")
        );
        assert_eq!(
            software.initial,
            Path::new("/usr/lib/postgresql/15/bin/initdb")
        );
        assert!(software.prewarm);
        assert_eq!(software.version, "15.4-1");
    }

    #[test]
    fn everything_that_is_missing_is_named_at_once() {
        let root = root(&["usr/share/mysql/mysql_system_tables.sql"]);
        let error = Software::find(Engine::Mariadb, root.path()).expect_err("incomplete");
        let text = rookery_diagnosis::ErrorFields::new(&error).to_string();
        for word in [
            "/usr/sbin/mariadbd",
            "mysql_system_tables_data.sql",
            "mariadb-server-core",
        ] {
            assert!(text.contains(word), "{word} in {text}");
        }
        assert!(!text.contains("system_tables.sql,"), "{text}");
        let text = Software::find(Engine::Postgresql, root.path())
            .expect_err("none")
            .to_string();
        assert!(
            text.contains("postgres, ") && text.contains("initdb"),
            "{text}"
        );
    }
}
