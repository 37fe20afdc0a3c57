//! Percentages as they are typed.

/// A text that is no share to be ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("give a percentage of at least 0 and below 100, such as 2%")]
pub(super) struct ParsePercentageError;

/// `2%`, `2 %` or `2` as a share, for the command line.
pub(super) fn percentage(text: &str) -> Result<f64, ParsePercentageError> {
    let number = text.trim().trim_end_matches('%').trim();
    match number.parse::<f64>() {
        Ok(percent) if (0.0..100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err(ParsePercentageError),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_a_percentage() {
        assert_eq!(
            ["2%", " 2 % ", "2", "0.5%", "0"].map(percentage),
            [Ok(0.02), Ok(0.02), Ok(0.02), Ok(0.005), Ok(0.0)]
        );
        for wrong in ["", "%", "100%", "-1%", "two", "NaN", "inf"] {
            assert!(percentage(wrong).is_err(), "{wrong}");
        }
    }
}
