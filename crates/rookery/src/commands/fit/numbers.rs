//! Lines, numbers and intervals as text.

use std::fmt::Write;

use rookery_cast::truncate_i32;
use rookery_model::fit::Interval;

/// A line; writing to a text cannot fail.
pub(super) fn line(out: &mut String, text: &str) {
    let _ = writeln!(out, "{text}");
}

/// An interval in brackets after its estimate; nothing where there is none.
pub(super) fn ends(interval: Option<Interval>) -> String {
    interval.map_or_else(String::new, |interval| {
        format!(" ({} to {})", number(interval.low), number(interval.high))
    })
}

/// Five significant digits, without an exponent where that is readable.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || !size.is_finite() {
        return format!("{value}");
    }
    let places = 4 - truncate_i32(size.log10().floor());
    if (1e-5..1e9).contains(&size) {
        let text = format!("{value:.*}", usize::try_from(places.max(0)).unwrap_or(0));
        if text.contains('.') {
            return text.trim_end_matches('0').trim_end_matches('.').to_owned();
        }
        text
    } else {
        format!("{value:.4e}")
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_have_five_digits() {
        let cases = [
            (1.0, "1"),
            (11692.9, "11693"),
            (0.032_107_9, "0.032108"),
            (0.000_804_741, "0.00080474"),
            (-36.9365, "-36.937"),
            (1e-7, "1.0000e-7"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
    }
}
