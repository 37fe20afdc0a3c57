//! The original driver's counters.

use std::time::Duration;

use rookery_driver::{Nanos, Span, seconds};
use rookery_workload::dvdstore::ShopCounters;
use serde::{Deserialize, Serialize};

/// The original keeps the last so many order times.
const LAST_ORDERS: usize = 100;

/// The times of one order's calls; counted whole at its end, as the original does.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OrderTimes {
    /// Time of the login, if it began with one.
    pub(crate) login: Option<Nanos>,
    /// Time of the last attempt to register, if it began with one.
    pub(crate) new_customer: Option<Nanos>,
    pub(crate) searches: u32,
    pub(crate) searching: Nanos,
    pub(crate) purchase: Nanos,
    pub(crate) rolled_back: bool,
}

impl OrderTimes {
    /// The original's time of an order: its calls without think time, only the last attempt to
    /// register.
    fn total(&self) -> Nanos {
        self.login.unwrap_or(0) + self.new_customer.unwrap_or(0) + self.searching + self.purchase
    }
}

/// Number and time of one kind of call.
#[derive(Clone, Copy, Debug, Default)]
struct Calls {
    count: u64,
    time: Nanos,
}

impl Calls {
    fn add(&mut self, count: u64, time: Nanos) {
        self.count += count;
        self.time += time;
    }

    fn mean_ms(self) -> f64 {
        if self.count == 0 {
            0.0
        } else {
            self.time as f64 / 1e6 / self.count as f64
        }
    }
}

/// (done, total) of the last orders, as a ring.
#[derive(Clone, Debug, Default)]
struct LastOrders {
    ring: Vec<(Nanos, Nanos)>,
    next: usize,
}

impl LastOrders {
    fn push(&mut self, order: (Nanos, Nanos)) {
        if self.ring.len() < LAST_ORDERS {
            self.ring.push(order);
        } else {
            self.ring[self.next] = order;
            self.next = (self.next + 1) % LAST_ORDERS;
        }
    }
}

/// Orders of one guest while the load runs: since the start, and from the begin of the measured
/// window on since that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderTally {
    /// Orders that ended, rolled-back ones included.
    pub orders: u64,
    /// Sum of their response times, without think time.
    pub time: Duration,
    /// Of these, rolled back.
    pub rollbacks: u64,
    /// End (since the common start) and response time of the last orders: at least the last 100,
    /// unordered.
    pub last: Vec<(Duration, Duration)>,
}

impl OrderTally {
    /// Adds what another thread saw.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.orders += other.orders;
        self.time += other.time;
        self.rollbacks += other.rollbacks;
        self.last.extend(&other.last);
    }

    /// The longest response time of the last 100 orders that several guests ended; zero without
    /// any.
    #[must_use]
    pub fn longest_of_last<'a>(tallies: impl IntoIterator<Item = &'a Self>) -> Duration {
        let mut last: Vec<(Duration, Duration)> = tallies
            .into_iter()
            .flat_map(|tally| tally.last.iter().copied())
            .collect();
        last.sort_unstable();
        last.iter()
            .rev()
            .take(LAST_ORDERS)
            .map(|(_, total)| *total)
            .max()
            .unwrap_or_default()
    }
}

/// The counters of one guest on one thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShopRecord {
    orders: Calls,
    rollbacks: u64,
    login: Calls,
    new_customer: Calls,
    browse: Calls,
    purchase: Calls,
    last: LastOrders,
    /// Orders that ended before the window.
    early: Calls,
    early_rollbacks: u64,
    early_last: LastOrders,
    purchases_from_start: u64,
    rollbacks_from_start: u64,
    unanswered: u64,
}

impl ShopRecord {
    /// A purchase was acknowledged.
    pub(crate) fn purchased(&mut self, rolled_back: bool) {
        self.purchases_from_start += 1;
        self.rollbacks_from_start += u64::from(rolled_back);
    }

