//! The whole analysis of one run.

use rookery_stats::Ratio;
use rookery_store::{Store, StoreError, TrialStatus};
use rookery_study::StackKind;

use crate::{
    Run,
    baselines::{self, BaselineRatio},
    best::Best,
    capacity::{self, CapacityGroup},
    effects::Effects,
    estimate::{self, Estimate},
    layers::{self, LayeredPoint},
    loads::{self, LoadSummary},
    points::{self, PointSummary},
    scaling::{self, Scaling},
    schema::{Definitions, Describe, data},
    searches::{self, SearchRatio, SearchSummary},
    storage::StorageUse,
    tiles::{self, TileSummary},
    trust::Trust,
    weights::{self, WeightedGuests},
    wish::WishSummary,
};

/// The version of the printed form: it grows with every change that a reader of an older one would
/// stumble over.
pub const FORMAT: u32 = 1;

data! {
    /// What one stored run says, in numbers.
    #[derive(Clone, Debug)]
    pub struct Analysis {
        /// Version of this form.
        pub format: u32,
        /// Which run.
        pub run: RunInfo,
        /// The workload, and what its throughput counts.
        pub workload: WorkloadSummary,
        /// What became of the trials.
        pub trials: TrialCounts,
        /// One summary per point of the study, in the order of the plan; points that searches tried
        /// are not among them.
        pub points: Vec<PointSummary>,
        /// The points that lead.
        pub best: Best,
        /// What the searches found, in the order of the plan.
        pub searches: Vec<SearchSummary>,
        /// Searches of variants against that of the first variant, of the same guests.
        pub searches_across_variants: Vec<SearchRatio>,
        /// Searches of several guests against that of one guest of as many vCPUs.
        pub searches_against_one_big: Vec<SearchRatio>,
        /// Searches of layouts against those of the layouts that they name as their baselines.
        pub searches_against_baselines: Vec<SearchRatio>,
        /// Points of layouts against those of the layouts that they name as their baselines.
        pub baselines: Vec<BaselineRatio>,
        /// Points whose layouts have groups: what each group carried, their score, their fairness.
        /// The groups that have users stand among the points, too, each as a point of its own.
        pub tiles: Vec<TileSummary>,
        /// Guests on the same CPUs that have CPU weights: what each asked for and got.
        pub weights: Vec<WeightedGuests>,
        /// How throughput grows with clients, guests and vCPUs.
        pub scaling: Vec<Scaling>,
        /// Equal capacity in different splits.
        pub capacity: Vec<CapacityGroup>,
        /// What every level of every factor is worth; empty in a study without factors.
        pub effects: Effects,
        /// Points that stand on several kinds of guest, with what each kind costs.
        pub layers: Vec<LayeredPoint>,
        /// Requests to block devices.
        pub storage: StorageUse,
        /// How long databases took to be made.
        pub loads: Vec<LoadSummary>,
        /// Where the wish of the study was met; null where it has none.
        pub wish: Option<WishSummary>,
        /// How far to trust all this.
        pub trust: Trust,
    }
}

data! {
    /// A run as it is named.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct RunInfo {
        /// Its label.
        pub run_id: String,
        /// Title of its study.
        pub title: String,
        /// The question that the study asks.
        pub question: Option<String>,
        /// Creation, RFC 3339.
        pub created_at: String,
        /// Version of the program that made it.
        pub rookery_version: String,
        /// Seed of the study.
        pub seed: u64,
        /// Whether it was computed by a model: nothing was measured.
        pub simulated: bool,
        /// Whether it loaded databases and measured nothing else.
        pub loads_alone: bool,
    }
}

data! {
    /// A workload, and what its throughput counts.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct WorkloadSummary {
        /// Its name in the study file.
        pub kind: &'static str,
        /// Its name in prose.
        pub title: &'static str,
        /// What users do, in one line from the study's own parameters.
        pub description: String,
        /// A unit of work, which throughput counts: `order`.
        pub unit: &'static str,
        /// Units of work per minute in words: `orders/min`.
        pub rate: &'static str,
        /// Who makes the load of a closed loop: `users`, `terminals`.
        pub clients: &'static str,
        /// The metric that a trial is summed up by.
        pub headline: &'static str,
    }
}

data! {
    /// What became of the trials of a run.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct TrialCounts {
        /// Ended well.
        pub done: usize,
        /// Failed their own checks: in no average.
        pub void: usize,
        /// Could not be carried out.
        pub failed: usize,
        /// Begun and not ended.
        pub unfinished: usize,
        /// Not begun.
        pub not_run: usize,
    }
}

impl Analysis {
    /// Analyse a stored run.
    ///
    /// # Errors
    /// When the store is damaged.
    pub fn from_store(store: &Store) -> Result<Self, StoreError> {
        Ok(Self::from_run(&Run::read(store)?))
    }

