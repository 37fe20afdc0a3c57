//! Special functions behind the tests and quantiles: logarithm of gamma, incomplete gamma and beta.

use std::f64::consts::PI;

/// ln Gamma(x), x > 0. Source: Lanczos, SIAM J. Numer. Anal. 1 (1964) 86, with g = 7 and nine
/// coefficients.
pub(crate) fn ln_gamma(x: f64) -> f64 {
    const G: f64 = 7.0;
    const SERIES: [f64; 9] = [
        0.999_999_999_999_809_9,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        return (PI / (PI * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let sum = SERIES[1..]
        .iter()
        .zip(1_u32..)
        .fold(SERIES[0], |sum, (term, i)| sum + term / (x + f64::from(i)));
    let t = x + G + 0.5;
    0.5 * (2.0 * PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// P(a, x): the share of a gamma distribution of shape `a` and scale 1 below `x`; a > 0, x >= 0.
///
/// Source: Abramowitz and Stegun (1964), 6.5.29 for x < a + 1, else the continued fraction 6.5.31.
pub(crate) fn gamma_p(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum, mut k) = (1.0 / a, 1.0 / a, a);
        while term > sum * 1e-17 {
            k += 1.0;
            term *= x / k;
            sum += term;
        }
        front * sum
    } else {
        let fraction = continued_fraction(x + 1.0 - a, |i| {
            let i = f64::from(i);
            (-i * (i - a), x + 2.0 * i + 1.0 - a)
        });
        1.0 - front / fraction
    }
}

/// The x with P(a, x) = p, 0 < p < 1, by bisection on a bracket that grows.
pub(crate) fn gamma_quantile(a: f64, p: f64) -> f64 {
    let mut high = a + 10.0;
    while gamma_p(a, high) < p {
        high *= 2.0;
    }
    bisect(0.0, high, |x| gamma_p(a, x) < p)
}

/// The upper tail P(F > f) of Fisher's F with `df1` and `df2` degrees of freedom, f >= 0.
pub(crate) fn f_tail(f: f64, df1: f64, df2: f64) -> f64 {
    if f.is_infinite() {
        return 0.0;
    }
    beta_share(df2 / (df2 + df1 * f), df2 / 2.0, df1 / 2.0)
}

/// The regularised incomplete beta function I_x(a, b), 0 <= x <= 1. Source: Abramowitz and Stegun
/// (1964), 26.5.8.
fn beta_share(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_share(1.0 - x, b, a);
    }
    let front =
        (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp() / a;
    let fraction = continued_fraction(1.0, |i| {
        let m = f64::from(i / 2);
        let numerator = if i % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        (numerator, 1.0)
    });
    front / fraction
}

/// b0 + a1/(b1 + a2/(b2 + ...)) by the modified method of Lentz; `term(i)` gives (a_i, b_i), i >=
/// 1.
fn continued_fraction(b0: f64, term: impl Fn(u32) -> (f64, f64)) -> f64 {
    const TINY: f64 = 1e-300;
    let (mut f, mut c, mut d) = (b0.max(TINY), b0.max(TINY), 0.0);
    for i in 1..20_000 {
        let (a, b) = term(i);
        d = away_from_zero(b + a * d).recip();
        c = away_from_zero(b + a / c);
        f *= c * d;
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    return f;

    fn away_from_zero(value: f64) -> f64 {
        if value.abs() < TINY { TINY } else { value }
    }
}

/// The point between `low` and `high` where `below` turns false, to the last bits.
pub(crate) fn bisect(mut low: f64, mut high: f64, below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gamma_of_whole_and_half_numbers() {
        assert!((ln_gamma(5.0) - 24.0_f64.ln()).abs() < 1e-13);
        assert!((ln_gamma(0.5) - PI.sqrt().ln()).abs() < 1e-13);
        assert!((ln_gamma(101.0) - 363.739_375_555_563_5).abs() < 1e-10);
    }

    #[test]
    fn gamma_share_of_shape_one_is_exponential_and_quantiles_invert() {
        for x in [0.1, 1.0, 5.0, 30.0] {
            assert!((gamma_p(1.0, x) - (1.0 - (-x).exp())).abs() < 1e-14, "{x}");
        }
        for a in [0.3, 1.9, 32.3, 400.0] {
            for p in [0.05, 0.5, 0.95, 0.99] {
                assert!(
                    (gamma_p(a, gamma_quantile(a, p)) - p).abs() < 1e-12,
                    "{a} {p}"
                );
            }
        }
    }

    #[test]
    fn f_tails_are_those_of_the_tables() {
        // F(0.95; 1, 5) = 6.607891, F(0.95; 2, 10) = 4.102821, F(0.95; 5, 5) = 5.050329.
        for (f, df1, df2) in [
            (6.607_891, 1.0, 5.0),
            (4.102_821, 2.0, 10.0),
            (5.050_329, 5.0, 5.0),
        ] {
            assert!((f_tail(f, df1, df2) - 0.05).abs() < 1e-7, "{f}");
        }
        assert!((f_tail(0.0, 3.0, 4.0) - 1.0).abs() < 1e-15);
        assert!(f_tail(f64::INFINITY, 1.0, 5.0).abs() < 1e-300);
    }
}
