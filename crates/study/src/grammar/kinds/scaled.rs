//! Users and database sizes: `50 per vcpu`, `10MB per vcpu`.

use serde_json::{Value as Json, json};
use toml::{Spanned, de::DeValue};

use super::{
    number::float,
    quantity::{BadQuantity, NUMBER, PER, per_suffix, split, split_per},
    rule::{RULE, is_rule, read_rule},
};
use crate::{
    amount::{Amount, Per, Scaled},
    expression::{NO_UNITS, NOMINAL_MEGABYTES, Variable},
    grammar::{At, Context, Kind},
    problem::Code,
    source::quoted,
};

/// Most users of one point.
pub(crate) const MOST_USERS: u32 = 1_000_000;

/// Most nominal megabytes of one database: 1023GB, the largest size.
pub(crate) const MOST_MB: f64 = 1023.0 * 1024.0;

/// Smallest amount of either: a thousandth, as with vCPUs.
const LEAST: f64 = 0.001;

const PER_HELP: &str = "write `per vcpu`, `per guest` or `per host`";

/// Splits a text into number, unit and what it is counted by; refuses what cannot be read.
fn parts<'t>(
    text: &'t str,
    value: &Spanned<DeValue<'_>>,
    at: &At,
    context: &mut Context,
    kind: &impl Kind,
) -> Option<(f64, &'t str, Per)> {
    let (amount, per) = match split_per(text) {
        Ok(parts) => parts,
        Err(per) => {
            return context.refuse(
                Code::WrongUnit,
                value.span(),
                format!("{at} is counted {per}"),
                PER_HELP,
            );
        }
    };
    match split(amount) {
        Ok((number, unit)) => Some((number, unit, per)),
        Err(BadQuantity::Negative) => context.out_of_range(value, at, "is negative", kind),
        Err(BadQuantity::TooLong) => context.out_of_range(value, at, "has too many digits", kind),
        Err(BadQuantity::NoNumber) => {
            let message = format!("{at}: {} does not begin with a number", quoted(text));
            context.refuse(
                Code::Malformed,
                value.span(),
                message,
                at.write(&kind.example()),
            )
        }
    }
}

/// Most arrivals per second of one point.
pub(crate) const MOST_RATE: f64 = 1_000_000.0;

/// A number of users, or arrivals per second: a plain number counts by guest.
pub(crate) struct Count {
    pub(crate) noun: &'static str,
    pub(crate) what: &'static str,
    pub(crate) most: f64,
    pub(crate) example: &'static str,
}

impl Count {
    pub(crate) const USERS: Self = Self {
        noun: "users",
        what: "number of users",
        most: MOST_USERS as f64,
        example: "\"50 per vcpu\"",
    };

    pub(crate) const RATE: Self = Self {
        noun: "arrivals per second",
        what: "arrivals per second",
        most: MOST_RATE,
        example: "\"20 per vcpu\"",
    };

    /// Whatever grows in a search.
    pub(crate) const LOAD: Self = Self {
        noun: "loads",
        what: "load",
        most: MOST_USERS as f64,
        example: "\"500 per vcpu\"",
    };

    fn in_range(
        &self,
        amount: f64,
        value: &Spanned<DeValue<'_>>,
        at: &At,
        context: &mut Context,
    ) -> Option<f64> {
        if amount < 0.0 {
            return context.out_of_range(value, at, "is negative", self);
        }
        if amount < LEAST {
            return context.out_of_range(value, at, &format!("is less than {LEAST}"), self);
        }
        if amount > self.most {
            return context.out_of_range(
                value,
                at,
                &format!("is more than {} {}", self.most, self.noun),
                self,
            );
        }
        Some(amount)
    }
}

impl Kind for Count {
    type Value = Amount;

