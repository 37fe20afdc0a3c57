//! The programs of the LAMP stack in a root file system: where they are and which versions.

use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
};

use rookery_diagnosis::Diagnosis;
use rookery_host::bound_command;
use serde::Serialize;

use crate::packages::{is_package, package_versions};

/// Where MariaDB keeps its messages and the SQL of its system tables.
pub(crate) const MARIADB_SHARE: &str = "/usr/share/mysql";
/// What of it a new database needs.
pub(crate) const BOOTSTRAP: [&str; 2] = ["mysql_system_tables.sql", "mysql_system_tables_data.sql"];
/// Where the packages put Apache's modules.
const APACHE_MODULES: &str = "/usr/lib/apache2/modules";
/// Modules of Apache that any of the configurations loads.
pub(super) const MODULES: [&str; 12] = [
    "alias",
    "authz_core",
    "authz_host",
    "dir",
    "info",
    "mime",
    "mpm_event",
    "mpm_prefork",
    "proxy",
    "proxy_fcgi",
    "ssl",
    "status",
];
/// Where the packages put PHP's extensions, one directory for each interface version.
const PHP_EXTENSIONS: &str = "/usr/lib/php";
/// The first PHP that knows what the pages use.
const OLDEST_PHP: PhpVersion = PhpVersion { major: 8, minor: 1 };
/// From this version on OPcache is part of PHP itself.
const OPCACHE_BUILT_IN: PhpVersion = PhpVersion { major: 8, minor: 5 };

/// A version of PHP, such as 8.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct PhpVersion {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
}

impl PhpVersion {
    fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.split_once('.')?;
        Some(Self {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        })
    }
}

impl fmt::Display for PhpVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The LAMP programs of one root file system; every path is as guests in that root see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Software {
    /// The database server.
    pub mariadbd: PathBuf,
    /// Directory of its messages and bootstrap SQL.
    pub mariadb_share: PathBuf,
    /// The web server.
    pub apache: PathBuf,
    /// Directory of its modules.
    pub apache_modules: PathBuf,
    /// PHP as a module of Apache: file name in the modules directory.
    pub php_module: String,
    /// PHP as a FastCGI server.
    pub php_fpm: PathBuf,
    /// Directory of PHP's extensions.
    pub php_extensions: PathBuf,
    /// Extensions beyond those of our own pages, in the order in which they are loaded.
    pub more_extensions: &'static [&'static str],
    /// Version of PHP.
    pub php: PhpVersion,
    /// Types of files by suffix, where the root has the list.
    pub mime_types: Option<PathBuf>,
    /// Full versions: `mariadb`, `apache`, `php`.
    pub versions: BTreeMap<String, String>,
}

/// Why the LAMP stack cannot be had from a root file system.
#[derive(Debug, thiserror::Error)]
pub enum LampError {
    /// Programs are missing.
    #[error("the LAMP stack is not complete below {root}: {} not found", missing.join(", "))]
    Missing {
        /// The root that was searched.
        root: String,
        /// Everything that was not found.
        missing: Vec<String>,
        /// The command that installs it.
        help: String,
    },
    /// A new database could not be made.
    #[error("a new MariaDB database cannot be made in {datadir}: {what}")]
    Initialise {
        /// Its directory.
        datadir: String,
        /// What happened, with the server's own words.
        what: String,
        /// What to do.
        help: &'static str,
    },
}

impl Diagnosis for LampError {
    fn code(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "lamp::missing",
            Self::Initialise { .. } => "lamp::initialise",
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::Missing { help, .. } => (*help).to_owned(),
            Self::Initialise { help, .. } => (*help).to_owned(),
        };
        Some(help)
    }
}

impl Software {
    /// Find the LAMP programs below `root`; `/` is this host.
    ///
    /// # Errors
    /// When something is missing: everything that is, and what installs it.
    pub fn find(root: &Path) -> Result<Self, LampError> {
        Search {
            root,
            missing: Vec::new(),
        }
        .software()
    }

    /// The same for sites of others: PHP's command line is there, and these extensions are loaded.
    ///
    /// # Errors
    /// As [`Software::find`].
    pub(crate) fn find_for_sites(
        root: &Path,
        extensions: &'static [&'static str],
    ) -> Result<Self, LampError> {
        let mut software = Self::find(root)?;
        let mut search = Search {
            root,
            missing: Vec::new(),
        };
        search.file(&software.php_cli());
        for name in extensions {
            let file = software.php_extensions.join(format!("{name}.so"));
            search.file(&file.display().to_string());
        }
        if !search.missing.is_empty() {
            return Err(search.refusal(Some(software.php)));
        }
        software.more_extensions = extensions;
        Ok(software)
    }

    /// PHP's command line.
    pub(crate) fn php_cli(&self) -> String {
        format!("/usr/bin/php{}", self.php)
    }

    /// Whether OPcache must be loaded as an extension.
    #[must_use]
    pub fn opcache_is_extension(&self) -> bool {
        self.php < OPCACHE_BUILT_IN
    }
}

