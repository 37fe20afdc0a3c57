//! CPU lists: `0-3,8`, as the kernel writes them, or a list of numbers.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};
use toml::{Spanned, de::DeValue};

use super::number::integer;
use crate::{
    grammar::{At, Context, Kind},
    problem::Code,
    source::quoted,
    values::CpuSet,
};

/// CPU numbers of this host.
pub(crate) struct Cpus;

/// The kernel knows no more CPUs than this; it also bounds what a range may expand to.
const HIGHEST: u32 = 8191;

impl Cpus {
    fn add(
        &self,
        set: &mut BTreeSet<u32>,
        cpu: i128,
        value: &Spanned<DeValue<'_>>,
        at: &At,
        context: &mut Context,
    ) -> Option<()> {
        let Some(cpu) = u32::try_from(cpu).ok().filter(|cpu| *cpu <= HIGHEST) else {
            return context.out_of_range(
                value,
                at,
                &format!("names CPU {cpu}, numbers go from 0 to {HIGHEST}"),
                self,
            );
        };
        if !set.insert(cpu) {
            let message = format!("{at} names CPU {cpu} twice");
            return context.refuse(
                Code::DuplicateValue,
                value.span(),
                message,
                format!("remove one {cpu}"),
            );
        }
        Some(())
    }

    fn add_text(
        &self,
        set: &mut BTreeSet<u32>,
        text: &str,
        value: &Spanned<DeValue<'_>>,
        at: &At,
        context: &mut Context,
    ) -> Option<()> {
        for part in text.split(',') {
            let (low, high) = part.split_once('-').unwrap_or((part, part));
            let (Ok(low), Ok(high)) = (low.trim().parse::<u32>(), high.trim().parse::<u32>())
            else {
                let message = format!(
                    "{at}: {} is neither a CPU nor a range of CPUs",
                    quoted(part)
                );
                return context.refuse(
                    Code::Malformed,
                    value.span(),
                    message,
                    at.write(&self.example()),
                );
            };
            if low > high {
                let message = format!("{at}: the range {} runs backwards", quoted(part));
                return context.refuse(
                    Code::Malformed,
                    value.span(),
                    message,
                    at.write(&format!("\"{high}-{low}\"")),
                );
            }
            if high > HIGHEST {
                self.add(set, i128::from(high), value, at, context)?;
            }
            for cpu in low..=high {
                self.add(set, i128::from(cpu), value, at, context)?;
            }
        }
        Some(())
    }
}

impl Kind for Cpus {
    type Value = CpuSet;

    fn read(&self, value: &Spanned<DeValue<'_>>, at: &At, context: &mut Context) -> Option<CpuSet> {
        let mut set = BTreeSet::new();
        match value.get_ref() {
            DeValue::String(text) => self.add_text(&mut set, text, value, at, context)?,
            DeValue::Integer(cpu) => self.add(
                &mut set,
                integer(cpu).unwrap_or(i128::MAX),
                value,
                at,
                context,
            )?,
            DeValue::Array(list) if list.is_empty() => {
                let message = format!("{at} is an empty list");
                return context.refuse(
                    Code::EmptyList,
                    value.span(),
                    message,
                    at.write(&self.example()),
                );
            }
            DeValue::Array(list) => {
                for cpu in list {
                    let DeValue::Integer(number) = cpu.get_ref() else {
                        return context.wrong_type(cpu, at, self);
                    };
                    self.add(
                        &mut set,
                        integer(number).unwrap_or(i128::MAX),
                        cpu,
                        at,
                        context,
                    )?;
                }
            }
            _ => return context.wrong_type(value, at, self),
        }
        Some(set.into_iter().collect())
    }

    fn write(&self, value: &CpuSet) -> String {
        format!("\"{}\"", plain(value))
    }

    fn takes_lists(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        "CPU list such as \"0-3,8\" or [0, 1]".to_owned()
    }

    fn example(&self) -> String {
        "\"0-3,8\"".to_owned()
    }

    fn schema(&self) -> Json {
        let cpu = json!({"type": "integer", "minimum": 0, "maximum": HIGHEST});
        let range = r"\s*[0-9]+\s*(-\s*[0-9]+\s*)?";
        json!({"anyOf": [
            cpu,
            {"type": "array", "items": cpu, "minItems": 1, "uniqueItems": true},
            {"type": "string", "pattern": format!("^{range}(,{range})*$")},
        ]})
    }
}

/// A CPU list as the kernel writes it: `0-3,8`.
pub(crate) fn plain(cpus: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match parts.last_mut() {
            Some((_, high)) if *high + 1 == cpu => *high = cpu,
            _ => parts.push((cpu, cpu)),
        }
    }
    let written = parts.iter().map(|(low, high)| {
        if low == high {
            low.to_string()
        } else {
            format!("{low}-{high}")
        }
    });
    written.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};

    #[test]
    fn lists_are_read_in_every_form() {
        assert_eq!(read(&Cpus, "'0-3, 8'"), Ok(vec![0, 1, 2, 3, 8]));
        assert_eq!(read(&Cpus, "[8, 1]"), Ok(vec![1, 8]));
        assert_eq!(read(&Cpus, "2"), Ok(vec![2]));
        assert_eq!(plain(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
    }

    #[test]
    fn refusals() {
        for (text, expected) in [
            ("''", Code::Malformed),
            ("'0-'", Code::Malformed),
            ("'a'", Code::Malformed),
            ("'3-1'", Code::Malformed),
            ("'0,0'", Code::DuplicateValue),
            ("[0, 0]", Code::DuplicateValue),
            ("'0-4294967295'", Code::OutOfRange),
            ("9999", Code::OutOfRange),
            ("-1", Code::OutOfRange),
            ("[]", Code::EmptyList),
            ("[0.5]", Code::WrongType),
            ("1.5", Code::WrongType),
        ] {
            assert_eq!(code(&Cpus, text), expected, "{text}");
        }
    }
}
