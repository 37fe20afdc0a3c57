//! Money in whole cents.

/// An amount in cents. Sums of prices stay exact; only the tax is rounded, once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cents(pub(crate) i64);

/// Sales tax in hundredths of a percent: 8.25 %.
const TAX_BASIS_POINTS: i128 = 825;

/// Net amount, tax and total of one order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amounts {
    pub(crate) net: Cents,
    pub(crate) tax: Cents,
    pub(crate) total: Cents,
}

impl Amounts {
    /// The amounts for `net`: tax is 8.25 % of it, half a cent rounded up, and total = net + tax.
    ///
    /// Saturates far beyond any order that the pages accept.
    pub(crate) fn of_net(net: Cents) -> Self {
        let tax = (i128::from(net.0) * TAX_BASIS_POINTS + 5_000).div_euclid(10_000);
        let tax = Cents(i64::try_from(tax).unwrap_or(i64::MAX));
        Self {
            net,
            tax,
            total: Cents(net.0.saturating_add(tax.0)),
        }
    }
}

impl Cents {
    /// This amount `quantity` times.
    pub(crate) fn times(self, quantity: i64) -> Self {
        Self(self.0.saturating_mul(quantity))
    }

    /// The sum of both.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Append the amount with two decimals, such as `29.99`.
    pub(crate) fn write_to(self, out: &mut Vec<u8>) {
        use std::io::Write as _;
        let sign = if self.0 < 0 { "-" } else { "" };
        let magnitude = self.0.unsigned_abs();
        // Writing into a vector cannot fail.
        let _ = write!(out, "{sign}{}.{:02}", magnitude / 100, magnitude % 100);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(cents: i64) -> String {
        let mut out = Vec::new();
        Cents(cents).write_to(&mut out);
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn amounts_print_with_two_decimals() {
        assert_eq!(
            [text(0), text(5), text(1999), text(-150)],
            ["0.00", "0.05", "19.99", "-1.50"]
        );
    }

    #[test]
    fn tax_rounds_half_a_cent_up() {
        // 8.25 % of 2.00 is 16.5 cents.
        assert_eq!(
            Amounts::of_net(Cents(200)),
            Amounts {
                net: Cents(200),
                tax: Cents(17),
                total: Cents(217)
            }
        );
        // 8.25 % of 1.99 is 16.4175 cents.
        assert_eq!(Amounts::of_net(Cents(199)).tax, Cents(16));
        assert_eq!(Amounts::of_net(Cents(0)), Amounts::default());
    }
}
