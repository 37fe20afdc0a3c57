//! What DB2 is told, as golden texts: no DB2 is at hand to try them.

use std::collections::BTreeSet;

use super::*;
use crate::orderentry::{
    Condition, Isolation, Moment, Scale, SchemaOptions, Table, after_load, create_tables,
    drop_tables, insert_row,
};

/// A transaction and what it may execute.
type Script = (&'static str, &'static [Verb]);

/// What each transaction executes one statement after the other, in its order.
const PLAIN: [Script; 5] = [
    (
        "new order",
        &[
            Verb::WarehouseTax,
            Verb::DistrictForUpdate,
            Verb::DistrictAdvance,
            Verb::CustomerDiscount,
            Verb::InsertOrder,
            Verb::InsertNewOrder,
            Verb::ItemRead,
            Verb::StockForUpdate,
            Verb::StockUpdate,
            Verb::InsertLine,
        ],
    ),
    (
        "payment",
        &[
            Verb::WarehousePay,
            Verb::WarehouseRead,
            Verb::DistrictPay,
            Verb::DistrictRead,
            Verb::CustomersByName,
            Verb::CustomerForUpdate,
            Verb::CustomerData,
            Verb::CustomerPayData,
            Verb::CustomerPay,
            Verb::InsertHistory,
        ],
    ),
    (
        "order status",
        &[
            Verb::StatusById,
            Verb::StatusByName,
            Verb::LastOrder,
            Verb::OrderLines,
        ],
    ),
    (
        "delivery",
        &[
            Verb::OldestNewOrder,
            Verb::DeleteNewOrder,
            Verb::OrderForUpdate,
            Verb::OrderDeliver,
            Verb::LinesDeliver,
            Verb::LinesSum,
            Verb::CustomerDeliver,
        ],
    ),
    ("stock level", &[Verb::NextOrder, Verb::LowStock]),
];

/// What the batched style executes instead.
const BATCHED: [Script; 3] = [
    (
        "new order",
        &[
            Verb::DistrictTake,
            Verb::ItemsRead,
            Verb::StocksForUpdate,
            Verb::StocksUpdate,
            Verb::InsertLines,
        ],
    ),
    ("payment", &[Verb::WarehousePayRead, Verb::DistrictPayRead]),
    (
        "delivery",
        &[
            Verb::DeleteNewOrders,
            Verb::OrdersDeliver,
            Verb::OrdersLinesDeliver,
            Verb::OrdersTotal,
            Verb::CustomersDeliver,
        ],
    ),
];

/// Verbs of a style, control and variants aside.
fn verbs(style: Style) -> BTreeSet<Verb> {
    let used = Statement::used(style, Dialect::Db2).into_iter();
    used.filter(|statement| !statement.is_control())
        .map(|statement| statement.verb)
        .collect()
}

fn of(scripts: &[Script]) -> BTreeSet<Verb> {
    scripts
        .iter()
        .flat_map(|(_, verbs)| verbs.iter().copied())
        .collect()
}

/// The texts of scripts under their names; `rows` where a statement takes several.
fn texts(scripts: &[Script], rows: usize) -> String {
    let mut text = String::new();
    for (name, verbs) in scripts {
        text += &format!("-- {name}\n");
        for &verb in *verbs {
            text += &format!(
                "{}\n",
                Statement::with_variant(verb, rows).sql(Dialect::Db2)
            );
        }
    }
    text
}

const ALL: SchemaOptions = SchemaOptions {
    foreign_keys: true,
    history_key: true,
};

#[test]
fn its_schema() {
    let (tables, later) = (
        create_tables(Dialect::Db2, ALL),
        after_load(Dialect::Db2, ALL),
    );
    let text = [
        tables.join(";\n"),
        "-- after the load".to_owned(),
        later.join(";\n"),
        "-- removal".to_owned(),
        drop_tables(Dialect::Db2).join(";\n"),
    ];
    insta::assert_snapshot!(text.join("\n"));
}

#[test]
fn its_loads() {
    insta::assert_snapshot!(Table::ALL.map(insert_row).join("\n"));
}

#[test]
fn its_transactions_statement_by_statement() {
    assert_eq!(
        of(&PLAIN),
        verbs(Style::Plain),
        "all that is prepared, and nothing else"
    );
    insta::assert_snapshot!(texts(&PLAIN, 1));
}

#[test]
fn its_transactions_by_many_rows() {
    let batched = of(&BATCHED);
    assert_eq!(
        &verbs(Style::Batched) - &verbs(Style::Plain),
        batched,
        "all that the style does not share, and nothing else"
    );
    insta::assert_snapshot!(texts(&BATCHED, 2));
}

#[test]
fn its_pipelined_style_has_two_texts_of_its_own() {
    let own: Vec<Verb> = (&verbs(Style::Pipelined) - &verbs(Style::Plain))
        .into_iter()
        .collect();
    assert_eq!(own, [Verb::CustomerPayPrepend, Verb::OrderTotal]);
    let texts: Vec<String> = own
        .into_iter()
        .map(|verb| Statement::one(verb).sql(Dialect::Db2))
        .collect();
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn its_sessions() {
    let mut texts: Vec<String> = [
        Isolation::ReadCommitted,
        Isolation::RepeatableRead,
        Isolation::Serializable,
    ]
    .into_iter()
    .filter_map(|level| Dialect::Db2.set_isolation(level))
    .map(|text| text.into_owned())
    .collect();
    texts.extend(Dialect::Db2.read_isolation().map(str::to_owned));
    insta::assert_snapshot!(texts.join("\n"));
}

/// No DB2 is at hand to try what a terminal prepares there, what makes the schema, and what checks
/// it: no words of other databases are among them at least.
#[test]
fn db2_is_told_nothing_that_it_does_not_know() {
    let plain: Vec<String> = Statement::used(Style::Plain, Dialect::Db2)
        .into_iter()
        .filter(|statement| !statement.is_control())
        .map(|statement| statement.sql(Dialect::Db2))
        .collect();
    let options = SchemaOptions {
        foreign_keys: true,
        history_key: true,
    };
    let schema = [
        create_tables(Dialect::Db2, options),
        after_load(Dialect::Db2, options),
    ]
    .concat();
    let scale = Scale::new(1, 1).expect("valid");
    let queries = Condition::all()
        .flat_map(|condition| condition.queries(Dialect::Db2, scale, Moment::AnyTime));
    for text in plain.into_iter().chain(schema).chain(queries) {
        for word in [
            "LIMIT",
            "FOR UPDATE",
            "RETURNING",
            "CURRENT_TIMESTAMP",
            "IF EXISTS",
            "AUTO_INCREMENT",
            "$1",
        ] {
            assert!(!text.contains(word), "{word}: {text}");
        }
    }
}
