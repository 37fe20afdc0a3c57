//! Good, tolerable or failed: what the time of a page is judged by.

use serde::{Deserialize, Serialize};

use super::{Model, PageType};

/// Bytes per second that one user receives at most, in the original.
pub const RATE_BYTES_PER_S: u64 = 100_000;
/// The first byte of a page is late after this time, us, where it is judged.
pub const FIRST_BYTE_US: u64 = 500_000;
/// A download is good from this share of the rate on, and tolerable from the other.
const GOOD_SHARE: f64 = 0.99;
const TOLERABLE_SHARE: f64 = 0.95;

/// Up to when a page is good, and up to when it is tolerable; the same for the byte rate of a
/// download.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bands {
    /// Longest time of a good page, us.
    pub good_us: u64,
    /// Longest time of a tolerable page, us.
    pub tolerable_us: u64,
    /// Slowest good download, bytes/s.
    pub good_bytes_per_s: f64,
    /// Slowest tolerable download, bytes/s.
    pub tolerable_bytes_per_s: f64,
}

/// What a page that was answered as it should be is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// In time.
    Good,
    /// Late, but not too late.
    Tolerable,
    /// Too late.
    Fail,
}

impl Bands {
    /// Those of the original (fixed properties of the benchmark of 2005).
    #[must_use]
    pub fn new(model: Model) -> Self {
        let (good_us, tolerable_us) = match model {
            Model::Banking => (2_000_000, 4_000_000),
            Model::Ecommerce | Model::Support => (3_000_000, 5_000_000),
        };
        Self {
            good_us,
            tolerable_us,
            good_bytes_per_s: GOOD_SHARE * RATE_BYTES_PER_S as f64,
            tolerable_bytes_per_s: TOLERABLE_SHARE * RATE_BYTES_PER_S as f64,
        }
    }

    /// The same where users receive at another rate; without a limit downloads are judged as at
    /// the original's.
    #[must_use]
    pub fn at_rate(self, rate_bytes_per_s: Option<u64>) -> Self {
        let rate = rate_bytes_per_s.unwrap_or(RATE_BYTES_PER_S) as f64;
        Self {
            good_bytes_per_s: GOOD_SHARE * rate,
            tolerable_bytes_per_s: TOLERABLE_SHARE * rate,
            ..self
        }
    }

    /// The band of a page of so many bytes, heads included, that took so long.
    #[must_use]
    pub fn judge(&self, page: &PageType, time_us: u64, bytes: u64) -> Band {
        let (good, tolerable) = if page.is_download() {
            let rate = bytes as f64 / (time_us.max(1) as f64 / 1e6);
            (
                rate >= self.good_bytes_per_s,
                rate >= self.tolerable_bytes_per_s,
            )
        } else {
            (time_us <= self.good_us, time_us <= self.tolerable_us)
        };
        match (good, tolerable) {
            (true, _) => Band::Good,
            (false, true) => Band::Tolerable,
            (false, false) => Band::Fail,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes of all downloads.
    const DOWNLOADS: [u64; 16] = [
        104_858, 209_716, 314_574, 419_432, 524_290, 629_146, 754_975, 880_804, 1_048_576,
        1_541_407, 2_034_238, 2_527_069, 4_194_304, 5_546_967, 9_992_929, 37_748_736,
    ];

    #[test]
    fn limits_belong_to_the_better_band() {
        let page = Model::Banking.page("login").expect("a page");
        let bands = Bands::new(Model::Banking);
        let band = |time_us| bands.judge(page, time_us, 35_000);
        assert_eq!(
            [2_000_000, 2_000_001, 4_000_000, 4_000_001].map(band),
            [Band::Good, Band::Tolerable, Band::Tolerable, Band::Fail]
        );
    }

    #[test]
    fn unloaded_downloads_of_every_size_are_good() {
        let page = Model::Support.page("download").expect("a page");
        let bands = Bands::new(Model::Support).at_rate(Some(RATE_BYTES_PER_S));
        for bytes in DOWNLOADS {
            // The line time of the body and its head, and one millisecond of a server without load.
            let time_us = (bytes + 250) * 10 + 1_000;
            let rate = (bytes + 250) as f64 / (time_us as f64 / 1e6);
            assert!((99_900.0..=100_000.0).contains(&rate), "{bytes}: {rate}");
            assert_eq!(bands.judge(page, time_us, bytes + 250), Band::Good);
            // Three and ten percent above the line time.
            let late =
                |percent: u64| bands.judge(page, bytes * (1_000 + 10 * percent) / 100, bytes);
            assert_eq!((late(3), late(10)), (Band::Tolerable, Band::Fail));
        }
    }

    #[test]
    fn downloads_are_judged_by_the_rate_that_users_have() {
        let page = Model::Support.page("download").expect("a page");
        let bands = Bands::new(Model::Support).at_rate(Some(2_500_000));
        assert_eq!(bands.judge(page, 1_000_000, 2_480_000), Band::Good);
        assert_eq!(bands.judge(page, 1_000_000, 2_400_000), Band::Tolerable);
        assert_eq!(bands.judge(page, 1_000_000, 100_000), Band::Fail);
        let unlimited = Bands::new(Model::Support).at_rate(None);
        assert_eq!(unlimited, Bands::new(Model::Support));
    }
}