/// A search below one root that notes what it does not find.
struct Search<'a> {
    root: &'a Path,
    missing: Vec<String>,
}

impl Search<'_> {
    fn software(mut self) -> Result<Software, LampError> {
        let mariadbd = self.file("/usr/sbin/mariadbd");
        for name in BOOTSTRAP {
            self.file(&format!("{MARIADB_SHARE}/{name}"));
        }
        let apache = self.file("/usr/sbin/apache2");
        for name in MODULES {
            self.file(&format!("{APACHE_MODULES}/mod_{name}.so"));
        }
        let php = self.php_version();
        let wanted = php.map_or_else(|| "X.Y".to_owned(), |php| php.to_string());
        let php_module = format!("libphp{wanted}.so");
        self.file(&format!("{APACHE_MODULES}/{php_module}"));
        let php_fpm = self.file(&format!("/usr/sbin/php-fpm{wanted}"));
        let php_extensions = self.php_extensions(php);
        let (true, Some(php)) = (self.missing.is_empty(), php) else {
            return Err(self.refusal(php));
        };
        let mime_types = Some(PathBuf::from("/etc/mime.types")).filter(|path| self.has(path));
        let mut software = Software {
            mariadbd,
            mariadb_share: MARIADB_SHARE.into(),
            apache,
            apache_modules: APACHE_MODULES.into(),
            php_module,
            php_fpm,
            php_extensions,
            more_extensions: &[],
            php,
            mime_types,
            versions: BTreeMap::new(),
        };
        software.versions = versions(self.root, &software);
        Ok(software)
    }

    fn path(&self, inside: &Path) -> PathBuf {
        self.root.join(inside.strip_prefix("/").unwrap_or(inside))
    }

    fn has(&self, inside: &Path) -> bool {
        self.path(inside).is_file()
    }

    /// Note `inside` as missing if it is no file.
    fn file(&mut self, inside: &str) -> PathBuf {
        let inside = PathBuf::from(inside);
        if !self.has(&inside) {
            self.missing.push(inside.display().to_string());
        }
        inside
    }

    /// The newest PHP of which the root has the module of Apache or the FastCGI server.
    fn php_version(&self) -> Option<PhpVersion> {
        let in_name = |name: &str| {
            let module = name
                .strip_prefix("libphp")
                .and_then(|rest| rest.strip_suffix(".so"));
            PhpVersion::parse(module.or_else(|| name.strip_prefix("php-fpm"))?)
        };
        let modules = names(&self.path(Path::new(APACHE_MODULES)));
        let servers = names(&self.path(Path::new("/usr/sbin")));
        let found = modules
            .iter()
            .chain(&servers)
            .filter_map(|name| in_name(name));
        found.filter(|version| *version >= OLDEST_PHP).max()
    }

    /// The directory of extensions that belongs to this PHP: each version has its own interface
    /// number.
    fn php_extensions(&mut self, php: Option<PhpVersion>) -> PathBuf {
        let base = Path::new(PHP_EXTENSIONS);
        let mut interfaces = names(&self.path(base));
        interfaces.retain(|name| name.len() == 8 && name.bytes().all(|byte| byte.is_ascii_digit()));
        interfaces.sort();
        let own = php
            .and_then(interface)
            .filter(|own| interfaces.iter().any(|name| name == own));
        // A version that came after this was written has the newest interface.
        let directory = base.join(own.or(interfaces.pop().as_deref()).unwrap_or("INTERFACE"));
        let built_in = php.is_some_and(|php| php >= OPCACHE_BUILT_IN);
        for name in ["mysqlnd.so", "mysqli.so", "opcache.so"] {
            if !(built_in && name == "opcache.so") {
                self.file(&directory.join(name).display().to_string());
            }
        }
        directory
    }

    fn refusal(self, php: Option<PhpVersion>) -> LampError {
        let php = php.map(|php| php.to_string()).unwrap_or_default();
        let packages = format!(
            "apache2-bin mariadb-server-core libapache2-mod-php{php} php{php}-fpm php{php}-mysql \
             php{php}-opcache"
        );
        let help = if self.root == Path::new("/") {
            format!(
                "apt install --no-install-recommends {packages}; or use container guests, which \
                 bring their own root"
            )
        } else {
            format!("build the root with these packages: {packages}")
        };
        LampError::Missing {
            root: self.root.display().to_string(),
            missing: self.missing,
            help,
        }
    }
}

/// PHP's interface number, which names the directory of its extensions.
fn interface(php: PhpVersion) -> Option<&'static str> {
    Some(match (php.major, php.minor) {
        (8, 1) => "20210902",
        (8, 2) => "20220829",
        (8, 3) => "20230831",
        (8, 4) => "20240924",
        _ => return None,
    })
}

/// Names in a directory; none where there is no directory.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

