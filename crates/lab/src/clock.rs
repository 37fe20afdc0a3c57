//! The time as the store keeps it.

/// Now: RFC 3339 in UTC, to the millisecond.
pub(crate) fn now() -> String {
    let now = jiff::Timestamp::now();
    now.round(jiff::Unit::Millisecond)
        .unwrap_or(now)
        .to_string()
}