    fn read(&self, value: &Spanned<DeValue<'_>>, at: &At, context: &mut Context) -> Option<Amount> {
        let (amount, per) = match value.get_ref() {
            DeValue::String(text) if is_rule(text) => {
                let rule = read_rule(
                    text,
                    &[Variable::Vcpus, Variable::Guests],
                    &NO_UNITS,
                    value,
                    at,
                    context,
                )?;
                return Some(Amount::Rule(rule));
            }
            DeValue::String(text) => {
                let (amount, unit, per) = parts(text, value, at, context, self)?;
                if !unit.is_empty() {
                    let message = format!(
                        "{at}: {} have no unit, but {} has {}",
                        self.noun,
                        quoted(text),
                        quoted(unit)
                    );
                    return context.refuse(
                        Code::WrongUnit,
                        value.span(),
                        message,
                        at.write(&self.example()),
                    );
                }
                (amount, per)
            }
            DeValue::Integer(_) | DeValue::Float(_) => match float(value.get_ref()) {
                Some(amount) => (amount, Per::Guest),
                None => return context.out_of_range(value, at, "is not a finite number", self),
            },
            _ => return context.wrong_type(value, at, self),
        };
        let amount = self.in_range(amount, value, at, context)?;
        Some(Amount::Scaled(Scaled { amount, per }))
    }

    fn write(&self, value: &Amount) -> String {
        match value {
            Amount::Scaled(value) => format!("\"{}{}\"", value.amount, per_suffix(value.per)),
            Amount::Rule(rule) => format!("\"{rule}\""),
        }
    }

    fn describe(&self) -> String {
        format!(
            "{}, per vcpu, per guest (as a plain number) or per host; or a rule over vcpus and \
             guests, such as \"max(10, 50 * vcpus)\"",
            self.what
        )
    }

    fn example(&self) -> String {
        self.example.to_owned()
    }

    fn schema(&self) -> Json {
        json!({"anyOf": [
            {"type": "number", "minimum": LEAST, "maximum": self.most},
            {"type": "string", "pattern": format!("^{NUMBER}{PER}$|{RULE}")},
        ]})
    }
}

/// A nominal database size in MB (1GB = 1024MB), or the names S, M and L.
pub(crate) struct Database;

/// The named sizes in MB.
const NAMED: [(&str, f64); 3] = [("S", 10.0), ("M", 1024.0), ("L", 102_400.0)];

impl Database {
    fn amount(
        &self,
        text: &str,
        value: &Spanned<DeValue<'_>>,
        at: &At,
        context: &mut Context,
    ) -> Option<(f64, Per)> {
        if let Ok((name, per)) = split_per(text)
            && let Some((_, mb)) = NAMED.iter().find(|(known, _)| *known == name.trim())
        {
            return Some((*mb, per));
        }
        let (number, unit, per) = parts(text, value, at, context, self)?;
        match unit {
            "MB" => Some((number, per)),
            "GB" => Some((number * 1024.0, per)),
            _ => {
                let message = match unit {
                    "" => format!("{at} needs a unit: MB or GB"),
                    _ => format!("{at}: {} is not a unit of database sizes", quoted(unit)),
                };
                let help = format!(
                    "sizes are nominal: write MB or GB, for instance {}",
                    at.line(&self.example())
                );
                context.refuse(Code::WrongUnit, value.span(), message, help)
            }
        }
    }
}

impl Kind for Database {
    type Value = Amount;

    fn read(&self, value: &Spanned<DeValue<'_>>, at: &At, context: &mut Context) -> Option<Amount> {
        let text = match value.get_ref() {
            DeValue::String(text) => text,
            DeValue::Integer(_) | DeValue::Float(_) => {
                let message = format!("{at} needs a unit: MB or GB");
                return context.refuse(
                    Code::WrongUnit,
                    value.span(),
                    message,
                    at.write(&self.example()),
                );
            }
            _ => return context.wrong_type(value, at, self),
        };
        if is_rule(text) {
            let rule = read_rule(
                text,
                &Variable::OF_SIZES,
                &NOMINAL_MEGABYTES,
                value,
                at,
                context,
            )?;
            return Some(Amount::Rule(rule));
        }
        let (amount, per) = self.amount(text, value, at, context)?;
        if amount < LEAST {
            return context.out_of_range(value, at, &format!("is less than {LEAST}MB"), self);
        }
        if amount > MOST_MB {
            return context.out_of_range(value, at, "is more than 1023GB", self);
        }
        Some(Amount::Scaled(Scaled { amount, per }))
    }

