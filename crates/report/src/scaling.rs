//! How throughput grows with users, and with guests: laws fitted to the good trials of a run, with what they may and may not say. Pure.

use rookery_judge::cpu;
use rookery_model::fit::{
    Candidate, Fitted, Interval, Judgement, Model, Observation, Observations, Options, Rule,
    Severity, judge,
};
use rookery_stats::Ratio;
use rookery_study::{Point, Variant};

use crate::{Run, TrialData, figures::levels_after, format};

/// With fewer different loads there is nothing to be fitted.
const FEWEST_LOADS: usize = 3;
/// Largest over smallest load that a law which bends needs (rule F2 of the fits).
const WIDE_ENOUGH: f64 = 4.0;

/// What grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grows {
    /// Users, on guests of one number and shape.
    Users,
    /// Terminals of order entry, on guests of one number and shape.
    Terminals,
    /// Guests of one shape, each with its own users.
    Guests,
    /// vCPUs of a single guest, with users in proportion.
    Vcpus,
}

/// Throughput against users or guests, and the law that it follows.
#[derive(Clone, Debug)]
pub struct Scaling {
    /// What is the same in all its trials: `2 x 0.5 vCPU`, `guests of 0.5 vCPU with 50 users each`; with the levels of the variant.
    pub label: String,
    /// What grows.
    pub grows: Grows,
    /// The good trials: load against orders per second.
    pub observations: Observations,
    /// Laws, the choice among them, and refusals.
    pub judgement: Judgement,
    /// Throughput of each load, against that of the smallest.
    pub steps: Vec<Step>,
    /// How many of the trials were performed by a search.
    pub of_searches: usize,
}

/// One load.
#[derive(Clone, Debug)]
pub struct Step {
    /// The load.
    pub n: f64,
    /// Orders per minute of its trials.
    pub values: Vec<f64>,
    /// Throughput over that of the smallest load; `None` for the smallest itself.
    pub speed_up: Option<Ratio>,
}

impl Grows {
    /// Whether it is the people of a closed loop that grow in number.
    pub(crate) fn are_people(self) -> bool {
        matches!(self, Self::Users | Self::Terminals)
    }

    /// What is counted: `users`, `guests`.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::Users => "users",
            Self::Terminals => "terminals",
            Self::Guests => "guests",
            Self::Vcpus => "vCPUs",
        }
    }

    /// So many of it: `1 guest`, `0.25 vCPU`, `4 terminals`.
    pub(crate) fn counted(self, n: f64) -> String {
        let unit = if n > 1.0 {
            self.unit()
        } else {
            self.unit().trim_end_matches('s')
        };
        format!("{} {unit}", format::load(n))
    }
}

/// A good trial of a closed load.
struct Good<'a> {
    point: &'a Point,
    orders_per_s: f64,
    /// Of order entry: the pauses that go with an order, s.
    pause_s: Option<f64>,
    busy: Option<f64>,
}

/// Every line of the run: first those against users, then those against guests, then those against vCPUs.
pub(crate) fn of(run: &Run) -> Vec<Scaling> {
    let plan = &run.header.plan;
    let good: Vec<Good<'_>> = run
        .trials
        .iter()
        .filter_map(|trial| good(run, trial))
        .collect();
    let mut lines: Vec<Scaling> = Vec::new();
    for variant in plan
        .variants
        .iter()
        .filter(|variant| variant.study.load.open.is_none())
    {
        let mut own: Vec<&Good<'_>> = good
            .iter()
            .filter(|good| good.point.variant == variant.id)
            .collect();
        own.sort_by_key(|good| good.point.id);
        let shapes = grouped(&own, |point| (point.guests, u64::from(point.vcpus.0)));
        lines.extend(
            shapes
                .iter()
                .filter_map(|lot| line(variant, people(lot), lot)),
        );
        let each = grouped(&own, |point| (point.vcpus.0, users_each(point).to_bits()));
        lines.extend(
            each.iter()
                .filter_map(|lot| line(variant, Grows::Guests, lot)),
        );
        let single: Vec<&Good<'_>> = own
            .iter()
            .filter(|good| good.point.guests == 1)
            .copied()
            .collect();
        let dense = grouped(&single, |point| users_per_vcpu(point).to_bits());
        lines.extend(
            dense
                .iter()
                .filter_map(|lot| line(variant, Grows::Vcpus, lot)),
        );
    }
    lines.sort_by_key(|line| line.grows as u8);
    lines
}

