//! Operations and latencies of a measurement.

use crate::{GuestMeasurement, Latencies, Measurement, OperationMeasurement, Pacing};

impl OperationMeasurement {
    /// An operation that was never started.
    #[must_use]
    pub fn empty(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            started: 0,
            completed: 0,
            succeeded: 0,
            failed: 0,
            unfinished: 0,
            service: Latencies::new(),
            response: Latencies::new(),
        }
    }

    /// Of the started ones: failed or unfinished.
    #[must_use]
    pub fn bad(&self) -> u64 {
        self.failed.saturating_add(self.unfinished)
    }

    /// The latencies that stand as "response time": `service` for think pacing (no request is
    /// omitted when a user waits), `response` for cycle pacing and arrivals (the schedule does not
    /// wait).
    #[must_use]
    pub fn headline(&self, pacing: Pacing) -> &Latencies {
        match pacing {
            Pacing::Think => &self.service,
            Pacing::Cycle | Pacing::Arrivals => &self.response,
        }
    }
}

impl GuestMeasurement {
    /// The operation of this name.
    #[must_use]
    pub fn operation(&self, name: &str) -> Option<&OperationMeasurement> {
        self.operations
            .iter()
            .find(|operation| operation.name == name)
    }
}

impl Measurement {
    /// Latencies of one operation over all guests, of the kind that stands as response time.
    #[must_use]
    pub fn latencies(&self, operation: &str) -> Latencies {
        let mut all = Latencies::new();
        for operation in self
            .guests
            .iter()
            .filter_map(|guest| guest.operation(operation))
        {
            all.merge(operation.headline(self.pacing));
        }
        all
    }

    /// Names of all operations, in the order of their first appearance.
    #[must_use]
    pub fn operation_names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for operation in self.guests.iter().flat_map(|guest| &guest.operations) {
            if !names.contains(&operation.name.as_str()) {
                names.push(operation.name.as_str());
            }
        }
        names
    }

    /// Started, and failed or unfinished, requests of all guests.
    #[must_use]
    pub fn started_and_bad(&self) -> (u64, u64) {
        self.guests
            .iter()
            .flat_map(GuestMeasurement::requests)
            .fold((0, 0), |(started, bad), operation| {
                (started + operation.started, bad + operation.bad())
            })
    }
}