    fn write(&self, value: &Amount) -> String {
        match value {
            Amount::Scaled(value) => format!("\"{}MB{}\"", value.amount, per_suffix(value.per)),
            Amount::Rule(rule) => format!("\"{rule}\""),
        }
    }

    fn describe(&self) -> String {
        "nominal size in MB or GB (or S, M, L), per vcpu, per guest or per host; or a rule over \
         vcpus, guests, users and memory"
            .to_owned()
    }

    fn example(&self) -> String {
        "\"10MB per vcpu\"".to_owned()
    }

    fn schema(&self) -> Json {
        json!({"type": "string", "pattern": format!("^({NUMBER}(MB|GB)|\\s*[SML]\\s*){PER}$|{RULE}")})
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};

    fn scaled(amount: f64, per: Per) -> Result<Amount, (Code, String)> {
        Ok(Amount::Scaled(Scaled { amount, per }))
    }

    #[test]
    fn users_are_counted_by_guest_unless_said() {
        assert_eq!(read(&Count::USERS, "50"), scaled(50.0, Per::Guest));
        assert_eq!(read(&Count::USERS, "'50'"), scaled(50.0, Per::Guest));
        assert_eq!(
            read(&Count::USERS, "'50 per vcpu'"),
            scaled(50.0, Per::Vcpu)
        );
        assert_eq!(
            read(&Count::USERS, "'80 per host'"),
            scaled(80.0, Per::Host)
        );
        for (text, expected) in [
            ("0", Code::OutOfRange),
            ("-5", Code::OutOfRange),
            ("2_000_000", Code::OutOfRange),
            ("'-5 per vcpu'", Code::OutOfRange),
            ("'50 per cpu'", Code::WrongUnit),
            ("'50ms'", Code::WrongUnit),
            ("'many'", Code::Malformed),
            ("{ from = 10 }", Code::WrongType),
        ] {
            assert_eq!(code(&Count::USERS, text), expected, "{text}");
        }
    }

    #[test]
    fn rates_are_counted_like_users() {
        assert_eq!(read(&Count::RATE, "2.5"), scaled(2.5, Per::Guest));
        assert_eq!(read(&Count::RATE, "'20 per vcpu'"), scaled(20.0, Per::Vcpu));
        assert_eq!(
            refusal(&Count::RATE, "2_000_000").1,
            "`s.key` is more than 1000000 arrivals per second"
        );
        assert!(
            refusal(&Count::RATE, "'20ms'")
                .1
                .contains("arrivals per second have no unit")
        );
    }

    #[test]
    fn databases_are_nominal() {
        assert_eq!(read(&Database, "'10MB per vcpu'"), scaled(10.0, Per::Vcpu));
        assert_eq!(read(&Database, "'2GB'"), scaled(2048.0, Per::Guest));
        assert_eq!(read(&Database, "'S'"), scaled(10.0, Per::Guest));
        assert_eq!(read(&Database, "'M per host'"), scaled(1024.0, Per::Host));
        for (text, expected) in [
            ("'10MiB'", Code::WrongUnit),
            ("'10'", Code::WrongUnit),
            ("10", Code::WrongUnit),
            ("'0MB'", Code::OutOfRange),
            ("'1024GB'", Code::OutOfRange),
            ("'XL'", Code::Malformed),
            ("true", Code::WrongType),
        ] {
            assert_eq!(code(&Database, text), expected, "{text}");
        }
    }
}
