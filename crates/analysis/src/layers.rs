//! What each layer costs: the same point on bare processes, in containers and in virtual machines.
//!
//! [`across`] finds the points of one run, or of several, that differ in the kind of their guests
//! alone, and puts their trials beside each other. Void and failed trials are counted and never
//! averaged.
//!
//! * Ratios of throughput and of percentiles are those of [`rookery_stats::effect`]: within blocks
//!   where the kinds are levels of one study (their trials ran back to back), else between the
//!   means of the kinds.
//! * CPU time per operation = cores that the host counts for the guests, over operations per
//!   second, both over the measured window. What a layer adds to the layer below, its *tax*, is a
//!   difference of these, and its interval Student's t over blocks, or Welch's where there are
//!   none. Being a cost of one operation it may be compared at any load; a throughput may not, so
//!   that [`Limit`] says what limited it.

mod group;
mod inside;
mod limit;
mod sample;
mod tax;

pub use inside::Inside;
pub use limit::Limit;
pub use tax::AddedCost;

use std::collections::BTreeMap;

use rookery_stats::{Contrast, CpuParts, Design, Observation, Ratio, effect};
use rookery_store::TrialStatus;
use rookery_study::GuestKind;

use self::{
    group::Site,
    sample::{PERCENTILES, Sample},
};
use crate::{Run, TrialData, estimate::Estimate, mean::mean, schema::data};

/// The kinds that are layers, the lowest first: each adds to what is below it.
pub const KINDS: [GuestKind; 3] = [GuestKind::Bare, GuestKind::Container, GuestKind::Vm];

data! {
    /// One point on two kinds of guest or more.
    #[derive(Clone, Debug, PartialEq)]
    pub struct LayeredPoint {
        /// Its short name, without the kind.
        pub label: String,
        /// What an operation is: `order`, or `new-order`.
        pub operation: &'static str,
        /// Whether that is one request, beside which others belong to a unit of work.
        pub is_request: bool,
        /// What throughput counts, one of it: `order`.
        pub unit: &'static str,
        /// So many of it per minute: `orders/min`.
        pub rate: &'static str,
        /// The kinds, the lowest first; at least two.
        pub layers: Vec<Layer>,
    }
}

data! {
    /// A point on one kind of guest.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Layer {
        /// The kind.
        pub kind: GuestKind,
        /// What executes the instructions of a virtual machine: `KVM` or `TCG`, as it was read
        /// back; `None` for other kinds.
        pub accelerator: Option<String>,
        /// Trials that ended well.
        pub trials: usize,
        /// Trials that were void or failed: left out.
        pub left_out: usize,
        /// Operations per minute of all guests.
        pub per_minute: Option<Estimate>,
        /// Its ratio to the lowest kind.
        pub throughput_ratio: Option<Ratio>,
        /// Response times of the operation.
        pub percentiles: Vec<LayerPercentile>,
        /// CPU time of the host in the guests for one operation, us.
        pub cpu_us: Option<Estimate>,
        /// Its ratio to the lowest kind.
        pub cpu_ratio: Option<Ratio>,
        /// Where that time went, us for one operation; `None` where the host did not tell of every
        /// guest in every trial.
        pub parts_us: Option<CpuParts>,
        /// What the host used beside guests and driver, us for one operation: its kernel's own
        /// threads, and whatever else ran.
        pub elsewhere_us: Option<Estimate>,
        /// What it costs beyond the layer below, us of CPU for one operation.
        pub tax_us: Option<AddedCost>,
        /// What limited the throughput; `None` without trials.
        pub limit: Option<Limit>,
        /// What machines say of themselves, against what the host counts; `None` for other kinds.
        pub inside: Option<Inside>,
    }
}

data! {
    /// A percentile of response times.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct LayerPercentile {
        /// Which, 0 to 100.
        pub p: f64,
        /// Mean over trials, ms.
        pub ms: Option<Estimate>,
        /// Its ratio to the lowest kind.
        pub ratio: Option<Ratio>,
    }
}

impl Layer {
    /// Its name: `bare`, `container`, `vm (TCG)`.
    #[must_use]
    pub fn name(&self) -> String {
        let kind = match self.kind {
            GuestKind::Bare => "bare",
            GuestKind::Container => "container",
            GuestKind::Vm => "vm",
            GuestKind::Fake => "fake",
            GuestKind::External => "external",
        };
        match &self.accelerator {
            Some(accelerator) => format!("{kind} ({accelerator})"),
            None => kind.to_owned(),
        }
    }

    /// Whether its instructions are translated, which says nothing of machines on a processor that
    /// carries them.
    #[must_use]
    pub fn translated(&self) -> bool {
        self.accelerator.as_deref() == Some("TCG")
    }
}

/// Every point of the runs that is on two kinds or more, with trials that ended well on two at
/// least; in the order of the first run's plan.
#[must_use]
pub fn across(runs: &[&Run]) -> Vec<LayeredPoint> {
    group::groups(runs).iter().filter_map(layered).collect()
}

