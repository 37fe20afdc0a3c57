//! A measurement as it travels from a driver to the lab: with its histograms, which
//! [`Measurement`] itself leaves out of JSON because the store keeps them as blobs.

use rookery_stats::{BlobError, Latencies, Measurement};
use serde::{Deserialize, Serialize};

/// A measurement with its histograms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasurementMessage {
    measurement: Measurement,
    /// By guest and operation.
    histograms: Vec<Vec<OperationHistograms>>,
}

/// The histograms of one operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct OperationHistograms {
    service: HistogramBlob,
    response: HistogramBlob,
}

/// One histogram in the V2 encoding of HdrHistogram.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct HistogramBlob {
    blob: Vec<u8>,
    overflow: u64,
}

/// A message that is no measurement.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    /// There are histograms of more or fewer operations than were measured.
    #[error("the measurement of a driver has histograms of other operations than it measured")]
    Operations,
    /// A histogram is damaged.
    #[error("the measurement of a driver has a damaged histogram")]
    Histogram(#[from] BlobError),
}

impl HistogramBlob {
    fn new(latencies: &Latencies) -> Self {
        Self {
            blob: latencies.to_blob(),
            overflow: latencies.overflow(),
        }
    }

    fn latencies(&self) -> Result<Latencies, BlobError> {
        Latencies::from_blob(&self.blob, self.overflow)
    }
}

impl From<Measurement> for MeasurementMessage {
    fn from(measurement: Measurement) -> Self {
        let histograms = measurement
            .guests
            .iter()
            .map(|guest| {
                guest
                    .operations
                    .iter()
                    .map(|operation| OperationHistograms {
                        service: HistogramBlob::new(&operation.service),
                        response: HistogramBlob::new(&operation.response),
                    })
                    .collect()
            })
            .collect();
        Self {
            measurement,
            histograms,
        }
    }
}

impl TryFrom<MeasurementMessage> for Measurement {
    type Error = MessageError;

    /// # Errors
    /// When the histograms are not those of the measurement, or are damaged.
    fn try_from(message: MeasurementMessage) -> Result<Self, MessageError> {
        let MeasurementMessage {
            mut measurement,
            histograms,
        } = message;
        if histograms.len() != measurement.guests.len() {
            return Err(MessageError::Operations);
        }
        for (guest, histograms) in measurement.guests.iter_mut().zip(&histograms) {
            if histograms.len() != guest.operations.len() {
                return Err(MessageError::Operations);
            }
            for (operation, histograms) in guest.operations.iter_mut().zip(histograms) {
                operation.service = histograms.service.latencies()?;
                operation.response = histograms.response.latencies()?;
            }
        }
        Ok(measurement)
    }
}
