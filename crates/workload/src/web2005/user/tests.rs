//! What users ask for: whose identities, which files, which arguments.

use super::*;
use crate::web2005::{
    Expected, Onward, WebDataset, WebWalk,
    files::{DOWNLOADS, Download},
    ledger,
};

fn data(model: Model) -> WebData {
    let dataset = WebDataset {
        model,
        sessions: 20,
        scale_ppm: 100_000,
        seed: 7,
    };
    dataset.data().expect("a file set")
}

/// So many requests of one user, all answered as they should be.
fn requests(model: Model, user: u32, count: usize) -> Vec<(Arrival, PageRequest)> {
    let data = data(model);
    let mut walk = WebWalk::new(model, 2005, 0, user);
    let mut drawn = WebUser::new(&data, 2005, 0, user);
    let mut step = || {
        let arrival = walk.arrival();
        let request = drawn.request(&data, arrival);
        drawn.answered(arrival);
        assert_ne!(walk.advance(arrival.state, false), Onward::Broken);
        (arrival, request)
    };
    (0..count).map(|_| step()).collect()
}

#[test]
fn users_log_in_as_those_of_their_slot_alone() {
    let logins = |user| -> Vec<u32> {
        let all = requests(Model::Banking, user, 2_000).into_iter();
        let forms = all.filter(|(arrival, _)| arrival.is_first);
        let user_of = |form: &str| {
            form.strip_prefix("userid=")?
                .split('&')
                .next()?
                .parse()
                .ok()
        };
        forms
            .map(|(_, request)| user_of(&request.form.expect("a form")).expect("a user"))
            .collect()
    };
    // Five of each slot at a tenth of the users.
    let (first, third) = (logins(0), logins(2));
    assert!(first.iter().all(|user| (1..=5).contains(user)), "{first:?}");
    assert!(third.iter().all(|user| (11..=15).contains(user)));
    assert!((1..=5).all(|user| first.contains(&user)));
}

#[test]
fn the_same_seed_gives_the_same_requests() {
    for model in Model::ALL {
        assert_eq!(requests(model, 3, 200), requests(model, 3, 200));
        assert_ne!(requests(model, 3, 200), requests(model, 4, 200));
    }
}

#[test]
fn every_request_can_be_sent_and_expects_something() {
    for model in Model::ALL {
        for (arrival, request) in requests(model, 1, 5_000) {
            let name = model.pages()[arrival.page].name;
            assert!(request.target.bytes().all(|byte| byte.is_ascii_graphic()));
            assert!(request.target.starts_with('/') && request.target.len() < 300);
            match &request.expected {
                Expected::Page { title, mark, bytes } => {
                    assert!(title.contains(name), "{title}");
                    assert!(*bytes > 4_000 && mark.starts_with(b"<!--rk page="));
                    assert!(
                        mark.iter()
                            .all(|byte| byte.is_ascii_graphic() || b" \n".contains(byte))
                    );
                }
                Expected::File { bytes } => assert!(*bytes > 5_000, "{name}: {}", request.target),
            }
            for (path, bytes) in &request.products {
                assert!(path.contains("/line") && *bytes > 3_000, "{path}");
            }
        }
    }
}

#[test]
fn what_is_written_is_what_forms_say() {
    let mut payments = 0;
    for (arrival, request) in requests(Model::Banking, 5, 20_000) {
        let rows: Vec<&str> = request.writes.iter().map(|(row, _)| *row).collect();
        let expected: &[&str] = match Model::Banking.pages()[arrival.page].name {
            "payee_info" => &[ledger::PAYEES],
            "quick_pay" => &[ledger::PAYMENTS, ledger::PAYMENT_CENTS],
            "post_profile" => &[ledger::PROFILES],
            "post_chk_order" => &[ledger::CHECK_ORDERS],
            "post_fund_xfer" => &[ledger::TRANSFERS, ledger::TRANSFER_CENTS],
            _ => &[],
        };
        assert_eq!(rows, expected);
        if let [(ledger::PAYMENTS, count), (_, cents)] = request.writes[..] {
            let form = request.form.expect("a form");
            let amounts = form.split('&').filter_map(|field| {
                let (name, value) = field.split_once('=')?;
                name.starts_with("amount").then(|| value.replace('.', ""))
            });
            let amounts: Vec<u64> = amounts.map(|text| text.parse().expect("cents")).collect();
            assert_eq!((amounts.len() as u64, amounts.iter().sum()), (count, cents));
            assert!((1..=3).contains(&count));
            payments += 1;
        }
    }
    // Twenty thousand pages of which 6.6 % are quick payments.
    assert!((1_100..1_550).contains(&payments), "{payments}");
}

