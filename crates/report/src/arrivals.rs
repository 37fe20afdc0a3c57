//! What became of the arrivals of open loads, and what their visitors waited for.

use rookery_stats::{ArrivalCounts, Latencies, Measurement};
use rookery_study::Point;

use crate::{Run, figures::Table, format};

/// Heads of the table.
const HEADS: [&str; 7] = [
    "point",
    "arrivals drawn",
    "dropped",
    "started",
    "late p50 / p99, us",
    "order response p50 / p95 / p99, ms",
    "order service p50 / p95 / p99, ms",
];

/// One row for each point of an open load that has good trials; no rows of a closed load.
///
/// Response counts from the intended start, service from the moment of sending: their difference is what a driver that waits for answers would hide.
/// Lateness is that of the worst trial.
pub(crate) fn table(run: &Run) -> Table {
    Table {
        label: String::new(),
        heads: HEADS.map(str::to_owned).to_vec(),
        rows: run
            .header
            .plan
            .study_points()
            .filter_map(|point| row(run, point))
            .collect(),
    }
}

fn row(run: &Run, point: &Point) -> Option<Vec<String>> {
    let trials = run
        .trials
        .iter()
        .filter(|trial| trial.row.trial.point == point.id);
    let measured: Vec<&Measurement> = trials.filter_map(|trial| Some(trial.valid()?.1)).collect();
    let counts: Vec<&ArrivalCounts> = measured
        .iter()
        .filter_map(|measured| measured.driver.arrivals.as_ref())
        .collect();
    let first = counts.first()?;
    let sum = |of: fn(&ArrivalCounts) -> u64| {
        counts
            .iter()
            .fold(0_u64, |sum, counts| sum.saturating_add(of(counts)))
    };
    let (mut response, mut service) = (Latencies::new(), Latencies::new());
    let orders = measured
        .iter()
        .flat_map(|measured| &measured.guests)
        .filter_map(|guest| guest.operation(guest.main_operation()));
    for order in orders {
        response.merge(&order.response);
        service.merge(&order.service);
    }
    let worst = |of: fn(&Measurement) -> u64| {
        measured
            .iter()
            .map(|measured| of(measured))
            .max()
            .unwrap_or(0)
    };
    Some(vec![
        point.label(),
        format!("{} {}", sum(|counts| counts.drawn), first.spacing),
        sum(|counts| counts.dropped).to_string(),
        format!("{} ({})", sum(|counts| counts.started), first.precision),
        format!(
            "{} / {}",
            worst(|measured| measured.driver.lag_p50_us),
            worst(|measured| measured.driver.lag_p99_us)
        ),
        percentiles(&response),
        percentiles(&service),
    ])
}

fn percentiles(latencies: &Latencies) -> String {
    let at = |percentile: f64| {
        format::or_none(latencies.percentile_us(percentile), |us| {
            format::ms_value(us as f64)
        })
    };
    [50.0, 95.0, 99.0].map(at).join(" / ")
}

#[cfg(test)]
mod tests {
    use rookery_stats::{ArrivalCounts, Mode, Pacing};
    use rookery_study::{Arrivals, OpenLoad, Precision, Visit};

    use crate::fixture::{end, header, planned};

    /// Every point of the example run with visitors in place of its users, two arrivals dropped in each trial.
    fn opened(visit: Visit) -> crate::fixture::Fixture {
        let mut header = header(1);
        let open = OpenLoad {
            rate: Vec::new(),
            course: rookery_study::Course::Level,
            arrivals: Arrivals::Poisson,
            max_in_flight: 100,
            precision: Precision::Exact,
            visit,
        };
        let variants = header
            .plan
            .variants
            .iter_mut()
            .map(|variant| &mut variant.study);
        variants
            .chain([&mut header.study])
            .for_each(|study| study.load.open = Some(open.clone()));
        for point in &mut header.plan.points {
            point.rate_per_s = Some(1.7 * f64::from(point.total_users()));
            point.users.fill(0);
        }
        let fixture = planned(&header);
        (1..=5).for_each(|trial| {
            end(&fixture, trial, |record| {
                let measured = record.measurement.as_mut().expect("measured");
                (measured.mode, measured.pacing) = (Mode::Open, Pacing::Arrivals);
                measured.driver.arrivals = Some(ArrivalCounts {
                    spacing: "poisson".to_owned(),
                    precision: "exact".to_owned(),
                    drawn: 6_400,
                    started: 6_398,
                    dropped: 2,
                });
            });
        });
        fixture
    }

    #[test]
    fn a_report_of_an_open_load_speaks_of_arrivals() {
        let text = crate::terminal(&opened(Visit::Single).store).expect("a report");
        insta::assert_snapshot!("open_terminal", text);
        assert!(!text.contains(" users"), "nobody stays");
        let page = crate::html(&opened(Visit::Single).store).expect("a page");
        assert!(
            page.contains("6400 poisson") && page.contains("6398 (exact)"),
            "the table of arrivals stands in the page"
        );
    }

    #[test]
    fn visitors_who_stay_are_told() {
        let text = crate::terminal(&opened(Visit::GoOn(0.75)).store).expect("a report");
        let expected = "Partly open loop, Poisson arrivals at the rate of each point, 4 orders of each visitor on average, think time 250 ms \
                        between them, response times from the intended start";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn a_closed_load_has_no_arrivals() {
        let run = crate::Run::read(&crate::fixture::complete().store).expect("a whole store");
        assert!(super::table(&run).rows.is_empty());
    }
}
