//! Commands by their queries: the documented samples, every command, refusals, any input.

use proptest::prelude::*;

use super::*;
use crate::web2005::besim::{
    Person,
    banking::{accounts, payees, payments},
};

fn state() -> State {
    State::tiny(7)
}

fn asked(raw: &str) -> Answer {
    answer(&state(), &Query::parse(raw).expect("a query"), None)
}

/// The rows of a query that is answered.
fn rows(raw: &str) -> Vec<Vec<String>> {
    let answer = asked(raw);
    assert!(answer.reply.ok, "{raw}");
    let rows = answer.reply.rows.iter();
    rows.map(|row| row.fields().map(str::to_owned).collect())
        .collect()
}

#[test]
fn the_documented_sample_is_answered_as_documented() {
    let rows = rows("1&4&58&3");
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0][0], "0000002058");
    assert!(rows[0][1].ends_with("/user0000000058/CIF000003"));
    assert!(rows[0][2].ends_with("/user0000000058/CIB000003"));
}

#[test]
fn the_documented_reset_is_echoed_and_takes_effect() {
    let answer = asked("1&0&1097157010&1&2000&200&/www/bank/images&0");
    assert!(answer.reply.ok);
    let Effect::Reset(state) = answer.effect else {
        panic!("no reset");
    };
    assert_eq!((state.banking.max_user, state.banking.load), (2_000, 200));
    assert_eq!(state.banking.image_base, "/www/bank/images");
    let query = Query::parse("1&4&58&3").expect("a query");
    let reply = super::answer(&state, &query, None).reply;
    let row = reply.rows.iter().next().expect("a row");
    assert_eq!(
        row.exactly(),
        Some([
            "0000002058",
            "/www/bank/images/user0000000058/CIF000003",
            "/www/bank/images/user0000000058/CIB000003"
        ])
    );
    assert!(matches!(
        asked("2&0&1097157010&1&400&40&/img&200").effect,
        Effect::Reset(_)
    ));
    assert!(matches!(
        asked("3&0&1097157010&40&10").effect,
        Effect::Reset(_)
    ));
    for refused in [
        "1&0&1097157010&1&2000&200&/www/../etc&0",
        "1&0&1097157010&1&0&200&/www&0",
        "1&0&1097157010&1&2000&200&/www",
        "2&0&1097157010&1&400&40&/img&0",
        "3&0&-1&40&10",
    ] {
        assert!(!asked(refused).reply.ok, "{refused}");
        assert_eq!(asked(refused).effect, Effect::None);
    }
}

#[test]
fn reads_of_banking_show_the_user() {
    let state = state();
    assert_eq!(rows("1&1&58"), [[state.password_md5(58)]]);
    let balances = rows("1&2&58");
    for (row, account) in balances.iter().zip(accounts(&state, 58)) {
        let number = format!("{:010}", account.number);
        assert_eq!(*row, [number, account.kind(), account.balance.to_string()]);
    }
    assert_eq!(balances.len(), accounts(&state, 58).count());
    assert!(rows("1&3&58").iter().all(|row| row.len() == 7));
    let all: Vec<Vec<String>> = rows("1&5&58");
    assert_eq!(all.len(), payments(&state, 58).count());
    let within = rows("1&8&58&20040101&20041231");
    for (all, within) in all.iter().zip(&within) {
        assert_eq!(
            [&all[0], &all[2], &all[1]],
            [&within[0], &within[1], &within[2]]
        );
    }
    assert_eq!(rows("1&8&58&20050101&20051231"), Vec::<Vec<String>>::new());
    let person = Person::new(&state, 58);
    assert_eq!(rows("1&9&58")[0][5], person.email);
    for unknown in [
        "1&1&0",
        "1&1&2001",
        "1&1&x",
        "1&1",
        "1&1&58&1",
        "1&8&58&20041301&20041231",
    ] {
        assert!(!asked(unknown).reply.ok, "{unknown}");
    }
}

