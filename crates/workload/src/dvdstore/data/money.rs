//! Money as whole cents, rounded the way C `printf("%.2f")` rounds a double.

/// An amount of money in cents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cents(pub u64);

impl Cents {
    /// The amount that `printf("%.2f", amount)` prints: the exact binary value of the double,
    /// rounded half to even.
    ///
    /// `amount` must be finite, not negative and below 2^53.
    #[must_use]
    pub fn from_f64(amount: f64) -> Self {
        debug_assert!(
            (0.0..9_007_199_254_740_992.0).contains(&amount),
            "amount out of range: {amount}"
        );
        let bits = amount.to_bits();
        let exponent = ((bits >> 52) & 0x7ff) as i32 - 1075;
        // 53 bits of mantissa times 100 stay below 2^60.
        let hundredfold = ((bits & 0xf_ffff_ffff_ffff) | 0x10_0000_0000_0000) * 100;
        match -exponent {
            shift @ 1..=61 => {
                let whole = hundredfold >> shift;
                let rest = hundredfold & ((1 << shift) - 1);
                let half = 1 << (shift - 1);
                Self(whole + u64::from(rest > half || (rest == half && whole & 1 == 1)))
            }
            // Less than a quarter of a cent, or (shift 0) a whole number.
            shift if shift > 61 => Self(0),
            _ => Self(hundredfold),
        }
    }

    /// The amount in units of the currency, for databases that store money as a double.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 100.0
    }
}

impl std::fmt::Display for Cents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:02}", self.0 / 100, self.0 % 100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_amount_of_the_load_files_prints_as_c_prints_it() {
        // The standard library prints the exact value rounded half to even, as C does.
        for k in 1..=40_000 {
            let net = 0.01 * f64::from(k);
            let tax = 0.0825 * net;
            for amount in [net, tax, net + tax] {
                assert_eq!(Cents::from_f64(amount).to_string(), format!("{amount:.2}"));
            }
        }
    }

    #[test]
    fn ties_round_to_even_on_the_exact_value() {
        assert_eq!(Cents::from_f64(0.125), Cents(12));
        assert_eq!(Cents::from_f64(0.375), Cents(38));
        assert_eq!(
            Cents::from_f64(2.675),
            Cents(267),
            "the double is below the tie"
        );
        assert_eq!(Cents::from_f64(0.0), Cents(0));
        assert_eq!(Cents::from_f64(1e-9), Cents(0));
        assert_eq!(
            Cents::from_f64(4_503_599_627_370_496.0),
            Cents(450_359_962_737_049_600)
        );
    }
}
