//! Use of CPU inside the measured window, as the judge computes it.

pub(crate) use rookery_judge::cpu::{DRIVER, HOST, guest_cores, is_guest};
