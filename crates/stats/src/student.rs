//! Student's t distribution for whole degrees of freedom.

use std::f64::consts::{FRAC_2_PI, PI};

/// The probability that |T| <= `t` with `df` degrees of freedom, `t` >= 0.
///
/// Source: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.7.3 and 26.7.4; exact for whole `df`.
fn central_probability(t: f64, df: u32) -> f64 {
    let angle = (t / f64::from(df).sqrt()).atan();
    let (sin, cos) = angle.sin_cos();
    // The series 1 + (1/2) cos^2 + (1*3)/(2*4) cos^4 ... (even df), or cos + (2/3) cos^3 + ... (odd df).
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
    if odd { FRAC_2_PI * (angle + sin * sum) } else { sin * sum }
}

/// The two-sided 95 % quantile t(0.975, `df`); `None` for `df` = 0. Beyond 1000 degrees of freedom that of 1000 is given (1.962).
#[must_use]
pub fn t_975(df: u32) -> Option<f64> {
    if df == 0 {
        return None;
    }
    if df == 1 {
        return Some((PI * 0.475).tan());
    }
    let df = df.min(1000);
    let (mut low, mut high) = (1.9, 13.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if central_probability(middle, df) < 0.95 {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(f64::midpoint(low, high))
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
        }
        assert_eq!(t_975(0), None);
        assert_eq!(t_975(1000), t_975(u32::MAX));
    }
}
