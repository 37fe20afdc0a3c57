//! A histogram as it travels: in the V2 encoding of HdrHistogram.

use rookery_stats::{BlobError, Latencies};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// One histogram.
#[derive(Serialize, Deserialize)]
struct Blob {
    blob: Vec<u8>,
    overflow: u64,
}

pub(crate) fn serialize<S: Serializer>(
    latencies: &Latencies,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let blob = Blob {
        blob: latencies.to_blob(),
        overflow: latencies.overflow(),
    };
    blob.serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Latencies, D::Error> {
    let Blob { blob, overflow } = Blob::deserialize(deserializer)?;
    Latencies::from_blob(&blob, overflow).map_err(|error: BlobError| D::Error::custom(error))
}
