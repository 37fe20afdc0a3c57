//! Student's t distribution for whole degrees of freedom.

use std::f64::consts::FRAC_2_PI;

/// Beyond this the distribution hardly changes, and the series grows long.
const LARGEST_DF: u32 = 1000;

/// The probability that |T| <= `t` with `df` degrees of freedom, `t` >= 0.
///
/// Source: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.7.3 and 26.7.4;
/// exact for whole `df`.
fn central_probability(t: f64, df: u32) -> f64 {
    let angle = (t / f64::from(df).sqrt()).atan();
    let (sin, cos) = angle.sin_cos();
    // The series 1 + (1/2) cos^2 + (1*3)/(2*4) cos^4 ... (even df), or cos + (2/3) cos^3 + ... (odd
    // df).
    let odd = df % 2 == 1;
    let mut term = if odd { cos } else { 1.0 };
    let mut sum = 0.0;
    let mut exponent = u32::from(odd);
    while exponent + 2 <= df {
        sum += term;
        let next = f64::from(exponent + 1) / f64::from(exponent + 2);
        term *= next * cos * cos;
        exponent += 2;
    }
    if odd {
        FRAC_2_PI * (angle + sin * sum)
    } else {
        sin * sum
    }
}

/// The two-sided 95 % quantile t(0.975, `df`); `None` for `df` = 0. Beyond 1000 degrees of freedom
/// that of 1000 is given (1.962).
#[must_use]
pub fn t_975(df: u32) -> Option<f64> {
    t_central(0.95, df)
}

/// The `t` with |T| <= `t` at this probability, 0 < `probability` < 1; `None` for `df` = 0 or a
/// probability outside.
pub(crate) fn t_central(probability: f64, df: u32) -> Option<f64> {
    if df == 0 || !(probability > 0.0 && probability < 1.0) {
        return None;
    }
    let df = df.min(LARGEST_DF);
    let mut high = 1.0;
    while central_probability(high, df) < probability && high < 1e15 {
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if central_probability(middle, df) < probability {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(f64::midpoint(low, high))
}

/// The probability that |T| >= |`t`| by chance alone; `None` for `df` = 0 or a `t` that is not a
/// number. Beyond 1000 degrees of freedom that of 1000 is given.
#[must_use]
pub fn two_sided_p(t: f64, df: u32) -> Option<f64> {
    if df == 0 || t.is_nan() {
        return None;
    }
    Some((1.0 - central_probability(t.abs(), df.min(LARGEST_DF))).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        let table = [
            (1, 12.706_205),
            (2, 4.302_653),
            (3, 3.182_446),
            (4, 2.776_445),
            (5, 2.570_582),
            (9, 2.262_157),
            (19, 2.093_024),
            (29, 2.045_230),
            (120, 1.979_930),
            (1000, 1.962_339),
        ];
        for (df, expected) in table {
            let t = t_975(df).expect("degrees of freedom");
            assert!((t - expected).abs() < 1e-6, "df {df}: {t}");
            let p = two_sided_p(-t, df).expect("degrees of freedom");
            assert!((p - 0.05).abs() < 1e-9, "df {df}: {p}");
        }
        assert_eq!(t_975(0), None);
        assert_eq!(t_975(1000), t_975(u32::MAX));
    }

    #[test]
    fn other_probabilities_are_those_of_the_tables_too() {
        // t(0.80): Abramowitz and Stegun, table 26.10.
        for (df, expected) in [
            (1, 1.376_382),
            (2, 1.060_660),
            (5, 0.919_544),
            (30, 0.853_767),
        ] {
            let t = t_central(0.6, df).expect("degrees of freedom");
            assert!((t - expected).abs() < 1e-6, "df {df}: {t}");
        }
        assert_eq!(
            (
                t_central(0.95, 0),
                t_central(1.0, 3),
                t_central(f64::NAN, 3)
            ),
            (None, None, None)
        );
        assert_eq!(
            (two_sided_p(0.0, 4), two_sided_p(f64::INFINITY, 4)),
            (Some(1.0), Some(0.0))
        );
        assert_eq!(
            (two_sided_p(1.0, 0), two_sided_p(f64::NAN, 4)),
            (None, None)
        );
    }
}
