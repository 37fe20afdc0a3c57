//! The phases of a load, from the command line.

use std::time::Duration;

use clap::Args;
use rookery_driver::Phases;
use rookery_study::parse_duration;

#[derive(Debug, Args)]
pub(super) struct PhaseArgs {
    /// Users start evenly over this time
    #[arg(long, default_value = "2s", value_parser = parse_duration)]
    ramp_up: Duration,
    /// Time from the end of ramp-up to the measured window
    #[arg(long, visible_alias = "warm-up", default_value = "3s", value_parser = parse_duration)]
    settle: Duration,
    /// The measured window
    #[arg(long, visible_alias = "run-time", default_value = "30s", value_parser = parse_duration)]
    steady: Duration,
    /// The measured window in seconds
    #[arg(long, conflicts_with = "steady", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: Option<u64>,
    /// How long operations under way are awaited at the end
    #[arg(long, default_value = "5s", value_parser = parse_duration)]
    drain: Duration,
    /// Limit on one operation that has none of its own
    #[arg(long, default_value = "10s", value_parser = parse_duration)]
    pub(super) timeout: Duration,
}

impl PhaseArgs {
    /// The phases as they were typed.
    pub(super) fn phases(&self) -> Phases {
        Phases {
            ramp_up: self.ramp_up,
            settle: self.settle,
            steady: self.seconds.map_or(self.steady, Duration::from_secs),
            ramp_down: Duration::ZERO,
            drain: self.drain,
        }
    }
}
