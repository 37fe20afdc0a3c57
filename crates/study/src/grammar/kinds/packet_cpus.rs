//! CPUs on which packets are handled: a policy, or a list of CPUs.

use serde_json::{Value as Json, json};
use toml::{Spanned, de::DeValue};

use super::{Choice, Cpus};
use crate::{
    grammar::{At, Context, Kind},
    link_shape::{PacketCpus, PacketPolicy},
};

/// The name of a policy, or a list of CPUs.
pub(crate) struct PacketCpusKind;

const POLICY: Choice<PacketPolicy> = Choice::NEW;

/// Whether a list in the place of a value is one list of CPUs, and no list of levels: `[0, 1]`, but
/// not `["spread", "guest"]`, `["0-1", "2-3"]` or `[[0, 1], [2, 3]]`.
pub(crate) fn is_cpu_list(values: &[Spanned<DeValue<'_>>]) -> bool {
    let mut values = values.iter();
    values.all(|value| value.get_ref().is_integer())
}

impl Kind for PacketCpusKind {
    type Value = PacketCpus;

    fn read(
        &self,
        value: &Spanned<DeValue<'_>>,
        at: &At,
        context: &mut Context,
    ) -> Option<PacketCpus> {
        let is_word = |text: &str| text.starts_with(|first: char| first.is_alphabetic());
        match value.get_ref() {
            DeValue::String(text) if is_word(text) => {
                POLICY.read(value, at, context).map(PacketCpus::Policy)
            }
            DeValue::String(_) | DeValue::Integer(_) | DeValue::Array(_) => {
                Cpus.read(value, at, context).map(PacketCpus::These)
            }
            _ => context.wrong_type(value, at, self),
        }
    }

    fn write(&self, value: &PacketCpus) -> String {
        match value {
            PacketCpus::Policy(policy) => POLICY.write(policy),
            PacketCpus::These(cpus) => Cpus.write(cpus),
        }
    }

    fn describe(&self) -> String {
        format!("{}, or a {}", POLICY.describe(), Cpus.describe())
    }

    fn example(&self) -> String {
        POLICY.example()
    }

    fn schema(&self) -> Json {
        json!({"anyOf": [POLICY.schema(), Cpus.schema()]})
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};
    use crate::problem::Code;

    #[test]
    fn packets_have_a_policy_or_cpus() {
        let policy = PacketCpus::Policy(PacketPolicy::Guest);
        assert_eq!(read(&PacketCpusKind, "'guest'"), Ok(policy));
        for text in ["[2, 0, 1]", "'0-2'"] {
            let cpus = read(&PacketCpusKind, text).expect("a list");
            assert_eq!(cpus, PacketCpus::These(vec![0, 1, 2]));
            assert_eq!(PacketCpusKind.write(&cpus), "\"0-2\"");
        }
        assert_eq!(read(&PacketCpusKind, "3"), Ok(PacketCpus::These(vec![3])));
    }

    #[test]
    fn refusals() {
        for (text, expected) in [
            ("'all'", Code::UnknownChoice),
            ("''", Code::Malformed),
            ("[0, 0]", Code::DuplicateValue),
            ("9999", Code::OutOfRange),
            ("['spread']", Code::WrongType),
            ("true", Code::WrongType),
        ] {
            assert_eq!(code(&PacketCpusKind, text), expected, "{text}");
        }
    }
}
