//! Order entry over a real database: SQLite in memory, loaded and driven through the public
//! interface alone.

mod sqlite;

use rookery_workload::orderentry::{
    Dialect, Kind, Ledger, Moment, PerKind, Population, RunConstants, Scale, SchemaOptions,
    Timestamp,
    population::check_meta,
    sql::{Statement, Style},
    terminal::{
        Binding, CustomerChoice, DeliveryInput, Input, Mix, NewOrderInput, NewOrderLine, Pacing,
        PaymentInput, Terminal, TerminalPlan,
    },
    transaction::{Desk, Ended, Outcome, Retries, block_on, perform},
};
use sqlite::SqliteSession;

const STYLES: [Style; 3] = [Style::Plain, Style::Batched, Style::Pipelined];

fn mini(warehouses: u32) -> Population {
    Population::new(Scale::new(warehouses, 100).expect("valid"), 42)
}

fn plan(population: &Population) -> TerminalPlan {
    TerminalPlan {
        scale: population.scale,
        constants: RunConstants::new(3, population.load_constant()),
        terminals: 1,
        binding: Binding::Uniform,
        mix: Mix::Deck,
        pacing: Pacing::None,
        think: rookery_workload::DelayDistribution::TruncatedExponential,
        seed: 3,
    }
}

fn one(session: &mut SqliteSession, style: Style, input: &Input) -> Outcome {
    let mut retries = Retries::new(0, 1, 0);
    let performed = block_on(perform(
        session,
        &mut Desk::new(),
        style,
        input,
        &mut retries,
        async |_| (),
    ));
    match performed.ended {
        Ended::Done(outcome) => outcome,
        other => panic!("{input:?} ended as {other:?}"),
    }
}

/// What clients were told.
fn note(ledger: &mut Ledger, outcome: Outcome) {
    match outcome {
        Outcome::NewOrder { .. } => ledger.new_orders += 1,
        Outcome::Payment { .. } => ledger.payments += 1,
        Outcome::Delivery { delivered, .. } => ledger.delivered += i64::from(delivered),
        Outcome::RolledBack | Outcome::OrderStatus { .. } | Outcome::StockLevel { .. } => {}
    }
}

#[test]
fn a_fresh_database_keeps_every_condition() {
    for options in [
        SchemaOptions::default(),
        SchemaOptions {
            foreign_keys: true,
            history_key: false,
        },
    ] {
        let population = mini(3);
        let session = SqliteSession::loaded(&population, options, Style::Plain);
        assert_eq!(
            session.broken(population.scale, Moment::AfterLoad),
            [] as [u8; 0]
        );
        assert_eq!(session.ledger(population.scale), Ledger::default());
        assert_eq!(
            session.number("SELECT COUNT(*) FROM pragma_foreign_key_check"),
            0
        );
        assert_eq!(session.number("SELECT COUNT(*) FROM customer"), 900);
        assert_eq!(session.number("SELECT COUNT(*) FROM stock"), 3000);
    }
}

#[test]
fn a_whole_warehouse_keeps_every_condition() {
    let population = Population::new(Scale::new(1, 1).expect("valid"), 5);
    let session = SqliteSession::loaded(&population, SchemaOptions::default(), Style::Plain);
    assert_eq!(
        session.broken(population.scale, Moment::AfterLoad),
        [] as [u8; 0]
    );
    let bytes = session.number("PRAGMA page_count") * session.number("PRAGMA page_size");
    let expected = population.scale.database_bytes(Dialect::Sqlite) as f64;
    assert!(
        (bytes as f64 / expected - 1.0).abs() < 0.05,
        "{bytes} bytes, {expected} expected"
    );
}

