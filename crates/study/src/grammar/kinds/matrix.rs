//! Matrices of transitions between operations.

use std::{fmt::Display, marker::PhantomData};

use serde_json::{Value as Json, json};
use toml::{Spanned, de::DeValue};

use super::number::float;
use crate::{
    grammar::{At, Context, Kind},
    problem::Code,
};

/// Rows of probabilities, of a matrix `M` of `N` operations.
pub(crate) struct Matrix<M, const N: usize>(PhantomData<fn() -> M>);

impl<M, const N: usize> Matrix<M, N> {
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<M, const N: usize> Kind for Matrix<M, N>
where
    M: TryFrom<[[f64; N]; N], Error: Display> + Copy + Default,
    [[f64; N]; N]: From<M>,
{
    type Value = M;

    fn read(&self, value: &Spanned<DeValue<'_>>, at: &At, context: &mut Context) -> Option<M> {
        let DeValue::Array(_) = value.get_ref() else {
            return context.wrong_type(value, at, self);
        };
        let Some(rows) = rows(value.get_ref()) else {
            let message = format!("{at} is not {}", self.describe());
            let help = at.write(&self.example());
            return context.refuse(Code::Malformed, value.span(), message, help);
        };
        match M::try_from(rows) {
            Ok(matrix) => Some(matrix),
            Err(error) => {
                let message = format!("{at}: {error}");
                let help = at.write(&self.example());
                context.refuse(Code::Malformed, value.span(), message, help)
            }
        }
    }

    fn write(&self, value: &M) -> String {
        format!("{:?}", <[[f64; N]; N]>::from(*value))
    }

    fn describe(&self) -> String {
        format!("list of {N} rows of {N} probabilities; every row sums to 1")
    }

    fn example(&self) -> String {
        self.write(&M::default())
    }

    fn schema(&self) -> Json {
        let probability = json!({"type": "number", "minimum": 0, "maximum": 1});
        let list = |items: Json| {
            json!({
                "type": "array", "items": items,
                "minItems": N, "maxItems": N,
            })
        };
        list(list(probability))
    }

    fn takes_lists(&self) -> bool {
        true
    }
}

/// Exactly so many rows of exactly so many numbers.
fn rows<const N: usize>(value: &DeValue<'_>) -> Option<[[f64; N]; N]> {
    let row = |row: &Spanned<DeValue<'_>>| {
        let numbers: Option<Vec<f64>> = row
            .get_ref()
            .as_array()?
            .iter()
            .map(|number| float(number.get_ref()))
            .collect();
        numbers?.try_into().ok()
    };
    let rows: Option<Vec<[f64; N]>> = value.as_array()?.iter().map(row).collect();
    rows?.try_into().ok()
}