#[test]
fn carts_hold_what_was_chosen_until_they_are_ordered() {
    let mut orders = 0;
    let mut total = String::new();
    for (arrival, request) in requests(Model::Ecommerce, 5, 20_000) {
        let Expected::Page { mark, .. } = &request.expected else {
            panic!("pages alone");
        };
        let mark = String::from_utf8(mark.clone()).expect("ASCII");
        let values = mark
            .split(" v=")
            .nth(1)
            .expect("values")
            .trim_end_matches("-->\n");
        match Model::Ecommerce.pages()[arrival.page].name {
            "billing" => values
                .rsplit(',')
                .next()
                .expect("a total")
                .clone_into(&mut total),
            "confirm" => {
                assert_eq!(values.rsplit(',').next(), Some(&*total));
                let cents: u64 = total.replace('.', "").parse().expect("cents");
                assert_eq!(
                    request.writes,
                    [(ledger::ORDERS, 1), (ledger::ORDER_CENTS, cents)]
                );
                orders += 1;
            }
            "customize1" if values.contains(",1;") => {
                let first = arrival.state == 5;
                let none = values.contains("%2D,%2D,%2D");
                assert_eq!(first, none, "{values}");
            }
            _ => {}
        }
    }
    assert!(orders > 300, "{orders}");
}

#[test]
fn a_region_is_changed_from_the_index_alone() {
    let mut before = None;
    for (arrival, request) in requests(Model::Ecommerce, 2, 5_000) {
        let page = arrival.page;
        let again = page == 0 && before == Some(0) && !arrival.is_first;
        assert_eq!(request.redirects_to.is_some(), again);
        before = Some(page);
    }
}

#[test]
fn downloads_have_the_mean_of_the_specification() {
    let data = data(Model::Support);
    let mut user = WebUser::new(&data, 2005, 0, 0);
    let (mut sum, draws) = (0_u64, 1_000_000);
    for _ in 0..draws {
        let mut draw = Draw {
            data: &data,
            slot: 0,
            source: &mut user.data,
        };
        let place = Download::drawn(draw.below(10_000), draw.below(1_000));
        sum += DOWNLOADS[place].size;
    }
    let mean = sum as f64 / f64::from(draws);
    // Four standard errors of a standard deviation of 10,975,781 bytes.
    assert!((mean - 6_918_596.0).abs() < 44_000.0, "{mean}");
}

#[test]
fn the_file_of_a_session_is_what_it_downloads() {
    let mut file = None;
    let mut downloads = 0;
    for (arrival, request) in requests(Model::Support, 4, 10_000) {
        match Model::Support.pages()[arrival.page].name {
            "file" => {
                file = request
                    .target
                    .split_once("id=")
                    .map(|(_, id)| id.to_owned())
            }
            "download" => {
                let id: u32 = file
                    .take()
                    .expect("a file before")
                    .parse()
                    .expect("a number");
                let directory = format!("/dir{:010}/", id / 16 + 1);
                assert!(request.target.contains(&directory), "{}", request.target);
                downloads += 1;
            }
            _ => {}
        }
    }
    assert!((550..800).contains(&downloads), "{downloads}");
}

#[test]
fn conditional_requests_are_as_frequent_as_they_should_be() {
    let data = data(Model::Banking);
    let mut user = WebUser::new(&data, 1, 0, 0);
    let count = (0..100_000).filter(|_| user.browser_does(33)).count();
    // Four standard errors.
    assert!(count.abs_diff(33_000) < 600, "{count}");
    assert!(!(0..1_000).any(|_| user.browser_does(0)));
    assert!((0..1_000).all(|_| user.browser_does(100)));
}
