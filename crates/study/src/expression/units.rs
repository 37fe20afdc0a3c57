//! Units of size within expressions.

/// The units, binary and decimal.
pub(super) const SIZES: [&str; 9] = ["KiB", "MiB", "GiB", "TiB", "kB", "KB", "MB", "GB", "TB"];

/// What sizes are counted in.
#[derive(Debug, PartialEq)]
pub(crate) struct Units {
    /// What one of each of [`SIZES`] is worth; nothing where it has no meaning.
    pub(super) sizes: [Option<f64>; SIZES.len()],
    /// What a byte of memory is worth.
    pub(super) byte: f64,
}

const KIB: f64 = 1024.0;

/// Bytes.
pub(crate) const BYTES: Units = Units {
    sizes: [
        Some(KIB),
        Some(KIB * KIB),
        Some(KIB * KIB * KIB),
        Some(KIB * KIB * KIB * KIB),
        Some(1e3),
        Some(1e3),
        Some(1e6),
        Some(1e9),
        Some(1e12),
    ],
    byte: 1.0,
};

/// Nominal megabytes of a database, where 1GB is 1024MB and nothing else has a meaning. A MiB of
/// memory counts as one of them.
pub(crate) const NOMINAL_MEGABYTES: Units = Units {
    sizes: [
        None,
        None,
        None,
        None,
        None,
        None,
        Some(1.0),
        Some(1024.0),
        None,
    ],
    byte: 1.0 / (KIB * KIB),
};

/// For quantities without sizes.
pub(crate) const NO_UNITS: Units = Units {
    sizes: [None; SIZES.len()],
    byte: 1.0,
};
