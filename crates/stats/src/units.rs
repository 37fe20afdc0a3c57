//! Units of work of a measurement, whatever its workload: what the workload's
//! [`WorkloadInfo`] and counters say.

use rookery_workload::{UnitRates, Window, WorkloadInfo, WorkloadKind};

use crate::{GuestMeasurement, Latencies, Measurement, OperationMeasurement};

impl GuestMeasurement {
    /// What its workload says of itself.
    #[must_use]
    pub fn info(&self) -> &'static WorkloadInfo {
        self.counters.kind().info()
    }

    /// The operation whose completions are units of work.
    #[must_use]
    pub fn main_operation(&self) -> &'static str {
        self.info().main_operation()
    }

    /// Single requests: every operation but a unit of work that consists of several.
    pub fn requests(&self) -> impl Iterator<Item = &OperationMeasurement> {
        let info = self.info();
        self.operations
            .iter()
            .filter(move |operation| info.is_request(&operation.name))
    }

    /// What one cycle of a user consists of: the unit of work where that is several requests, else
    /// any request.
    pub fn cycle_operations(&self) -> impl Iterator<Item = &OperationMeasurement> {
        let info = self.info();
        let whole = self
            .operations
            .iter()
            .any(|operation| !info.is_request(&operation.name));
        self.operations
            .iter()
            .filter(move |operation| whole != info.is_request(&operation.name))
    }

    /// Units of work per minute of the window, by the workload's own count where it has one; 0 for
    /// an empty window.
    #[must_use]
    pub fn units_per_minute(&self, window: &Window) -> f64 {
        if let Some(rates) = self.counters.unit_rates() {
            return rates.units_per_minute;
        }
        let completed = self
            .operation(self.main_operation())
            .map_or(0, |unit| unit.completed);
        60.0 * per_second(completed, window)
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
    /// The workload of its guests; `None` without guests.
    #[must_use]
    pub fn workload(&self) -> Option<WorkloadKind> {
        self.guests.first().map(|guest| guest.counters.kind())
    }

    /// What the workload of its guests says of itself; `None` without guests.
    #[must_use]
    pub fn info(&self) -> Option<&'static WorkloadInfo> {
        self.workload().map(WorkloadKind::info)
    }

    /// The operation whose completions are units of work; empty without guests.
    #[must_use]
    pub fn main_operation(&self) -> &'static str {
        self.info().map_or("", WorkloadInfo::main_operation)
    }

    /// The names of operations that are single requests: all but a unit of work that consists of
    /// several.
    #[must_use]
    pub fn request_names(&self) -> Vec<&str> {
        let is_request = |name: &&str| self.info().is_none_or(|info| info.is_request(name));
        self.operation_names()
            .into_iter()
            .filter(is_request)
            .collect()
    }

    /// Units of work per minute of all guests.
    #[must_use]
    pub fn units_per_minute(&self) -> f64 {
        self.guests
            .iter()
            .map(|guest| guest.units_per_minute(&self.window))
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

    /// Requests that go with one unit of work, over all guests; `None` of workloads whose unit of
    /// work is timed as a whole, and where none was completed.
    #[must_use]
    pub fn requests_per_unit(&self) -> Option<f64> {
        let sum = |of: fn(&UnitRates) -> f64| {
            self.guests
                .iter()
                .filter_map(|guest| guest.counters.unit_rates())
                .map(|rates| of(&rates))
                .sum::<f64>()
        };
        let units = sum(|rates| rates.units_per_minute);
        let requests = sum(|rates| rates.requests_per_minute);
        (units > 0.0 && requests.is_finite()).then(|| requests / units)
    }

    /// Mean time that users wait for one unit of work, s: that of the unit itself, or of all
    /// requests that go with it. `None` without any.
    #[must_use]
    pub fn mean_unit_s(&self) -> Option<f64> {
        let Some(per_unit) = self.requests_per_unit() else {
            return self
                .latencies(self.main_operation())
                .mean_us()
                .map(|us| us / 1e6);
        };
        let mut all = Latencies::new();
        for operation in self.guests.iter().flat_map(GuestMeasurement::requests) {
            all.merge(operation.headline(self.pacing));
        }
        Some(per_unit * all.mean_us()? / 1e6)
    }

    /// Mean time that users were meant to pause for each unit of work, s, where they pause between
    /// requests: 0 without pauses. `None` of workloads that pause between whole units.
    #[must_use]
    pub fn pause_per_unit_s(&self) -> Option<f64> {
        let per_unit = self.requests_per_unit()?;
        let (mut weight, mut sum) = (0.0, 0.0);
        for guest in &self.guests {
            let requests = guest
                .counters
                .unit_rates()
                .map_or(0.0, |rates| rates.requests_per_minute);
            weight += requests;
            sum += requests * guest.drawn_delay_mean_s.unwrap_or(0.0);
        }
        (weight > 0.0).then(|| per_unit * sum / weight)
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
