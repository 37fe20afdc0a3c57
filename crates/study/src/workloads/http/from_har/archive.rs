//! The parts of a HAR that a draft is made from, read leniently and within bounds: what is not what
//! it should be counts as not there.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeOwned, IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer,
    },
};

/// Most entries that are kept of a list; the others are counted.
const MOST: usize = 20_000;
/// Longest text that is kept.
const LONGEST: usize = 4 << 20;

/// The whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Archive {
    pub(super) log: Record<Log>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Log {
    pub(super) entries: List<Record<Entry>>,
}

/// One request and its answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Entry {
    pub(super) started_date_time: Scalar,
    /// Milliseconds.
    pub(super) time: Scalar,
    #[serde(rename = "_resourceType")]
    pub(super) resource_type: Scalar,
    pub(super) request: Record<Request>,
    pub(super) response: Record<Response>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Request {
    pub(super) method: Scalar,
    pub(super) url: Scalar,
    pub(super) headers: List<Record<Pair>>,
    pub(super) cookies: List<Record<Pair>>,
    pub(super) post_data: Record<PostData>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Response {
    pub(super) status: Scalar,
    #[serde(rename = "redirectURL")]
    pub(super) redirect: Scalar,
    pub(super) headers: List<Record<Pair>>,
    pub(super) cookies: List<Record<Pair>>,
    pub(super) content: Record<Content>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Content {
    pub(super) mime_type: Scalar,
    pub(super) text: Scalar,
    pub(super) encoding: Scalar,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PostData {
    pub(super) mime_type: Scalar,
    pub(super) text: Scalar,
    pub(super) params: List<Record<Pair>>,
}

/// A header, a cookie or a field.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Pair {
    pub(super) name: Scalar,
    pub(super) value: Scalar,
    /// Of a file in a form.
    pub(super) file_name: Scalar,
}

/// A text or a number.
#[derive(Debug, Default)]
pub(super) enum Scalar {
    Text(String),
    Number(f64),
    #[default]
    Nothing,
}

impl Scalar {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Number(_) | Self::Nothing => "",
        }
    }

    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number).filter(|number| number.is_finite()),
            Self::Text(text) => text.parse().ok().filter(|number: &f64| number.is_finite()),
            Self::Nothing => None,
        }
    }
}

/// An object; anything else is an empty one.
#[derive(Debug, Default)]
pub(super) struct Record<T>(pub(super) T);

/// A list; anything else is an empty one.
#[derive(Debug)]
pub(super) struct List<T> {
    pub(super) kept: Vec<T>,
    /// Elements beyond the most that are kept.
    pub(super) beyond: usize,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            beyond: 0,
        }
    }
}

/// Reads over a list that should not be there.
fn drain_list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<(), A::Error> {
    while list.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

/// Reads over an object that should not be there.
fn drain_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<(), A::Error> {
    while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
        Ok(if text.len() <= LONGEST {
            Scalar::Text(text.to_owned())
        } else {
            Scalar::Nothing
        })
    }

    fn visit_f64<E>(self, number: f64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number as f64))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number as f64))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Scalar, E> {
        Ok(Scalar::Nothing)
    }

    fn visit_unit<E>(self) -> Result<Scalar, E> {
        Ok(Scalar::Nothing)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Scalar, A::Error> {
        drain_list(list).map(|()| Scalar::Nothing)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Scalar, A::Error> {
        drain_map(map).map(|()| Scalar::Nothing)
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

/// What is neither a list nor an object.
macro_rules! nothing_of_scalars {
    () => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("anything")
        }

        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
    };
}

struct RecordVisitor<T>(PhantomData<T>);

impl<'de, T: DeserializeOwned + Default> Visitor<'de> for RecordVisitor<T> {
    type Value = Record<T>;

    nothing_of_scalars!();

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Record<T>, A::Error> {
        drain_list(list).map(|()| Record::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Record<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Record)
    }
}

impl<'de, T: DeserializeOwned + Default> Deserialize<'de> for Record<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RecordVisitor(PhantomData))
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: DeserializeOwned> Visitor<'de> for ListVisitor<T> {
    type Value = List<T>;

    nothing_of_scalars!();

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<List<T>, A::Error> {
        let mut all = List::default();
        while all.kept.len() < MOST {
            match list.next_element()? {
                Some(element) => all.kept.push(element),
                None => return Ok(all),
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {
            all.beyond += 1;
        }
        Ok(all)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<List<T>, A::Error> {
        drain_map(map).map(|()| List::default())
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListVisitor(PhantomData))
    }
}
