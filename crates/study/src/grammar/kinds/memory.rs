//! Memory: `640MiB per vcpu`, `512MiB`.

use rookery_cast::truncate_u64;
use serde_json::{Value as Json, json};
use toml::{Spanned, de::DeValue};

use super::{
    quantity::{BadQuantity, NUMBER, PER, per_suffix, split, split_per},
    rule::{RULE, is_rule, read_rule},
};
use crate::{
    amount::{Amount, Per, Scaled},
    expression::{BYTES, Variable},
    grammar::{At, Context, Kind},
    problem::Code,
    source::quoted,
};

const MIB: f64 = 1_048_576.0;

/// Units in MiB: powers of 1024 with an i, powers of 1000 without. MiB first: it is how memory is
/// written.
const UNITS: [(&str, f64); 9] = [
    ("MiB", 1.0),
    ("KiB", 1.0 / 1024.0),
    ("GiB", 1024.0),
    ("TiB", 1_048_576.0),
    ("kB", 1e3 / MIB),
    ("KB", 1e3 / MIB),
    ("MB", 1e6 / MIB),
    ("GB", 1e9 / MIB),
    ("TB", 1e12 / MIB),
];

const UNITS_IN_WORDS: &str = "KiB, MiB, GiB, TiB (powers of 1024), KB, MB, GB, TB (powers of 1000)";

/// More memory than any host has, MiB.
const MOST_MIB: f64 = 1_048_576.0 * 64.0;

/// Less memory than any guest could use: 1 KiB, in MiB.
const LEAST_MIB: f64 = 1.0 / 1024.0;

/// Whether a text is a number with a unit of memory, whatever follows.
pub(super) fn is_memory(text: &str) -> bool {
    split(text).is_ok_and(|(_, rest)| {
        let unit = rest.split_whitespace().next();
        UNITS.iter().any(|(name, _)| Some(*name) == unit)
    })
}

/// Reads an amount of memory in MiB.
fn read_mib(
    text: &str,
    value: &Spanned<DeValue<'_>>,
    at: &At,
    context: &mut Context,
    kind: &impl Kind,
) -> Option<f64> {
    let (number, unit) = match split(text) {
        Ok(parts) => parts,
        Err(BadQuantity::Negative) => return context.out_of_range(value, at, "is negative", kind),
        Err(BadQuantity::TooLong) => {
            return context.out_of_range(value, at, "has too many digits", kind);
        }
        Err(BadQuantity::NoNumber) => {
            let message = format!("{at}: {} is not an amount of memory", quoted(text));
            return context.refuse(
                Code::Malformed,
                value.span(),
                message,
                at.write(&kind.example()),
            );
        }
    };
    let Some((_, mib)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        let message = match unit {
            "" => format!("{at} needs a unit of memory"),
            _ => format!("{at}: {} is not a unit of memory", quoted(unit)),
        };
        let help = format!(
            "write for instance {}; units are {UNITS_IN_WORDS}",
            at.line(&kind.example())
        );
        return context.refuse(Code::WrongUnit, value.span(), message, help);
    };
    let amount = number * mib;
    if amount > MOST_MIB {
        return context.out_of_range(value, at, "is more than 64TiB", kind);
    }
    Some(amount)
}

fn text_of<'v>(
    value: &'v Spanned<DeValue<'_>>,
    at: &At,
    context: &mut Context,
    kind: &impl Kind,
) -> Option<&'v str> {
    match value.get_ref() {
        DeValue::String(text) => Some(text),
        DeValue::Integer(_) | DeValue::Float(_) => {
            let message = format!("{at} needs a unit of memory");
            let help = format!(
                "write it as text with its unit, for instance {}",
                at.line(&kind.example())
            );
            context.refuse(Code::WrongUnit, value.span(), message, help)
        }
        _ => context.wrong_type(value, at, kind),
    }
}

fn pattern(per: &str) -> String {
    let units: Vec<&str> = UNITS.iter().map(|(name, _)| *name).collect();
    format!("^{NUMBER}({}){per}\\s*$", units.join("|"))
}

/// Memory that may grow with the layout; in MiB.
pub(crate) struct Memory;

impl Kind for Memory {
    type Value = Amount;

