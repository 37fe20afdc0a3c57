//! What can be typed of labels and the end of a run.

use clap::Args;

use super::RunsPlace;

#[derive(Debug, Args)]
pub(crate) struct LabelArgs {
    /// The run: its directory, name or id, or `latest`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// Add this tag; repeatable
    #[arg(long, value_name = "WORD")]
    pub(crate) tag: Vec<String>,
    /// Take this tag away; repeatable
    #[arg(long, value_name = "WORD")]
    pub(crate) untag: Vec<String>,
    /// Keep this note in the place of the one before; an empty one takes it away
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    #[command(flatten)]
    pub(crate) place: RunsPlace,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    /// The runs: their names or ids
    #[arg(value_name = "RUN", required = true)]
    pub(crate) run: Vec<String>,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) place: RunsPlace,
}
