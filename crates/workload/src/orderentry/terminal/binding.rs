//! Which warehouse a terminal works for. Without think time this decides how much of the database
//! is touched.

use serde::{Deserialize, Serialize};

use super::InputSource;

/// How terminals belong to warehouses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Binding {
    /// Each terminal keeps one warehouse, and one district for stock levels.
    Fixed,
    /// A new warehouse for each transaction.
    #[default]
    Uniform,
    /// Each terminal goes round in its own share of the warehouses.
    Slice,
}

/// The warehouses of one terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warehouses {
    /// Always this one.
    One(u32),
    /// Any of `1..=n`.
    Any(u32),
    /// `first`, `first + step` and so on up to `last`, and again from `first`.
    Round {
        /// The first.
        first: u32,
        /// The next one.
        next: u32,
        /// The distance.
        step: u32,
        /// The largest of all.
        last: u32,
    },
}

impl Warehouses {
    /// Those of terminal `number`, counted from 0, of `terminals` in a database of `warehouses`.
    #[must_use]
    pub fn new(binding: Binding, warehouses: u32, number: u32, terminals: u32) -> Self {
        let first = number % warehouses + 1;
        match binding {
            Binding::Uniform => Self::Any(warehouses),
            Binding::Slice if terminals < warehouses => Self::Round {
                first,
                next: first,
                step: terminals.max(1),
                last: warehouses,
            },
            // With as many terminals as warehouses or more, a share is a single one.
            Binding::Fixed | Binding::Slice => Self::One(first),
        }
    }

    pub(super) fn next(&mut self, inputs: &mut InputSource) -> u32 {
        match self {
            Self::One(warehouse) => *warehouse,
            Self::Any(warehouses) => inputs.between(1, *warehouses),
            Self::Round {
                first,
                next,
                step,
                last,
            } => {
                let warehouse = *next;
                *next = if warehouse + *step > *last {
                    *first
                } else {
                    warehouse + *step
                };
                warehouse
            }
        }
    }
}