    /// A purchase was sent, but no answer told its outcome.
    pub(crate) fn unanswered(&mut self) {
        self.unanswered += 1;
    }

    /// An order ended at `done`.
    pub(crate) fn count_order(&mut self, window: Span, order: &OrderTimes, done: Nanos) {
        if done < window.start {
            self.early.add(1, order.total());
            self.early_rollbacks += u64::from(order.rolled_back);
            self.early_last.push((done, order.total()));
        }
        if !window.contains(done) {
            return;
        }
        self.orders.add(1, order.total());
        self.rollbacks += u64::from(order.rolled_back);
        if let Some(time) = order.login {
            self.login.add(1, time);
        }
        if let Some(time) = order.new_customer {
            self.new_customer.add(1, time);
        }
        self.browse.add(u64::from(order.searches), order.searching);
        self.purchase.add(1, order.purchase);
        self.last.push((done, order.total()));
    }

    /// The orders as they stand at `now`.
    pub(crate) fn tally(&self, window: Span, now: Nanos) -> OrderTally {
        let (orders, rollbacks, last) = if now < window.start {
            (self.early, self.early_rollbacks, &self.early_last)
        } else {
            (self.orders, self.rollbacks, &self.last)
        };
        let time = Duration::from_nanos;
        OrderTally {
            orders: orders.count,
            time: time(orders.time),
            rollbacks,
            last: last
                .ring
                .iter()
                .map(|(done, total)| (time(*done), time(*total)))
                .collect(),
        }
    }

    /// Adds what another thread counted.
    pub(crate) fn merge(&mut self, other: Self) {
        let pairs = [
            (&mut self.orders, other.orders),
            (&mut self.login, other.login),
            (&mut self.new_customer, other.new_customer),
            (&mut self.browse, other.browse),
            (&mut self.purchase, other.purchase),
        ];
        for (mine, others) in pairs {
            mine.add(others.count, others.time);
        }
        self.rollbacks += other.rollbacks;
        self.purchases_from_start += other.purchases_from_start;
        self.rollbacks_from_start += other.rollbacks_from_start;
        self.unanswered += other.unanswered;
        self.last.ring.extend(other.last.ring);
    }

