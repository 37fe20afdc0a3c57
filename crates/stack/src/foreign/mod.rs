//! Systems of the user, made into guests or running already, and the commands that the user gives
//! for them.

mod commands;
mod external;
mod image;

pub(crate) use external::ExternalStack;
pub(crate) use image::ImageStack;
