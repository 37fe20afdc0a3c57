//! The command line of `template`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum TemplateCommand {
    /// Build the root file system of a stack, ahead of the first run that needs it
    #[command(subcommand)]
    Build(TemplateBuildCommand),
    /// Show what is built: what it holds, what it takes, when it was last used
    List(TemplateListArgs),
    /// Remove templates; a run that needs one builds it again
    Remove(TemplateRemoveArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum TemplateBuildCommand {
    /// Apache, PHP and MariaDB from distribution packages
    Lamp(TemplateLampArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TemplateLampArgs {
    /// Release of Debian [default: this host's own, else bookworm]
    #[arg(long, value_name = "NAME")]
    pub(crate) suite: Option<String>,
    /// Where packages come from: an address, or a file of apt sources [default: this host's own
    /// sources, else Debian's]
    #[arg(long, value_name = "URL")]
    pub(crate) mirror: Option<String>,
    /// Print nothing but errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Print progress and result as JSON lines to standard output
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: TemplatePlace,
}

#[derive(Debug, Args)]
pub(crate) struct TemplateListArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: TemplatePlace,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub(crate) struct TemplateRemoveArgs {
    /// Digests, or their first characters
    #[arg(value_name = "DIGEST", group = "which")]
    pub(crate) digests: Vec<String>,
    /// All that no living run uses
    #[arg(long, group = "which")]
    pub(crate) all: bool,
    /// Those that were not used for so many days
    #[arg(long, value_name = "DAYS", group = "which", value_parser = clap::value_parser!(u32).range(0..=36_500))]
    pub(crate) unused: Option<u32>,
    /// Remove what stands on them as well
    #[arg(long)]
    pub(crate) with_dependents: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: TemplatePlace,
}

/// Where templates are kept.
#[derive(Debug, Args)]
pub(crate) struct TemplatePlace {
    /// Directory of templates [default: the user's cache directory]
    #[arg(long, value_name = "DIR", env = "ROOKERY_TEMPLATES")]
    pub(crate) templates: Option<PathBuf>,
}
