//! Which operation follows which: from names to places, and back.

use rookery_workload::data_driven::{Matrix, MatrixError, Rows, Walk};

use crate::{grammar::Context, names::nearest, problem::Code, source::quoted};

/// The name of the end of a session in a row of the matrix.
const END: &str = "end";

/// What the keys say of the mix.
#[derive(Default)]
pub(in crate::workloads) struct MixKeys {
    pub(in crate::workloads) script: Option<Vec<String>>,
    pub(in crate::workloads) start: Option<Vec<(String, f64)>>,
    pub(in crate::workloads) session: Option<u32>,
    /// By operation.
    pub(in crate::workloads) weights: Vec<Option<f64>>,
    /// By operation.
    pub(in crate::workloads) next: Vec<Option<Vec<(String, f64)>>>,
}

/// Where the keys of a workload hold those of its mix.
pub(in crate::workloads) struct MixPlaces<'k> {
    pub(in crate::workloads) script: &'k mut Option<Vec<String>>,
    pub(in crate::workloads) start: &'k mut Option<Vec<(String, f64)>>,
    pub(in crate::workloads) session: &'k mut Option<u32>,
    /// By operation: `weight` and `next`.
    pub(in crate::workloads) operations: Vec<OperationPlaces<'k>>,
}

/// `weight` and `next` of an operation.
pub(in crate::workloads) type OperationPlaces<'k> =
    (&'k mut Option<f64>, &'k mut Option<Vec<(String, f64)>>);

impl MixPlaces<'_> {
    /// Takes what the keys say of the mix.
    pub(in crate::workloads) fn take(self) -> MixKeys {
        let operations = self.operations.into_iter();
        let (weights, next) = operations
            .map(|(weight, next)| (weight.take(), next.take()))
            .unzip();
        MixKeys {
            script: self.script.take(),
            start: self.start.take(),
            session: self.session.take(),
            weights,
            next,
        }
    }

    /// Puts a mix into the keys.
    pub(in crate::workloads) fn put(self, mix: MixKeys) {
        (*self.script, *self.start, *self.session) = (mix.script, mix.start, mix.session);
        let of_operations = mix.weights.into_iter().zip(mix.next);
        for ((weight, next), (own_weight, own_next)) in
            self.operations.into_iter().zip(of_operations)
        {
            (*weight, *next) = (own_weight, own_next);
        }
    }
}

impl MixKeys {
    /// The walk of operations of these names; nothing where it was refused.
    pub(in crate::workloads) fn build(
        self,
        names: &[&str],
        login: Option<usize>,
        context: &mut Context,
    ) -> Option<Walk> {
        let matrix = self.start.is_some() || self.next.iter().any(Option::is_some);
        let weighted = self.session.is_some() || self.weights.iter().any(Option::is_some);
        let ways = [
            ("`script`", self.script.is_some()),
            ("`next` and `start`", matrix),
            ("`weight` and `session_operations`", weighted),
        ];
        let said: Vec<&str> = ways
            .into_iter()
            .filter_map(|(key, is)| is.then_some(key))
            .collect();
        if said.len() > 1 {
            let span = context.spans.nearest("workload.operation");
            let message = format!("the mix is said by {} at once", said.join(", by "));
            return context.refuse(Code::Contradiction, span, message, "keep one of them");
        }
        if let Some(script) = &self.script {
            return place_script(script, names, context);
        }
        if matrix {
            return self.matrix(names, context);
        }
        let weight = |(index, weight): (usize, &Option<f64>)| {
            weight.unwrap_or(if login == Some(index) { 0.0 } else { 1.0 })
        };
        let weights: Vec<f64> = self.weights.iter().enumerate().map(weight).collect();
        if weights.iter().all(|weight| *weight <= 0.0) {
            let span = context.spans.nearest("workload.operation");
            let help = "add an operation beside the login, or give one a `weight`";
            return context.refuse(
                Code::Contradiction,
                span,
                "no operation is ever drawn",
                help,
            );
        }
        Some(Walk::Weights {
            weights,
            session: self.session,
        })
    }

    fn matrix(&self, names: &[&str], context: &mut Context) -> Option<Walk> {
        let start = match &self.start {
            None => {
                let mut start = vec![0.0; names.len()];
                *start.first_mut()? = 1.0;
                Some(start)
            }
            Some(row) => place_row(row, names, "workload.start", false, context),
        };
        let rows: Vec<Option<Vec<f64>>> = self
            .next
            .iter()
            .enumerate()
            .map(|(index, row)| {
                let path = format!("workload.operation[{index}].next");
                match row {
                    Some(row) => place_row(row, names, &path, true, context),
                    // What nothing leads to needs no row; whether something does is seen below.
                    None => Some(end_of(names.len())),
                }
            })
            .collect();
        let rows = Rows {
            start: start?,
            next: rows.into_iter().collect::<Option<_>>()?,
        };
        let matrix = match Matrix::try_from(rows) {
            Ok(matrix) => matrix,
            Err(error) => return refuse_matrix(error, names, context),
        };
        let walk = Walk::Matrix(matrix);
        for (index, name) in names.iter().enumerate() {
            if self.next[index].is_none() && walk.reaches(index) {
                let span = context
                    .spans
                    .nearest(&format!("workload.operation[{index}]"));
                let message = format!(
                    "a session comes to {}, and nothing follows it",
                    quoted(name)
                );
                let help = "write what follows, for instance `next = {end = 1.0}`";
                context.refuse::<()>(Code::MissingKey, span, message, help);
            }
        }
        Some(walk)
    }
}

