//! Where guests are pinned: a policy, or the CPUs of each guest.

use serde_json::{Value as Json, json};
use toml::{Spanned, de::DeValue};

use super::{Choice, Cpus};
use crate::{
    grammar::{At, Context, Kind},
    problem::Code,
    values::{CpuSet, Pin, Pinning},
};

/// The name of a policy, or a list with the CPUs of each guest.
pub(crate) struct PinKind;

const POLICY: Choice<Pin> = Choice::NEW;

/// Whether a list in the place of a value is a table of CPUs, guest by guest, and no list of
/// levels.
pub(crate) fn is_pin_table(values: &[Spanned<DeValue<'_>>]) -> bool {
    let is_list = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
        DeValue::Array(cpus) => !cpus.iter().any(|cpu| cpu.get_ref().is_array()),
        _ => false,
    };
    !values.is_empty() && values.iter().all(is_list)
}

impl Kind for PinKind {
    type Value = Pinning;

    fn read(
        &self,
        value: &Spanned<DeValue<'_>>,
        at: &At,
        context: &mut Context,
    ) -> Option<Pinning> {
        let DeValue::Array(rows) = value.get_ref() else {
            return POLICY.read(value, at, context).map(Pinning::Policy);
        };
        let rows: Option<Vec<CpuSet>> = rows
            .iter()
            .enumerate()
            .map(|(index, row)| Cpus.read(row, &at.element(index), context))
            .collect();
        let rows = rows?;
        let mut taken: Vec<(u32, usize)> = Vec::new();
        for (guest, row) in rows.iter().enumerate() {
            for cpu in row {
                if let Some((_, other)) = taken.iter().find(|(known, _)| known == cpu) {
                    let message = format!(
                        "{at}: guests {} and {} are both pinned to CPU {cpu}",
                        other + 1,
                        guest + 1
                    );
                    let help = "give each guest CPUs of its own; guests that share CPUs are laid \
                                by a policy, such as `pin = \"pack\"`";
                    return context.refuse(Code::SharedCpu, value.span(), message, help);
                }
                taken.push((*cpu, guest));
            }
        }
        Some(Pinning::Table(rows))
    }

    fn write(&self, value: &Pinning) -> String {
        match value {
            Pinning::Policy(pin) => POLICY.write(pin),
            Pinning::Table(rows) => {
                let row = |cpus: &CpuSet| {
                    let cpus: Vec<String> = cpus.iter().map(u32::to_string).collect();
                    format!("[{}]", cpus.join(", "))
                };
                format!("[{}]", rows.iter().map(row).collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn describe(&self) -> String {
        format!(
            "{}, or the CPUs of each guest: [[0, 2], [4, 6]]",
            POLICY.describe()
        )
    }

    fn example(&self) -> String {
        POLICY.example()
    }

    fn schema(&self) -> Json {
        json!({"anyOf": [POLICY.schema(), {"type": "array", "items": Cpus.schema(), "minItems": 1}]})
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};

    #[test]
    fn pins_are_a_policy_or_a_table() {
        assert_eq!(read(&PinKind, "'node'"), Ok(Pinning::Policy(Pin::Node)));
        let table = read(&PinKind, "[[0, 2], [5, 7]]").expect("a table");
        assert_eq!(table, Pinning::Table(vec![vec![0, 2], vec![5, 7]]));
        assert_eq!(PinKind.write(&table), "[[0, 2], [5, 7]]");
        assert_eq!(code(&PinKind, "[[0, 2], [2, 7]]"), Code::SharedCpu);
        assert_eq!(code(&PinKind, "'nodes'"), Code::UnknownChoice);
    }
}
