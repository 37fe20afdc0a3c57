//! Numbers as people read them: few digits, always with their unit.

use rookery_analysis::{
    estimate::{Estimate, EstimateBasis, Quantile},
    points::LimitCount,
};
use rookery_stats::{Ratio, Spread, Summary};
use rookery_store::TrialStatus;

/// What stands where there is no number.
pub(crate) const NONE: &str = "n/a";

/// A number with about four significant digits.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        NONE.to_owned()
    } else if size >= 1000.0 || size == 0.0 {
        thousands(&format!("{value:.0}"))
    } else if size >= 100.0 {
        format!("{value:.1}")
    } else if size >= 1.0 {
        format!("{value:.2}")
    } else if size >= 0.001 {
        format!("{value:.4}")
    } else {
        format!("{value:.1e}")
    }
}

/// The digits of a whole number in groups of three, from five digits on: `138 000`. The spaces are
/// such as no line is broken at.
pub(crate) fn thousands(text: &str) -> String {
    const LEAST: usize = 5;
    let (sign, digits) = text.split_at(text.len() - text.trim_start_matches('-').len());
    if digits.len() < LEAST || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.to_owned();
    }
    let mut grouped = sign.to_owned();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push('\u{a0}');
        }
        grouped.push(digit);
    }
    grouped
}

/// A mean and half of its interval with the digits that the latter leaves: `138 000` and `39 000`.
fn significant(mean: f64, half: f64) -> (String, String) {
    if !(half.is_finite() && half > 0.0 && mean.is_finite()) {
        return (beside(mean, mean), beside(half, mean));
    }
    // Two digits of the half-width.
    let place = half.log10().floor() - 1.0;
    let step = 10f64.powf(place);
    let shown = |value: f64| {
        let rounded = (value / step).round() * step;
        match place {
            place if place >= 0.0 => thousands(&format!("{rounded:.0}")),
            -1.0 => format!("{rounded:.1}"),
            -2.0 => format!("{rounded:.2}"),
            _ => format!("{rounded:.3}"),
        }
    };
    (shown(mean), shown(half))
}

/// Like `number`, with as many decimals as suit `scale`.
pub(crate) fn beside(value: f64, scale: f64) -> String {
    let decimals = match scale.abs() {
        s if s >= 100.0 => 0,
        s if s >= 10.0 => 1,
        s if s >= 1.0 => 2,
        _ => 3,
    };
    if value.is_finite() {
        thousands(&format!("{value:.decimals$}"))
    } else {
        NONE.to_owned()
    }
}

/// Microseconds with three significant digits, in the unit that suits their size: `850 µs`,
/// `12.3 ms`, `12.3 s`.
pub(crate) fn ms(us: f64) -> String {
    match us.abs() {
        size if size < 1000.0 && size > 0.0 => format!("{us:.0} µs"),
        size if size >= 1e7 && size.is_finite() => format!("{:.1} s", us / 1e6),
        _ => format!("{} ms", ms_value(us)),
    }
}

/// Microseconds as milliseconds, without the unit.
pub(crate) fn ms_value(us: f64) -> String {
    let ms = us / 1000.0;
    if !ms.is_finite() {
        NONE.to_owned()
    } else if ms >= 100.0 {
        thousands(&format!("{ms:.0}"))
    } else if ms >= 10.0 {
        format!("{ms:.1}")
    } else {
        format!("{ms:.2}")
    }
}

/// A load without digits that nobody asked for: whole above ten.
pub(crate) fn load(value: f64) -> String {
    if !value.is_finite() {
        NONE.to_owned()
    } else if value.abs() >= 10.0 {
        thousands(&format!("{value:.0}"))
    } else {
        trimmed((100.0 * value).round() / 100.0)
    }
}

/// A share as a percentage with its sign.
pub(crate) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if !percent.is_finite() {
        NONE.to_owned()
    } else if percent == 0.0 {
        "0 %".to_owned()
    } else if percent.abs() < 1.0 {
        format!("{percent:.2} %")
    } else {
        format!("{percent:.1} %")
    }
}

/// A change as a percentage with its sign and without its unit: `+23.1`, `-4.0`, `0.0`; a minus
/// sign that people write.
pub(crate) fn signed(share: f64) -> String {
    let text = format!("{:.1}", 100.0 * share);
    match text.strip_prefix('-') {
        _ if !share.is_finite() => NONE.to_owned(),
        Some("0.0") => "0.0".to_owned(),
        Some(size) => format!("\u{2212}{size}"),
        None if text == "0.0" => text,
        None => format!("+{text}"),
    }
}

/// A bound rounded up to two significant digits, so that "less than" stays true.
pub(crate) fn few(value: f64) -> String {
    if !(value.is_finite() && value > 0.0) {
        return trimmed(value);
    }
    let step = 10f64.powf(value.log10().floor() - 1.0);
    trimmed((value / step - 1e-9).ceil() * step)
}

