//! The answer of a run: what its workload answers, in its place among what all have in common.

use rookery_analysis::{Analysis, Run};

use crate::{prose, workloads};

/// Its sentences.
pub(crate) fn answer(run: &Run, analysis: &Analysis) -> Vec<String> {
    prose::answer::answer(run, analysis, workloads::answer(run, analysis))
}