#[test]
fn writes_of_banking_are_confirmed_and_entered() {
    let state = state();
    let payee = payees(&state, 58).next().expect("a payee");
    for (raw, command, cents) in [
        (
            "1&6&58&new1&A%20B&1%20Elm%20Street&Elmton&WA&98101&206-555-0100".to_owned(),
            6,
            0,
        ),
        (format!("1&7&58&{payee}&20041007&12.34"), 7, 1_234),
        (
            "1&10&58&1%20Elm&Elmton&WA&98101&a%40example.com&206-555-0100".to_owned(),
            10,
            0,
        ),
        ("1&11&58&0000002058&20041007&100".to_owned(), 11, 0),
    ] {
        let answer = asked(&raw);
        assert!(answer.reply.ok, "{raw}");
        let Effect::Write(entry) = answer.effect else {
            panic!("{raw} writes nothing");
        };
        assert_eq!(
            (entry.command, entry.identity, entry.amount),
            (command, 58, Cents(cents))
        );
        let row = answer.reply.rows.iter().next().expect("a row");
        assert_eq!(
            row.exactly(),
            Some([format!("{:010}", entry.confirmation).as_str()])
        );
        assert_eq!(
            entry.confirmation,
            confirmation(
                &state,
                Model::Banking,
                command,
                58,
                &entry
                    .arguments
                    .iter()
                    .map(String::as_str)
                    .collect::<Vec<_>>(),
            )
        );
    }
}

#[test]
fn a_transfer_moves_money_and_only_its_own() {
    let state = state();
    let [from, to] = [0, 1].map(|index| accounts(&state, 58).nth(index).expect("an account"));
    let raw = "1&12&58&0000002058&0000004058&50.00&20041007";
    let moved = rows(raw);
    assert_eq!(
        moved[0],
        [
            "0000002058".to_owned(),
            Cents(from.balance.0 - 5_000).to_string()
        ]
    );
    assert_eq!(
        moved[1],
        [
            "0000004058".to_owned(),
            Cents(to.balance.0 + 5_000).to_string()
        ]
    );
    assert!(matches!(asked(raw).effect, Effect::Write(_)));
    for refused in [
        "1&12&58&0000002058&0000002058&50.00&20041007",
        "1&12&58&0000002059&0000004058&50.00&20041007",
        "1&12&58&0000002058&4058&50.00&20041007",
        "1&12&58&0000002058&0000004058&0.00&20041007",
        "1&12&58&0000002058&0000004058&-5.00&20041007",
        "1&12&58&0000002058&0000004058&999999.00&20041007",
        "1&12&58&0000002058&0000004058&50.00&20041",
    ] {
        let answer = asked(refused);
        assert!(
            !answer.reply.ok && answer.effect == Effect::None,
            "{refused}"
        );
    }
}

#[test]
fn kept_changes_are_shown_and_bound_what_may_go() {
    let state = state();
    let mut changes = UserChanges::default();
    let mut ask = |raw: &str| {
        let query = Query::parse(raw).expect("a query");
        answer(&state, &query, Some(&mut changes))
    };
    let before = accounts(&state, 58).next().expect("an account").balance.0;
    let transfer = "1&12&58&0000002058&0000004058&50.00&20041007";
    assert!(ask(transfer).reply.ok);
    let balances = ask("1&2&58").reply;
    let row = balances.rows.iter().next().expect("a row");
    let left = Cents(before - 5_000);
    assert_eq!(
        row.exactly(),
        Some(["0000002058", "01", left.to_string().as_str()])
    );
    let all = format!("1&7&58&abc&20041007&{left}");
    assert!(ask(&all).reply.ok);
    assert!(!ask("1&7&58&abc&20041007&0.01").reply.ok, "nothing is left");
    assert!(!ask(transfer).reply.ok);
    let last = ask("1&5&58").reply;
    let last = last.rows.iter().last().expect("a row");
    assert_eq!(last.fields().next(), Some("abc"));
}

