//! Hostile input to every page: it is answered or refused, and the ledger holds what the answers
//! said.

use std::cell::RefCell;

use proptest::prelude::*;
use rookery_workload::web2005::{
    Model,
    besim::{Cents, ledger::LedgerTotals},
    files::pages,
};

use super::{
    hostile_words::{FIELDS, VALUES},
    testing::Pages,
};
use crate::http_server::Method;

/// A request to any page, with arguments that are right, nearly right, or nothing of the kind.
fn hostile() -> impl Strategy<Value = (Model, usize, String, bool)> {
    let name = prop::sample::select(&FIELDS[..]);
    let value = prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        (0..20_u32).prop_map(|number| number.to_string()),
        prop::sample::select(&VALUES[..]).prop_map(str::to_owned),
        "\\PC{0,20}",
    ];
    let fields = prop::collection::vec(
        (name, value).prop_map(|(name, value)| format!("{name}={value}")),
        0..12,
    );
    let text = prop_oneof![4 => fields.prop_map(|fields| fields.join("&")), 1 => "\\PC{0,60}"];
    let model = prop::sample::select(Model::ALL.to_vec());
    (model, 0..16_usize, text, any::<bool>())
}

#[test]
fn hostile_input_is_answered_or_refused_and_writes_nothing() {
    let sites = Model::ALL.map(|model| RefCell::new(Pages::open(model)));
    // Without a session no input may reach a write, whatever it is; and none is given one.
    proptest!(ProptestConfig::with_cases(3_000), |((model, place, text, post) in hostile())| {
        let mut site = sites[usize::from(model.number()) - 1].borrow_mut();
        let all = pages(model);
        let page = &all[place % all.len()];
        let path = format!("/{}/{}.php", model.directory(), page.name);
        site.cookie = None;
        let (method, query, form) = if post {
            (Method::Post, "", text.as_str())
        } else {
            (Method::Get, text.as_str(), "")
        };
        let seen = site.send(method, &path, query, form);
        // Of the two paths below that are no pages, and of a region that leads elsewhere.
        let allowed: &[u16] = match page.name {
            "home" | "download" => &[404],
            "index" => &[200, 307, 400],
            _ => &[200, 400],
        };
        prop_assert!(allowed.contains(&seen.status), "{path} {text}: {}", seen.status);
    });
    for site in &sites {
        assert_eq!(site.borrow().ledger(), LedgerTotals::default());
    }
}

#[test]
fn hostile_input_of_a_user_writes_what_its_answers_say_and_no_more() {
    let bank = RefCell::new(Pages::open(Model::Banking));
    let told = RefCell::new(LedgerTotals::default());
    proptest!(ProptestConfig::with_cases(1_000), |((_, place, text, post) in hostile())| {
        let mut bank = bank.borrow_mut();
        bank.log_in(1);
        let all = pages(Model::Banking);
        let page = &all[place % all.len()];
        let path = format!("/bank/{}.php", page.name);
        let (method, query, form) = if post {
            (Method::Post, "", text.as_str())
        } else {
            (Method::Get, text.as_str(), "")
        };
        let seen = bank.send(method, &path, query, form);
        prop_assert!(matches!(seen.status, 200 | 400), "{path} {text}: {}", seen.status);
        if seen.status == 200 && page.html_bytes > 0 {
            count(&mut told.borrow_mut(), page.name, &seen.rows());
        }
    });
    assert_eq!(bank.borrow().ledger(), told.into_inner());
}

/// Counts what a page told its user.
fn count(told: &mut LedgerTotals, page: &str, rows: &[Vec<String>]) {
    match page {
        "payee_info" => told.payees += 1,
        "post_profile" => told.profiles += 1,
        "post_chk_order" => told.check_orders += 1,
        "quick_pay" => {
            for row in rows.iter().filter(|row| row[3] != "refused") {
                told.payments.0 += 1;
                told.payments.1 += Cents::parse(&row[1]).expect("money").0;
            }
        }
        "post_fund_xfer" if rows.len() == 2 => {
            told.transfers.0 += 1;
            told.transfers.1 += 1_200;
        }
        _ => {}
    }
}