/// Who grows in number in trials of one shape.
fn people(lot: &[&Good<'_>]) -> Grows {
    let orders = lot
        .first()
        .is_some_and(|good| good.point.database.orderentry().is_some());
    if orders {
        Grows::Terminals
    } else {
        Grows::Users
    }
}

/// Mean pause of a user for each order, s.
fn pause_s(variant: &Variant, lot: &[&Good<'_>]) -> f64 {
    if variant.study.workload.orderentry.is_none() {
        return variant.study.workload.think_time.as_secs_f64();
    }
    let pauses: Vec<f64> = lot.iter().filter_map(|good| good.pause_s).collect();
    pauses.iter().sum::<f64>() / pauses.len().max(1) as f64
}

fn good<'a>(run: &'a Run, trial: &'a TrialData) -> Option<Good<'a>> {
    let (record, measured) = trial.valid()?;
    let point = run
        .header
        .plan
        .points
        .iter()
        .find(|point| point.id == trial.row.trial.point)?;
    let orders_per_s = measured.orders_per_minute() / 60.0;
    let usable = point.rate_per_s.is_none()
        && orders_per_s.is_finite()
        && orders_per_s > 0.0
        && point.total_users() > 0;
    let busy =
        cpu::guest_cores(&record.resources, measured).map(|cores| cores / point.capacity_cpus);
    usable.then_some(Good {
        point,
        orders_per_s,
        pause_s: measured.pause_per_order_s(),
        busy: busy.filter(|busy| busy.is_finite()),
    })
}

fn users_each(point: &Point) -> f64 {
    f64::from(point.total_users()) / f64::from(point.guests)
}

fn users_per_vcpu(point: &Point) -> f64 {
    f64::from(point.total_users()) / point.vcpus.cpus()
}

/// Lots of equal key, in the order of their first point.
fn grouped<'a, K: PartialEq>(
    good: &[&'a Good<'a>],
    key: impl Fn(&Point) -> K,
) -> Vec<Vec<&'a Good<'a>>> {
    let mut lots: Vec<(K, Vec<&'a Good<'a>>)> = Vec::new();
    for trial in good {
        let own = key(trial.point);
        match lots.iter_mut().find(|(known, _)| *known == own) {
            Some((_, lot)) => lot.push(trial),
            None => lots.push((own, vec![trial])),
        }
    }
    lots.into_iter().map(|(_, lot)| lot).collect()
}

/// `None` with too few different loads.
fn line(variant: &Variant, grows: Grows, lot: &[&Good<'_>]) -> Option<Scaling> {
    let load = |point: &Point| match grows {
        Grows::Users | Grows::Terminals => f64::from(point.total_users()),
        Grows::Guests => f64::from(point.guests),
        Grows::Vcpus => point.vcpus.cpus(),
    };
    let runs = lot.iter().map(|good| Observation {
        n: load(good.point),
        x: good.orders_per_s,
    });
    let observations = Observations::new(runs.collect()).ok()?;
    let of_searches = lot
        .iter()
        .filter(|good| good.point.search.is_some())
        .count();
    // A search stays near its answer: from there no law can be told.
    let narrow = of_searches > 0 && observations.largest() < WIDE_ENOUGH * observations.smallest();
    if observations.loads().len() < FEWEST_LOADS || narrow {
        return None;
    }
    let at_largest: Vec<f64> = lot
        .iter()
        .filter(|good| load(good.point) == observations.largest())
        .filter_map(|good| good.busy)
        .collect();
    let options = Options {
        // Guests do not think, their users do: to the closed model they are units of work without a pause.
        think: if grows.are_people() {
            pause_s(variant, lot)
        } else {
            0.0
        },
        busiest: at_largest
            .into_iter()
            .reduce(f64::max)
            .map(|busy| busy.min(1.0)),
        ..Options::default()
    };
    let first = lot.first()?.point;
    let shape = match grows {
        Grows::Users | Grows::Terminals => format!("{} x {} vCPU", first.guests, first.vcpus),
        Grows::Guests => format!(
            "guests of {} vCPU with {} {} each",
            first.vcpus,
            format::trimmed(users_each(first)),
            first.people()
        ),
        Grows::Vcpus => format!(
            "1 guest with {} {} per vCPU",
            format::trimmed(users_per_vcpu(first)),
            first.people()
        ),
    };
    Some(Scaling {
        label: levels_after(&shape, &variant.levels),
        grows,
        judgement: judge(&observations, &options),
        steps: steps(&observations),
        of_searches,
        observations,
    })
}

fn steps(observations: &Observations) -> Vec<Step> {
    let loads = observations.loads();
    let Some(first) = loads.first() else {
        return Vec::new();
    };
    let step = |load: &rookery_model::fit::Load| Step {
        n: load.n,
        values: load.runs.iter().map(|x| 60.0 * x).collect(),
        speed_up: Ratio::of(&load.runs, &first.runs).filter(|_| load.n > first.n),
    };
    loads.iter().map(step).collect()
}

impl Step {
    /// Speed-up over what the load grew by.
    pub(crate) fn efficiency(&self, smallest: f64) -> Option<Ratio> {
        let grown = self.n / smallest;
        self.speed_up.map(|ratio| Ratio {
            value: ratio.value / grown,
            interval: ratio
                .interval
                .map(|(low, high)| (low / grown, high / grown)),
        })
    }
}

impl Scaling {
    /// The chosen law, if the data carry one.
    pub(crate) fn chosen(&self) -> Option<(&Candidate, &Fitted)> {
        let choice = self.judgement.choice()?;
        Some((choice, choice.fitted.as_ref()?))
    }

    /// Where the law bends: its peak, or the knee where queueing sets in, with the interval and its name. `None` where no number may be given.
    pub(crate) fn bend(&self) -> Option<(&'static str, f64, Option<Interval>)> {
        match self.chosen()? {
            (_, Fitted::Closed(fit)) => Some(("knee", fit.model.knee(), fit.knee)),
            (choice, Fitted::Law(fit)) => {
                let peak = fit.law.peak()?;
                let far = choice
                    .findings
                    .iter()
                    .any(|finding| finding.rule == Rule::PeakFar);
                (!far).then(|| {
                    (
                        "peak",
                        peak.n,
                        fit.peak_interval().map(|(_, interval)| interval),
                    )
                })
            }
        }
    }

    /// The largest throughput under the law, orders/min; `None` where it has no end.
    fn ceiling(&self) -> Option<f64> {
        let (_, fitted) = self.chosen()?;
        let per_s = match fitted {
            Fitted::Closed(fit) => fit.model.ceiling(),
            Fitted::Law(fit) => fit
                .law
                .limit()
                .or_else(|| self.bend().and(fit.law.peak()).map(|peak| peak.x))?,
        };
        Some(60.0 * per_s)
    }

    /// What the line says, shortly: the law, where it bends, how well it predicts.
    pub(crate) fn short(&self) -> String {
        let all = self.sentences();
        let long = |sentence: &&String| {
            ["No number of", "Of the data"]
                .iter()
                .any(|begin| sentence.starts_with(begin))
                || sentence.contains("is refused")
        };
        let told = all.iter().filter(|sentence| !long(sentence));
        told.cloned().collect::<Vec<_>>().join(" ")
    }

    /// What the line says, in sentences without its label.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let mut all = Vec::new();
        let unit = self.grows.unit();
        match self.chosen() {
            None => all.push("No law is named: the data carry none.".to_owned()),
            Some((choice, _)) => {
                all.push(format!(
                    "{} fits best{}.",
                    law_name(choice.model),
                    self.residuals(choice)
                ));
                if let Some((name, n, interval)) = self.bend() {
                    let interval = interval.map_or_else(String::new, |ends| {
                        format!(
                            " (95 % interval {} to {})",
                            format::load(ends.low.max(0.0)),
                            format::load(ends.high)
                        )
                    });
                    let what = if name == "knee" {
                        "Queueing sets in at"
                    } else {
                        "Throughput peaks at"
                    };
                    let beyond = if n > self.judgement.largest {
                        ", beyond the largest load that was tried"
                    } else {
                        ""
                    };
                    all.push(format!(
                        "{what} {} {unit}{interval}{beyond}.",
                        format::load(n)
                    ));
                }
                all.extend(self.ceiling().map(|x| {
                    format!(
                        "No number of {unit} gets beyond {} orders/min under this law.",
                        format::number(x)
                    )
                }));
            }
        }
        all.extend(self.predicted());
        all.extend(self.findings());
        all
    }

    fn residuals(&self, choice: &Candidate) -> String {
        choice
            .goodness
            .as_ref()
            .map_or_else(String::new, |goodness| {
                format!(
                    ": it misses trials by {} on average, by {} at most",
                    format::percent(goodness.mape),
                    format::percent(goodness.largest)
                )
            })
    }

    /// How well the held-out largest loads were predicted, beside the naive answer.
    fn predicted(&self) -> Option<String> {
        let held = self.judgement.held_out.as_ref()?;
        let error = self.judgement.choice()?.held_out?;
        let loads: Vec<String> = held.loads.iter().map(|load| format::load(*load)).collect();
        let verdict = if self.judgement.worse_than_naive() {
            "it has no predictive value beyond the loads that were tried"
        } else {
            "it predicts better than that"
        };
        Some(format!(
            "Fitted without the largest loads ({}), it predicts them within {} on average ({} at most); carrying the last value forward, the naive \
             baseline, is off by {}: {verdict}.",
            loads.join(", "),
            format::percent(error.mape),
            format::percent(error.largest),
            format::percent(held.baselines.last.mape)
        ))
    }

    /// Refusals of every law, and doubts about the data and the chosen one.
    fn findings(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        let chosen = self.judgement.chosen;
        for (place, candidate) in self.judgement.candidates.iter().enumerate() {
            let refusals: Vec<&str> = candidate
                .findings
                .iter()
                .filter(|finding| finding.severity == Severity::Refuse)
                .map(|finding| finding.text.as_str())
                .collect();
            if !refusals.is_empty() {
                all.push(format!(
                    "{} is refused: {}.",
                    law_name(candidate.model),
                    refusals.join("; ")
                ));
            }
            let doubts = candidate
                .findings
                .iter()
                .filter(|finding| finding.severity == Severity::Qualify && chosen == Some(place));
            all.extend(doubts.map(|finding| format!("Doubt: {}.", finding.text)));
        }
        all.extend(
            self.judgement
                .findings
                .iter()
                .map(|finding| format!("Of the data: {}.", finding.text)),
        );
        all
    }
}

/// The name of a law in sentences.
pub(crate) fn law_name(model: Model) -> &'static str {
    match model {
        Model::Linear => "The straight line",
        Model::Amdahl => "Amdahl's law",
        Model::Usl => "The universal scalability law",
        Model::Closed => "The closed queue",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        assert_eq!(Grows::Guests.counted(1.0), "1 guest");
        assert_eq!(Grows::Vcpus.counted(0.25), "0.25 vCPU");
        assert_eq!(Grows::Terminals.counted(40.0), "40 terminals");
    }
}