#[test]
fn ecommerce_answers_every_command() {
    for (raw, count, fields) in [
        ("2&1&3", 20, 2),
        ("2&2&5&19&20", 10, 4),
        ("2&3&4&1", 20, 2),
        ("2&4&200&1", 3, 4),
        ("2&6&1999&3", 25, 3),
        ("2&7&1999&-&01234&44444&9&20", 1, 2),
        ("2&8&400", 1, 7),
        ("2&9&400&3", 1, 2),
        ("2&10&400&2&0042", 1, 2),
        ("2&11&400&1234.56", 1, 1),
    ] {
        let rows = rows(raw);
        assert_eq!(rows.len(), count, "{raw}");
        assert!(rows.iter().all(|row| row.len() == fields), "{raw}");
    }
    assert_eq!(rows("2&5&1999&1").len(), 9);
    assert!(matches!(
        asked("2&11&400&1234.56").effect,
        Effect::Write(LedgerEntry {
            amount: Cents(123_456),
            ..
        })
    ));
    for refused in [
        "2&1&0",
        "2&1&21",
        "2&2&6&1&1",
        "2&2&1&20&1",
        "2&3&5&1",
        "2&4&201&1",
        "2&4&0&1",
        "2&5&2000&1",
        "2&6&1&4",
        "2&6&1&0",
        "2&7&1&-&-&55555&1&1",
        "2&7&1&-&-&-&0&1",
        "2&7&1&-&-&-&10&1",
        "2&8&401",
        "2&8&0",
        "2&9&1&4",
        "2&10&1&1&42",
        "2&10&1&1&abcd",
        "2&11&1&-1",
        "2&12",
        "2&11&1&1.0",
    ] {
        assert!(!asked(refused).reply.ok, "{refused}");
    }
}

#[test]
fn support_answers_every_command() {
    for (raw, count, fields) in [
        ("3&1", 12, 2),
        ("3&2&a&b&c", 10, 2),
        ("3&3&12", 20, 2),
        ("3&5&240&20&10&30", 16, 4),
        ("3&6&159", 1, 4),
    ] {
        let rows = rows(raw);
        assert_eq!(rows.len(), count, "{raw}");
        assert!(rows.iter().all(|row| row.len() == fields), "{raw}");
    }
    let lists: Vec<usize> = rows("3&4&240").iter().map(Vec::len).collect();
    assert_eq!(lists, [1, 30, 10, 20]);
    for refused in [
        "3&1&x",
        "3&2",
        "3&2&a&b&c&d",
        "3&2&A",
        "3&2&%20",
        "3&3&13",
        "3&4&0",
        "3&4&241",
        "3&5&1&1&1",
        "3&5&1&21&1&1",
        "3&6&160",
        "3&6&-1",
        "3&7",
    ] {
        assert!(!asked(refused).reply.ok, "{refused}");
    }
}

proptest! {
    /// Whatever comes is answered, and what is refused changes nothing.
    #[test]
    fn any_query_is_answered(
        model in 1u8..=3,
        command in 0u8..=12,
        arguments in proptest::collection::vec(
            prop_oneof!["[ -~]{0,12}", "[0-9]{1,10}", Just("58".to_owned()), Just("20041007".to_owned())],
            0..9,
        ),
    ) {
        let state = state();
        let query = Query {
            model: Model::of_number(model).expect("a workload"),
            command,
            arguments: arguments.iter().map(|text| text.as_str().into()).collect(),
        };
        let mut changes = UserChanges::default();
        let _ = identity(&query);
        let answer = answer(&state, &query, Some(&mut changes));
        if !answer.reply.ok {
            prop_assert_eq!(answer.effect, Effect::None);
            prop_assert_eq!(changes, UserChanges::default());
        }
    }
}
