//! Any bytes in the place of what a store holds as a blob or as JSON.

use rookery_stats::Latencies;
use rookery_workload::Counters;

pub(crate) fn stored(bytes: &[u8]) {
    if let Ok(latencies) = Latencies::from_blob(bytes, 0) {
        let p99 = latencies.percentile_us(99.0);
        assert_eq!(p99.is_some(), !latencies.is_empty());
        let again = Latencies::from_blob(&latencies.to_blob(), 0);
        assert!(again.is_ok_and(|again| again.count() == latencies.count()));
    }
    if let Ok(counters) = serde_json::from_slice::<Counters>(bytes) {
        assert!(serde_json::to_vec(&counters).is_ok());
    }
}
