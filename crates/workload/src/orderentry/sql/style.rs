//! How the steps of a transaction become statements and round trips. Figures of different styles
//! are never compared.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Statement, Verb};
use crate::orderentry::{
    dialect::{Dialect, ParseNameError},
    scale::DISTRICTS,
    terminal::MAX_LINES,
};

/// The statement style.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Style {
    /// One prepared statement per round trip, as a conventional application does.
    #[default]
    Plain,
    /// Several rows per statement.
    Batched,
    /// Several statements per round trip.
    Pipelined,
    /// One call per transaction, the body is in the server.
    Procs,
}

/// A style that a dialect does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{} has no statements = \"{}\"; use {}", dialect.name(), style.name(), instead(*dialect))]
pub struct StyleError {
    style: Style,
    dialect: Dialect,
}

fn instead(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Generic => "plain",
        _ => "plain, batched or pipelined",
    }
}

impl Style {
    /// Every style.
    pub const ALL: [Self; 4] = [Self::Plain, Self::Batched, Self::Pipelined, Self::Procs];

    /// The name in studies.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Batched => "batched",
            Self::Pipelined => "pipelined",
            Self::Procs => "procs",
        }
    }

    /// Says whether `dialect` has this style.
    ///
    /// # Errors
    /// When it has not: other databases have the plain one alone, SQLite and DB2 no procedures of
    /// ours.
    pub fn on(self, dialect: Dialect) -> Result<Self, StyleError> {
        let has = match dialect {
            Dialect::Mariadb | Dialect::Mysql | Dialect::Postgresql => true,
            Dialect::Sqlite | Dialect::Db2 => self != Self::Procs,
            Dialect::Generic => self == Self::Plain,
        };
        if has {
            Ok(self)
        } else {
            Err(StyleError {
                style: self,
                dialect,
            })
        }
    }
}

impl FromStr for Style {
    type Err = ParseNameError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|style| style.name() == name)
            .ok_or(ParseNameError {
                what: "statement style",
                name: name.to_owned(),
                choices: "plain, batched, pipelined or procs",
            })
    }
}

const CONTROL: &[Verb] = &[
    Verb::BeginWrite,
    Verb::BeginRead,
    Verb::Commit,
    Verb::Rollback,
];

/// What plain, batched and pipelined transactions share.
const COMMON: &[Verb] = &[
    Verb::WarehouseTax,
    Verb::CustomerDiscount,
    Verb::InsertOrder,
    Verb::InsertNewOrder,
    Verb::CustomersByName,
    Verb::CustomerForUpdate,
    Verb::CustomerPay,
    Verb::InsertHistory,
    Verb::StatusById,
    Verb::StatusByName,
    Verb::LastOrder,
    Verb::OrderLines,
    Verb::OldestNewOrder,
    Verb::NextOrder,
    Verb::LowStock,
];

const ONE_BY_ONE: &[Verb] = &[
    Verb::DistrictForUpdate,
    Verb::DistrictAdvance,
    Verb::ItemRead,
    Verb::StockUpdate,
    Verb::InsertLine,
    Verb::WarehousePay,
    Verb::WarehouseRead,
    Verb::DistrictPay,
    Verb::DistrictRead,
    Verb::DeleteNewOrder,
    Verb::OrderDeliver,
    Verb::LinesDeliver,
    Verb::CustomerDeliver,
];

const CALLS: &[Verb] = &[
    Verb::CallNewOrder,
    Verb::CallPayment,
    Verb::CallOrderStatus,
    Verb::CallDelivery,
    Verb::CallStockLevel,
];

pub(super) fn used(style: Style, dialect: Dialect) -> Vec<Statement> {
    let mut verbs = CONTROL.to_vec();
    let mut rows: Vec<(Verb, usize)> = Vec::new();
    match style {
        Style::Plain => {
            verbs.extend([COMMON, ONE_BY_ONE].concat());
            verbs.extend([
                Verb::CustomerData,
                Verb::CustomerPayData,
                Verb::OrderForUpdate,
                Verb::LinesSum,
            ]);
            rows.push((Verb::StockForUpdate, DISTRICTS as usize));
        }
        Style::Pipelined => {
            verbs.extend([COMMON, ONE_BY_ONE].concat());
            verbs.extend([Verb::CustomerPayPrepend, Verb::OrderTotal]);
            rows.push((Verb::StockForUpdate, DISTRICTS as usize));
        }
        Style::Batched => {
            verbs.extend(COMMON);
            verbs.extend([Verb::CustomerData, Verb::CustomerPayData]);
            verbs.extend(if dialect.update_returns() {
                vec![
                    Verb::DistrictTake,
                    Verb::WarehousePayRead,
                    Verb::DistrictPayRead,
                ]
            } else {
                vec![
                    Verb::DistrictForUpdate,
                    Verb::DistrictAdvance,
                    Verb::WarehousePay,
                    Verb::WarehouseRead,
                    Verb::DistrictPay,
                    Verb::DistrictRead,
                ]
            });
            rows.extend(
                [
                    Verb::ItemsRead,
                    Verb::StocksForUpdate,
                    Verb::StocksUpdate,
                    Verb::InsertLines,
                ]
                .map(|verb| (verb, MAX_LINES)),
            );
            rows.extend(
                [
                    Verb::DeleteNewOrders,
                    Verb::OrdersDeliver,
                    Verb::OrdersLinesDeliver,
                    Verb::OrdersTotal,
                    Verb::CustomersDeliver,
                ]
                .map(|verb| (verb, DISTRICTS as usize)),
            );
        }
        Style::Procs => verbs.extend(CALLS),
    }
    let variants = rows.into_iter().flat_map(|(verb, most)| {
        (1..=most).map(move |variant| Statement::with_variant(verb, variant))
    });
    verbs
        .into_iter()
        .map(Statement::one)
        .chain(variants)
        .collect()
}