/// A duration in seconds, in ms below one second.
pub(crate) fn seconds(seconds: f64) -> String {
    if !seconds.is_finite() {
        NONE.to_owned()
    } else if seconds < 1.0 {
        format!("{} ms", trimmed(1000.0 * seconds))
    } else {
        format!("{} s", trimmed(seconds))
    }
}

pub(crate) use rookery_analysis::label::trimmed;

/// Mean and spread: `1234 ± 12`, `1220 to 1248`, `1234`.
pub(crate) fn summary(summary: &Summary) -> String {
    let mean = beside(summary.mean, summary.mean);
    match summary.spread {
        Spread::Single => mean,
        Spread::Range { min, max } => {
            let (low, high) = (beside(min, summary.mean), beside(max, summary.mean));
            format!("{mean} ({low} to {high})")
        }
        Spread::Interval { half_width } if half_width > summary.mean => {
            let [low, high] = [summary.min, summary.max].map(|value| beside(value, summary.mean));
            format!("{mean} ({low} to {high})")
        }
        Spread::Interval { half_width } => {
            let (mean, half) = significant(summary.mean, half_width);
            format!("{mean} ± {half}")
        }
    }
}

/// A mean with the interval that its trials carry: `1234 ± 12`, `1220 to 1248`,
/// `1234 (± 40 within)` of a single trial.
pub(crate) fn estimate(estimate: &Estimate) -> String {
    let (mean, reach) = match estimate.half_width() {
        Some(half) if estimate.basis != EstimateBasis::Range => {
            let (mean, half) = significant(estimate.mean, half);
            (mean, Some(half))
        }
        _ => (beside(estimate.mean, estimate.mean), None),
    };
    match (estimate.basis, estimate.ends, reach) {
        (EstimateBasis::Range, Some((low, high)), _) => {
            format!(
                "{mean} ({} to {})",
                beside(low, estimate.mean),
                beside(high, estimate.mean)
            )
        }
        (EstimateBasis::Within { reliable: true }, _, Some(reach)) => {
            format!("{mean} (± {reach} within)")
        }
        (EstimateBasis::Within { reliable: false }, _, Some(reach)) => {
            format!("{mean} (± {reach} within, unreliable)")
        }
        (_, _, Some(reach)) => format!("{mean} ± {reach}"),
        _ => mean,
    }
}

/// As [`estimate`], without the words of a single trial, for sentences that say so themselves.
pub(crate) fn mean(estimate: &Estimate) -> String {
    let text = self::estimate(estimate);
    match (estimate.basis, estimate.half_width()) {
        (EstimateBasis::Within { .. }, Some(half)) => {
            let (mean, half) = significant(estimate.mean, half);
            format!("{mean} ± {half}")
        }
        _ => text,
    }
}

/// A percentile in ms with its interval, without the unit: `99.3 (97.1 to 101)`.
pub(crate) fn quantile(quantile: &Quantile) -> String {
    let value = ms_value(quantile.value_us as f64);
    let within = if matches!(quantile.basis, EstimateBasis::Within { .. }) {
        " within"
    } else {
        ""
    };
    match quantile.ends_us {
        (Some(low), Some(high)) => {
            format!("{value} ({} to {}{within})", ms_value(low), ms_value(high))
        }
        (Some(low), None) => format!("{value} (from {}{within})", ms_value(low)),
        (None, Some(high)) => format!("{value} (to {}{within})", ms_value(high)),
        (None, None) => value,
    }
}

/// A ratio as a factor with its interval: `1.92 (1.88 to 1.97)`.
pub(crate) fn factor(ratio: &Ratio) -> String {
    let value = format!("{:.2}", ratio.value);
    match ratio.interval {
        Some((low, high)) => format!("{value} ({low:.2} to {high:.2})"),
        None => value,
    }
}

/// A mean share of several repeats as a percentage.
pub(crate) fn mean_percent(summary: &Summary) -> String {
    percent(summary.mean)
}

/// A ratio as a percentage with its interval: `96.1 % (94.0 to 98.2)`.
pub(crate) fn ratio(ratio: &Ratio) -> String {
    let value = percent(ratio.value);
    match ratio.interval {
        Some((low, high)) => format!("{value} ({:.1} to {:.1})", 100.0 * low, 100.0 * high),
        None => value,
    }
}

/// An option in its own words, or `n/a`.
pub(crate) fn or_none<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or_else(|| NONE.to_owned(), show)
}

/// The state of a trial as a word.
pub(crate) fn status(status: TrialStatus) -> &'static str {
    match status {
        TrialStatus::Planned => "not run",
        TrialStatus::Running => "unfinished",
        TrialStatus::Done => "done",
        TrialStatus::Void => "void",
        TrialStatus::Failed => "failed",
        TrialStatus::Skipped => "skipped",
    }
}

