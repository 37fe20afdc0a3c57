//! How long databases took to be made: by the trials of a run that loads them, and by the builders
//! of the templates on which the guests of other runs stand.

use rookery_stats::DatabaseLoad;
use rookery_store::{LoadPlace, LoadRecord};
use rookery_study::Measure;

use crate::{Run, TrialData, estimate::Estimate, mean::mean, schema::data};

data! {
    /// How long a database took to be made.
    #[derive(Clone, Debug, PartialEq)]
    pub struct LoadSummary {
        /// The point whose trials loaded it; null of a template.
        pub point: Option<u32>,
        /// Short name of the point; the digest of the template.
        pub label: String,
        /// The database in words.
        pub database: String,
        /// Loads behind the numbers: trials, or 1 of a template.
        pub count: usize,
        /// Whether it was loaded in this run, and not before it.
        pub here: bool,
        /// Create, rows and indexes, s; of several guests the last of them.
        pub total_s: Option<Estimate>,
        /// The empty database, s.
        pub create_s: f64,
        /// The rows, s.
        pub rows_s: f64,
        /// Keys, indexes and statistics after the last row, s.
        pub index_s: f64,
        /// Checks of what arrived, s.
        pub check_s: f64,
        /// The orderly stop, s.
        pub close_s: f64,
        /// Rows of all guests.
        pub rows: u64,
        /// Bytes of all guests; 0 where nobody counts them.
        pub bytes: u64,
        /// Rows per second while rows were made.
        pub rows_per_s: Option<f64>,
        /// Bytes per second of the whole load.
        pub bytes_per_s: Option<f64>,
    }
}

/// What became of the databases of a good trial that loads them, all guests together; nothing in
/// other runs.
pub(crate) fn of_trial(trial: &TrialData) -> Option<DatabaseLoad> {
    let loads = &trial.done()?.loads;
    let of_guest = |own: &LoadRecord| matches!(own.place, LoadPlace::Guest(_)).then_some(own.load);
    DatabaseLoad::together(&loads.iter().filter_map(of_guest).collect::<Vec<_>>())
}

/// Whether a run loads databases and measures nothing else.
pub(crate) fn alone(run: &Run) -> bool {
    run.header.study.measure == Measure::LoadTime
}

/// All that a run knows of loads: one summary for each point of a run that loads, one for each
/// template of another.
pub(crate) fn of_run(run: &Run) -> Vec<LoadSummary> {
    let plan = &run.header.plan;
    let of_points = plan.study_points().filter_map(|point| {
        let own = run
            .trials
            .iter()
            .filter(|trial| trial.row.trial.point == point.id);
        let loads: Vec<DatabaseLoad> = own.filter_map(of_trial).collect();
        let summary = summary(&loads)?;
        Some(LoadSummary {
            point: Some(point.id),
            label: point.label(),
            database: point.only_group().database.to_string(),
            here: true,
            ..summary
        })
    });
    of_points.chain(of_templates(run)).collect()
}

fn of_templates(run: &Run) -> Vec<LoadSummary> {
    let mut all: Vec<LoadSummary> = Vec::new();
    let records = run.trials.iter().filter_map(|trial| trial.record.as_ref());
    for own in records.flat_map(|record| &record.loads) {
        let LoadPlace::Template { digest, built } = &own.place else {
            continue;
        };
        match all.iter_mut().find(|known| known.label == *digest) {
            Some(known) => known.here |= built,
            None => all.extend(summary(&[own.load]).map(|summary| LoadSummary {
                label: digest.clone(),
                database: own.database.clone(),
                here: *built,
                ..summary
            })),
        }
    }
    all
}

/// A summary without names.
fn summary(loads: &[DatabaseLoad]) -> Option<LoadSummary> {
    let over = |of: &dyn Fn(&DatabaseLoad) -> f64| {
        mean(&loads.iter().map(of).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    };
    let rate = |of: fn(&DatabaseLoad) -> Option<f64>| {
        mean(&loads.iter().filter_map(of).collect::<Vec<_>>())
    };
    let totals: Vec<f64> = loads.iter().map(DatabaseLoad::total_s).collect();
    let last = loads.last()?;
    Some(LoadSummary {
        point: None,
        label: String::new(),
        database: String::new(),
        count: loads.len(),
        here: false,
        total_s: Estimate::from_values(&totals, None, Vec::new),
        create_s: over(&|load| load.create_s),
        rows_s: over(&|load| load.rows_s),
        index_s: over(&|load| load.index_s),
        check_s: over(&|load| load.check_s),
        close_s: over(&|load| load.close_s),
        rows: last.rows,
        bytes: last.bytes,
        rows_per_s: rate(DatabaseLoad::rows_per_s),
        bytes_per_s: rate(DatabaseLoad::bytes_per_s),
    })
}
