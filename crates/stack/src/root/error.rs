//! Why a root could not be built.

use rookery_diagnosis::Diagnosis;
use rookery_host::free_space;
use std::{io, path::Path};

/// Why a root could not be built: what and where.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// The program that does it is missing.
    #[error(
        "there is no mmdebstrap on this host, which builds the root file systems of \
    container guests"
    )]
    Missing,
    /// Only root may.
    #[error("only root can build the root file systems of container guests")]
    NotRoot,
    /// No name of a release.
    #[error("`{0}` is no name of a release")]
    Suite(String),
    /// No name of a package.
    #[error("`{0}` is no name of a package")]
    Package(String),
    /// No mirror.
    #[error("`{0}` is no mirror")]
    Mirror(String),
    /// The packages could not be fetched.
    #[error("packages of {suite} cannot be fetched from {mirror}:\n{words}")]
    Unreachable {
        /// Release.
        suite: String,
        /// Mirror, in words.
        mirror: String,
        /// apt's own words.
        words: String,
    },
    /// apt does not trust the mirror.
    #[error(
        "the packages of {suite} are signed with a key that this host does not \
    know:\n{words}"
    )]
    Untrusted {
        /// Release.
        suite: String,
        /// apt's own words.
        words: String,
    },
    /// The release has no such package.
    #[error("{suite} lacks a package:\n{words}")]
    NoPackage {
        /// Release.
        suite: String,
        /// apt's own words.
        words: String,
    },
    /// The disk is full.
    #[error("the disk is full: {free_mib} MiB are free at {path}, a root takes up to 500")]
    DiskFull {
        /// The root.
        path: String,
        /// What is free.
        free_mib: u64,
    },
    /// The disk failed otherwise.
    #[error("the root file system at {path} cannot be completed: {source}")]
    Disk {
        /// The root.
        path: String,
        /// Reason.
        source: io::Error,
    },
    /// mmdebstrap failed otherwise.
    #[error("mmdebstrap ended with {status}:\n{words}")]
    Failed {
        /// How it ended.
        status: String,
        /// Its own words.
        words: String,
        /// The command.
        command: String,
    },
    /// mmdebstrap took too long.
    #[error(
        "mmdebstrap did not end within {minutes} minutes and was killed; its last \
    words:\n{words}"
    )]
    Late {
        /// The limit.
        minutes: u64,
        /// Its last words.
        words: String,
    },
    /// The caller asked to stop.
    #[error("stopped while building the root file system, as asked")]
    Stopped,
}

impl Diagnosis for RootError {
    fn code(&self) -> &'static str {
        match self {
            Self::Missing => "root::missing",
            Self::NotRoot => "root::not-root",
            Self::Suite(_) => "root::suite",
            Self::Package(_) => "root::package",
            Self::Mirror(_) => "root::mirror",
            Self::Unreachable { .. } => "root::unreachable",
            Self::Untrusted { .. } => "root::untrusted",
            Self::NoPackage { .. } => "root::no-package",
            Self::DiskFull { .. } => "root::disk-full",
            Self::Disk { .. } => "root::disk",
            Self::Failed { .. } => "root::failed",
            Self::Late { .. } => "root::late",
            Self::Stopped => "root::stopped",
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::Missing => "apt-get install mmdebstrap".to_owned(),
            Self::NotRoot => "run as root (sudo)".to_owned(),
            Self::Suite(_) => "name one as Debian does, for example --suite bookworm".to_owned(),
            Self::Package(_) => "name packages as the distribution does".to_owned(),
            Self::Mirror(_) => "give an address (--mirror http://...), or a file of apt \
                                sources"
                .to_owned(),
            Self::Unreachable { .. } => "check the network, or name another mirror with \
                                         --mirror"
                .to_owned(),
            Self::Untrusted { .. } => "apt-get install debian-archive-keyring".to_owned(),
            Self::NoPackage { .. } => "choose a release that has all of them, for example --suite \
                                       bookworm"
                .to_owned(),
            Self::DiskFull { .. } => "free some (`rookery template list` shows what templates \
                                      take), or name a \
    directory on another disk with --templates DIR"
                .to_owned(),
            Self::Failed { command, .. } => format!(
                "see its words above; `{command}` does it by \
                hand"
            ),
            Self::Late { .. } => "check the network, or name another mirror with \
                                  --mirror"
                .to_owned(),
            _ => return None,
        };
        Some(help)
    }
}

impl RootError {
    /// A failure of the disk; a full one is told as such.
    pub(super) fn of_disk(root: &Path, source: io::Error) -> Self {
        let path = root.display().to_string();
        if free_space::is_full(root) || free_space::says_full(&source) {
            let free_mib = free_mib(root);
            return Self::DiskFull { path, free_mib };
        }
        Self::Disk { path, source }
    }

    /// What mmdebstrap's end means, from its words (the last lines of what it said).
    pub(super) fn of_words(
        root: &Path,
        suite: &str,
        mirror: Option<&str>,
        status: String,
        words: &[String],
        command: String,
    ) -> Self {
        let says = |phrases: &[&str]| {
            words
                .iter()
                .any(|line| phrases.iter().any(|phrase| line.contains(phrase)))
        };
        let suite = suite.to_owned();
        let says_full = words.iter().any(|line| free_space::words_say_full(line));
        // mmdebstrap removes the root when it fails: its disk is that of the parent.
        if says_full || free_space::is_full(root) {
            return Self::DiskFull {
                path: root.display().to_string(),
                free_mib: free_mib(root),
            };
        }
        let words = quoted(words);
        if says(&["NO_PUBKEY", "is not signed", "GPG error"]) {
            Self::Untrusted { suite, words }
        } else if says(&[
            "Unable to locate package",
            "has no installation candidate",
            "unmet dependencies",
        ]) {
            Self::NoPackage { suite, words }
        } else if says(&[
            "Failed to fetch",
            "Unable to fetch",
            "Could not resolve",
            "does not have a Release file",
        ]) {
            Self::Unreachable {
                suite,
                mirror: mirror.unwrap_or("the default mirror of Debian").to_owned(),
                words,
            }
        } else {
            Self::Failed {
                status,
                words,
                command,
            }
        }
    }
}

/// Of a disk that cannot be asked none: it is told as full for what was said of it.
fn free_mib(root: &Path) -> u64 {
    free_space::free_mib(root).unwrap_or(0)
}

/// Lines of somebody else, indented.
pub(super) fn quoted(words: &[String]) -> String {
    let lines: Vec<String> = words.iter().map(|line| format!("    {line}")).collect();
    if lines.is_empty() {
        "    (it said nothing)".to_owned()
    } else {
        lines.join("\n")
    }
}
