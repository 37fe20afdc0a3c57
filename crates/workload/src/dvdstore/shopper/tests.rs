//! Tests of the shopper's draws.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::dvdstore::Size;

const DRAWS: u32 = 40_000;

fn params(size: Size) -> ShopperParams {
    ShopperParams::new(size)
}

/// Requires the mean of the draws to be within four standard errors of `mean`, given the variance
/// of one draw.
#[track_caller]
fn check_mean(draws: impl Iterator<Item = f64>, mean: f64, variance: f64) {
    let (count, sum) = draws.fold((0.0, 0.0), |(count, sum), draw| (count + 1.0, sum + draw));
    let error = (variance / count).sqrt();
    let found = sum / count;
    assert!(
        (found - mean).abs() < 4.0 * error,
        "mean {found}, expected {mean} within {}",
        4.0 * error
    );
}

/// Variance of a uniform integer of `width` values.
fn uniform_variance(width: f64) -> f64 {
    (width * width - 1.0) / 12.0
}

#[test]
fn a_shopper_is_small() {
    assert!(size_of::<Shopper>() <= 64);
}

#[test]
fn the_means_are_those_of_the_parameters() {
    let p = params(Size::Mb(10));
    let mut shopper = Shopper::new(1, 0, 0);
    check_mean(
        (0..DRAWS).map(|_| f64::from(u8::from(shopper.opening(&p) == Opening::NewCustomer))),
        0.2,
        0.16,
    );
    check_mean(
        (0..DRAWS).map(|_| f64::from(shopper.search_count(&p))),
        3.0,
        uniform_variance(5.0),
    );
    check_mean(
        (0..DRAWS).map(|_| f64::from(shopper.search(&p, WordLists::own()).1)),
        5.0,
        uniform_variance(9.0),
    );
    let mut basket = Vec::new();
    let mut size_of_basket = || {
        shopper.basket(&p, &mut basket);
        basket.len() as f64
    };
    check_mean(
        (0..DRAWS).map(|_| size_of_basket()),
        5.0,
        uniform_variance(9.0),
    );
    let delay = uniform_delay(Duration::from_millis(250));
    let variance = 500_000.0f64.powi(2) / 12.0;
    check_mean(
        (0..DRAWS).map(|_| shopper.think_us(delay) as f64),
        250_000.0,
        variance,
    );
    check_mean(
        (0..DRAWS).map(|_| shopper.initial_delay_us(2 * delay.mean) as f64),
        250_000.0,
        variance,
    );
}

#[test]
fn the_three_kinds_of_search_are_equally_frequent_and_draw_every_word() {
    let p = params(Size::Mb(10));
    let words = WordLists::own();
    let mut shopper = Shopper::new(2, 0, 0);
    let searches: Vec<Search<'_>> = (0..DRAWS).map(|_| shopper.search(&p, words).0).collect();
    let share = |of: fn(&Search<'_>) -> bool| {
        searches
            .iter()
            .map(move |search| f64::from(u8::from(of(search))))
    };
    check_mean(
        share(|search| matches!(search, Search::Category(_))),
        1.0 / 3.0,
        2.0 / 9.0,
    );
    check_mean(
        share(|search| matches!(search, Search::Actor { .. })),
        1.0 / 3.0,
        2.0 / 9.0,
    );
    let mut seen = HashSet::new();
    let mut categories = HashSet::new();
    for search in &searches {
        match *search {
            Search::Category(category) => drop(categories.insert(category)),
            Search::Actor { first, last } => seen.extend([("first", first), ("last", last)]),
            Search::Title { first, second } => seen.extend([("title", first), ("title", second)]),
        }
    }
    assert_eq!(categories, (1..=16).collect());
    assert_eq!(seen.len(), 1400);
}

#[test]
fn every_ten_thousandth_product_is_drawn_ten_times_as_often() {
    let mut rng = Pcg32::new(3, 3);
    let products = 20_500;
    let total = 20_500.0 + 18.0;
    let draws: Vec<u64> = (0..400_000)
        .map(|_| weighted_product(&mut rng, products))
        .collect();
    assert!(draws.iter().all(|product| (1..=products).contains(product)));
    for hot in [10_000, 20_000] {
        let chance = 10.0 / total;
        check_mean(
            draws
                .iter()
                .map(|&product| f64::from(u8::from(product == hot))),
            chance,
            chance * (1.0 - chance),
        );
    }
    let chance = 1.0 / total;
    check_mean(
        draws
            .iter()
            .map(|&product| f64::from(u8::from(product == 20_500))),
        chance,
        chance,
    );
}

#[test]
fn the_weighted_list_has_the_places_of_the_original_array() {
    // All places of the list at once: each hot product ten times, all others once.
    let (products, hot) = (30_005u64, 3u64);
    let mut counts = vec![0u32; products as usize + 1];
    for place in 0..products + 9 * hot {
        let product = if place < products {
            place + 1
        } else {
            ((place - products) / 9 + 1) * 10_000
        };
        counts[product as usize] += 1;
    }
    let expected = (1..=products).map(|product| if product % 10_000 == 0 { 10 } else { 1 });
    assert!(counts[1..].iter().copied().eq(expected));
}

