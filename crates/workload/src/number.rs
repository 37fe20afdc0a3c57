//! Numbers that JSON does not know.

use serde::{Deserialize, Deserializer};

/// What could not be computed is null in JSON; it comes back as NaN.
pub(crate) fn or_nan<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}
