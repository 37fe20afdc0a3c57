//! What the original driver prints, while the load runs and at its end.

use std::time::Duration;

use rookery_cast::truncate_u64;
use rookery_stats::Measurement;
use rookery_web::workloads::dvdstore::OrderTally;
use rookery_workload::dvdstore::ShopCounters;
use rookery_workload::dvdstore::lines::{self, Calls, Times, Totals};

/// Seconds between two lines.
const INTERVAL_S: f64 = 10.0;
/// What stands above the lines of single targets.
const INDIVIDUAL: &str = "Individual Stats for each DB / Web Server:";

/// The lines of one run, in their order.
#[derive(Debug)]
pub(super) struct Lines {
    /// Seconds from the start to the begin of the measured window.
    warm_up_s: f64,
    /// Length of the measured window, s.
    run_time_s: f64,
    detailed: bool,
    /// The measured window has begun.
    measuring: bool,
    /// When the next line is due, in seconds since the start or the reset.
    due_s: f64,
    /// Counters of each target at the last line.
    before: Vec<Times>,
    /// Orders of each target in the last interval.
    sampled: Vec<Times>,
    /// What each target had when it was looked at last.
    latest: Vec<OrderTally>,
}

impl Lines {
    /// For a load with `warm_up` before its measured window; `detailed` = a line for each target
    /// too.
    pub(super) fn new(
        warm_up: Duration,
        run_time: Duration,
        targets: usize,
        detailed: bool,
    ) -> Self {
        Self {
            warm_up_s: warm_up.as_secs_f64(),
            run_time_s: run_time.as_secs_f64(),
            detailed,
            measuring: false,
            due_s: INTERVAL_S,
            before: vec![Times::default(); targets],
            sampled: vec![Times::default(); targets],
            latest: vec![OrderTally::default(); targets],
        }
    }

    /// The lines that are due at `elapsed` after the start.
    pub(super) fn at(&mut self, elapsed: Duration, tallies: &[OrderTally]) -> Vec<String> {
        let elapsed_s = elapsed.as_secs_f64();
        let mut text = Vec::new();
        if !self.measuring && elapsed_s >= self.warm_up_s {
            // A line that is due at the reset comes before it, from what was there before it.
            if self.warm_up_s > 0.0 && self.due_s <= self.warm_up_s {
                let latest = std::mem::take(&mut self.latest);
                self.interval(self.warm_up_s, &latest, &mut text);
            }
            self.measuring = true;
            self.due_s = INTERVAL_S;
            self.before.fill(Times::default());
            text.push("Stats reset".to_owned());
        }
        let et_s = if self.measuring {
            (elapsed_s - self.warm_up_s).min(self.run_time_s)
        } else {
            elapsed_s
        };
        if et_s >= self.due_s {
            self.due_s = INTERVAL_S * ((et_s / INTERVAL_S).floor() + 1.0);
            self.interval(et_s, tallies, &mut text);
        }
        self.latest = tallies.to_vec();
        text
    }

    /// Add the line of an interval that ends at `et_s`, and one for each target where that is asked
    /// for.
    fn interval(&mut self, et_s: f64, tallies: &[OrderTally], text: &mut Vec<String>) {
        self.sample(tallies);
        text.push(lines::interval_line(&self.totals(
            et_s,
            tallies,
            &self.sampled,
        )));
        if self.detailed && tallies.len() > 1 {
            text.push(INDIVIDUAL.to_owned());
            let each = tallies.iter().zip(&self.sampled);
            text.extend(each.map(|(tally, sampled)| {
                lines::interval_line(&self.totals(
                    et_s,
                    std::slice::from_ref(tally),
                    std::slice::from_ref(sampled),
                ))
            }));
        }
    }

    /// Take the orders since the last line as the sample.
    fn sample(&mut self, tallies: &[OrderTally]) {
        for ((tally, before), sampled) in
            tallies.iter().zip(&mut self.before).zip(&mut self.sampled)
        {
            let now = times(tally);
            *sampled = Times {
                count: now.count.saturating_sub(before.count),
                sum_us: now.sum_us.saturating_sub(before.sum_us),
            };
            *before = now;
        }
    }

    fn totals(&self, elapsed_seconds: f64, tallies: &[OrderTally], sampled: &[Times]) -> Totals {
        Totals {
            elapsed_seconds,
            orders: sum(tallies.iter().map(times)),
            sampled: sum(sampled.iter().copied()),
            last_max_us: micros(OrderTally::longest_of_last(tallies)),
            rollbacks: tallies.iter().map(|tally| tally.rollbacks).sum(),
        }
    }

