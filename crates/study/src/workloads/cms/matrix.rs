//! The matrix of transitions as a value of a study.

use rookery_workload::cms::{CmsMatrix, OPERATION_COUNT};
use serde_json::{Value as Json, json};
use toml::{Spanned, de::DeValue};

use crate::{
    grammar::{At, Context, Kind, kinds::number::float},
    problem::Code,
};

/// Rows of probabilities.
pub(crate) struct Matrix;

impl Kind for Matrix {
    type Value = CmsMatrix;

    fn read(
        &self,
        value: &Spanned<DeValue<'_>>,
        at: &At,
        context: &mut Context,
    ) -> Option<CmsMatrix> {
        let DeValue::Array(_) = value.get_ref() else {
            return context.wrong_type(value, at, self);
        };
        let Some(rows) = rows(value.get_ref()) else {
            let message = format!("{at} is not {}", self.describe());
            let help = at.write(&self.example());
            return context.refuse(Code::Malformed, value.span(), message, help);
        };
        match CmsMatrix::try_from(rows) {
            Ok(matrix) => Some(matrix),
            Err(error) => {
                let message = format!("{at}: {error}");
                let help = at.write(&self.example());
                context.refuse(Code::Malformed, value.span(), message, help)
            }
        }
    }

    fn write(&self, value: &CmsMatrix) -> String {
        format!("{:?}", value.rows())
    }

    fn describe(&self) -> String {
        format!(
            "list of {OPERATION_COUNT} rows of {OPERATION_COUNT} probabilities; every row sums to 1"
        )
    }

    fn example(&self) -> String {
        self.write(&CmsMatrix::default())
    }

    fn schema(&self) -> Json {
        let probability = json!({"type": "number", "minimum": 0, "maximum": 1});
        let list = |items: Json| {
            json!({
                "type": "array", "items": items,
                "minItems": OPERATION_COUNT, "maxItems": OPERATION_COUNT,
            })
        };
        list(list(probability))
    }

    fn takes_lists(&self) -> bool {
        true
    }
}

/// Exactly so many rows of exactly so many numbers.
fn rows(value: &DeValue<'_>) -> Option<[[f64; OPERATION_COUNT]; OPERATION_COUNT]> {
    let row = |row: &Spanned<DeValue<'_>>| {
        let numbers: Option<Vec<f64>> = row
            .get_ref()
            .as_array()?
            .iter()
            .map(|number| float(number.get_ref()))
            .collect();
        numbers?.try_into().ok()
    };
    let rows: Option<Vec<[f64; OPERATION_COUNT]>> = value.as_array()?.iter().map(row).collect();
    rows?.try_into().ok()
}
