//! Why what a user names is no site.

use std::{io, path::PathBuf};

use rookery_diagnosis::Diagnosis;
use rookery_image::ImageError;

/// Why what a user names cannot be the site of guests.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// It cannot be read.
    #[error("the site cannot be read: {source}")]
    Read {
        /// The tree, or a file of it.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The archive cannot be read.
    #[error(transparent)]
    Archive(#[from] ImageError),
    /// It is something else.
    #[error(
        "this is no tree of Drupal: neither `includes/bootstrap.inc` nor \
         `core/lib/Drupal.php` says a version"
    )]
    NotDrupal {
        /// What was looked into.
        path: PathBuf,
    },
    /// It is a release that is not known.
    #[error("this is Drupal {version}, and only 7, 10 and 11 are known")]
    Version {
        /// The tree.
        path: PathBuf,
        /// Its version.
        version: String,
    },
    /// The study expects the pages of another release.
    #[error("this is Drupal {version}, but `contract` is \"{contract}\"")]
    Contract {
        /// The tree.
        path: PathBuf,
        /// Its version.
        version: String,
        /// What the study says.
        contract: &'static str,
        /// What it should say.
        right: &'static str,
    },
    /// It is not whole.
    #[error("this Drupal {version} is not complete: {} not found", missing.join(", "))]
    Incomplete {
        /// The tree.
        path: PathBuf,
        /// Its version.
        version: String,
        /// What is missing.
        missing: Vec<String>,
    },
    /// It is larger than sites are.
    #[error("the tree has more than {most}")]
    Large {
        /// The tree.
        path: PathBuf,
        /// How much it may have.
        most: String,
    },
    /// The files were replaced while a template was made of them.
    #[error("the files of the site were changed meanwhile")]
    Changed {
        /// The tree.
        path: PathBuf,
    },
    /// Its installer failed.
    #[error("the installer of the site ended with {failure}: {output}")]
    Installer {
        /// How it ended.
        failure: String,
        /// Its words.
        output: String,
    },
}

impl Diagnosis for SiteError {
    fn code(&self) -> &'static str {
        match self {
            Self::Read { .. } => "site::read",
            Self::Archive(error) => error.code(),
            Self::NotDrupal { .. } => "site::not-drupal",
            Self::Version { .. } => "site::version",
            Self::Contract { .. } => "site::contract",
            Self::Incomplete { .. } => "site::incomplete",
            Self::Large { .. } => "site::large",
            Self::Changed { .. } => "site::changed",
            Self::Installer { .. } => "site::installer",
        }
    }

    fn place(&self) -> Option<String> {
        match self {
            Self::Archive(error) => error.place(),
            Self::Installer { .. } => None,
            Self::Read { path, .. }
            | Self::NotDrupal { path }
            | Self::Version { path, .. }
            | Self::Contract { path, .. }
            | Self::Incomplete { path, .. }
            | Self::Large { path, .. }
            | Self::Changed { path } => Some(path.display().to_string()),
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Read { .. } => {
                "write in `site` of [stack] the path of a directory, or of a tar archive, plain or \
                 compressed by gzip or zstd"
                    .to_owned()
            }
            // A site is no image: what images are made with is no help.
            Self::Archive(_) => "name a tar archive, plain or compressed by gzip or zstd, or \
                                 unpack it and name the directory"
                .to_owned(),
            Self::NotDrupal { .. } => {
                "name the directory in which the `index.php` of Drupal is, or \
                                       the one that has it in `web` or `docroot`"
                    .to_owned()
            }
            Self::Version { .. } => "name a tree of Drupal 7, 10 or 11".to_owned(),
            Self::Contract { right, .. } => {
                format!("write `contract = \"{right}\"` in [workload], or name another tree")
            }
            Self::Incomplete { missing, .. } => {
                match missing.iter().any(|path| path.contains("autoload")) {
                    true => "run `composer install` in the tree: guests fetch nothing".to_owned(),
                    false => "name a whole tree, as a release of Drupal has it".to_owned(),
                }
            }
            Self::Large { .. } => "name the tree of a site without its uploads".to_owned(),
            Self::Changed { .. } => "run it again, and leave the files as they are".to_owned(),
            Self::Installer { .. } => {
                "see its words; the versions of PHP and MariaDB are those of the distribution"
                    .to_owned()
            }
        })
    }
}
