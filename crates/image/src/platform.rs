//! What an image must be for, so that it runs here.

use std::{env::consts::ARCH, fmt};

/// The only system that guests have.
const SYSTEM: &str = "linux";

/// A system and an architecture, as images name them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Platform {
    architecture: &'static str,
}

impl Platform {
    /// This host's.
    pub(crate) fn of_host() -> Self {
        let architecture = match ARCH {
            "x86_64" => "amd64",
            "x86" => "386",
            "aarch64" => "arm64",
            "powerpc64" => "ppc64le",
            // The others have the same names.
            other => other,
        };
        Self { architecture }
    }

    /// Whether an image for that runs here.
    pub(crate) fn runs(&self, os: &str, architecture: &str) -> bool {
        os == SYSTEM && architecture == self.architecture
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SYSTEM}/{}", self.architecture)
    }
}
