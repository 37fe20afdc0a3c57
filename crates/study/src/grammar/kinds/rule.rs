//! Amounts given as expressions: `max(10, 50 * vcpus)`.

use toml::{Spanned, de::DeValue};

use crate::{
    expression::{Expression, NO_UNITS, Units, Variable},
    grammar::{At, Context},
    problem::Code,
};

/// What no plain quantity contains, for the schema. The parser is the judge; the schema only helps
/// editors.
pub(super) const RULE: &str = r"[-*/+(%]|^\s*(vcpus|memory|users|guests)\s*$";

/// Whether a text is a rule and not a quantity such as `50 per vcpu`; a sign at its beginning
/// belongs to a quantity.
pub(super) fn is_rule(text: &str) -> bool {
    let text = text.trim();
    text.contains(['*', '/', '+', '(', '%'])
        || text.chars().skip(1).any(|c| c == '-')
        || Variable::ALL.iter().any(|variable| variable.name() == text)
}

/// Reads a rule that may ask for `known` and use `units`; where there are units, the result must be
/// a size.
pub(super) fn read_rule(
    text: &str,
    known: &[Variable],
    units: &Units,
    value: &Spanned<DeValue<'_>>,
    at: &At,
    context: &mut Context,
) -> Option<Expression> {
    let rule = match Expression::parse(text) {
        Ok(rule) => rule,
        Err(error) => {
            let mut span = value.span();
            // In a plain one-line string the place within the text is a place in the file.
            if span.len() == text.len() + 2 {
                let start = span.start + 1;
                span = start + error.position.start..start + error.position.end;
            }
            return context.refuse(
                Code::Malformed,
                span,
                format!("{at}: {}", error.message),
                error.help,
            );
        }
    };
    if let Some(variable) = Variable::ALL
        .into_iter()
        .find(|variable| rule.uses(*variable) && !known.contains(variable))
    {
        let names: Vec<&str> = known.iter().map(|variable| variable.name()).collect();
        let message = format!("{at} cannot depend on `{}`", variable.name());
        return context.refuse(
            Code::Malformed,
            value.span(),
            message,
            format!("use {} only", names.join(", ")),
        );
    }
    if let Some(unit) = rule.foreign_unit(units) {
        let message = format!("{at}: {unit} is no unit of it");
        let help = if *units == NO_UNITS {
            "write numbers without units"
        } else {
            "sizes are nominal: write MB or GB (1GB = 1024MB)"
        };
        return context.refuse(Code::WrongUnit, value.span(), message, help);
    }
    if *units != NO_UNITS && !rule.has_sizes() && !rule.uses(Variable::Memory) {
        let message = format!("{at} needs a unit: nothing in `{rule}` is a size");
        return context.refuse(
            Code::WrongUnit,
            value.span(),
            message,
            "give its numbers units, such as `10MB * vcpus`",
        );
    }
    Some(rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        amount::Amount,
        grammar::{
            Kind,
            kinds::{Count, Database, Memory, testing::*},
        },
    };

    #[test]
    fn rules_are_told_from_quantities() {
        for text in ["50 * vcpus", "max(1, 2)", "80% * memory", "99-5", " vcpus "] {
            assert!(is_rule(text), "{text}");
        }
        for text in ["50", "50 per vcpu", "640MiB", "-5", "many", "", "M"] {
            assert!(!is_rule(text), "{text}");
        }
    }

    #[test]
    fn rules_are_read_and_written() {
        let users = read(&Count::USERS, "'max(10, 50 * vcpus)'").expect("a rule");
        assert!(matches!(users, Amount::Rule(_)));
        assert_eq!(Count::USERS.write(&users), "\"max(10, 50 * vcpus)\"");
        assert!(read(&Memory, "'max(640MiB, 80% * memory / guests)'").is_ok());
        assert!(read(&Database, "'10MB * vcpus'").is_ok());
    }

    #[test]
    fn refusals() {
        assert_eq!(
            refusal(&Count::USERS, "'50 * vcpu'").1,
            "`s.key`: `vcpu` is neither a variable nor a function"
        );
        assert_eq!(
            refusal(&Count::USERS, "'2 * users'").1,
            "`s.key` cannot depend on `users`"
        );
        assert_eq!(refusal(&Count::USERS, "'1KB * vcpus'").0, Code::WrongUnit);
        assert_eq!(
            refusal(&Memory, "'2560 * vcpus'").1,
            "`s.key` needs a unit: nothing in `2560 * vcpus` is a size"
        );
        assert_eq!(
            refusal(&Database, "'1GiB * vcpus'").1,
            "`s.key`: GiB is no unit of it"
        );
    }

    #[test]
    fn the_place_within_the_text_is_shown() {
        let mut context = Context::default();
        let at = At {
            path: "key".into(),
            key: "key",
        };
        let value = DeValue::parse("'50 * vcpu'").expect("TOML");
        assert_eq!(Count::USERS.read(&value, &at, &mut context), None);
        assert_eq!(context.findings[0].span, 6..10);
    }
}