#[test]
fn thousands_of_transactions_keep_every_condition() {
    for style in STYLES {
        let population = mini(3);
        let mut session = SqliteSession::loaded(&population, SchemaOptions::default(), style);
        let mut terminal = Terminal::new(&plan(&population), 0);
        let (mut told, mut rolled_back) = (Ledger::default(), 0);
        for _ in 0..4000 {
            let input = terminal.next_input(Timestamp(1_000_000_000));
            let outcome = one(&mut session, style, &input);
            rolled_back += u32::from(outcome == Outcome::RolledBack);
            note(&mut told, outcome);
        }
        assert_eq!(
            session.broken(population.scale, Moment::AnyTime),
            [] as [u8; 0],
            "{style:?}"
        );
        assert_eq!(
            session.broken(population.scale, Moment::AfterLoad),
            [11],
            "orders were delivered"
        );
        assert!(
            session
                .ledger(population.scale)
                .holds(told, Ledger::default()),
            "{told:?}"
        );
        assert!(
            told.new_orders > 1600
                && told.payments > 1700
                && told.delivered > 500
                && rolled_back > 5
        );
    }
}

#[test]
fn every_style_does_the_same() {
    let population = mini(2);
    let mut dumps = Vec::new();
    let mut outcomes = Vec::new();
    for style in STYLES {
        let mut session = SqliteSession::loaded(&population, SchemaOptions::default(), style);
        let mut terminal = Terminal::new(&plan(&population), 0);
        let told: Vec<_> = (0..1500)
            .map(|_| {
                one(
                    &mut session,
                    style,
                    &terminal.next_input(Timestamp(1_000_000_000)),
                )
            })
            .collect();
        dumps.push(session.dump());
        outcomes.push(told);
    }
    assert!(
        dumps[0] == dumps[1] && dumps[0] == dumps[2],
        "the databases differ"
    );
    assert!(
        outcomes[0] == outcomes[1] && outcomes[0] == outcomes[2],
        "the outcomes differ"
    );
}

#[test]
fn round_trips_are_those_of_the_style() {
    let round_trips = |style: Style| {
        let population = mini(2);
        let mut session = SqliteSession::loaded(&population, SchemaOptions::default(), style);
        let mut terminal = Terminal::new(&plan(&population), 0);
        let (mut trips, mut counts) = (PerKind([0.0; 5]), PerKind([0.0; 5]));
        for _ in 0..1500 {
            let input = terminal.next_input(Timestamp(0));
            session.flights = 0;
            let outcome = one(&mut session, style, &input);
            if outcome != Outcome::RolledBack
                && !matches!(outcome, Outcome::Delivery { skipped: 1.., .. })
            {
                trips[input.kind()] += session.flights as f64;
                counts[input.kind()] += 1.0;
            }
        }
        PerKind(Kind::ALL.map(|kind| (10.0 * trips[kind] / counts[kind]).round() / 10.0))
    };
    let plain = round_trips(Style::Plain);
    assert!((plain[Kind::NewOrder] - 48.0).abs() < 0.7, "{plain:?}");
    assert!((plain[Kind::Payment] - 9.7).abs() < 0.15, "{plain:?}");
    assert_eq!(plain.0[2..], [5.0, 72.0, 4.0]);
    // SQLite hands back what it updates, so one round trip less than twelve.
    let batched = round_trips(Style::Batched);
    assert_eq!(batched[Kind::NewOrder], 11.0);
    assert!((7.0..8.0).contains(&batched[Kind::Payment]), "{batched:?}");
    assert_eq!(batched.0[2..], [5.0, 17.0, 4.0]);
    let pipelined = round_trips(Style::Pipelined);
    assert_eq!(pipelined[Kind::NewOrder], 2.0);
    assert!(
        (2.0..=3.0).contains(&pipelined[Kind::Payment]),
        "{pipelined:?}"
    );
    assert_eq!(pipelined.0[2..], [3.0, 3.0, 2.0]);
}

