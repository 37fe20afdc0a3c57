//! The data of every figure, apart from any drawing, so that tests can pin them.

pub(crate) mod capacity;
pub(crate) mod ceiling;
pub(crate) mod consolidation;
pub(crate) mod data;
pub(crate) mod effects;
pub(crate) mod fairness;
pub(crate) mod layers;
pub(crate) mod matrix;
pub(crate) mod response_times;
pub(crate) mod scale_up;
pub(crate) mod scaling;
pub(crate) mod searches;
pub(crate) mod sweep;
pub(crate) mod tiles;
pub(crate) mod timeline;

use rookery_analysis::{Analysis, Run, storage::Ceiling};

use data::Figure;

/// Every figure that the run can carry, in the order of the page.
pub(crate) fn all(run: &Run, analysis: &Analysis, ceilings: &[Ceiling]) -> Vec<Figure> {
    let figures = [
        searches::capacity(run, analysis),
        searches::probes(run, analysis),
        layers::figure(run, analysis),
        effects::figure(run, analysis),
        scale_up::figure(run, analysis),
        scaling::figure(run, analysis),
        capacity::figure(run, analysis).or_else(|| consolidation::figure(run, analysis)),
        matrix::figure(run, analysis),
        ceiling::figure(run, analysis, ceilings),
        sweep::figure(ceilings),
        response_times::figure(run, analysis),
        response_times::distributions(run, analysis),
        timeline::figure(run),
        fairness::figure(run, analysis),
        tiles::figure(run, analysis),
    ];
    figures.into_iter().flatten().collect()
}
