//! From text to steps, by recursive descent:
//!
//! ```text
//! sum     = product { ("+" | "-") product }
//! product = factor { ("*" | "/") factor }
//! factor  = "-" factor | "(" sum ")" | number [unit | "%"] | name [ "(" sum { "," sum } ")" ]
//! ```

use std::ops::Range;

use super::{
    ExpressionError, Function, MOST_EXPRESSION_BYTES, Node, Operator, Unit, Variable, units::SIZES,
};
use crate::source::quoted;

/// Parentheses, functions and signs within each other.
const DEEPEST: usize = 32;

/// Larger numbers are mistakes: a million TiB in bytes.
const LARGEST: f64 = 1e18;

/// Digits of a number beyond which nobody means them.
const MOST_DIGITS: usize = 30;

pub(super) fn parse(text: &str) -> Result<Node, ExpressionError> {
    if text.len() > MOST_EXPRESSION_BYTES {
        return Err(ExpressionError {
            position: 0..text.len(),
            message: format!("an expression of {} bytes is too long", text.len()),
            help: format!("use at most {MOST_EXPRESSION_BYTES}"),
        });
    }
    let mut parser = Parser {
        text,
        at: 0,
        depth: 0,
    };
    let root = parser.sum()?;
    if parser.peek().is_some() {
        let rest = parser.token();
        let message = format!("{} does not belong here", quoted(&text[rest.clone()]));
        return Err(refusal(
            rest,
            message,
            "put an operator (+ - * /) before it, or remove it",
        ));
    }
    Ok(root)
}

