//! One value or several: a factor.

use serde_json::{Value as Json, json};
use toml::{
    Spanned,
    de::{DeArray, DeValue},
};

use crate::{
    grammar::{At, Context, Kind},
    problem::Code,
};

/// How many elements a list may have, and what helps where there are more.
pub(super) struct Bound {
    pub(super) most: usize,
    pub(super) help: &'static str,
}

impl Bound {
    /// Hands every element of the list `value` to `read`, so that the problems of all of them are
    /// told; nothing where there are too many.
    pub(super) fn each(
        &self,
        value: &Spanned<DeValue<'_>>,
        list: &DeArray<'_>,
        at: &At,
        context: &mut Context,
        mut read: impl FnMut(&Spanned<DeValue<'_>>, &At, &mut Context),
    ) -> Option<()> {
        if list.len() > self.most {
            let message = format!(
                "{at} has {} values, at most {} are allowed",
                list.len(),
                self.most
            );
            return context.refuse(Code::TooMany, value.span(), message, self.help);
        }
        for (index, element) in list.iter().enumerate() {
            read(element, &at.element(index), context);
        }
        Some(())
    }
}

/// One value, or a list of up to `most` different ones: a factor, each level a point of its own.
/// Where a value is itself a list, see [`Values`](super::Values).
pub(crate) struct ListOf<K> {
    pub(crate) kind: K,
    pub(crate) most: usize,
}

impl<K> Kind for ListOf<K>
where
    K: Kind<Value: PartialEq>,
{
    type Value = Vec<K::Value>;

    fn read(
        &self,
        value: &Spanned<DeValue<'_>>,
        at: &At,
        context: &mut Context,
    ) -> Option<Vec<K::Value>> {
        let DeValue::Array(list) = value.get_ref() else {
            return self.kind.read(value, at, context).map(|one| vec![one]);
        };
        if list.is_empty() {
            let message = format!("{at} is an empty list");
            return context.refuse(
                Code::EmptyList,
                value.span(),
                message,
                at.write(&self.kind.example()),
            );
        }
        let bound = Bound {
            most: self.most,
            help: "split the study into several files",
        };
        let mut values: Vec<Option<K::Value>> = Vec::with_capacity(list.len().min(self.most));
        bound.each(value, list, at, context, |element, at, context| {
            context.spans.insert(at.path.clone(), element.span());
            let read = self.kind.read(element, at, context);
            if read.is_some() && values.contains(&read) {
                let message = format!("{at} has the same value twice");
                context.refuse::<()>(
                    Code::DuplicateValue,
                    element.span(),
                    message,
                    "remove one of them",
                );
            }
            values.push(read);
        })?;
        values.into_iter().collect()
    }

    fn write(&self, value: &Vec<K::Value>) -> String {
        match value.as_slice() {
            [one] => self.kind.write(one),
            several => {
                let written: Vec<String> = several.iter().map(|one| self.kind.write(one)).collect();
                format!("[{}]", written.join(", "))
            }
        }
    }

    fn takes_lists(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        format!(
            "{}; or a list of these, each a point of its own",
            self.kind.describe()
        )
    }

    fn example(&self) -> String {
        self.kind.example()
    }

    fn schema(&self) -> Json {
        let one = self.kind.schema();
        json!({"anyOf": [one, {"type": "array", "items": one, "minItems": 1, "maxItems": self.most, "uniqueItems": true}]})
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};
    use crate::grammar::kinds::{Count, Whole};

    const KIND: ListOf<Whole<u32>> = ListOf {
        kind: Whole { min: 1, max: 9 },
        most: 3,
    };

    #[test]
    fn one_or_several() {
        assert_eq!(read(&KIND, "4"), Ok(vec![4]));
        assert_eq!(read(&KIND, "[4, 1]"), Ok(vec![4, 1]));
        assert_eq!(code(&KIND, "[]"), Code::EmptyList);
        assert_eq!(code(&KIND, "[1, 2, 3, 4]"), Code::TooMany);
        assert_eq!(code(&KIND, "[1, 0]"), Code::OutOfRange);
        assert_eq!(code(&KIND, "[[1]]"), Code::WrongType);
    }

    #[test]
    fn equal_meanings_are_duplicates() {
        let mut context = Context::default();
        let value = DeValue::parse("[50, '50 per guest']").expect("TOML");
        let at = At {
            path: "key".into(),
            key: "key",
        };
        let kind = ListOf {
            kind: Count::USERS,
            most: 9,
        };
        kind.read(&value, &at, &mut context);
        assert_eq!(context.findings[0].code, Code::DuplicateValue);
    }
}
