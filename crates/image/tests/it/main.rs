//! Images, ordinary and hostile ones, from the outside.

mod bounds;
mod build;
mod damaged;
mod hostile;
mod model;
mod ordinary;
mod umoci;