#[test]
fn a_rolled_back_order_leaves_nothing() {
    let population = mini(1);
    let line = |number, item| NewOrderLine {
        number,
        item,
        supply: 1,
        quantity: 3,
    };
    for style in STYLES {
        let mut session = SqliteSession::loaded(&population, SchemaOptions::default(), style);
        let before = session.dump();
        let input = NewOrderInput::new(1, 4, 7, &[line(1, 10), line(2, 20), line(3, 1001)], true);
        assert_eq!(
            one(&mut session, style, &Input::NewOrder(input)),
            Outcome::RolledBack
        );
        assert!(session.dump() == before, "{style:?}");
        // An item that is said to be unused but exists is found out.
        let wrong = Input::NewOrder(NewOrderInput::new(
            1,
            4,
            7,
            &[line(1, 10), line(2, 20)],
            true,
        ));
        let mut retries = Retries::new(0, 1, 0);
        let performed = block_on(perform(
            &mut session,
            &mut Desk::new(),
            style,
            &wrong,
            &mut retries,
            async |_| (),
        ));
        assert!(
            matches!(performed.ended, Ended::Bug(_)),
            "{:?}",
            performed.ended
        );
        assert!(session.dump() == before, "{style:?}");
    }
}

#[test]
fn repeats_of_an_item_see_each_other() {
    let population = mini(2);
    let line = |number, item, supply, quantity| NewOrderLine {
        number,
        item,
        supply,
        quantity,
    };
    for style in STYLES {
        let mut session = SqliteSession::loaded(&population, SchemaOptions::default(), style);
        session
            .connection
            .execute(
                "UPDATE stock SET s_quantity = 14 WHERE s_w_id = 1 AND s_i_id = 5",
                [],
            )
            .expect("updates");
        let price = session.number("SELECT i_price FROM item WHERE i_id = 5");
        let lines = [line(1, 5, 1, 4), line(2, 9, 2, 1), line(3, 5, 1, 2)];
        let outcome = one(
            &mut session,
            style,
            &Input::NewOrder(NewOrderInput::new(1, 3, 2, &lines, false)),
        );
        assert!(
            matches!(outcome, Outcome::NewOrder { order: 31, .. }),
            "{outcome:?}"
        );
        let stock = |column: &str, item: u32, warehouse: u32| {
            session.number(&format!(
                "SELECT {column} FROM stock WHERE s_w_id = {warehouse} AND s_i_id = {item}"
            ))
        };
        // 14 - 4 = 10 stays, 10 - 2 would be 8 and is filled up.
        assert_eq!(stock("s_quantity", 5, 1), 99);
        assert_eq!(
            (
                stock("s_ytd", 5, 1),
                stock("s_order_cnt", 5, 1),
                stock("s_remote_cnt", 5, 1)
            ),
            (6, 2, 0)
        );
        assert_eq!(
            (
                stock("s_ytd", 9, 2),
                stock("s_order_cnt", 9, 2),
                stock("s_remote_cnt", 9, 2)
            ),
            (1, 1, 1)
        );
        let third = "SELECT ol_amount FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 3 AND \
                     ol_o_id = 31 AND ol_number = 3";
        assert_eq!(session.number(third), 2 * price);
        assert_eq!(
            session.number(
                "SELECT o_all_local FROM orders WHERE o_w_id = 1 AND o_d_id = 3 AND o_id = 31"
            ),
            0
        );
        let same_text = "SELECT COUNT(*) FROM order_line JOIN stock ON s_w_id = ol_supply_w_id AND \
                         s_i_id = ol_i_id \
                         WHERE ol_o_id = 31 AND ol_dist_info = s_dist_03";
        assert_eq!(session.number(same_text), 3);
    }
}

