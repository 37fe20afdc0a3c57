//! The models against what is published, against each other, and against simulation.

mod examples;
mod properties;
mod published;
mod simulation;