/// A row that only ends the session.
fn end_of(operations: usize) -> Vec<f64> {
    let mut row = vec![0.0; operations];
    row.push(1.0);
    row
}

/// The place of an operation; nothing where there is none of this name.
pub(in crate::workloads) fn place(
    name: &str,
    names: &[&str],
    path: &str,
    context: &mut Context,
) -> Option<usize> {
    let found = names.iter().position(|known| *known == name);
    if found.is_none() {
        let help = match nearest(name, names) {
            Some(near) => format!("write `{near}`"),
            None => format!("the operations are: {}", names.join(", ")),
        };
        let message = format!("no operation is named {}", quoted(name));
        let span = context.spans.nearest(path);
        return context.refuse(Code::UnknownChoice, span, message, help);
    }
    found
}

fn place_script(script: &[String], names: &[&str], context: &mut Context) -> Option<Walk> {
    if script.is_empty() {
        let span = context.spans.nearest("workload.script");
        let help = "name at least one operation";
        return context.refuse(
            Code::EmptyList,
            span,
            "`workload.script` is an empty list",
            help,
        );
    }
    let places: Vec<Option<usize>> = script
        .iter()
        .map(|name| place(name, names, "workload.script", context))
        .collect();
    places.into_iter().collect::<Option<_>>().map(Walk::Script)
}

/// A row of the matrix, with the end of the session as its last number where it has one.
fn place_row(
    row: &[(String, f64)],
    names: &[&str],
    path: &str,
    ends: bool,
    context: &mut Context,
) -> Option<Vec<f64>> {
    let mut numbers = vec![0.0; names.len() + usize::from(ends)];
    let mut sound = true;
    for (name, share) in row {
        let at = if ends && name == END {
            Some(names.len())
        } else {
            place(name, names, &format!("{path}.{name}"), context)
        };
        match at {
            Some(at) => numbers[at] = *share,
            None => sound = false,
        }
    }
    sound.then_some(numbers)
}

fn refuse_matrix<T>(error: MatrixError, names: &[&str], context: &mut Context) -> Option<T> {
    let (path, row) = match error.row() {
        None => ("workload.start".to_owned(), "`start`".to_owned()),
        Some(row) => (
            format!("workload.operation[{row}].next"),
            format!(
                "`next` of {}",
                quoted(names.get(row).copied().unwrap_or_default())
            ),
        ),
    };
    let help = match error {
        MatrixError::Endless { .. } => {
            "sessions that come here must be able to end as others do: give `end` a share somewhere \
             behind it"
        }
        _ => "make the shares of the row sum to 1; what ends the session is `end`",
    };
    let span = context.spans.nearest(&path);
    context.refuse(Code::Contradiction, span, format!("{row}: {error}"), help)
}

/// A walk as keys.
pub(in crate::workloads) fn keys_of(walk: &Walk, names: &[&str]) -> MixKeys {
    let named = |row: &Vec<f64>| -> Option<Vec<(String, f64)>> {
        let shares = names.iter().chain(&[END]).zip(row);
        let given = shares.filter(|(_, share)| **share > 0.0);
        Some(
            given
                .map(|(name, share)| ((*name).to_owned(), *share))
                .collect(),
        )
    };
    let mut keys = MixKeys {
        weights: vec![None; names.len()],
        next: vec![None; names.len()],
        ..MixKeys::default()
    };
    match walk {
        Walk::Weights { weights, session } => {
            keys.session = *session;
            keys.weights = weights.iter().copied().map(Some).collect();
        }
        Walk::Matrix(matrix) => {
            keys.start = named(&matrix.rows().start);
            keys.next = matrix.rows().next.iter().map(named).collect();
        }
        Walk::Script(places) => {
            let name = |place: &usize| names.get(*place).map(|name| (*name).to_owned());
            keys.script = Some(places.iter().filter_map(name).collect());
        }
    }
    keys
}

/// The mix in words.
pub(in crate::workloads) fn words(walk: &Walk, names: &[&str]) -> String {
    let percent = |share: f64| (1e3 * share).round() / 10.0;
    match walk {
        Walk::Weights { weights, session } => {
            let sum: f64 = weights.iter().sum();
            let shares: Vec<String> = names
                .iter()
                .zip(weights)
                .filter(|(_, weight)| **weight > 0.0)
                .map(|(name, weight)| format!("{} % {name}", percent(weight / sum)))
                .collect();
            match session {
                Some(length) => format!("{}; sessions of {length} operations", shares.join(", ")),
                None => shares.join(", "),
            }
        }
        Walk::Matrix(_) => format!("a matrix of {} operations", names.len()),
        Walk::Script(places) => {
            let steps: Vec<&str> = places
                .iter()
                .filter_map(|at| names.get(*at).copied())
                .collect();
            format!("sessions of {}", steps.join(", "))
        }
    }
}
