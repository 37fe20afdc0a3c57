//! How browsers behave, and what is asked of pages: as in 2005, or as of today.

use serde::{Deserialize, Serialize};

use super::{Bands, Model, RATE_BYTES_PER_S, Scope};

/// Connections of a user of today over HTTP/1.1.
const CONNECTIONS: u8 = 6;
/// What a user of today receives at most, bytes/s.
const MODERN_RATE_BYTES_PER_S: u64 = 2_500_000;
/// A good page of today, and a tolerable one, us.
const MODERN_GOOD_US: u64 = 2_000_000;
const MODERN_TOLERABLE_US: u64 = 4_000_000;

/// How browsers behave, and what is asked of pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// As in 2005: whether a user has a file already is drawn for each request; nothing is
    /// compressed.
    #[default]
    Classic2005,
    /// As of today.
    Modern(ModernBrowser),
}

/// A browser of today: a cache of its own, compressed pages, sessions of TLS that are resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModernBrowser {
    /// Of a hundred sessions, those that begin with the cache of the session before.
    pub returning_percent: u8,
}

impl ModernBrowser {
    /// Of a hundred sessions, those that begin with the tickets of the session before, which resume
    /// its session of TLS.
    pub const TICKET_PERCENT: u8 = 50;
    /// Of a hundred downloads, those that ask for the second half of the file, as after a break.
    pub const RESUMED_DOWNLOAD_PERCENT: u8 = 10;
    /// Most pages whose first byte is late, percent: the 95th percentile has to be in time.
    pub const LATE_PERCENT: f64 = 5.0;
    /// How long a server lets browsers use an embedded file without asking again, s.
    pub const FRESH_S: u32 = 300;
}

impl Default for ModernBrowser {
    fn default() -> Self {
        Self {
            returning_percent: 50,
        }
    }
}

impl Profile {
    /// Its name in study files and options.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Classic2005 => "classic2005",
            Self::Modern(_) => "modern",
        }
    }

    /// The browser of today, where it is one.
    #[must_use]
    pub const fn modern(self) -> Option<ModernBrowser> {
        match self {
            Self::Classic2005 => None,
            Self::Modern(browser) => Some(browser),
        }
    }

    /// Connections of one user.
    #[must_use]
    pub const fn connections(self) -> u8 {
        match self {
            Self::Classic2005 => 2,
            Self::Modern(_) => CONNECTIONS,
        }
    }

    /// What one user receives at most, bytes/s.
    #[must_use]
    pub const fn rate_bytes_per_s(self) -> u64 {
        match self {
            Self::Classic2005 => RATE_BYTES_PER_S,
            Self::Modern(_) => MODERN_RATE_BYTES_PER_S,
        }
    }

    /// Which pages are good, and which tolerable, where users receive at this rate.
    #[must_use]
    pub fn bands(self, model: Model, rate_bytes_per_s: Option<u64>) -> Bands {
        let bands = match self {
            Self::Classic2005 => Bands::new(model),
            Self::Modern(_) => Bands {
                good_us: MODERN_GOOD_US,
                tolerable_us: MODERN_TOLERABLE_US,
                ..Bands::new(model)
            },
        };
        bands.at_rate(rate_bytes_per_s)
    }

    /// Of which pages the shares are taken.
    #[must_use]
    pub const fn scope(self) -> Scope {
        match self {
            Self::Classic2005 => Scope::Aggregate,
            Self::Modern(_) => Scope::Page,
        }
    }

    /// Whether a page type is encrypted where pages are: of today every one.
    #[must_use]
    pub fn encrypts(self, model: Model, page: &str) -> bool {
        match self {
            Self::Classic2005 => model.encrypts(page),
            Self::Modern(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_today_are_asked_for_more() {
        let modern = Profile::Modern(ModernBrowser::default());
        for model in Model::ALL {
            let bands = modern.bands(model, Some(modern.rate_bytes_per_s()));
            assert_eq!((bands.good_us, bands.tolerable_us), (2_000_000, 4_000_000));
            assert_eq!(bands.tolerable_bytes_per_s, 2_375_000.0);
            let classic = Profile::Classic2005;
            let rate = Some(classic.rate_bytes_per_s());
            assert_eq!(classic.bands(model, rate), Bands::new(model));
            assert!(
                model
                    .pages()
                    .iter()
                    .all(|page| modern.encrypts(model, page.name))
            );
        }
        assert!(!Profile::Classic2005.encrypts(Model::Support, "home"));
    }

    #[test]
    fn studies_of_before_had_the_classic_one() {
        let text = serde_json::to_string(&Profile::Modern(ModernBrowser::default()));
        let text = text.expect("JSON");
        assert_eq!(text, r#"{"modern":{"returning_percent":50}}"#);
        let read: Profile = serde_json::from_str(&text).expect("a profile");
        assert_eq!(read.modern(), Some(ModernBrowser::default()));
        assert_eq!(Profile::default().name(), "classic2005");
    }
}