    /// The counters under the original's names.
    pub(crate) fn counters(self, window: Span) -> ShopCounters {
        let mut all = self;
        all.last.ring.sort_unstable();
        let longest = all
            .last
            .ring
            .iter()
            .rev()
            .take(LAST_ORDERS)
            .map(|(_, total)| *total)
            .max();
        let orders = all.orders.count;
        let per_minute = |count: u64| {
            if window.length() == 0 {
                0.0
            } else {
                60.0 * count as f64 / seconds(window.length())
            }
        };
        ShopCounters {
            n_overall: orders,
            opm: per_minute(orders),
            rt_tot_avg_msec: all.orders.mean_ms(),
            rt_tot_lastn_max_msec: longest.unwrap_or(0) as f64 / 1e6,
            n_rollbacks_overall: all.rollbacks,
            rollback_rate: if orders == 0 {
                0.0
            } else {
                100.0 * all.rollbacks as f64 / orders as f64
            },
            n_login_overall: all.login.count,
            n_newcust_overall: all.new_customer.count,
            n_browse_overall: all.browse.count,
            n_purchase_overall: all.purchase.count,
            rt_login_avg_msec: all.login.mean_ms(),
            rt_newcust_avg_msec: all.new_customer.mean_ms(),
            rt_browse_avg_msec: all.browse.mean_ms(),
            rt_purchase_avg_msec: all.purchase.mean_ms(),
            n_purchase_from_start: all.purchases_from_start,
            n_rollbacks_from_start: all.rollbacks_from_start,
            n_purchase_unanswered: all.unanswered,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Nanos = 1_000_000_000;
    const MS: Nanos = 1_000_000;
    const WINDOW: Span = Span {
        start: 10 * S,
        end: 70 * S,
    };

    fn order(login_ms: u64, rolled_back: bool) -> OrderTimes {
        OrderTimes {
            login: Some(login_ms * MS),
            new_customer: None,
            searches: 2,
            searching: 20 * MS,
            purchase: 30 * MS,
            rolled_back,
        }
    }

    #[test]
    fn orders_are_counted_whole_at_their_end_and_only_in_the_window() {
        let mut shop = ShopRecord::default();
        for (done, rolled_back) in [
            (9 * S, false),
            (10 * S, false),
            (69 * S, true),
            (70 * S, false),
        ] {
            shop.purchased(rolled_back);
            shop.count_order(WINDOW, &order(50, rolled_back), done);
        }
        shop.unanswered();
        let counters = shop.counters(WINDOW);
        assert_eq!(
            (
                counters.n_overall,
                counters.n_browse_overall,
                counters.n_newcust_overall
            ),
            (2, 4, 0)
        );
        assert_eq!(
            (
                counters.opm,
                counters.rt_tot_avg_msec,
                counters.rt_browse_avg_msec
            ),
            (2.0, 100.0, 10.0)
        );
        assert_eq!(
            (counters.n_rollbacks_overall, counters.rollback_rate),
            (1, 50.0)
        );
        assert_eq!(
            (
                counters.n_purchase_from_start,
                counters.n_rollbacks_from_start
            ),
            (4, 1)
        );
        assert_eq!(counters.n_purchase_unanswered, 1);
    }

    #[test]
    fn a_tally_counts_since_the_start_and_then_since_the_begin_of_the_window() {
        let mut shop = ShopRecord::default();
        for (done, rolled_back) in [
            (8 * S, false),
            (9 * S, true),
            (10 * S, false),
            (70 * S, false),
        ] {
            shop.count_order(WINDOW, &order(done / S, rolled_back), done);
        }
        let ms = Duration::from_millis;
        let early = shop.tally(WINDOW, 9 * S);
        assert_eq!(
            (early.orders, early.time, early.rollbacks),
            (2, ms(58 + 59), 1)
        );
        let measured = shop.tally(WINDOW, 80 * S);
        assert_eq!(
            (measured.orders, measured.time, measured.rollbacks),
            (1, ms(60), 0)
        );
        assert_eq!(measured.last, [(ms(10_000), ms(60))]);
        let mut both = early.clone();
        both.merge(&measured);
        assert_eq!((both.orders, both.last.len()), (3, 3));
        assert_eq!(OrderTally::longest_of_last([&early, &measured]), ms(60));
        let many = OrderTally {
            last: (1..=100).map(|n| (ms(20_000 + n), ms(5))).collect(),
            ..OrderTally::default()
        };
        assert_eq!(
            OrderTally::longest_of_last([&measured, &many]),
            ms(5),
            "a hundred later orders hide the earlier one"
        );
        assert_eq!(OrderTally::longest_of_last([]), Duration::ZERO);
    }

    #[test]
    fn the_longest_of_the_last_hundred_forgets_older_ones() {
        let (mut a, mut b) = (ShopRecord::default(), ShopRecord::default());
        a.count_order(WINDOW, &order(5_000, false), 11 * S);
        for n in 0..60 {
            a.count_order(WINDOW, &order(10, false), 12 * S + 2 * n);
            b.count_order(WINDOW, &order(20, false), 12 * S + 2 * n + 1);
        }
        let mut both = a.clone();
        both.merge(b);
        let counters = both.counters(WINDOW);
        assert_eq!(
            counters.rt_tot_lastn_max_msec, 70.0,
            "120 orders followed the slow one"
        );
        assert_eq!(a.counters(WINDOW).rt_tot_lastn_max_msec, 5_050.0);
    }

    #[test]
    fn nothing_gives_zeros_not_nonsense() {
        assert_eq!(
            ShopRecord::default().counters(WINDOW),
            ShopCounters::default()
        );
    }
}