#[test]
fn a_payment_takes_the_middle_of_a_name_and_notes_bad_credit() {
    let population = mini(1);
    for style in STYLES {
        let mut session = SqliteSession::loaded(&population, SchemaOptions::default(), style);
        let rename = "UPDATE customer SET c_last = 'BARBARBAR', c_first = 'NAME' || c_id, c_credit \
                      = 'BC' WHERE c_d_id = 2 AND c_id BETWEEN 1 AND 4";
        session.connection.execute(rename, []).expect("updates");
        let old: String = session
            .connection
            .query_row(
                "SELECT c_data FROM customer WHERE c_d_id = 2 AND c_id = 2",
                [],
                |row| row.get(0),
            )
            .expect("a customer");
        let input = PaymentInput {
            warehouse: 1,
            district: 9,
            customer_warehouse: 1,
            customer_district: 2,
            customer: CustomerChoice::Name(rookery_workload::orderentry::last_name(0)),
            amount_cents: 12_345,
        };
        let outcome = one(&mut session, style, &Input::Payment(input));
        // Four of the name: number 2 is the middle, counted from 1.
        let expected = Outcome::Payment {
            warehouse: 1,
            district: 2,
            customer: 2,
            amount_cents: 12_345,
            balance_cents: -13_345,
        };
        assert_eq!(outcome, expected);
        let new: String = session
            .connection
            .query_row(
                "SELECT c_data FROM customer WHERE c_d_id = 2 AND c_id = 2",
                [],
                |row| row.get(0),
            )
            .expect("a customer");
        assert_eq!(
            new,
            format!("2 2 1 9 1 123.45 {old}")
                .chars()
                .take(500)
                .collect::<String>(),
            "{style:?}"
        );
        let names = "SELECT COUNT(*) FROM history, warehouse, district WHERE h_amount = 12345 AND \
                     d_id = 9 AND h_data = w_name || '    ' || d_name";
        assert_eq!(session.number(names), 1);
        assert_eq!(
            session.number("SELECT c_balance FROM customer WHERE c_d_id = 2 AND c_id = 2"),
            -13_345
        );
    }
}

#[test]
fn deliveries_take_the_oldest_orders_until_there_are_none() {
    let population = mini(1);
    for style in STYLES {
        let mut session = SqliteSession::loaded(&population, SchemaOptions::default(), style);
        session
            .connection
            .execute("DELETE FROM new_orders WHERE no_d_id = 4", [])
            .expect("deletes");
        let input = Input::Delivery(DeliveryInput {
            warehouse: 1,
            carrier: 7,
            at: Timestamp(1_000_000_000),
        });
        for round in 0..9 {
            let outcome = one(&mut session, style, &input);
            assert_eq!(
                outcome,
                Outcome::Delivery {
                    delivered: 9,
                    skipped: 1
                }
            );
            let oldest = session
                .number("SELECT COALESCE(MIN(no_o_id), 31) FROM new_orders WHERE no_d_id = 1");
            assert_eq!(oldest, 23 + round);
        }
        let none = Outcome::Delivery {
            delivered: 0,
            skipped: 10,
        };
        assert_eq!(one(&mut session, style, &input), none);
        assert_eq!(
            session.number("SELECT COUNT(*) FROM orders WHERE o_carrier_id = 7 AND o_id > 21"),
            81
        );
        let when = "SELECT COUNT(*) FROM order_line WHERE ol_delivery_d = '2001-09-09 01:46:40' \
                    AND ol_d_id = 1";
        assert!(session.number(when) >= 45);
    }
}

