//! The keys of `[workload]` that only the sample workload has.

use std::time::Duration;

use rookery_workload::{
    DelayDistribution,
    sample::{OPERATION_COUNT, TransitionMatrix},
};

use super::{
    super::{Pace, WorkloadKind, web_distribution, web_pacing},
    SampleUse,
};
use crate::{
    grammar::{
        Context, keys,
        kinds::{Choice, Count, Matrix, Time, Whole, WholeMemory},
    },
    problem::Code,
};

/// Records of each guest.
const RECORDS: Count = Count {
    noun: "records",
    what: "number of records",
    most: super::MOST_RECORDS,
    example: "\"1000 per guest\"",
};

/// The most that the server takes, MiB: 1 TiB.
const MOST_WORKING_SET_MIB: u64 = 1 << 20;

keys! {
    /// Keys of the sample workload.
    SampleKeys {
        /// Records that each guest holds before the load.
        records: Count = RECORDS, Default("\"1000 per guest\"");
        /// Length of each record in bytes.
        record_bytes: Whole<u32> = Whole { min: 1, max: 1024 }, Default("64");
        /// Records in a list.
        list_length: Whole<u32> = Whole { min: 1, max: 100 }, Default("10");
        /// Memory that the requests to a server touch in turn, a 64th each: what a guest needs
        /// beyond the server itself.
        working_set: WholeMemory = WholeMemory, Optional("none");
        /// Mean think time between the operations of a user; with cycle pacing the cycle
        /// time.
        think_time: Time = Time { min: Duration::ZERO, max: Duration::from_secs(3600), example: "250ms" }, Default("\"0s\"");
        /// How think times scatter about their mean.
        think_distribution: Choice<DelayDistribution> = Choice::NEW, Optional("\"uniform\"");
        /// Which operation follows which: one row each for `read`, `list` and `write`, with the
        /// probabilities of the next `read`, `list` and `write`; every row sums to 1.
        matrix: Matrix<TransitionMatrix, OPERATION_COUNT> = Matrix::new(), Default("[[0.6, 0.2, 0.2], [0.7, 0.1, 0.2], [0.4, 0.4, 0.2]]");
    }
}

impl SampleKeys {
    pub(crate) fn build(self, pace: Option<Pace>, context: &mut Context) -> Option<SampleUse> {
        let pacing = web_pacing(WorkloadKind::Sample, pace, self.think_time, context)?;
        if self
            .working_set
            .is_some_and(|mib| mib > MOST_WORKING_SET_MIB)
        {
            let span = context.spans.nearest("workload.working_set");
            let message = "`workload.working_set` is more than 1TiB";
            return context.refuse(Code::OutOfRange, span, message, "write a smaller one");
        }
        Some(SampleUse {
            records: self.records?,
            record_bytes: self.record_bytes?,
            list_length: self.list_length?,
            working_set_mib: self.working_set.unwrap_or(0),
            think_time: self.think_time?,
            think_distribution: web_distribution(pacing, self.think_distribution, context)?,
            pacing,
            matrix: self.matrix?,
        })
    }

    pub(crate) fn from_use(wanted: &SampleUse) -> Self {
        Self {
            records: Some(wanted.records.clone()),
            record_bytes: Some(wanted.record_bytes),
            list_length: Some(wanted.list_length),
            working_set: Some(wanted.working_set_mib).filter(|mib| *mib > 0),
            think_time: Some(wanted.think_time),
            think_distribution: Some(wanted.think_distribution)
                .filter(|distribution| *distribution != DelayDistribution::default()),
            matrix: Some(wanted.matrix),
        }
    }
}

#[cfg(test)]
mod tests {
    use rookery_stats::Pacing;

    use super::*;
    use crate::{Workload, sections::testing::*};

    const SAMPLE: &str = "[stack]\nkind = \"bundled\"\n[workload]\nkind = \"sample\"\n";

    #[test]
    fn keys_that_another_workload_has_too_are_its_own() {
        let more = format!("{SAMPLE}think_time = \"20ms\"\npacing = \"cycle\"\n");
        let Workload::Sample(workload) = with(&more).expect("valid").workload else {
            panic!("another workload");
        };
        assert_eq!(workload.think_time, Duration::from_millis(20));
        assert_eq!(workload.pacing, Pacing::Cycle);
        assert_eq!(workload.matrix, TransitionMatrix::default());
    }

    #[test]
    fn keys_of_other_workloads_are_refused() {
        assert_eq!(
            refusal(&format!("{SAMPLE}searches = 3\n")),
            "study::contradiction: `workload.searches` belongs to `kind = \"dvdstore\"`, but \
             `workload.kind` is \"sample\""
        );
        assert_eq!(
            refusal("[workload]\nkind = \"dvdstore\"\nlist_length = 3\n"),
            "study::contradiction: `workload.list_length` belongs to `kind = \"sample\"`, but \
             `workload.kind` is \"dvdstore\""
        );
    }

    #[test]
    fn rows_that_do_not_sum_to_one_are_refused() {
        assert_eq!(
            refusal(&format!(
                "{SAMPLE}matrix = [[0.5, 0.3, 0.3], [1, 0, 0], [1, 0, 0]]\n"
            )),
            "study::malformed: `workload.matrix`: the row of `read` sums to 1.1, not to 1"
        );
        assert!(refusal(&format!("{SAMPLE}matrix = [[1, 0], [1, 0]]\n")).contains("matrix"));
    }
}
