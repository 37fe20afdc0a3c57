//! Conversions between numbers for which the standard library has `as` alone: what becomes of
//! values that do not fit stands in each function's description.
//!
//! Where a value that does not fit is an error of its source, `TryFrom` is the way.

use std::time::Duration;

/// The whole part of `value`. What lies below 0 becomes 0, what lies above the largest number that
/// number, and NaN 0.
#[must_use]
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast of a float saturates, as the description says"
)]
pub const fn truncate_u64(value: f64) -> u64 {
    value as u64
}

/// As [`truncate_u64`].
#[must_use]
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast of a float saturates, as the description says"
)]
pub const fn truncate_u32(value: f64) -> u32 {
    value as u32
}

/// As [`truncate_u64`].
#[must_use]
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast of a float saturates, as the description says"
)]
pub const fn truncate_usize(value: f64) -> usize {
    value as usize
}

/// The whole part of `value`. What lies beyond the smallest or the largest number becomes that
/// number, and NaN 0.
#[must_use]
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the cast of a float saturates, as the description says"
)]
pub const fn truncate_i32(value: f64) -> i32 {
    value as i32
}

/// A number of things in memory, or the place of one of them. More than `u32::MAX` become
/// `u32::MAX`.
#[must_use]
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "larger values are held back before the cast"
)]
pub const fn count_u32(count: usize) -> u32 {
    if count > u32::MAX as usize {
        u32::MAX
    } else {
        count as u32
    }
}

/// As [`count_u32`], at most `u16::MAX`.
#[must_use]
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "larger values are held back before the cast"
)]
pub const fn count_u16(count: usize) -> u16 {
    if count > u16::MAX as usize {
        u16::MAX
    } else {
        count as u16
    }
}

/// As [`count_u32`], at most `u8::MAX`.
#[must_use]
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "larger values are held back before the cast"
)]
pub const fn count_u8(count: usize) -> u8 {
    if count > u8::MAX as usize {
        u8::MAX
    } else {
        count as u8
    }
}

/// Whole microseconds of `time`, at most `u64::MAX` (584,000 years).
#[must_use]
#[inline]
pub fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// The place of something in memory, exactly.
#[must_use]
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "Rookery is built for 64 bits alone, see below"
)]
pub const fn index(place: u64) -> usize {
    place as usize
}

const _: () = assert!(usize::BITS == u64::BITS, "Rookery is built for 64 bits");

/// The low 64 bits of `value`.
#[must_use]
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the other bits are meant to go"
)]
pub const fn low_u64(value: u128) -> u64 {
    value as u64
}

/// The low 32 bits of `value`.
#[must_use]
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the other bits are meant to go"
)]
pub const fn low_u32(value: u64) -> u32 {
    value as u32
}

/// The low 16 bits of `value`.
#[must_use]
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the other bits are meant to go"
)]
pub const fn low_u16(value: u64) -> u16 {
    value as u16
}

/// The low 8 bits of `value`.
#[must_use]
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the other bits are meant to go"
)]
pub const fn low_u8(value: u64) -> u8 {
    value as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_saturate() {
        assert_eq!(truncate_u64(2.9), 2);
        assert_eq!(truncate_u64(-1.0), 0);
        assert_eq!(truncate_u64(f64::NAN), 0);
        assert_eq!(truncate_u64(f64::INFINITY), u64::MAX);
        assert_eq!(truncate_u32(5e9), u32::MAX);
        assert_eq!(truncate_usize(-0.5), 0);
        assert_eq!(truncate_i32(-2.9), -2);
        assert_eq!(truncate_i32(-1e10), i32::MIN);
    }

    #[test]
    fn counts_saturate_and_low_bits_stay() {
        assert_eq!(count_u32(7), 7);
        assert_eq!(count_u32(usize::MAX), u32::MAX);
        assert_eq!(count_u16(70_000), u16::MAX);
        assert_eq!((count_u8(255), count_u8(256)), (255, 255));
        assert_eq!(micros(Duration::from_millis(2)), 2_000);
        assert_eq!(micros(Duration::MAX), u64::MAX);
        assert_eq!(index(u64::MAX), usize::MAX);
        assert_eq!(low_u64(u128::MAX - 1), u64::MAX - 1);
        assert_eq!(low_u32((5 << 32) + 3), 3);
        assert_eq!((low_u16(0x12_3456), low_u8(0x12_3456)), (0x3456, 0x56));
    }
}