    fn read(&self, value: &Spanned<DeValue<'_>>, at: &At, context: &mut Context) -> Option<Amount> {
        let text = text_of(value, at, context, self)?;
        if is_rule(text) {
            return read_rule(text, &Variable::OF_SIZES, &BYTES, value, at, context)
                .map(Amount::Rule);
        }
        let (amount, per) = match split_per(text) {
            Ok(parts) => parts,
            Err(per) => {
                let message = format!("{at} is counted {per}");
                return context.refuse(
                    Code::WrongUnit,
                    value.span(),
                    message,
                    "write `per vcpu`, `per guest` or `per host`",
                );
            }
        };
        let amount = read_mib(amount, value, at, context, self)?;
        if amount < LEAST_MIB {
            return context.out_of_range(value, at, "is less than 1KiB", self);
        }
        Some(Amount::Scaled(Scaled { amount, per }))
    }

    fn write(&self, value: &Amount) -> String {
        match value {
            Amount::Scaled(value) => format!("\"{}MiB{}\"", value.amount, per_suffix(value.per)),
            Amount::Rule(rule) => format!("\"{rule}\""),
        }
    }

    fn describe(&self) -> String {
        "memory with a unit, per vcpu, per guest or per host; or a rule over vcpus, guests, users \
         and memory (here what the host has for guests), \
         such as \"max(640MiB, 2560MiB * vcpus)\""
            .to_owned()
    }

    fn example(&self) -> String {
        self.write(&Amount::Scaled(Scaled {
            amount: 640.0,
            per: Per::Vcpu,
        }))
    }

    fn schema(&self) -> Json {
        json!({"type": "string", "pattern": format!("{}|{RULE}", pattern(PER))})
    }
}

/// A fixed amount of memory, rounded up to whole MiB.
pub(crate) struct WholeMemory;

impl Kind for WholeMemory {
    type Value = u64;

    fn read(&self, value: &Spanned<DeValue<'_>>, at: &At, context: &mut Context) -> Option<u64> {
        let text = text_of(value, at, context, self)?;
        Some(truncate_u64(
            read_mib(text, value, at, context, self)?.ceil(),
        ))
    }

    fn write(&self, value: &u64) -> String {
        format!("\"{value}MiB\"")
    }

    fn describe(&self) -> String {
        "memory with a unit".to_owned()
    }

    fn example(&self) -> String {
        self.write(&512)
    }

    fn schema(&self) -> Json {
        json!({"type": "string", "pattern": pattern("")})
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};

    fn scaled(amount: &Amount) -> Scaled {
        match amount {
            Amount::Scaled(scaled) => *scaled,
            Amount::Rule(rule) => panic!("{rule} is a rule"),
        }
    }

    #[test]
    fn binary_and_decimal_units_differ() {
        let mib = |text: &str| read(&Memory, text).map(|amount| scaled(&amount).amount);
        assert_eq!(mib("'1GiB'"), Ok(1024.0));
        assert_eq!(mib("'0.5 GiB per guest'"), Ok(512.0));
        assert_eq!(mib("'1048.576MB'"), Ok(1000.0));
        assert_eq!(mib("'2048KiB'"), Ok(2.0));
        assert_eq!(
            read(&Memory, "'640MiB per vcpu'").map(|amount| scaled(&amount).per),
            Ok(Per::Vcpu)
        );
        assert_eq!(read(&WholeMemory, "'1MB'"), Ok(1));
    }

    #[test]
    fn refusals() {
        for (text, expected) in [
            ("'640'", Code::WrongUnit),
            ("640", Code::WrongUnit),
            ("'640M'", Code::WrongUnit),
            ("'640ms'", Code::WrongUnit),
            ("'640MiB per user'", Code::WrongUnit),
            ("'0MiB'", Code::OutOfRange),
            ("'-1MiB'", Code::OutOfRange),
            ("'9999TiB'", Code::OutOfRange),
            ("'lots'", Code::Malformed),
            ("[1]", Code::WrongType),
        ] {
            assert_eq!(code(&Memory, text), expected, "{text}");
        }
        assert_eq!(code(&WholeMemory, "'1MiB per guest'"), Code::WrongUnit);
    }
}