fn refusal(
    position: Range<usize>,
    message: impl Into<String>,
    help: impl Into<String>,
) -> ExpressionError {
    ExpressionError {
        position,
        message: message.into(),
        help: help.into(),
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    /// The next character that is not a space.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\t']).len();
        self.text[self.at..].chars().next()
    }

    /// Takes `wanted` if it is next.
    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    /// Takes characters while `belongs` holds.
    fn run(&mut self, belongs: impl Fn(char) -> bool) -> Range<usize> {
        let start = self.at;
        let rest = &self.text[start..];
        self.at += rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        start..self.at
    }

    /// The place of the word, number or sign that is next.
    fn token(&mut self) -> Range<usize> {
        let Some(first) = self.peek() else {
            return self.text.len()..self.text.len();
        };
        let start = self.at;
        let word = self.run(|c| c.is_alphanumeric() || c == '_' || c == '.');
        self.at = start;
        if word.is_empty() {
            start..start + first.len_utf8()
        } else {
            word
        }
    }

    fn sum(&mut self) -> Result<Node, ExpressionError> {
        let mut left = self.product()?;
        loop {
            let operator = match self.peek() {
                Some('+') => Operator::Add,
                Some('-') => Operator::Subtract,
                _ => return Ok(left),
            };
            self.at += 1;
            left = Node::Binary(operator, Box::new((left, self.product()?)));
        }
    }

    fn product(&mut self) -> Result<Node, ExpressionError> {
        let mut left = self.factor()?;
        loop {
            let operator = match self.peek() {
                Some('*') => Operator::Multiply,
                Some('/') => Operator::Divide,
                _ => return Ok(left),
            };
            self.at += 1;
            left = Node::Binary(operator, Box::new((left, self.factor()?)));
        }
    }

    fn factor(&mut self) -> Result<Node, ExpressionError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            let here = self.token();
            return Err(refusal(
                here,
                format!("more than {DEEPEST} levels within each other"),
                "write it flatter",
            ));
        }
        let node = match self.peek() {
            Some('-') => {
                self.at += 1;
                Node::Negative(Box::new(self.factor()?))
            }
            Some('(') => {
                let open = self.at;
                self.at += 1;
                let node = self.sum()?;
                self.close(open)?;
                node
            }
            Some(c) if c.is_ascii_digit() => self.number()?,
            Some(c) if c.is_ascii_alphabetic() || c == '_' => self.name()?,
            Some(_) => {
                let here = self.token();
                let message = format!(
                    "{} where a number, a variable or a function should be",
                    quoted(&self.text[here.clone()])
                );
                return Err(refusal(
                    here,
                    message,
                    "write for instance `max(256, 64 * vcpus)`",
                ));
            }
            None => {
                let end = self.text.len()..self.text.len();
                return Err(refusal(
                    end,
                    "the expression ends too early",
                    "write for instance `max(256, 64 * vcpus)`",
                ));
            }
        };
        self.depth -= 1;
        Ok(node)
    }

    fn close(&mut self, open: usize) -> Result<(), ExpressionError> {
        if self.take(')') {
            return Ok(());
        }
        match self.peek() {
            None => Err(refusal(
                open..open + 1,
                "this parenthesis is not closed",
                "add `)`",
            )),
            Some(_) => {
                let here = self.token();
                let message = format!("{} where `)` should be", quoted(&self.text[here.clone()]));
                Err(refusal(
                    here,
                    message,
                    "close the parenthesis, or put an operator (+ - * /) before it",
                ))
            }
        }
    }

    fn number(&mut self) -> Result<Node, ExpressionError> {
        let place = self.run(|c| c.is_ascii_digit() || c == '.' || c == '_');
        let digits = self.text[place.clone()].replace('_', "");
        let value = if digits.len() > MOST_DIGITS || digits.ends_with('.') {
            None
        } else {
            digits.parse::<f64>().ok().filter(|value| *value <= LARGEST)
        };
        let Some(value) = value else {
            let message = format!("{} is not a number", quoted(&self.text[place.clone()]));
            return Err(refusal(
                place,
                message,
                format!("write digits with at most one point, up to {LARGEST:e}"),
            ));
        };
        let unit = match self.peek() {
            Some('%') => {
                self.at += 1;
                Unit::Percent
            }
            Some(c) if c.is_ascii_alphabetic() => self.unit()?,
            _ => Unit::None,
        };
        Ok(Node::Number { value, unit })
    }

    fn unit(&mut self) -> Result<Unit, ExpressionError> {
        let place = self.run(|c| c.is_alphanumeric() || c == '_');
        let word = &self.text[place.clone()];
        match SIZES.iter().position(|name| *name == word) {
            Some(size) => Ok(Unit::Size(size)),
            None => {
                let help = if name_known(word) {
                    format!("write `*` before {word}")
                } else {
                    format!("units are {}, and % after a number", SIZES.join(", "))
                };
                let message = format!("{} is not a unit", quoted(word));
                Err(refusal(place, message, help))
            }
        }
    }

    fn name(&mut self) -> Result<Node, ExpressionError> {
        let place = self.run(|c| c.is_alphanumeric() || c == '_');
        let word = &self.text[place.clone()];
        if let Some((_, function)) = Function::ALL.iter().find(|(name, _)| *name == word) {
            return self.call(*function, place);
        }
        match Variable::ALL
            .into_iter()
            .find(|variable| variable.name() == word)
        {
            Some(variable) => Ok(Node::Variable(variable)),
            None => {
                let (variables, functions) = (
                    Variable::ALL.map(Variable::name),
                    Function::ALL.map(|(name, _)| name),
                );
                let known: Vec<&str> = variables.iter().chain(&functions).copied().collect();
                let help = match crate::names::nearest(word, &known) {
                    Some(near) => format!("write `{near}`"),
                    None => format!(
                        "variables are {}; functions are {}",
                        variables.join(", "),
                        functions.join(", ")
                    ),
                };
                let message = format!("{} is neither a variable nor a function", quoted(word));
                Err(refusal(place, message, help))
            }
        }
    }

    fn call(&mut self, function: Function, name: Range<usize>) -> Result<Node, ExpressionError> {
        let word = &self.text[name.clone()];
        self.peek();
        let open = self.at;
        if !self.take('(') {
            return Err(refusal(
                name,
                format!("`{word}` is a function"),
                format!("write `{word}(...)`"),
            ));
        }
        let mut arguments = vec![self.sum()?];
        while self.take(',') {
            arguments.push(self.sum()?);
        }
        self.close(open)?;
        if arguments.len() > 1 && !function.many() {
            let message = format!("`{word}` takes one argument, here are {}", arguments.len());
            return Err(refusal(
                name,
                message,
                format!("write `{word}(...)` of one value"),
            ));
        }
        Ok(Node::Call(function, arguments))
    }
}

fn name_known(word: &str) -> bool {
    Variable::ALL.iter().any(|variable| variable.name() == word)
        || Function::ALL.iter().any(|(name, _)| *name == word)
}
