//! A workload made ready to be done: names are places.

use rookery_workload::{
    data_driven::{FeederPlaces, Part, Template},
    sql::{SqlOperation, SqlStatement, SqlWorkload, StatementText},
};

use crate::OltpError;

/// A text of a check whose names are places.
#[derive(Debug)]
pub(super) struct Text(Vec<Piece>);

#[derive(Debug)]
enum Piece {
    Text(Vec<u8>),
    Value(usize),
}

impl Text {
    fn new(template: &Template, names: &[String]) -> Option<Self> {
        let piece = |part: &Part| match part {
            Part::Text(text) => Some(Piece::Text(text.as_bytes().to_vec())),
            Part::Value { name, .. } => place(name, names).map(Piece::Value),
        };
        let pieces: Option<Vec<_>> = template.parts().iter().map(piece).collect();
        pieces.map(Self)
    }

    /// It with its values; nothing where one has none yet.
    pub(super) fn with(&self, values: &[Option<Vec<u8>>]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Value(place) => out.extend_from_slice(values.get(*place)?.as_deref()?),
            }
        }
        Some(out)
    }
}

/// One statement.
#[derive(Debug)]
pub(super) struct Statement {
    /// Its number in a session.
    pub(super) number: usize,
    /// Places of its parameters.
    pub(super) parameters: Vec<usize>,
    /// What the first columns of the first row must be.
    pub(super) values: Vec<Text>,
    /// Place and column, from 0, of what is taken from the first row.
    pub(super) captures: Vec<(usize, usize)>,
}

/// One operation.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) statements: Vec<Statement>,
    /// Its statements only read.
    pub(super) reads: bool,
    /// The feeders that it draws from anew.
    pub(super) feeders: FeederPlaces,
}

/// A workload made ready.
#[derive(Debug)]
pub(super) struct Compiled {
    /// Places for values.
    pub(super) values: usize,
    pub(super) operations: Vec<Operation>,
    /// The feeders that a session draws from once.
    pub(super) of_session: FeederPlaces,
    /// All statements, by their numbers.
    pub(super) texts: Vec<StatementText>,
}

fn place(name: &str, names: &[String]) -> Option<usize> {
    names.iter().position(|known| known == name)
}

impl Compiled {
    /// Of a workload that was checked.
    pub(super) fn new(workload: &SqlWorkload) -> Result<Self, OltpError> {
        let unknown = || OltpError::setting("the workload uses a value that nothing gives");
        let names = workload.values();
        let feeders = FeederPlaces::new(&workload.feeders, &names).ok_or_else(unknown)?;
        let mut texts = Vec::new();
        let mut operations = Vec::new();
        for operation in &workload.operations {
            let ready = compile(workload, operation, &names, &feeders, &mut texts);
            operations.push(ready.ok_or_else(unknown)?);
        }
        Ok(Self {
            values: names.len(),
            operations,
            of_session: feeders.of_session(&workload.feeders),
            texts,
        })
    }
}

fn compile(
    workload: &SqlWorkload,
    operation: &SqlOperation,
    names: &[String],
    feeders: &FeederPlaces,
    texts: &mut Vec<StatementText>,
) -> Option<Operation> {
    let used: Vec<&str> = operation.names().collect();
    let statements = operation.statements.iter();
    let statements: Option<Vec<Statement>> = statements
        .map(|statement| {
            texts.push(statement.text.clone());
            compile_statement(statement, names, texts.len() - 1)
        })
        .collect();
    Some(Operation {
        statements: statements?,
        reads: operation.statements.iter().all(|one| one.text.reads()),
        feeders: feeders.of_operation(&workload.feeders, &used),
    })
}

fn compile_statement(
    statement: &SqlStatement,
    names: &[String],
    number: usize,
) -> Option<Statement> {
    let values = statement.checks.values.iter();
    let captures = statement.captures.iter();
    Some(Statement {
        number,
        parameters: statement
            .text
            .names()
            .map(|name| place(name, names))
            .collect::<Option<_>>()?,
        values: values
            .map(|value| Text::new(value, names))
            .collect::<Option<_>>()?,
        captures: captures
            .map(|one| Some((place(&one.name, names)?, usize::from(one.column) - 1)))
            .collect::<Option<_>>()?,
    })
}