/// Full versions: from the package database of the root, else, on this host, from the programs
/// themselves.
fn versions(root: &Path, software: &Software) -> BTreeMap<String, String> {
    let wanted = [
        (
            "mariadb",
            "mariadb-server-core".to_owned(),
            &software.mariadbd,
            "--version",
        ),
        ("apache", "apache2-bin".to_owned(), &software.apache, "-v"),
        (
            "php",
            format!("php{}-fpm", software.php),
            &software.php_fpm,
            "-v",
        ),
    ];
    let packages = package_versions(&root.join("var/lib/dpkg/status"));
    let own_words = |program: &Path, option: &str| {
        let output = bound_command(program)
            .arg(option)
            .output()
            .ok()
            .filter(|_| root == Path::new("/"))?;
        Some(
            String::from_utf8_lossy(&output.stdout)
                .lines()
                .next()?
                .trim()
                .to_owned(),
        )
    };
    let version = |package: &str, program: &Path, option: &str| {
        let known = packages.iter().find(|(name, _)| is_package(name, package));
        known
            .map(|(_, version)| version.clone())
            .or_else(|| own_words(program, option))
    };
    wanted
        .into_iter()
        .filter_map(|(name, package, program, option)| {
            Some((name.to_owned(), version(&package, program, option)?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A root with empty files in place of the programs.
    fn root(without: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a directory");
        let mut files = vec![
            "usr/sbin/mariadbd".to_owned(),
            "usr/sbin/apache2".into(),
            "usr/sbin/php-fpm8.2".into(),
            "usr/lib/apache2/modules/libphp8.2.so".into(),
            "usr/lib/php/20220829/mysqli.so".into(),
            "usr/lib/php/20220829/mysqlnd.so".into(),
            "usr/lib/php/20220829/opcache.so".into(),
            "usr/lib/php/8.2/README".into(),
        ];
        files.extend(BOOTSTRAP.map(|name| format!("usr/share/mysql/{name}")));
        files.extend(MODULES.map(|name| format!("usr/lib/apache2/modules/mod_{name}.so")));
        for file in files
            .iter()
            .filter(|file| !without.contains(&file.as_str()))
        {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().expect("has a parent")).expect("made");
            fs::write(path, "").expect("written");
        }
        root
    }

    #[test]
    fn a_complete_root_is_found() {
        let root = root(&[]);
        let status = "Package: apache2-bin\nStatus: install ok installed\nVersion: 2.4.1-1\n\n\
             Package: mariadb-server-core\nStatus: deinstall ok config-files\nVersion: 9\n\n\
             Package: mariadb-server-core-10.5\nStatus: install ok installed\nVersion: 1:10.5.9\n";
        fs::create_dir_all(root.path().join("var/lib/dpkg")).expect("made");
        fs::write(root.path().join("var/lib/dpkg/status"), status).expect("written");
        let software = Software::find(root.path()).expect("complete");
        assert_eq!(software.apache, Path::new("/usr/sbin/apache2"));
        assert_eq!(software.php, PhpVersion { major: 8, minor: 2 });
        assert_eq!(software.php_extensions, Path::new("/usr/lib/php/20220829"));
        assert_eq!(software.mime_types, None);
        let versions: Vec<(&str, &str)> = software
            .versions
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect();
        assert_eq!(versions, [("apache", "2.4.1-1"), ("mariadb", "1:10.5.9")]);
    }

    #[test]
    fn everything_that_is_missing_is_named_at_once() {
        let root = root(&[
            "usr/sbin/mariadbd",
            "usr/lib/php/20220829/mysqli.so",
            "usr/lib/apache2/modules/libphp8.2.so",
        ]);
        let error = Software::find(root.path()).expect_err("incomplete");
        let text = rookery_diagnosis::ErrorFields::new(&error).to_string();
        for missing in [
            "/usr/sbin/mariadbd",
            "/usr/lib/php/20220829/mysqli.so",
            "libphp8.2.so",
            "libapache2-mod-php8.2",
        ] {
            assert!(text.contains(missing), "{missing} in {text}");
        }
    }

    #[test]
    fn an_empty_root_and_an_old_php_are_refused() {
        let empty = tempfile::tempdir().expect("a directory");
        assert!(Software::find(empty.path()).is_err());
        let old = root(&[
            "usr/sbin/php-fpm8.2",
            "usr/lib/apache2/modules/libphp8.2.so",
        ]);
        fs::write(old.path().join("usr/sbin/php-fpm7.4"), "").expect("written");
        let text = Software::find(old.path()).expect_err("PHP 7").to_string();
        assert!(text.contains("php-fpmX.Y"), "{text}");
    }

    #[test]
    fn versions_order_by_number() {
        assert!(PhpVersion::parse("8.10") > PhpVersion::parse("8.9"));
        assert_eq!(PhpVersion::parse("8.2.1"), None);
    }
}
