//! The root file systems of container guests, from distribution packages.
//!
//! [`build_root`] lets mmdebstrap fetch and unpack the packages. It does not configure those of
//! its own stacks: nothing in a guest reads `/etc/apache2` or `/etc/php`, no maintainer script runs
//! on this host, and half of the time is saved. A guest's configuration is all Rookery's own.
//! The packages that a user names are installed: their scripts run in the new root.

mod command;
mod error;
mod finish;

use std::{collections::BTreeMap, fmt, fs, path::Path, sync::atomic::AtomicBool, time::Duration};

use command::{Finder, invoke};
pub use error::RootError;

/// Raised when the same packages give another root.
const VERSION: u32 = 1;

/// What every root has: a shell with its tools. It makes the system tables, and serves whoever
/// looks into a guest.
const BASE: [&str; 4] = ["base-files", "base-passwd", "coreutils", "dash"];

/// For which stack a root is. The names of packages without versions lead to the release's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootKind {
    /// MariaDB, Apache and PHP.
    Lamp,
    /// The same with what sites of others need: PHP's command line and more extensions.
    LampSite,
    /// MariaDB alone.
    Mariadb,
    /// PostgreSQL alone.
    Postgresql,
    /// What the user names.
    Image,
}

impl RootKind {
    /// As templates are called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Lamp => "lamp",
            Self::LampSite => "lamp of sites",
            Self::Mariadb => "mariadb",
            Self::Postgresql => "postgresql",
            Self::Image => "image",
        }
    }

    /// Whether the scripts of packages run, as on an installed system.
    fn installs(self) -> bool {
        self == Self::Image
    }

    fn packages(self) -> &'static [&'static str] {
        match self {
            Self::Lamp => &[
                "mariadb-server-core",
                "apache2-bin",
                "libapache2-mod-php",
                "php-fpm",
                "php-mysql",
            ],
            Self::LampSite => &[
                "mariadb-server-core",
                "apache2-bin",
                "libapache2-mod-php",
                "php-fpm",
                "php-mysql",
                "php-cli",
                "php-gd",
                "php-mbstring",
                "php-xml",
            ],
            Self::Mariadb => &["mariadb-server-core"],
            Self::Postgresql => &["postgresql"],
            Self::Image => &[],
        }
    }
}

/// The release that is taken where this host is no Debian.
const SUITE: &str = "bookworm";
/// Sources that Debian's installer and images write; others of the host are its owner's matter.
const HOST_SOURCES: [&str; 2] = [
    "/etc/apt/sources.list.d/debian.sources",
    "/etc/apt/sources.list",
];
/// Longest name of a release.
const MAX_SUITE: usize = 40;

/// What a root is built from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootRecipe {
    /// For which stack it is.
    pub kind: RootKind,
    /// Names of packages; what they need comes with them.
    pub packages: Vec<String>,
    /// Release, such as `bookworm`.
    pub suite: String,
    /// Where packages come from, as mmdebstrap takes it: an address, a line or a file of apt
    /// sources; `None` = its own default.
    pub mirror: Option<String>,
}

impl RootRecipe {
    /// The packages of a stack, of this host's own release from this host's own sources, if it is a
    /// Debian; else of Debian 12.
    #[must_use]
    pub fn of_host(kind: RootKind) -> Self {
        let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
        let own = debian_codename(&release);
        let suite = own.clone().unwrap_or_else(|| SUITE.to_owned());
        let sources = HOST_SOURCES.into_iter().filter(|_| own.is_some());
        let sources =
            sources.filter(|path| fs::read_to_string(path).is_ok_and(|text| serves(&text, &suite)));
        Self {
            kind,
            packages: kind
                .packages()
                .iter()
                .chain(&BASE)
                .map(|&package| package.to_owned())
                .collect(),
            mirror: sources.map(str::to_owned).next(),
            suite,
        }
    }

    /// These packages, of the release and the sources of [`RootRecipe::of_host`].
    #[must_use]
    pub fn of_packages(packages: &[String]) -> Self {
        let mut recipe = Self::of_host(RootKind::Image);
        let own = std::mem::take(&mut recipe.packages);
        recipe.packages = packages.to_vec();
        recipe.packages.sort();
        recipe.packages.dedup();
        let more = own.into_iter().filter(|own| !packages.contains(own));
        recipe.packages.extend(more);
        recipe
    }