#[test]
fn each_change_breaks_the_conditions_it_must() {
    let population = mini(2);
    let cases: [(&str, &[u8]); 14] = [
        (
            "UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 2",
            &[1, 8],
        ),
        (
            "UPDATE district SET d_ytd = d_ytd + 1 WHERE d_w_id = 1 AND d_id = 3",
            &[1, 9],
        ),
        (
            "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = 3",
            &[2],
        ),
        (
            "DELETE FROM new_orders WHERE no_w_id = 1 AND no_d_id = 1 AND no_o_id = 25",
            &[3, 5, 11],
        ),
        ("INSERT INTO new_orders VALUES (1, 1, 31)", &[2, 5, 11]),
        (
            "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = \
             1",
            &[4, 6],
        ),
        (
            "UPDATE orders SET o_carrier_id = NULL WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 1",
            &[5, 7],
        ),
        (
            "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_w_id = 1 AND ol_d_id = 1 AND \
             ol_o_id = 1 AND ol_number = 1",
            &[7],
        ),
        (
            "UPDATE order_line SET ol_amount = 1 WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 1 \
             AND ol_number = 1",
            &[10, 12],
        ),
        (
            "UPDATE history SET h_amount = h_amount + 1 WHERE h_c_w_id = 1 AND h_c_d_id = 1 AND \
             h_c_id = 1",
            &[8, 9, 10, 13],
        ),
        (
            "UPDATE customer SET c_balance = c_balance + 1 WHERE c_w_id = 1 AND c_d_id = 1 AND \
             c_id = 1",
            &[10, 12],
        ),
        (
            "UPDATE customer SET c_delivery_cnt = 1 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1",
            &[11],
        ),
        (
            "UPDATE stock SET s_quantity = 9 WHERE s_w_id = 1 AND s_i_id = 1",
            &[14],
        ),
        (
            "UPDATE stock SET s_ytd = 5 WHERE s_w_id = 1 AND s_i_id = 1",
            &[15],
        ),
    ];
    let session = SqliteSession::loaded(&population, SchemaOptions::default(), Style::Plain);
    for (change, expected) in cases {
        session.connection.execute_batch("BEGIN").expect("begins");
        assert_eq!(
            session.connection.execute(change, []).expect(change),
            1,
            "{change}"
        );
        assert_eq!(
            session.broken(population.scale, Moment::AnyTime),
            expected,
            "{change}"
        );
        session
            .connection
            .execute_batch("ROLLBACK")
            .expect("rolls back");
    }
    assert_eq!(
        session.broken(population.scale, Moment::AnyTime),
        [] as [u8; 0]
    );
}

#[test]
fn every_statement_can_be_prepared() {
    let session = SqliteSession::loaded(&mini(1), SchemaOptions::default(), Style::Plain);
    for style in STYLES {
        for statement in Statement::used(style, Dialect::Sqlite) {
            let text = statement.sql(Dialect::Sqlite);
            let prepared = session.connection.prepare(&text).expect(&text);
            assert_eq!(
                prepared.column_count() > 0,
                statement.returns_rows(Dialect::Sqlite),
                "{text}"
            );
        }
    }
}

#[test]
fn reads_and_writes_by_key_use_an_index() {
    let session = SqliteSession::loaded(&mini(1), SchemaOptions::default(), Style::Plain);
    for style in STYLES {
        for statement in Statement::used(style, Dialect::Sqlite)
            .into_iter()
            .filter(|statement| !statement.is_control())
        {
            let text = statement.sql(Dialect::Sqlite);
            let mut prepared = session
                .connection
                .prepare(&format!("EXPLAIN QUERY PLAN {text}"))
                .expect(&text);
            let mut rows = prepared.raw_query();
            let mut plan = Vec::new();
            while let Some(row) = rows.next().expect("a plan") {
                plan.push(row.get::<_, String>(3).expect("a step"));
            }
            let scans = |step: &&String| {
                step.starts_with("SCAN")
                    && !step.contains(" v")
                    && !step.contains("VALUES CLAUSE")
                    && !step.contains("CONSTANT ROW")
            };
            assert_eq!(plan.iter().find(scans), None, "{text}: {plan:?}");
        }
    }
}

#[test]
fn the_loaded_database_says_what_it_is() {
    let population = mini(2);
    let session = SqliteSession::loaded(&population, SchemaOptions::default(), Style::Plain);
    assert_eq!(session.number("SELECT COUNT(*) FROM oe_meta"), 6);
    let meta = sqlite::meta(&population);
    assert_eq!(
        check_meta(&meta, Some(population.scale), SchemaOptions::default()),
        Ok(population)
    );
}