#[test]
fn new_customers_are_of_both_halves_of_the_world() {
    let mut shopper = Shopper::new(4, 0, 0);
    let people: Vec<NewCustomer> = (0..10_000).map(|_| shopper.person()).collect();
    check_mean(
        people
            .iter()
            .map(|person| f64::from(u8::from(person.country == "US"))),
        0.5,
        0.25,
    );
    check_mean(
        people.iter().map(|person| f64::from(person.age)),
        58.5,
        uniform_variance(82.0),
    );
    let states: HashSet<&str> = people.iter().map(|person| person.state).collect();
    assert!(states.len() == 51 && !states.contains("WY") && states.contains(""));
    for person in people {
        assert_eq!(person.country == "US", person.zip.is_some());
        assert!(person.zip.is_none_or(|zip| zip <= 99_999));
        assert!((100..=999).contains(&person.phone_area) && person.phone_number <= 9_999_999);
        assert!(
            person
                .card_halves
                .iter()
                .all(|half| (10_000_000..=99_999_999).contains(half))
        );
        assert!(
            (2008..=2012).contains(&person.expiration_year)
                && (1..=12).contains(&person.expiration_month)
        );
        assert!((1..=5).contains(&person.card_type) && person.income.is_multiple_of(20_000));
        assert!(
            person
                .first_name()
                .bytes()
                .chain(person.last_name().bytes())
                .all(|letter| letter.is_ascii_uppercase())
        );
    }
}

fn orders(shopper: &mut Shopper, p: &ShopperParams) -> Vec<String> {
    let mut basket = Vec::new();
    (0..20)
        .map(|_| {
            let opening = shopper.opening(p);
            let searches: Vec<_> = (0..shopper.search_count(p))
                .map(|_| shopper.search(p, WordLists::own()))
                .collect();
            shopper.basket(p, &mut basket);
            format!("{opening:?} {searches:?} {basket:?}")
        })
        .collect()
}

#[test]
fn edges_of_the_parameters_are_safe() {
    let mut shopper = Shopper::new(0, 0, 0);
    let p = ShopperParams {
        searches: 0,
        search_batch: u32::MAX,
        line_items: 1,
        ..params(Size::Mb(1))
    };
    let mut basket = vec![
        LineItem {
            product: 1,
            quantity: 1
        };
        9
    ];
    assert_eq!(shopper.search_count(&p), 1);
    assert!(shopper.search(&p, WordLists::own()).1 >= 1);
    shopper.basket(&p, &mut basket);
    assert_eq!(basket.len(), 1, "the old items are gone");
    assert_eq!(shopper.think_us(uniform_delay(Duration::ZERO)), 0);
    assert!(shopper.think_us(uniform_delay(Duration::MAX)) < u64::MAX);
}

fn uniform_delay(mean: Duration) -> RandomDelay {
    RandomDelay {
        mean,
        distribution: crate::DelayDistribution::Uniform,
    }
}

proptest! {
    #[test]
    fn the_same_identity_gives_the_same_orders_and_any_other_gives_others(seed: u64, guest in 0u32..100, user in 0u32..10_000) {
        let p = params(Size::Mb(10));
        let of = |seed, guest, user| orders(&mut Shopper::new(seed, guest, user), &p);
        let own = of(seed, guest, user);
        prop_assert_eq!(&own, &of(seed, guest, user));
        prop_assert_ne!(&own, &of(seed, guest, user + 1));
        prop_assert_ne!(&own, &of(seed, guest + 1, user));
        prop_assert_ne!(&own, &of(seed.wrapping_add(1), guest, user));
    }

    #[test]
    fn the_streams_do_not_shift_each_other(seed: u64, names in 0usize..20, pauses in 0usize..20) {
        let p = params(Size::Mb(10));
        let quiet = orders(&mut Shopper::new(seed, 0, 0), &p);
        let mut shopper = Shopper::new(seed, 0, 0);
        for _ in 0..pauses {
            shopper.think_us(uniform_delay(Duration::from_secs(1)));
        }
        let pause = shopper.think_us(uniform_delay(Duration::from_secs(1)));
        for _ in 0..names {
            shopper.person();
            shopper.new_name_number(&p);
        }
        prop_assert_eq!(quiet, orders(&mut shopper, &p));
        let mut paused = Shopper::new(seed, 0, 0);
        prop_assert_eq!(pause, (0..=pauses).map(|_| paused.think_us(uniform_delay(Duration::from_secs(1)))).last().expect("one pause \
            at least"));
    }

    #[test]
    fn draws_stay_in_their_ranges(seed: u64, mb in 1u32..1024, searches in 1u32..50, batch in 1u32..50, items in 1u32..50) {
        let p = ShopperParams { searches, search_batch: batch, line_items: items, ..params(Size::Mb(mb)) };
        let rows = p.size.rows();
        let mut shopper = Shopper::new(seed, 0, 0);
        let mut basket = Vec::new();
        for _ in 0..50 {
            if let Opening::Login { customer } = shopper.opening(&p) {
                prop_assert!((1..=rows.customers).contains(&customer));
            }
            prop_assert!((1..=rows.customers).contains(&shopper.new_name_number(&p)));
            prop_assert!((1..2 * searches).contains(&shopper.search_count(&p)));
            prop_assert!((1..2 * batch).contains(&shopper.search(&p, WordLists::own()).1));
            shopper.basket(&p, &mut basket);
            prop_assert!((1..2 * items).contains(&(basket.len() as u32)));
            prop_assert!(basket.iter().all(|item| (1..=rows.products).contains(&item.product) && (1..=3).contains(&item.quantity)));
        }
    }
}
