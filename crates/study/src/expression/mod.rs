//! Expressions over the shape of a guest: `max(256, 64 * vcpus)`, `80% * memory`.
//!
//! [`Expression::parse`] reads one, [`Expression::evaluate`] computes it for the [`Variables`] of a
//! guest. Numbers may have a unit of size, which makes them bytes, or a percent sign. Nothing is
//! computed before it is asked for, so that an expression prints as it was written.

mod parse;
mod units;

use std::{fmt, ops::Range, str::FromStr};

use serde::{Deserialize, Serialize};

pub(crate) use units::{BYTES, NO_UNITS, NOMINAL_MEGABYTES, Units};

/// Longest text of an expression, bytes.
pub const MOST_EXPRESSION_BYTES: usize = 256;

/// A formula in the variables `vcpus`, `memory`, `users`, `guests` and `callers`.
///
/// ```
/// use rookery_study::{Expression, Variables};
///
/// let guest = Variables {
///     vcpus: 2.0,
///     memory_bytes: 5120.0 * 1_048_576.0,
///     users: 100.0,
///     guests: 8.0,
///     callers: 1.0,
/// };
/// let workers = Expression::parse("max(256, 64 * vcpus)").unwrap();
/// assert_eq!(workers.evaluate(&guest), Ok(256.0));
/// let pool = Expression::parse("80% * memory").unwrap();
/// assert_eq!(pool.evaluate(&guest), Ok(4096.0 * 1_048_576.0));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Expression {
    text: String,
    root: Node,
}

/// What an expression may ask of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variables {
    /// vCPUs of the guest, above 0; fractions allowed.
    pub vcpus: f64,
    /// Memory limit of the guest, bytes.
    pub memory_bytes: f64,
    /// Users of this guest.
    pub users: f64,
    /// Guests of the point, at least 1.
    pub guests: f64,
    /// Guests that call this one: of a tier as many as it serves, else 1. At least 1.
    pub callers: f64,
}

/// The names that an expression may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variable {
    /// `vcpus`
    Vcpus,
    /// `memory`, bytes
    Memory,
    /// `users`
    Users,
    /// `guests`
    Guests,
    /// `callers`
    Callers,
}

impl Variable {
    /// All of them, in the order in which they are named to users.
    pub const ALL: [Self; 5] = [
        Self::Vcpus,
        Self::Memory,
        Self::Users,
        Self::Guests,
        Self::Callers,
    ];

    /// Those that sizes may depend on: sizes are planned group by group, before it is known who
    /// calls whom.
    pub const OF_SIZES: [Self; 4] = [Self::Vcpus, Self::Memory, Self::Users, Self::Guests];

    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Vcpus => "vcpus",
            Self::Memory => "memory",
            Self::Users => "users",
            Self::Guests => "guests",
            Self::Callers => "callers",
        }
    }
}

/// A text that is no expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}, at character {} of the expression; {help}", position.start + 1)]
pub struct ExpressionError {
    /// Bytes of the text at fault.
    pub position: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What the user can do.
    pub help: String,
}

/// An expression without a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvaluationError {
    /// Something is divided by zero.
    #[error("`{expression}` divides by zero; write the divisor as `max(1, ...)`")]
    DivisionByZero {
        /// The whole expression.
        expression: String,
    },
    /// The value, or one on the way to it, is beyond all numbers.
    #[error("`{expression}` has no finite value; use smaller numbers")]
    NotFinite {
        /// The whole expression.
        expression: String,
    },
}

/// One step of an expression.
#[derive(Clone, Debug, PartialEq)]
enum Node {
    Number { value: f64, unit: Unit },
    Variable(Variable),
    Negative(Box<Node>),
    Binary(Operator, Box<(Node, Node)>),
    Call(Function, Vec<Node>),
}

/// What stands after a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    None,
    Percent,
    /// Index into [`units::SIZES`].
    Size(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Min,
    Max,
    Floor,
    Ceil,
    Round,
}

impl Function {
    const ALL: [(&'static str, Self); 5] = [
        ("min", Self::Min),
        ("max", Self::Max),
        ("floor", Self::Floor),
        ("ceil", Self::Ceil),
        ("round", Self::Round),
    ];

    /// Whether it takes several arguments.
    fn many(self) -> bool {
        matches!(self, Self::Min | Self::Max)
    }
}

/// Why a value is missing, before the whole expression is named.
enum Fault {
    DivisionByZero,
    NotFinite,
}

impl Expression {
    /// Reads an expression of at most [`MOST_EXPRESSION_BYTES`].
    ///
    /// # Errors
    ///
    /// What cannot be read, with its place and its help.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let root = parse::parse(text)?;
        Ok(Self {
            text: text.trim().to_owned(),
            root,
        })
    }