    /// The same of another release (then from mmdebstrap's default mirror) or from another mirror.
    ///
    /// # Errors
    /// When the name of the release is none, or the mirror is empty.
    pub fn with(self, suite: Option<String>, mirror: Option<String>) -> Result<Self, RootError> {
        let mut recipe = self;
        if let Some(suite) = suite.filter(|suite| *suite != recipe.suite) {
            recipe.suite = suite;
            recipe.mirror = None;
        }
        if mirror.is_some() {
            recipe.mirror = mirror;
        }
        recipe.check()?;
        Ok(recipe)
    }

    /// What decides the content, in words: the address of the root in the directory of templates.
    /// The mirror does not, nor do the versions of the packages: a root is built once and stays as
    /// it is until it is removed.
    #[must_use]
    pub fn description(&self) -> String {
        format!(
            "{} root {VERSION}, {}: {}",
            self.kind.name(),
            self.suite,
            self.packages.join(" ")
        )
    }

    fn check(&self) -> Result<(), RootError> {
        let plain = |name: &str, more: &str| {
            name.starts_with(|c: char| c.is_ascii_alphanumeric())
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || more.contains(c))
        };
        if !plain(&self.suite, "-./") || self.suite.len() > MAX_SUITE {
            return Err(RootError::Suite(self.suite.clone()));
        }
        if let Some(bad) = self.packages.iter().find(|package| !plain(package, "+-.:")) {
            return Err(RootError::Package(bad.clone()));
        }
        match &self.mirror {
            Some(mirror) if mirror.trim().is_empty() || mirror.starts_with('-') => {
                Err(RootError::Mirror(mirror.clone()))
            }
            _ => Ok(()),
        }
    }
}

/// Where the building of a root is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootStep {
    /// Lists of packages are fetched.
    Lists,
    /// Packages are fetched: so many of so many.
    Packages {
        /// Fetched so far.
        done: u32,
        /// All.
        total: u32,
    },
    /// Packages are unpacked.
    Unpacking {
        /// All.
        total: u32,
    },
    /// Packages are installed: their scripts run.
    Installing,
    /// The rest is cleaned up.
    Completion,
}

impl fmt::Display for RootStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lists => f.write_str("fetching lists of packages"),
            Self::Packages { done, total } => write!(f, "fetching packages: {done} of {total}"),
            Self::Unpacking { total } => write!(f, "unpacking {total} packages"),
            Self::Installing => f.write_str("installing packages"),
            Self::Completion => f.write_str("cleaning up"),
        }
    }
}

/// How far [`build_root`] has come; told at every change, and twice a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootProgress {
    /// What is done at the moment.
    pub step: RootStep,
    /// Since the beginning.
    pub elapsed: Duration,
}

/// Whether this host can build a root. Changes nothing.
///
/// # Errors
/// When mmdebstrap is missing, or the caller is not root.
pub fn check_host() -> Result<(), RootError> {
    if !rustix::process::geteuid().is_root() {
        return Err(RootError::NotRoot);
    }
    Finder::Path.find().map(drop)
}

/// Build the root in the empty directory `root`; gives the versions of the servers in it
/// (`mariadb`, `apache`, `php`, `postgresql`) or of the packages that the user named, and the
/// release.
///
/// # Errors
/// See [`RootError`]; what is in `root` then is of no use. When `stop` is set, mmdebstrap is ended
/// and the error is
/// [`RootError::Stopped`].
pub fn build_root(
    root: &Path,
    recipe: &RootRecipe,
    progress: &dyn Fn(&RootProgress),
    stop: &AtomicBool,
) -> Result<BTreeMap<String, String>, RootError> {
    check_host()?;
    build_with(&Finder::Path, root, recipe, progress, stop)
}

fn build_with(
    finder: &Finder,
    root: &Path,
    recipe: &RootRecipe,
    progress: &dyn Fn(&RootProgress),
    stop: &AtomicBool,
) -> Result<BTreeMap<String, String>, RootError> {
    recipe.check()?;
    invoke(finder, root, recipe, progress, stop)?;
    finish::finish(root, recipe).map_err(|source| RootError::of_disk(root, source))
}

/// The release of a Debian host, from its `os-release`.
fn debian_codename(release: &str) -> Option<String> {
    let value = |key: &str| {
        let line = release
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
        Some(line.trim_matches('"').to_owned())
    };
    (value("ID")? == "debian").then(|| value("VERSION_CODENAME"))?
}

/// Whether a file of apt sources has packages of a release, from somewhere else than a disc.
fn serves(sources: &str, suite: &str) -> bool {
    let lines = || {
        sources
            .lines()
            .filter(|line| !line.trim_start().starts_with('#'))
    };
    lines().any(|line| line.split_whitespace().any(|word| word == suite))
        && !lines().any(|line| line.contains("cdrom:"))
}

#[cfg(test)]
mod tests;
