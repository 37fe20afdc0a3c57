//! A value that may be a section instead.

use serde_json::Value as Json;
use toml::{Spanned, de::DeValue};

use crate::grammar::{At, Context, Kind};

/// A value of `K`, or a section of the same name, whose keys are read by themselves: of a table
/// there is no value, and nothing wrong.
pub(crate) struct OrSection<K>(pub(crate) K);

impl<K: Kind> Kind for OrSection<K> {
    type Value = K::Value;

    fn read(
        &self,
        value: &Spanned<DeValue<'_>>,
        at: &At,
        context: &mut Context,
    ) -> Option<Self::Value> {
        match value.get_ref() {
            DeValue::Table(_) => None,
            _ => self.0.read(value, at, context),
        }
    }

    fn write(&self, value: &Self::Value) -> String {
        self.0.write(value)
    }

    fn describe(&self) -> String {
        self.0.describe()
    }

    fn example(&self) -> String {
        self.0.example()
    }

    fn schema(&self) -> Json {
        self.0.schema()
    }

    fn takes_lists(&self) -> bool {
        self.0.takes_lists()
    }
}