    /// The value for a guest; sizes in bytes.
    ///
    /// # Errors
    ///
    /// When it divides by zero or leaves the finite numbers.
    pub fn evaluate(&self, variables: &Variables) -> Result<f64, EvaluationError> {
        self.evaluate_in(variables, &units::BYTES)
    }

    /// As [`Expression::evaluate`], sizes in the given units.
    pub(crate) fn evaluate_in(
        &self,
        variables: &Variables,
        units: &Units,
    ) -> Result<f64, EvaluationError> {
        let expression = || self.text.clone();
        // Adding zero turns the negative zero into the plain one.
        self.root
            .value(variables, units)
            .map(|value| value + 0.0)
            .map_err(|fault| match fault {
                Fault::DivisionByZero => EvaluationError::DivisionByZero {
                    expression: expression(),
                },
                Fault::NotFinite => EvaluationError::NotFinite {
                    expression: expression(),
                },
            })
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it asks for this variable.
    #[must_use]
    pub fn uses(&self, variable: Variable) -> bool {
        self.root.any(&|node| *node == Node::Variable(variable))
    }

    /// Whether any of its numbers is a size.
    pub(crate) fn has_sizes(&self) -> bool {
        self.root.any(&|node| {
            matches!(
                node,
                Node::Number {
                    unit: Unit::Size(_),
                    ..
                }
            )
        })
    }

    /// The first unit of size that `units` does not have.
    pub(crate) fn foreign_unit(&self, units: &Units) -> Option<&'static str> {
        units::SIZES
            .iter()
            .enumerate()
            .find(|(index, _)| {
                units.sizes[*index].is_none()
                    && self
                        .root
                        .any(&|node| matches!(node, Node::Number { unit: Unit::Size(size), .. } if size == index))
            })
            .map(|(_, name)| *name)
    }
}

impl Node {
    fn value(&self, variables: &Variables, units: &Units) -> Result<f64, Fault> {
        let value = match self {
            Self::Number { value, unit } => match unit {
                Unit::None => *value,
                Unit::Percent => value / 100.0,
                Unit::Size(size) => value * units.sizes[*size].unwrap_or(f64::NAN),
            },
            Self::Variable(Variable::Vcpus) => variables.vcpus,
            Self::Variable(Variable::Memory) => variables.memory_bytes * units.byte,
            Self::Variable(Variable::Users) => variables.users,
            Self::Variable(Variable::Guests) => variables.guests,
            Self::Variable(Variable::Callers) => variables.callers,
            Self::Negative(node) => -node.value(variables, units)?,
            Self::Binary(operator, sides) => operator.apply(
                sides.0.value(variables, units)?,
                sides.1.value(variables, units)?,
            )?,
            Self::Call(function, arguments) => {
                let values: Vec<f64> = arguments
                    .iter()
                    .map(|node| node.value(variables, units))
                    .collect::<Result<_, _>>()?;
                function.apply(&values)
            }
        };
        if value.is_finite() {
            Ok(value)
        } else {
            Err(Fault::NotFinite)
        }
    }

    /// Whether `test` holds for any step.
    fn any(&self, test: &impl Fn(&Self) -> bool) -> bool {
        test(self)
            || match self {
                Self::Number { .. } | Self::Variable(_) => false,
                Self::Negative(node) => node.any(test),
                Self::Binary(_, sides) => sides.0.any(test) || sides.1.any(test),
                Self::Call(_, arguments) => arguments.iter().any(|node| node.any(test)),
            }
    }
}

impl Operator {
    fn apply(self, left: f64, right: f64) -> Result<f64, Fault> {
        match self {
            Self::Add => Ok(left + right),
            Self::Subtract => Ok(left - right),
            Self::Multiply => Ok(left * right),
            Self::Divide if right == 0.0 => Err(Fault::DivisionByZero),
            Self::Divide => Ok(left / right),
        }
    }
}

impl Function {
    /// The parser gives at least one argument, and one alone where there must be one.
    fn apply(self, values: &[f64]) -> f64 {
        let one = values.first().copied().unwrap_or(f64::NAN);
        match self {
            Self::Min => values.iter().copied().fold(f64::INFINITY, f64::min),
            Self::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Self::Floor => one.floor(),
            Self::Ceil => one.ceil(),
            Self::Round => one.round(),
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Expression {
    type Err = ExpressionError;

    fn from_str(text: &str) -> Result<Self, ExpressionError> {
        Self::parse(text)
    }
}

impl TryFrom<String> for Expression {
    type Error = ExpressionError;

    fn try_from(text: String) -> Result<Self, ExpressionError> {
        Self::parse(&text)
    }
}

impl From<Expression> for String {
    fn from(expression: Expression) -> Self {
        expression.text
    }
}

#[cfg(test)]
mod tests;
