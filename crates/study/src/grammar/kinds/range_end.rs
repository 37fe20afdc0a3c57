//! Ends of the range of a search: `500 per vcpu`, or `64MiB`.

use serde_json::{Value as Json, json};
use toml::{Spanned, de::DeValue};

use super::{
    memory::{WholeMemory, is_memory},
    scaled::Count,
};
use crate::{
    grammar::{At, Context, Kind},
    values::SearchEnd,
};

/// A load, or memory of each guest; the unit tells them apart.
pub(crate) struct RangeEnd;

impl Kind for RangeEnd {
    type Value = SearchEnd;

    fn read(
        &self,
        value: &Spanned<DeValue<'_>>,
        at: &At,
        context: &mut Context,
    ) -> Option<SearchEnd> {
        match value.get_ref() {
            DeValue::String(text) if is_memory(text) => WholeMemory
                .read(value, at, context)
                .map(|memory_mib| SearchEnd::Memory { memory_mib }),
            _ => Count::LOAD.read(value, at, context).map(SearchEnd::Load),
        }
    }

    fn write(&self, value: &SearchEnd) -> String {
        match value {
            SearchEnd::Load(amount) => Count::LOAD.write(amount),
            SearchEnd::Memory { memory_mib } => WholeMemory.write(memory_mib),
        }
    }

    fn describe(&self) -> String {
        format!(
            "{}; or where memory is searched, {} (of each guest)",
            Count::LOAD.describe(),
            WholeMemory.describe()
        )
    }

    fn example(&self) -> String {
        Count::LOAD.example()
    }

    fn schema(&self) -> Json {
        json!({"anyOf": [Count::LOAD.schema(), WholeMemory.schema()]})
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};
    use crate::{Amount, Per, Scaled, problem::Code};

    #[test]
    fn the_unit_tells_memory_from_a_load() {
        let load = |amount, per| Ok(SearchEnd::Load(Amount::Scaled(Scaled { amount, per })));
        assert_eq!(read(&RangeEnd, "500"), load(500.0, Per::Guest));
        assert_eq!(read(&RangeEnd, "'500 per vcpu'"), load(500.0, Per::Vcpu));
        let memory = |memory_mib| Ok(SearchEnd::Memory { memory_mib });
        assert_eq!(read(&RangeEnd, "'64MiB'"), memory(64));
        assert_eq!(read(&RangeEnd, "'0.5 GiB'"), memory(512));
        assert_eq!(code(&RangeEnd, "'64MiB per vcpu'"), Code::WrongUnit);
        assert_eq!(code(&RangeEnd, "'64ms'"), Code::WrongUnit);
    }
}