    /// Analyse a run.
    #[must_use]
    pub fn from_run(run: &Run) -> Self {
        let study_points = run.header.plan.study_points();
        let mut points: Vec<PointSummary> = study_points
            .map(|point| points::of_point(run, point))
            .collect();
        set_efficiencies(&mut points);
        let searches = searches::searches(run);
        let layouts = &run.header.study.layouts;
        let layouts: Vec<String> = layouts.iter().map(|layout| layout.name.clone()).collect();
        let tiles = tiles::summaries(run, &points);
        Self {
            format: FORMAT,
            run: RunInfo::new(run),
            workload: WorkloadSummary::new(run),
            trials: TrialCounts::new(run),
            best: Best::from_points(&points, &layouts, &tiles),
            searches_across_variants: searches::across_variants(&searches),
            searches_against_one_big: searches::against_one_big(&searches),
            searches_against_baselines: baselines::of_searches(&run.header.study, &searches),
            baselines: baselines::of_points(&run.header.study, &points),
            searches,
            tiles,
            weights: weights::of_run(run),
            scaling: scaling::lines(run),
            capacity: capacity::groups(&points),
            effects: Effects::from_run(run),
            layers: layers::across(&[run]),
            storage: StorageUse::from_run(run),
            loads: loads::of_run(run),
            wish: WishSummary::from_run(run),
            trust: Trust::from_run(run),
            points,
        }
    }

    /// The summary of a point.
    #[must_use]
    pub fn point(&self, id: u32) -> Option<&PointSummary> {
        self.points.iter().find(|summary| summary.point.id == id)
    }

    /// A search by its number.
    #[must_use]
    pub fn search(&self, id: u32) -> Option<&SearchSummary> {
        self.searches.iter().find(|search| search.id == id)
    }
}

/// The throughput of each point over that of its baseline.
fn set_efficiencies(points: &mut [PointSummary]) {
    let rates: Vec<(u32, Option<Estimate>, Vec<f64>)> = points
        .iter()
        .map(|summary| (summary.point.id, summary.per_minute, summary.rates()))
        .collect();
    for (summary, (id, own, values)) in points.iter_mut().zip(&rates) {
        let baseline = summary.point.baseline.filter(|baseline| baseline != id);
        let of_baseline = rates.iter().find(|(id, ..)| Some(*id) == baseline);
        summary.efficiency = of_baseline.and_then(|(_, base, base_values)| -> Option<Ratio> {
            estimate::ratio((own.as_ref()?, values), (base.as_ref()?, base_values))
        });
    }
}

impl RunInfo {
    fn new(run: &Run) -> Self {
        let header = &run.header;
        Self {
            run_id: header.run_id.clone(),
            title: header.title.clone(),
            question: header.study.question.clone(),
            created_at: header.created_at.clone(),
            rookery_version: header.rookery_version.clone(),
            seed: header.study.seed,
            simulated: header.study.stack.kind() == StackKind::Simulated,
            loads_alone: loads::alone(run),
        }
    }
}

impl WorkloadSummary {
    fn new(run: &Run) -> Self {
        let workload = &run.header.study.workload;
        let info = workload.kind().info();
        Self {
            kind: info.name,
            title: info.title,
            description: workload.describe(),
            unit: info.unit.singular,
            rate: info.unit.rate,
            clients: info.clients.plural,
            headline: info.headline,
        }
    }
}

impl TrialCounts {
    fn new(run: &Run) -> Self {
        Self {
            done: run.count(TrialStatus::Done),
            void: run.count(TrialStatus::Void),
            failed: run.count(TrialStatus::Failed),
            unfinished: run.count(TrialStatus::Running),
            not_run: run.count(TrialStatus::Planned),
        }
    }
}

/// JSON Schema (draft 2020-12) of an [`Analysis`] as it is printed.
#[must_use]
pub fn json_schema() -> serde_json::Value {
    let mut definitions = Definitions::default();
    let whole = Analysis::describe(&mut definitions);
    serde_json::json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Rookery report",
        "$ref": whole["$ref"],
        "$defs": definitions.into_json(),
    })
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "the tests read stored runs and write the schema"
)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    /// The stored schema; `ROOKERY_UPDATE=1` writes it anew.
    #[test]
    fn the_schema_in_the_documents_is_current() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/report-schema.json");
        let current = serde_json::to_string_pretty(&json_schema()).expect("JSON") + "\n";
        if std::env::var_os("ROOKERY_UPDATE").is_some() {
            fs::write(&path, &current).expect("writable");
        }
        assert!(
            fs::read_to_string(&path).is_ok_and(|stored| stored == current),
            "docs/report-schema.json is out of date: run `ROOKERY_UPDATE=1 cargo test -p \
             rookery-analysis schema`"
        );
    }

    #[test]
    fn stored_runs_are_printed_by_the_schema() {
        let schema = json_schema();
        let validator = jsonschema::validator_for(&schema).expect("a valid schema");
        for name in ["bare", "mariadb", "search", "layers", "void", "open"] {
            let file = format!("../store/tests/data/v5/{name}.sqlite");
            let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
            let directory = tempfile::tempdir().expect("a directory");
            let copy = directory.path().join("run.sqlite");
            fs::copy(stored, &copy).expect("a stored run");
            let store = Store::open_read_only(&copy).expect("a store");
            let analysis = Analysis::from_store(&store).expect("a whole run");
            let printed = serde_json::to_string(&analysis).expect("JSON");
            let read: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
            let errors: Vec<String> = validator
                .iter_errors(&read)
                .map(|error| format!("{} at {}", error, error.instance_path()))
                .collect();
            assert!(errors.is_empty(), "{name}: {errors:#?}");
            assert_eq!(read["format"], FORMAT);
        }
    }
}
