//! What reports say of stored runs.

mod trend;