/// `1 trial`, `2 trials`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}

/// What an interval rests on, as behind a mean: `mean and 95 % interval of 5 trials`.
pub(crate) fn basis(basis: EstimateBasis) -> String {
    match basis {
        EstimateBasis::Nothing => "a single trial".to_owned(),
        EstimateBasis::Within { reliable: true } => {
            "a single trial; 95 % interval within it".to_owned()
        }
        EstimateBasis::Within { reliable: false } => {
            "a single trial; interval within it, unreliable".to_owned()
        }
        EstimateBasis::Range => "mean and range of the trials".to_owned(),
        EstimateBasis::Repeats { trials } => format!("mean and 95 % interval of {trials} trials"),
        EstimateBasis::Adaptive { trials } => {
            format!("mean and 95 % interval of {trials} trials, repeated for it")
        }
    }
}

/// How limits were judged: `met`, `missed in 1 of 3`, `not judged`; `met, marginal in 2` where
/// chance may have decided.
pub(crate) fn limits(count: &LimitCount) -> String {
    let total = count.passed + count.failed + count.unjudged;
    let plain = match (total, count.failed) {
        (0, _) => NONE.to_owned(),
        (_, 0) if count.unjudged == 0 => "met".to_owned(),
        (_, 0) if count.passed == 0 => "not judged".to_owned(),
        (_, 0) => format!("met in {} of {total}", count.passed),
        (_, failed) if failed == total => "missed".to_owned(),
        (_, failed) => format!("missed in {failed} of {total}"),
    };
    match (count.marginal, total) {
        (0, _) => plain,
        (_, 1) => format!("{plain}, marginal"),
        (marginal, _) => format!("{plain}, marginal in {marginal}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_few_digits_and_their_unit() {
        let shown = [
            1234.6,
            123.46,
            12.346,
            1.2,
            0.01234,
            0.000_012,
            0.0,
            f64::NAN,
        ]
        .map(number);
        assert_eq!(shown.join(" "), "1235 123.5 12.35 1.20 0.0123 1.2e-5 0 n/a");
        assert_eq!(
            [850.0, 12_345.0, 1_234_567.0].map(ms).join(" "),
            "850 µs 12.3 ms 1235 ms"
        );
        assert_eq!(
            [0.0, 0.0004, 0.0123, 0.9612].map(percent).join(" "),
            "0 % 0.04 % 1.2 % 96.1 %"
        );
        assert_eq!(
            [0.25, 1.5, 60.0].map(seconds).join(" "),
            "250 ms 1.5 s 60 s"
        );
    }

    #[test]
    fn changes_have_a_sign_and_bounds_are_rounded_up() {
        let shown = [0.231, -0.04, 0.0, -0.0001, 0.00049, f64::NAN].map(signed);
        assert_eq!(shown.join(" "), "+23.1 \u{2212}4.0 0.0 0.0 0.0 n/a");
        assert_eq!(
            [3.21, 12.01, 0.456, 10.0, 0.0, 100.4].map(few).join(" "),
            "3.3 13 0.46 10 0 110"
        );
    }

    #[test]
    fn an_interval_says_what_it_rests_on() {
        let show = |ends, basis| {
            estimate(&Estimate {
                mean: 1234.4,
                ends,
                basis,
            })
        };
        let ends = Some((1194.4, 1274.4));
        assert_eq!(show(None, EstimateBasis::Nothing), "1234");
        assert_eq!(
            show(ends, EstimateBasis::Within { reliable: true }),
            "1234 (± 40 within)"
        );
        assert_eq!(
            show(ends, EstimateBasis::Within { reliable: false }),
            "1234 (± 40 within, unreliable)"
        );
        assert_eq!(show(ends, EstimateBasis::Range), "1234 (1194 to 1274)");
        assert_eq!(
            [
                EstimateBasis::Repeats { trials: 3 },
                EstimateBasis::Adaptive { trials: 5 }
            ]
            .map(|basis| show(ends, basis)),
            ["1234 ± 40", "1234 ± 40"]
        );
        let ratio = Ratio {
            value: 1.923,
            interval: Some((1.88, 1.97)),
        };
        assert_eq!(factor(&ratio), "1.92 (1.88 to 1.97)");
        assert_eq!(
            [560.4, 12.0, 2.5, 0.123].map(load).join(" "),
            "560 12 2.5 0.12"
        );
    }

    #[test]
    fn a_spread_shows_what_the_repeats_allow() {
        let show = |values: &[f64]| summary(&Summary::from_values(values).expect("values"));
        assert_eq!(show(&[1234.4]), "1234");
        assert_eq!(show(&[1220.0, 1248.0]), "1234 (1220 to 1248)");
        assert_eq!(show(&[10.0, 11.0, 12.0]), "11.0 ± 2.5");
    }
}
