//! What this host says of itself, and a split view of its processors.

mod hostile_text;
mod split;
