//! Systems of the user, and the commands that the user gives for them.

mod commands;
mod external;

pub(crate) use external::ExternalStack;
