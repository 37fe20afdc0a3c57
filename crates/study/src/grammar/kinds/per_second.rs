//! Limits on what is done each second: a count, bytes, or bits.

use rookery_cast::truncate_u64;
use serde_json::{Value as Json, json};
use toml::{Spanned, de::DeValue};

use super::{Whole, WholeMemory, quantity};
use crate::{
    grammar::{At, Context, Kind},
    link_shape::{RATE_UNITS, plain_rate},
    problem::Code,
    source::quoted,
};

/// A limit on what is done each second, or `none`.
pub(crate) enum PerSecond {
    /// Operations.
    Count,
    /// Bytes, in whole MiB.
    Bytes,
    /// Bits of a network.
    Bits,
}

const NONE: &str = "none";
const COUNT: Whole<u64> = Whole {
    min: 1,
    max: 100_000_000,
};
const MIB: u64 = 1 << 20;
/// Slower links take longer than a trial to carry what its guests say of themselves.
const LEAST_BITS: u64 = 64_000;
/// A terabit.
const MOST_BITS: u64 = 1_000_000_000_000;

impl Kind for PerSecond {
    type Value = Option<u64>;

    fn read(
        &self,
        value: &Spanned<DeValue<'_>>,
        at: &At,
        context: &mut Context,
    ) -> Option<Option<u64>> {
        if matches!(value.get_ref(), DeValue::String(text) if text == NONE) {
            return Some(None);
        }
        match self {
            Self::Count => match value.get_ref() {
                DeValue::Integer(_) => COUNT.read(value, at, context).map(Some),
                _ => context.wrong_type(value, at, self),
            },
            Self::Bytes => match WholeMemory.read(value, at, context)? {
                0 => context.out_of_range(value, at, "is nothing at all", self),
                mib => Some(Some(mib.saturating_mul(MIB))),
            },
            Self::Bits => self.read_bits(value, at, context).map(Some),
        }
    }

    fn write(&self, value: &Option<u64>) -> String {
        match (self, value) {
            (_, None) => format!("\"{NONE}\""),
            (Self::Count, Some(count)) => count.to_string(),
            (Self::Bytes, Some(bytes)) => WholeMemory.write(&(bytes / MIB)),
            (Self::Bits, Some(bits)) => format!("\"{}\"", plain_rate(*bits)),
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Count => format!("{}, or \"{NONE}\"", COUNT.describe()),
            Self::Bytes => format!(
                "{} (each second; rounded up to whole MiB), or \"{NONE}\"",
                WholeMemory.describe()
            ),
            Self::Bits => format!(
                "bits per second with a unit ({}), {} to {}, or \"{NONE}\"",
                unit_names(),
                plain_rate(LEAST_BITS),
                plain_rate(MOST_BITS)
            ),
        }
    }

    fn example(&self) -> String {
        self.write(&Some(match self {
            Self::Count => 500,
            Self::Bytes => 20 * MIB,
            Self::Bits => 100_000_000,
        }))
    }

    fn schema(&self) -> Json {
        let limit = match self {
            Self::Count => COUNT.schema(),
            Self::Bytes => WholeMemory.schema(),
            Self::Bits => json!({"type": "string", "pattern": BITS_PATTERN}),
        };
        json!({"anyOf": [limit, {"const": NONE}]})
    }
}

/// A rate as it is written.
const BITS_PATTERN: &str = r"^\s*[0-9]+(\.[0-9]+)?\s*([kMG]bit|bit)\s*$";

fn unit_names() -> String {
    let names: Vec<&str> = RATE_UNITS.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

impl PerSecond {
    /// Bits per second: `100Mbit`.
    fn read_bits(
        &self,
        value: &Spanned<DeValue<'_>>,
        at: &At,
        context: &mut Context,
    ) -> Option<u64> {
        let DeValue::String(text) = value.get_ref() else {
            return context.wrong_type(value, at, self);
        };
        let wrong_unit = |context: &mut Context| {
            let message = format!("{at}: {} is no rate of bits", quoted(text));
            let help = at.write(&self.example());
            context.refuse(Code::WrongUnit, value.span(), message, help)
        };
        let (number, unit) = match quantity::split(text) {
            Ok(parts) => parts,
            Err(quantity::BadQuantity::Negative) => {
                return context.out_of_range(value, at, "is negative", self);
            }
            Err(_) => return wrong_unit(context),
        };
        let known = RATE_UNITS.iter().chain(&[("bit", 1)]);
        let Some((_, bits)) = known.into_iter().find(|(name, _)| *name == unit) else {
            return wrong_unit(context);
        };
        let bits = truncate_u64((number * *bits as f64).round());
        if bits < LEAST_BITS {
            let why = format!("is less than {}", plain_rate(LEAST_BITS));
            return context.out_of_range(value, at, &why, self);
        }
        if bits > MOST_BITS {
            let why = format!("is more than {}", plain_rate(MOST_BITS));
            return context.out_of_range(value, at, &why, self);
        }
        Some(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};

    #[test]
    fn limits_are_counts_or_bytes_or_bits_or_none() {
        assert_eq!(read(&PerSecond::Count, "500"), Ok(Some(500)));
        assert_eq!(read(&PerSecond::Bytes, "'20MiB'"), Ok(Some(20 << 20)));
        assert_eq!(read(&PerSecond::Bytes, "'1KiB'"), Ok(Some(1 << 20)));
        assert_eq!(read(&PerSecond::Bits, "'100Mbit'"), Ok(Some(100_000_000)));
        assert_eq!(
            read(&PerSecond::Bits, "'2.5 Gbit'"),
            Ok(Some(2_500_000_000))
        );
        for kind in [PerSecond::Count, PerSecond::Bytes, PerSecond::Bits] {
            assert_eq!(read(&kind, "'none'"), Ok(None));
            assert_eq!(
                read(&kind, &kind.example()).map(|value| kind.write(&value)),
                Ok(kind.example())
            );
        }
        assert_eq!(code(&PerSecond::Count, "0"), Code::OutOfRange);
        assert_eq!(code(&PerSecond::Count, "'500'"), Code::WrongType);
        assert_eq!(code(&PerSecond::Bytes, "'0MiB'"), Code::OutOfRange);
        assert_eq!(code(&PerSecond::Bytes, "500"), Code::WrongUnit);
        assert_eq!(code(&PerSecond::Bytes, "'9TB per guest'"), Code::WrongUnit);
        assert_eq!(code(&PerSecond::Bits, "'100MB'"), Code::WrongUnit);
        assert_eq!(code(&PerSecond::Bits, "'fast'"), Code::WrongUnit);
        assert_eq!(code(&PerSecond::Bits, "100"), Code::WrongType);
        assert_eq!(code(&PerSecond::Bits, "'-1Mbit'"), Code::OutOfRange);
        assert_eq!(code(&PerSecond::Bits, "'1kbit'"), Code::OutOfRange);
        assert_eq!(code(&PerSecond::Bits, "'2000Gbit'"), Code::OutOfRange);
    }
}
