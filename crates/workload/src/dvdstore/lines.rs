//! The output lines of the original driver, from plain numbers.
//!
//! Names and widths are the original's, so that scripts which read them keep working. Times go in
//! as microseconds and come out as whole milliseconds, rounded down. What the original prints as a
//! huge negative number or NaN, because nothing was counted, is `n/a` here.

use std::fmt;

use rookery_cast::truncate_u64;

/// A sum of times and how many there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Number of calls or orders.
    pub count: u64,
    /// Sum of their response times in microseconds.
    pub sum_us: u64,
}

impl Times {
    /// The mean in whole milliseconds, rounded down, or nothing when nothing was counted.
    #[must_use]
    pub fn mean_ms(self) -> Option<u64> {
        self.sum_us
            .checked_div(self.count)
            .map(|mean_us| mean_us / 1000)
    }
}

/// The counters since the start of the measured part.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Seconds since the start of the measured part.
    pub elapsed_seconds: f64,
    /// Orders completed, also those rolled back, and their response times without think time.
    pub orders: Times,
    /// Orders of the last ten seconds.
    pub sampled: Times,
    /// Longest response time of the last 100 orders in microseconds.
    pub last_max_us: u64,
    /// Purchases answered with a shortage.
    pub rollbacks: u64,
}

/// The counters per operation, for the final line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calls {
    /// Logins.
    pub login: Times,
    /// Orders that began with a new customer; only the last attempt's time counts.
    pub new_customer: Times,
    /// Searches.
    pub browse: Times,
    /// Purchases.
    pub purchase: Times,
}

impl Totals {
    /// Orders per minute since the start of the measured part, rounded down.
    #[must_use]
    pub fn opm(&self) -> Option<u64> {
        (self.elapsed_seconds > 0.0)
            .then(|| truncate_u64(60.0 * self.orders.count as f64 / self.elapsed_seconds))
    }

    /// Rolled back orders in percent of all.
    #[must_use]
    pub fn rollback_percent(&self) -> Option<f64> {
        (self.orders.count > 0).then(|| 100.0 * self.rollbacks as f64 / self.orders.count as f64)
    }
}

/// The line that the original driver prints every ten seconds, with its blank at the end.
#[must_use]
pub fn interval_line(totals: &Totals) -> String {
    format!(
        "et={:7.1} n_overall={} opm={} rt_tot_lastn_max_msec={} rt_tot_avg_msec={} \
         rt_tot_sampled={} rollbacks: n={} %={} ",
        totals.elapsed_seconds,
        totals.orders.count,
        Known(totals.opm()),
        totals.last_max_us / 1000,
        Known(totals.orders.mean_ms()),
        Known(totals.sampled.mean_ms()),
        totals.rollbacks,
        percent(totals),
    )
}

/// The line that the original driver prints at the end; `when` is the date and time, nothing for
/// the line of one target.
#[must_use]
pub fn final_line(when: Option<&str>, totals: &Totals, calls: &Calls) -> String {
    let when = when.map_or_else(String::new, |when| format!(" ({when})"));
    format!(
        "Final{when}: et={:7.1} n_overall={} opm={} rt_tot_lastn_max={} rt_tot_avg={} \
         n_login_overall={} n_newcust_overall={} \
         n_browse_overall={} n_purchase_overall={} rt_login_avg_msec={} rt_newcust_avg_msec={} \
         rt_browse_avg_msec={} \
         rt_purchase_avg_msec={} rt_tot_sampled={} n_rollbacks_overall={} rollback_rate = {}%",
        totals.elapsed_seconds,
        totals.orders.count,
        Known(totals.opm()),
        totals.last_max_us / 1000,
        Known(totals.orders.mean_ms()),
        calls.login.count,
        calls.new_customer.count,
        calls.browse.count,
        calls.purchase.count,
        Known(calls.login.mean_ms()),
        Known(calls.new_customer.mean_ms()),
        Known(calls.browse.mean_ms()),
        Known(calls.purchase.mean_ms()),
        Known(totals.sampled.mean_ms()),
        totals.rollbacks,
        percent(totals),
    )
}

/// The last line: purchases and rollbacks of the whole run. Their difference is the number of new
/// rows in ORDERS.
#[must_use]
pub fn from_start_line(purchases: u64, rollbacks: u64) -> String {
    format!("n_purchase_from_start= {purchases} n_rollbacks_from_start= {rollbacks}")
}

fn percent(totals: &Totals) -> String {
    totals.rollback_percent().map_or_else(
        || format!("{:>5}", "n/a"),
        |percent| format!("{percent:5.1}"),
    )
}

struct Known(Option<u64>);

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(number) => number.fmt(f),
            None => f.write_str("n/a"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals() -> Totals {
        Totals {
            elapsed_seconds: 60.04,
            orders: Times {
                count: 1201,
                sum_us: 1201 * 12_999,
            },
            sampled: Times {
                count: 200,
                sum_us: 200 * 14_000,
            },
            last_max_us: 81_999,
            rollbacks: 31,
        }
    }

    #[test]
    fn the_interval_line_is_the_original_one() {
        assert_eq!(
            interval_line(&totals()),
            "et=   60.0 n_overall=1201 opm=1200 rt_tot_lastn_max_msec=81 rt_tot_avg_msec=12 \
             rt_tot_sampled=14 rollbacks: n=31 %=  2.6 "
        );
    }

    #[test]
    fn the_final_lines_are_the_original_ones() {
        let times = |count, mean_ms: u64| Times {
            count,
            sum_us: count * mean_ms * 1000,
        };
        let calls = Calls {
            login: times(960, 2),
            new_customer: times(241, 3),
            browse: times(3600, 4),
            purchase: times(1201, 5),
        };
        let rest = "et=   60.0 n_overall=1201 opm=1200 rt_tot_lastn_max=81 rt_tot_avg=12 \
                    n_login_overall=960 n_newcust_overall=241 \
                    n_browse_overall=3600 n_purchase_overall=1201 rt_login_avg_msec=2 \
                    rt_newcust_avg_msec=3 rt_browse_avg_msec=4 \
                    rt_purchase_avg_msec=5 rt_tot_sampled=14 n_rollbacks_overall=31 rollback_rate \
                    =   2.6%";
        assert_eq!(
            final_line(Some("3/1/2012 1:02:03 PM"), &totals(), &calls),
            format!("Final (3/1/2012 1:02:03 PM): {rest}")
        );
        assert_eq!(
            final_line(None, &totals(), &calls),
            format!("Final: {rest}")
        );
        assert_eq!(
            from_start_line(1500, 40),
            "n_purchase_from_start= 1500 n_rollbacks_from_start= 40"
        );
    }

    #[test]
    fn what_was_not_counted_is_not_a_number() {
        let line = interval_line(&Totals::default());
        assert_eq!(
            line,
            "et=    0.0 n_overall=0 opm=n/a rt_tot_lastn_max_msec=0 rt_tot_avg_msec=n/a \
             rt_tot_sampled=n/a rollbacks: n=0 %=  n/a "
        );
    }
}
