//! Guests: bare, container, fake; templates, clones, the lab network.
//!
//! A [`Lab`] is the ground on which the guests of one run stand: it owns what they share (network namespace and bridge,
//! addresses, directories) and makes [`Guest`]s from a [`Template`]. Everything carries the run's label, so that [`clean`]
//! finds what a dead run left.

mod api;

pub use api::{Guest, GuestError, GuestSpec, GuestState, Kind, Lab, Recipe, Site, Template, Usage, UsageProbe};
