//! Numbers with units: `250ms`, `640MiB per vcpu`.

use crate::{amount::Per, source::quoted};

/// A quantity that cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BadQuantity {
    /// It does not begin with a number.
    NoNumber,
    /// It is below zero.
    Negative,
    /// The number is longer than any sensible one.
    TooLong,
}

/// Splits a quantity into number and unit, both without spaces around; the unit may be empty.
pub(super) fn split(text: &str) -> Result<(f64, &str), BadQuantity> {
    let text = text.trim();
    if text.starts_with('-') {
        return Err(BadQuantity::Negative);
    }
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    if !number.starts_with(|c: char| c.is_ascii_digit()) || number.ends_with('.') {
        return Err(BadQuantity::NoNumber);
    }
    if number.len() > 40 {
        return Err(BadQuantity::TooLong);
    }
    let number = number.parse().map_err(|_| BadQuantity::NoNumber)?;
    Ok((number, unit.trim()))
}

/// A quantity that is counted by something that there is not.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("per {}", quoted(.0))]
pub(super) struct BadPer(String);

/// Splits `640MiB per vcpu` into `640MiB` and what it is counted by; without `per` it is counted by
/// guest.
pub(super) fn split_per(text: &str) -> Result<(&str, Per), BadPer> {
    let Some((amount, per)) = text.split_once(" per ") else {
        return Ok((text, Per::Guest));
    };
    let per = match per.trim().to_ascii_lowercase().as_str() {
        "vcpu" => Per::Vcpu,
        "guest" => Per::Guest,
        "host" => Per::Host,
        _ => return Err(BadPer(per.trim().to_owned())),
    };
    Ok((amount, per))
}

/// How `per` is written.
pub(super) fn per_suffix(per: Per) -> &'static str {
    match per {
        Per::Vcpu => " per vcpu",
        Per::Guest => " per guest",
        Per::Host => " per host",
    }
}

/// The pattern of a number, and of `per`, for the schema. The parser is the judge; the schema only
/// helps editors.
pub(super) const NUMBER: &str = r"\s*[0-9]+(\.[0-9]+)?\s*";
pub(super) const PER: &str =
    r"(\s+per\s+([vV][cC][pP][uU]|[gG][uU][eE][sS][tT]|[hH][oO][sS][tT]))?\s*";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_units_part() {
        assert_eq!(split("250ms"), Ok((250.0, "ms")));
        assert_eq!(split(" 1.5 GiB "), Ok((1.5, "GiB")));
        assert_eq!(split("7"), Ok((7.0, "")));
        assert_eq!(split("-7s"), Err(BadQuantity::Negative));
        for text in ["", "ms", ".5s", "1.s", "1.2.3s", "+1s", "∞s"] {
            assert_eq!(split(text), Err(BadQuantity::NoNumber), "{text}");
        }
        assert_eq!(split(&"9".repeat(400)), Err(BadQuantity::TooLong));
    }

    #[test]
    fn per_is_split_off() {
        assert_eq!(split_per("10MB per vCPU"), Ok(("10MB", Per::Vcpu)));
        assert_eq!(split_per("10MB"), Ok(("10MB", Per::Guest)));
        assert!(split_per("10MB per cow").is_err());
    }
}
