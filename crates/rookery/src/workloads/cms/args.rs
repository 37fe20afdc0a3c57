//! What all commands of the workload share: the data as they are typed.

use clap::Args;
use rookery_cast::truncate_u32;
use rookery_workload::cms::CmsData;

/// Data of a site as they are typed.
#[derive(Debug, Args)]
pub(super) struct DataArgs {
    /// Nodes
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    nodes: u32,
    /// Users who can log in, beside the administrator
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    accounts: u32,
    /// Nodes are by the first so many of them
    #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    authors: u32,
    /// Share of nodes that are stories
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, value_parser = share)]
    story_share: f64,
    /// Share of nodes that are promoted to the front page
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, value_parser = share)]
    promoted_share: f64,
    /// Id of the first node
    #[arg(long, value_name = "ID", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    first_node: u32,
    /// Seed of every byte
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    data_seed: u64,
}

/// From 0 to 1.
pub(super) fn share(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "a share is a number from 0 to 1".to_owned())
}

/// A share in millionths.
pub(super) fn ppm(share: f64) -> u32 {
    truncate_u32((1e6 * share).round())
}

impl DataArgs {
    /// The data.
    pub(super) fn data(&self) -> CmsData {
        CmsData {
            nodes: self.nodes,
            users: self.accounts,
            authors: self.authors,
            first_node: self.first_node,
            story_ppm: ppm(self.story_share),
            promoted_ppm: ppm(self.promoted_share),
            seed: self.data_seed,
        }
    }
}
