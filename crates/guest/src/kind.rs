//! Kinds of guest, as studies have them.

pub use rookery_study::{GuestKind as Kind, LabShape};
