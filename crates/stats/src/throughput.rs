//! Throughputs that follow from a measurement.

use crate::{GuestMeasurement, Latencies, Measurement, OperationMeasurement, Pacing, Window};

/// Name of the operation that stands for the whole order; it consists of other operations and is no request of its own.
pub const ORDER: &str = "order";

impl Window {
    /// Length, s; never negative.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        (self.end_s - self.start_s).max(0.0)
    }
}

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

    /// Whether it is the whole order rather than one request.
    #[must_use]
    pub fn is_order(&self) -> bool {
        self.name == ORDER
    }

    /// Of the started ones: failed or unfinished.
    #[must_use]
    pub fn bad(&self) -> u64 {
        self.failed.saturating_add(self.unfinished)
    }

    /// The latencies that stand as "response time": `service` for think pacing (no request is omitted when a user
    /// waits), `response` for cycle pacing and arrivals (the schedule does not wait).
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

    /// Single requests: every operation but the whole order.
    pub fn requests(&self) -> impl Iterator<Item = &OperationMeasurement> {
        self.operations
            .iter()
            .filter(|operation| !operation.is_order())
    }

    /// Orders completed in the window per minute, of order entry its nopm; 0 for an empty window.
    #[must_use]
    pub fn orders_per_minute(&self, window: &Window) -> f64 {
        if let Some(counters) = &self.orderentry {
            return counters.nopm;
        }
        60.0 * per_second(
            self.operation(ORDER).map_or(0, |order| order.completed),
            window,
        )
    }

    /// Successful requests completed in the window per second; 0 for an empty window.
    #[must_use]
    pub fn requests_per_second(&self, window: &Window) -> f64 {
        per_second(
            self.requests().map(|operation| operation.completed).sum(),
            window,
        )
    }
}

impl Measurement {
    /// Orders per minute of all guests.
    #[must_use]
    pub fn orders_per_minute(&self) -> f64 {
        self.guests
            .iter()
            .map(|guest| guest.orders_per_minute(&self.window))
            .sum()
    }

    /// Requests per second of all guests.
    #[must_use]
    pub fn requests_per_second(&self) -> f64 {
        self.guests
            .iter()
            .map(|guest| guest.requests_per_second(&self.window))
            .sum()
    }

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

fn per_second(count: u64, window: &Window) -> f64 {
    let seconds = window.seconds();
    if seconds > 0.0 {
        count as f64 / seconds
    } else {
        0.0
    }
}
