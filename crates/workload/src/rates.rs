//! Throughput by a workload's own count.

/// Units of work and requests per minute of the measured window, by the workload's own count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UnitRates {
    /// Units of work that count.
    pub units_per_minute: f64,
    /// Requests that completed, those that are no unit of work included.
    pub requests_per_minute: f64,
}
