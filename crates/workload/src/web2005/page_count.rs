//! What is counted of one page type.

use serde::{Deserialize, Serialize};

use super::bands::{Band, FIRST_BYTE_US};

/// What is counted of one page type in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageCount {
    /// Requests, whatever came of them.
    pub requests: u64,
    /// Of them, those in the band of good pages.
    pub good: u64,
    /// Those that were tolerable, but not good.
    pub tolerable: u64,
    /// Those that were too late, or got no whole answer.
    pub fail: u64,
    /// Those whose answer was not what it must be; they are in none of the bands.
    pub invalid: u64,
    /// Of those that failed, the ones without a whole answer.
    pub unanswered: u64,
    /// Bytes of whole and right pages, embedded files and heads of answers included.
    pub bytes: u64,
    /// Time of those pages, us.
    pub response_us: u64,
    /// Embedded files of those pages.
    pub objects: u64,
    /// Of them, those that had not changed.
    pub not_modified: u64,
    /// Embedded files that users had in their cache and did not ask for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub fresh: u64,
    /// Content of those pages, as it is after decompression: bodies without their heads.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub body_bytes: u64,
    /// Time to the first byte of those pages, us.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub first_byte_us: u64,
    /// Of those pages, the ones whose first byte was late.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub late_first_bytes: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What of a page came, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Its bytes, embedded files and heads of answers included.
    pub bytes: u64,
    /// Its content after decompression, bytes.
    pub body_bytes: u64,
    /// Its time, us.
    pub response_us: u64,
    /// Time to the first byte of its dynamic answer, us.
    pub first_byte_us: u64,
    /// Its embedded files.
    pub objects: u64,
    /// Of them, those that had not changed.
    pub not_modified: u64,
    /// Those that the user had in its cache and did not ask for.
    pub fresh: u64,
}

/// What came of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageOutcome {
    /// It is what it must be.
    Right {
        /// How late it was.
        band: Band,
        /// What of it came, and when.
        delivered: Delivered,
    },
    /// It is something else.
    Invalid,
    /// Nothing whole came.
    Unanswered,
}

impl PageCount {
    /// A page ended.
    pub fn count(&mut self, outcome: PageOutcome) {
        self.requests += 1;
        match outcome {
            PageOutcome::Right { band, delivered } => {
                match band {
                    Band::Good => self.good += 1,
                    Band::Tolerable => self.tolerable += 1,
                    Band::Fail => self.fail += 1,
                }
                self.bytes += delivered.bytes;
                self.response_us += delivered.response_us;
                self.objects += delivered.objects;
                self.not_modified += delivered.not_modified;
                self.fresh += delivered.fresh;
                self.body_bytes += delivered.body_bytes;
                self.first_byte_us += delivered.first_byte_us;
                let is_late = delivered.first_byte_us > FIRST_BYTE_US;
                self.late_first_bytes += u64::from(is_late);
            }
            PageOutcome::Invalid => self.invalid += 1,
            PageOutcome::Unanswered => {
                self.fail += 1;
                self.unanswered += 1;
            }
        }
    }

    /// Pages that were answered as they should be, in whatever band.
    #[must_use]
    pub fn right(&self) -> u64 {
        self.requests
            .saturating_sub(self.invalid)
            .saturating_sub(self.unanswered)
    }

    /// Adds what others counted of the same page type.
    pub fn merge(&mut self, other: &Self) {
        for (mine, other) in [
            (&mut self.requests, other.requests),
            (&mut self.good, other.good),
            (&mut self.tolerable, other.tolerable),
            (&mut self.fail, other.fail),
            (&mut self.invalid, other.invalid),
            (&mut self.unanswered, other.unanswered),
            (&mut self.bytes, other.bytes),
            (&mut self.response_us, other.response_us),
            (&mut self.objects, other.objects),
            (&mut self.not_modified, other.not_modified),
            (&mut self.fresh, other.fresh),
            (&mut self.body_bytes, other.body_bytes),
            (&mut self.first_byte_us, other.first_byte_us),
            (&mut self.late_first_bytes, other.late_first_bytes),
        ] {
            *mine = mine.saturating_add(other);
        }
    }
}
