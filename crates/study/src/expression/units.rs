//! Units of size within expressions.

/// The units, binary and decimal.
pub(super) const SIZES: [&str; 9] = ["KiB", "MiB", "GiB", "TiB", "kB", "KB", "MB", "GB", "TB"];

/// What one of each of [`SIZES`] is worth; nothing where it has no meaning.
pub(crate) type Units = [Option<f64>; SIZES.len()];

const KIB: f64 = 1024.0;

/// Bytes.
pub(crate) const BYTES: Units = [
    Some(KIB),
    Some(KIB * KIB),
    Some(KIB * KIB * KIB),
    Some(KIB * KIB * KIB * KIB),
    Some(1e3),
    Some(1e3),
    Some(1e6),
    Some(1e9),
    Some(1e12),
];

/// Nominal megabytes of a DVD Store database, where 1GB is 1024MB and nothing else has a meaning.
pub(crate) const NOMINAL_MEGABYTES: Units = [
    None,
    None,
    None,
    None,
    None,
    None,
    Some(1.0),
    Some(1024.0),
    None,
];

/// For quantities without sizes.
pub(crate) const NO_UNITS: Units = [None; SIZES.len()];