    /// The lines at the end; `when` is the date and time, `tallies` the orders at the end.
    pub(super) fn final_lines(
        &mut self,
        when: &str,
        measurement: &Measurement,
        tallies: &[OrderTally],
    ) -> Vec<String> {
        let newer = tallies
            .iter()
            .zip(&self.before)
            .any(|(tally, before)| tally.orders > before.count);
        if newer {
            self.sample(tallies);
        }
        let elapsed_s = measurement.window.end_s - measurement.window.start_s;
        let shops = || {
            measurement
                .guests
                .iter()
                .filter_map(|guest| guest.counters.dvdstore())
        };
        let all: Vec<Calls> = shops().map(calls).collect();
        let total = Calls {
            login: sum(all.iter().map(|calls| calls.login)),
            new_customer: sum(all.iter().map(|calls| calls.new_customer)),
            browse: sum(all.iter().map(|calls| calls.browse)),
            purchase: sum(all.iter().map(|calls| calls.purchase)),
        };
        let several = tallies.len() > 1;
        let mut text = vec![lines::final_line(
            Some(when),
            &self.totals(elapsed_s, tallies, &self.sampled),
            &total,
        )];
        if several {
            text.push(INDIVIDUAL.to_owned());
            let each = tallies.iter().zip(&self.sampled).zip(&all);
            text.extend(each.map(|((tally, sampled), calls)| {
                let totals = self.totals(
                    elapsed_s,
                    std::slice::from_ref(tally),
                    std::slice::from_ref(sampled),
                );
                lines::final_line(None, &totals, calls)
            }));
        }
        // These count on until the last user has ended, so they come after all final lines.
        text.push(lines::from_start_line(
            shops().map(|shop| shop.n_purchase_from_start).sum(),
            shops().map(|shop| shop.n_rollbacks_from_start).sum(),
        ));
        if several {
            text.extend(shops().map(|shop| {
                lines::from_start_line(shop.n_purchase_from_start, shop.n_rollbacks_from_start)
            }));
        }
        text
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn times(tally: &OrderTally) -> Times {
    Times {
        count: tally.orders,
        sum_us: micros(tally.time),
    }
}

fn sum(all: impl Iterator<Item = Times>) -> Times {
    all.fold(Times::default(), |sum, next| Times {
        count: sum.count.saturating_add(next.count),
        sum_us: sum.sum_us.saturating_add(next.sum_us),
    })
}

fn of_mean(count: u64, mean_msec: f64) -> Times {
    Times {
        count,
        sum_us: truncate_u64((mean_msec * 1e3 * count as f64).round()),
    }
}

/// The calls of a target as the final line wants them.
pub(super) fn calls(shop: &ShopCounters) -> Calls {
    Calls {
        login: of_mean(shop.n_login_overall, shop.rt_login_avg_msec),
        new_customer: of_mean(shop.n_newcust_overall, shop.rt_newcust_avg_msec),
        browse: of_mean(shop.n_browse_overall, shop.rt_browse_avg_msec),
        purchase: of_mean(shop.n_purchase_overall, shop.rt_purchase_avg_msec),
    }
}

/// The counters of one target over its whole window, as the final line wants them.
pub(super) fn window_totals(shop: &ShopCounters, elapsed_seconds: f64) -> Totals {
    let orders = of_mean(shop.n_overall, shop.rt_tot_avg_msec);
    Totals {
        elapsed_seconds,
        orders,
        // The original samples its last ten seconds; over one window that is the window.
        sampled: orders,
        last_max_us: truncate_u64(shop.rt_tot_lastn_max_msec * 1e3),
        rollbacks: shop.n_rollbacks_overall,
    }
}

#[cfg(test)]
mod tests {
    use rookery_stats::{DriverQuality, GuestMeasurement, Mode, Pacing, Window};
    use rookery_workload::Counters;

    use super::*;

    fn tally(orders: u64, each_ms: u64) -> OrderTally {
        let each = Duration::from_millis(each_ms);
        OrderTally {
            orders,
            time: each * u32::try_from(orders).expect("few"),
            rollbacks: orders / 10,
            last: vec![(Duration::from_secs(orders), each + Duration::from_millis(1))],
        }
    }

    fn second(s: f64) -> Duration {
        Duration::from_secs_f64(s)
    }

    #[test]
    fn a_line_every_ten_seconds_and_a_reset_between() {
        let mut lines = Lines::new(second(15.0), second(25.0), 1, false);
        assert!(lines.at(second(9.0), &[tally(90, 10)]).is_empty());
        let early = "et=   10.0 n_overall=100 opm=600 rt_tot_lastn_max_msec=11 rt_tot_avg_msec=10 \
                     rt_tot_sampled=10 rollbacks: n=10 %= 10.0 ";
        assert_eq!(lines.at(second(10.0), &[tally(100, 10)]), [early]);
        assert_eq!(lines.at(second(15.0), &[tally(0, 10)]), ["Stats reset"]);
        assert!(lines.at(second(24.9), &[tally(100, 20)]).is_empty());
        let first = lines.at(second(25.0), &[tally(100, 20)]);
        assert!(
            first[0].starts_with("et=   10.0 n_overall=100")
                && first[0].contains("rt_tot_sampled=20"),
            "{first:?}"
        );
        // 100 orders of 20 ms, then 100 that bring the mean to 30 ms: they took 40 ms each.
        let next = lines.at(second(35.0), &[tally(200, 30)]);
        assert!(
            next[0].contains("rt_tot_avg_msec=30 rt_tot_sampled=40 "),
            "{next:?}"
        );
        assert!(
            lines.at(second(43.0), &[tally(250, 30)]).is_empty(),
            "the window ends at et 25"
        );
    }

    #[test]
    fn a_line_that_is_due_at_the_reset_comes_before_it() {
        let mut lines = Lines::new(second(20.0), second(30.0), 1, false);
        assert_eq!(lines.at(second(10.0), &[tally(100, 10)]).len(), 1);
        assert!(lines.at(second(19.9), &[tally(180, 10)]).is_empty());
        let both = lines.at(second(20.0), &[tally(0, 10)]);
        assert_eq!(both.len(), 2, "{both:?}");
        assert!(both[0].starts_with("et=   20.0 n_overall=180"), "{both:?}");
        assert_eq!(both[1], "Stats reset");
    }

    #[test]
    fn without_warm_up_the_reset_is_told_at_once() {
        let mut lines = Lines::new(Duration::ZERO, second(30.0), 1, false);
        assert_eq!(lines.at(Duration::ZERO, &[tally(0, 1)]), ["Stats reset"]);
        assert_eq!(lines.at(second(10.0), &[tally(0, 1)]).len(), 1);
    }

    #[test]
    fn several_targets_have_lines_of_their_own() {
        let two = [tally(100, 10), tally(300, 30)];
        let detailed = |on: bool| {
            let mut lines = Lines::new(Duration::ZERO, second(30.0), 2, on);
            lines.at(Duration::ZERO, &[tally(0, 1), tally(0, 1)]);
            lines.at(second(10.0), &two)
        };
        assert_eq!(detailed(false).len(), 1);
        let text = detailed(true);
        assert_eq!(text.len(), 4);
        assert!(
            text[0].contains("n_overall=400 opm=2400 rt_tot_lastn_max_msec=31 rt_tot_avg_msec=25"),
            "{}",
            text[0]
        );
        assert_eq!(text[1], "Individual Stats for each DB / Web Server:");
        assert!(
            text[2].contains("n_overall=100 opm=600 rt_tot_lastn_max_msec=11"),
            "{}",
            text[2]
        );
        assert!(text[3].contains("n_overall=300 "), "{}", text[3]);
    }

    fn measured(shops: &[ShopCounters]) -> Measurement {
        let guest = |shop: &ShopCounters| GuestMeasurement {
            guest: "http://127.0.0.1".to_owned(),
            users: 1,
            operations: Vec::new(),
            series: Vec::new(),
            errors: Vec::new(),
            counters: Counters::Dvdstore(*shop),
            busy_s: 0.0,
            idle_s: 0.0,
            drawn_delay_mean_s: None,
            actual_delay_mean_s: None,
        };
        Measurement {
            mode: Mode::Closed,
            pacing: Pacing::Think,
            window: Window {
                start_s: 15.0,
                end_s: 35.0,
            },
            guests: shops.iter().map(guest).collect(),
            driver: DriverQuality::default(),
            aborted: None,
        }
    }

    #[test]
    fn the_final_lines_add_the_targets_up() {
        let shop = |orders: u64, login_ms: f64| ShopCounters {
            n_overall: orders,
            n_login_overall: orders,
            rt_login_avg_msec: login_ms,
            n_purchase_from_start: orders + 5,
            n_rollbacks_from_start: 3,
            ..ShopCounters::default()
        };
        let two = [tally(100, 10), tally(300, 30)];
        let mut lines = Lines::new(second(15.0), second(20.0), 2, false);
        lines.at(second(35.0), &two);
        let text = lines.final_lines(
            "1/2/2026 3:04:05 PM",
            &measured(&[shop(100, 4.0), shop(300, 8.0)]),
            &two,
        );
        assert_eq!(
            text.len(),
            7,
            "all, a heading, each, and the same from the start"
        );
        let all = "Final (1/2/2026 3:04:05 PM): et=   20.0 n_overall=400 opm=1200 \
                   rt_tot_lastn_max=31 rt_tot_avg=25 n_login_overall=400";
        assert!(text[0].starts_with(all), "{}", text[0]);
        assert!(
            text[0].contains("rt_login_avg_msec=7 rt_newcust_avg_msec=n/a"),
            "{}",
            text[0]
        );
        assert!(
            text[0].contains("rt_tot_sampled=25 n_rollbacks_overall=40 rollback_rate =  10.0%"),
            "{}",
            text[0]
        );
        assert_eq!(text[1], INDIVIDUAL);
        assert!(
            text[2].starts_with("Final: et=   20.0 n_overall=100 "),
            "{}",
            text[2]
        );
        let from_start = [
            "n_purchase_from_start= 410 n_rollbacks_from_start= 6",
            "n_purchase_from_start= 105 n_rollbacks_from_start= 3",
            "n_purchase_from_start= 305 n_rollbacks_from_start= 3",
        ];
        assert_eq!(text[4..], from_start);
        let mut one = Lines::new(second(15.0), second(20.0), 1, false);
        assert_eq!(
            one.final_lines("now", &measured(&[shop(100, 4.0)]), &two[..1])
                .len(),
            2
        );
    }
}
