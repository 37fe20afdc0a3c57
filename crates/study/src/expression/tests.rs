//! Expressions: units, precedence, refusals, laws.

use proptest::{prelude::*, sample::select};

use super::*;

const MIB: f64 = 1_048_576.0;

fn guest() -> Variables {
    Variables {
        vcpus: 0.25,
        memory_bytes: 640.0 * MIB,
        users: 12.0,
        guests: 4.0,
        callers: 1.0,
    }
}

fn value(text: &str) -> f64 {
    let expression = Expression::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    expression
        .evaluate(&guest())
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refused(text: &str) -> (Range<usize>, String) {
    let error = Expression::parse(text).expect_err(text);
    assert!(!error.help.is_empty());
    (error.position, error.message)
}

#[test]
fn products_bind_before_sums_and_both_from_the_left() {
    assert_eq!(value("2 + 3 * 4"), 14.0);
    assert_eq!(value("(2 + 3) * 4"), 20.0);
    assert_eq!(value("10 - 4 - 3"), 3.0);
    assert_eq!(value("16 / 4 / 2"), 2.0);
    assert_eq!(value("-2 * -3 - -1"), 7.0);
    assert_eq!(value("2*-3+1"), -5.0);
}

#[test]
fn numbers_have_units() {
    assert_eq!(value("640MiB"), 640.0 * MIB);
    assert_eq!(value("8 MB"), 8e6);
    assert_eq!(value("1.5GiB"), 1536.0 * MIB);
    assert_eq!(value("2TB"), 2e12);
    assert_eq!(value("80%"), 0.8);
    assert_eq!(value("1_000"), 1000.0);
}

#[test]
fn the_rules_of_the_paper() {
    assert_eq!(value("max(256, 64 * vcpus)"), 256.0);
    assert_eq!(value("80% * memory"), 512.0 * MIB);
    assert_eq!(value("max(640MiB, 2560MiB * vcpus)"), 640.0 * MIB);
    assert_eq!(value("ceil(users / guests) + floor(2.9) + round(0.5)"), 6.0);
    assert_eq!(value("min(3, 1, 2)"), 1.0);
}

#[test]
fn refusals_point_at_the_fault() {
    assert_eq!(refused(""), (0..0, "the expression ends too early".into()));
    assert_eq!(
        refused("64 * vcpu"),
        (5..9, "`vcpu` is neither a variable nor a function".into())
    );
    assert_eq!(refused("64 vcpus"), (3..8, "`vcpus` is not a unit".into()));
    assert_eq!(refused("8mb"), (1..3, "`mb` is not a unit".into()));
    assert_eq!(
        refused("(1 + 2"),
        (0..1, "this parenthesis is not closed".into())
    );
    assert_eq!(refused("1 + 2)"), (5..6, "`)` does not belong here".into()));
    assert_eq!(refused("max"), (0..3, "`max` is a function".into()));
    assert_eq!(
        refused("floor(1, 2)"),
        (0..5, "`floor` takes one argument, here are 2".into())
    );
    assert_eq!(refused("1.2.3"), (0..5, "`1.2.3` is not a number".into()));
    assert_eq!(refused("1e3"), (1..3, "`e3` is not a unit".into()));
    assert_eq!(refused("2 ** 3").0, 3..4);
    assert_eq!(refused("max(1 2)").0, 6..7);
    assert_eq!(refused("größe").0, 0..7);
}

#[test]
fn the_nearest_name_is_offered() {
    let error = Expression::parse("64 * vcpu").expect_err("a typing error");
    assert_eq!(
        error.to_string(),
        "`vcpu` is neither a variable nor a function, at character 6 of the expression; write \
         `vcpus`"
    );
}

#[test]
fn length_and_depth_are_bounded() {
    let deep = |n: usize| format!("{}1{}", "(".repeat(n), ")".repeat(n));
    assert!(Expression::parse(&deep(31)).is_ok());
    assert!(refused(&deep(40)).1.contains("levels within each other"));
    assert!(
        refused(&"-".repeat(200))
            .1
            .contains("levels within each other")
    );
    assert!(refused(&"1+".repeat(4000)).1.contains("too long"));
    assert!(refused(&"9".repeat(40)).1.contains("is not a number"));
    assert_eq!(value(&vec!["1"; 128].join("+")), 128.0);
}

#[test]
fn values_are_finite_or_refused() {
    let fault = |text: &str| {
        Expression::parse(text)
            .expect("an expression")
            .evaluate(&guest())
            .expect_err(text)
    };
    assert_eq!(
        fault("users / (guests - 4)").to_string(),
        "`users / (guests - 4)` divides by zero; write the divisor as `max(1, ...)`"
    );
    let huge = vec!["999999999TB"; 18].join("*");
    assert!(matches!(fault(&huge), EvaluationError::NotFinite { .. }));
    assert_eq!(
        value("0 * -1").to_bits(),
        0.0_f64.to_bits(),
        "no negative zero"
    );
}

#[test]
fn what_an_expression_asks_for_is_known() {
    let expression = Expression::parse("min(users, 2GiB / memory)").expect("an expression");
    let used: Vec<&str> = Variable::ALL
        .into_iter()
        .filter(|variable| expression.uses(*variable))
        .map(Variable::name)
        .collect();
    assert_eq!(used, ["memory", "users"]);
    assert_eq!(expression.foreign_unit(&NOMINAL_MEGABYTES), Some("GiB"));
    let size = Expression::parse("1GB * vcpus").expect("an expression");
    assert_eq!(size.foreign_unit(&NOMINAL_MEGABYTES), None);
    assert_eq!(size.evaluate_in(&guest(), &NOMINAL_MEGABYTES), Ok(256.0));
    let half = Expression::parse("50% * memory").expect("an expression");
    assert_eq!(half.evaluate_in(&guest(), &BYTES), Ok(320.0 * MIB));
    assert_eq!(half.evaluate_in(&guest(), &NOMINAL_MEGABYTES), Ok(320.0));
}

#[test]
fn expressions_are_stored_as_text() {
    let expression = Expression::parse(" max( 1,2 ) ").expect("an expression");
    let json = serde_json::to_string(&expression).expect("JSON");
    assert_eq!(json, "\"max( 1,2 )\"");
    assert_eq!(
        serde_json::from_str::<Expression>(&json).expect("again"),
        expression
    );
    assert!(serde_json::from_str::<Expression>("\"max(\"").is_err());
}

/// Pieces of expressions, right and wrong.
fn piece() -> impl Strategy<Value = String> {
    let words = [
        "vcpus", "memory", "users", "guests", "min(", "max(", "floor(", "(", ")", "+", "-", "*",
        "/", ",", "1", "0", "2.5", "80%", "8MB", "640MiB", " ", "é", "%", ".", "_",
    ];
    select(words.map(str::to_owned).to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,80}") {
        if let Err(error) = Expression::parse(&text) {
            prop_assert!(error.position.end <= text.len());
        }
    }

    #[test]
    fn what_is_read_prints_and_reads_again(pieces in proptest::collection::vec(piece(), 1..12)) {
        let text = pieces.concat();
        match Expression::parse(&text) {
            Ok(expression) => {
                let again = Expression::parse(&expression.to_string());
                prop_assert_eq!(again.as_ref(), Ok(&expression));
                if let Ok(value) = expression.evaluate(&guest()) {
                    prop_assert!(value.is_finite());
                }
            }
            Err(error) => {
                let _ = &text[error.position];
            }
        }
    }
}