fn layered(group: &group::Group<'_>) -> Option<LayeredPoint> {
    let samples: Vec<(GuestKind, Vec<Sample>)> = KINDS
        .into_iter()
        .filter(|kind| group.sites.iter().any(|site| site.kind == *kind))
        .map(|kind| (kind, samples(&group.sites, kind)))
        .collect();
    if samples.iter().filter(|(_, own)| !own.is_empty()).count() < 2 {
        return None;
    }
    let mut layers = Vec::new();
    for (index, (kind, own)) in samples.iter().enumerate() {
        // The nearest layer below that has trials; the lowest has none.
        let below = samples[..index]
            .iter()
            .rev()
            .find(|(_, below)| !below.is_empty());
        let lowest = samples[..index]
            .iter()
            .find(|(_, lowest)| !lowest.is_empty());
        layers.push(layer(
            group,
            *kind,
            own,
            below.map(|(_, own)| own),
            lowest.map(|(_, own)| own),
        ));
    }
    let info = samples
        .iter()
        .find_map(|(_, own)| Some(own.first()?.info))?;
    Some(LayeredPoint {
        label: group.label.clone(),
        operation: info.main_operation(),
        is_request: info.is_request(info.main_operation()),
        unit: info.unit.singular,
        rate: info.unit.rate,
        layers,
    })
}

/// The good trials of one kind.
fn samples(sites: &[Site<'_>], kind: GuestKind) -> Vec<Sample> {
    let own = sites.iter().filter(|site| site.kind == kind);
    own.flat_map(|site| trials(site).filter_map(move |trial| Sample::from_trial(site, trial)))
        .collect()
}

fn trials<'a>(site: &'a Site<'_>) -> impl Iterator<Item = &'a TrialData> {
    site.run
        .trials
        .iter()
        .filter(move |trial| trial.row.trial.point == site.point.id)
}

fn layer(
    group: &group::Group<'_>,
    kind: GuestKind,
    own: &[Sample],
    below: Option<&Vec<Sample>>,
    lowest: Option<&Vec<Sample>>,
) -> Layer {
    let ratio =
        |of: &dyn Fn(&Sample) -> Option<f64>| lowest.and_then(|lowest| ratio(lowest, own, of));
    let bad =
        |trial: &&TrialData| matches!(trial.row.status, TrialStatus::Void | TrialStatus::Failed);
    let sites = group.sites.iter().filter(|site| site.kind == kind);
    let percentile = |(index, p): (usize, &f64)| {
        let of = move |sample: &Sample| sample.percentiles_ms[index];
        LayerPercentile {
            p: *p,
            ms: estimate(own, of),
            ratio: ratio(&of),
        }
    };
    Layer {
        kind,
        accelerator: own.iter().find_map(|sample| sample.accelerator.clone()),
        trials: own.len(),
        left_out: sites.map(|site| trials(site).filter(bad).count()).sum(),
        per_minute: estimate(own, |sample| Some(sample.per_minute)),
        throughput_ratio: ratio(&|sample| Some(sample.per_minute)),
        percentiles: PERCENTILES.iter().enumerate().map(percentile).collect(),
        cpu_us: estimate(own, |sample| sample.cpu_us),
        cpu_ratio: ratio(&|sample| sample.cpu_us),
        parts_us: parts(own),
        elsewhere_us: estimate(own, |sample| sample.elsewhere_us),
        tax_us: below.and_then(|below| tax::of(&costs(below), &costs(own))),
        limit: limit::of(&own.iter().map(|sample| &sample.used).collect::<Vec<_>>()),
        inside: inside::mean_of(
            &own.iter()
                .filter_map(|sample| sample.inside)
                .collect::<Vec<_>>(),
        ),
    }
}

fn estimate(samples: &[Sample], of: impl Fn(&Sample) -> Option<f64>) -> Option<Estimate> {
    let values: Vec<f64> = samples.iter().filter_map(of).collect();
    Estimate::from_values(&values, None, Vec::new)
}

/// The CPU time per operation of every trial, by block.
fn costs(samples: &[Sample]) -> Vec<(u64, f64)> {
    samples
        .iter()
        .filter_map(|sample| Some((sample.block, sample.cpu_us?)))
        .collect()
}

/// Means of the parts; nothing unless every trial has them.
fn parts(samples: &[Sample]) -> Option<CpuParts> {
    let all: Option<Vec<CpuParts>> = samples.iter().map(|sample| sample.parts_us).collect();
    let all = all?;
    let mean = |of: fn(&CpuParts) -> f64| mean(&all.iter().map(of).collect::<Vec<f64>>());
    Some(CpuParts {
        user: mean(|parts| parts.user)?,
        system: mean(|parts| parts.system)?,
        guest: mean(|parts| parts.guest)?,
        emulator: mean(|parts| parts.emulator)?,
    })
}

/// The ratio of a metric to that of the lowest layer.
fn ratio(lowest: &[Sample], own: &[Sample], of: &dyn Fn(&Sample) -> Option<f64>) -> Option<Ratio> {
    let mut blocks: BTreeMap<u64, u32> = BTreeMap::new();
    for sample in lowest.iter().chain(own) {
        let next = u32::try_from(blocks.len()).ok()?;
        blocks.entry(sample.block).or_insert(next);
    }
    let observation = |sample: &Sample, level: u32| {
        Some(Observation {
            block: *blocks.get(&sample.block)?,
            stratum: 0,
            levels: vec![level],
            value: of(sample)?,
        })
    };
    let below = lowest.iter().filter_map(|sample| observation(sample, 0));
    let observations: Vec<Observation> = below
        .chain(own.iter().filter_map(|sample| observation(sample, 1)))
        .collect();
    let contrast = Contrast {
        factor: 0,
        reference: 0,
        level: 1,
    };
    let found = effect(
        &observations,
        &Design::new(vec![vec![0], vec![1]]),
        contrast,
    )?;
    Some(Ratio {
        value: found.ratio,
        interval: found.interval,
    })
}

#[cfg(test)]
mod tests;
