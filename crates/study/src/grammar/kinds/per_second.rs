//! Limits on what is done each second: a count, or bytes.

use serde_json::{Value as Json, json};
use toml::{Spanned, de::DeValue};

use super::{Whole, WholeMemory};
use crate::grammar::{At, Context, Kind};

/// A limit on what is done each second, or `none`.
pub(crate) enum PerSecond {
    /// Operations.
    Count,
    /// Bytes, in whole MiB.
    Bytes,
}

const NONE: &str = "none";
const COUNT: Whole<u64> = Whole {
    min: 1,
    max: 100_000_000,
};
const MIB: u64 = 1 << 20;

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
        }
    }

    fn write(&self, value: &Option<u64>) -> String {
        match (self, value) {
            (_, None) => format!("\"{NONE}\""),
            (Self::Count, Some(count)) => count.to_string(),
            (Self::Bytes, Some(bytes)) => WholeMemory.write(&(bytes / MIB)),
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Count => format!("{}, or \"{NONE}\"", COUNT.describe()),
            Self::Bytes => format!(
                "{} (each second; rounded up to whole MiB), or \"{NONE}\"",
                WholeMemory.describe()
            ),
        }
    }

    fn example(&self) -> String {
        self.write(&Some(match self {
            Self::Count => 500,
            Self::Bytes => 20 * MIB,
        }))
    }

    fn schema(&self) -> Json {
        let limit = match self {
            Self::Count => COUNT.schema(),
            Self::Bytes => WholeMemory.schema(),
        };
        json!({"anyOf": [limit, {"const": NONE}]})
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};
    use crate::problem::Code;

    #[test]
    fn limits_are_counts_or_bytes_or_none() {
        assert_eq!(read(&PerSecond::Count, "500"), Ok(Some(500)));
        assert_eq!(read(&PerSecond::Bytes, "'20MiB'"), Ok(Some(20 << 20)));
        assert_eq!(read(&PerSecond::Bytes, "'1KiB'"), Ok(Some(1 << 20)));
        for kind in [PerSecond::Count, PerSecond::Bytes] {
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
    }
}
