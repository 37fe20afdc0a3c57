//! Values that only the order-entry workload has: weights of its mix, buffer hit ratios.

use rookery_workload::orderentry::{HitTarget, MAX_WAREHOUSES, terminal::Mix};
use serde_json::{Value as Json, json};
use toml::{Spanned, de::DeValue};

use crate::{
    grammar::{
        At, Context, Kind,
        kinds::{
            Count,
            number::{float, integer},
        },
    },
    problem::Code,
};

/// Warehouses of each guest's database.
pub(super) const WAREHOUSES: Count = Count {
    noun: "warehouses",
    what: "number of warehouses",
    most: MAX_WAREHOUSES as f64,
    example: "\"2 per guest\"",
};

/// Five whole numbers: new order, payment, order status, delivery, stock level.
pub(crate) struct Weights;

const MOST_WEIGHT: u32 = 1_000_000;

impl Kind for Weights {
    type Value = [u32; 5];

    fn read(
        &self,
        value: &Spanned<DeValue<'_>>,
        at: &At,
        context: &mut Context,
    ) -> Option<[u32; 5]> {
        let DeValue::Array(list) = value.get_ref() else {
            return context.wrong_type(value, at, self);
        };
        let number = |element: &Spanned<DeValue<'_>>| match element.get_ref() {
            DeValue::Integer(number) => {
                integer(number).and_then(|number| u32::try_from(number).ok())
            }
            _ => None,
        };
        let weights: Option<Vec<u32>> = list.iter().map(number).collect();
        let weights = weights.and_then(|weights| <[u32; 5]>::try_from(weights).ok());
        match weights.filter(|weights| Mix::weighted(*weights).is_ok()) {
            Some(weights) => Some(weights),
            None => {
                let message = format!("{at} is not {}", self.describe());
                context.refuse(
                    Code::Malformed,
                    value.span(),
                    message,
                    at.write(&self.example()),
                )
            }
        }
    }

    fn write(&self, value: &[u32; 5]) -> String {
        format!("{value:?}")
    }

    fn describe(&self) -> String {
        "a list of five whole numbers whose sum is 1 to 1000000: new order, payment, order status, \
         delivery, stock level"
            .to_owned()
    }

    fn example(&self) -> String {
        "[45, 43, 4, 4, 4]".to_owned()
    }

    fn schema(&self) -> Json {
        let one = json!({"type": "integer", "minimum": 0, "maximum": MOST_WEIGHT});
        json!({"type": "array", "items": one, "minItems": 5, "maxItems": 5})
    }

    fn takes_lists(&self) -> bool {
        true
    }
}

/// A share above 0 and below 1, or a bound such as `">0.9"`.
pub(crate) struct HitRatio;

impl Kind for HitRatio {
    type Value = HitTarget;

    fn read(
        &self,
        value: &Spanned<DeValue<'_>>,
        at: &At,
        context: &mut Context,
    ) -> Option<HitTarget> {
        let ratio = match value.get_ref() {
            DeValue::String(text) => text.parse::<HitTarget>().ok(),
            number @ (DeValue::Integer(_) | DeValue::Float(_)) => {
                float(number).and_then(|number| HitTarget::try_from(number).ok())
            }
            _ => return context.wrong_type(value, at, self),
        };
        ratio.or_else(|| context.out_of_range(value, at, "is no share above 0 and below 1", self))
    }

    fn write(&self, value: &HitTarget) -> String {
        format!("{:?}", value.ratio())
    }

    fn describe(&self) -> String {
        "share above 0 and below 1, or \">0.9\" for the middle between it and 1".to_owned()
    }

    fn example(&self) -> String {
        "0.8".to_owned()
    }

    fn schema(&self) -> Json {
        json!({"anyOf": [
            {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
            {"type": "string", "pattern": r"^\s*>?\s*0?\.[0-9]+\s*$"},
        ]})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::kinds::testing::*;

    #[test]
    fn weights_are_five() {
        assert_eq!(read(&Weights, "[45, 43, 4, 4, 4]"), Ok([45, 43, 4, 4, 4]));
        for text in [
            "[1, 2]",
            "[0, 0, 0, 0, 0]",
            "[1, 1, 1, 1, -1]",
            "[0.5, 1, 1, 1, 1]",
        ] {
            assert_eq!(code(&Weights, text), Code::Malformed, "{text}");
        }
        assert_eq!(code(&Weights, "45"), Code::WrongType);
    }

    #[test]
    fn ratios_are_shares_or_bounds() {
        assert_eq!(read(&HitRatio, "0.8").map(HitTarget::ratio), Ok(0.8));
        assert_eq!(read(&HitRatio, "'>0.9'").map(HitTarget::ratio), Ok(0.95));
        for text in ["0", "1", "'80 %'", "1.5", "'>1'"] {
            assert_eq!(code(&HitRatio, text), Code::OutOfRange, "{text}");
        }
        assert_eq!(code(&HitRatio, "true"), Code::WrongType);
    }
}
