//! The command line of `host`.

use clap::{Args, Subcommand};

use super::{HostNetworkArgs, HostStorageArgs};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct HostArgs {
    #[command(subcommand)]
    pub(crate) command: Option<HostCommand>,
    #[command(flatten)]
    pub(crate) show: HostShowArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HostCommand {
    /// Show this host as Rookery sees it (the same as `rookery host`)
    Show(HostShowArgs),
    /// Write this host as a file for `rookery plan --host FILE`
    Describe,
    /// Compare every setting that Rookery knows with what profiles recommend; changes nothing
    Audit(HostAuditArgs),
    /// Change settings to those of a profile, until `rookery host revert`
    Apply(HostApplyArgs),
    /// Put every setting back as it was before `apply`
    Revert(HostShowArgs),
    /// Measure with fio what a directory, or the storage that a study asks for, can do at growing
    /// queue depths
    Storage(HostStorageArgs),
    /// Measure with iperf3 what each kind of link between guests carries, and the CPU time it costs
    Network(HostNetworkArgs),
}

#[derive(Debug, Args)]
pub(crate) struct HostShowArgs {
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HostAuditArgs {
    /// Name of a profile, or a TOML file of your own; may be given several times [default: all
    /// profiles that come with Rookery]
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Vec<String>,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HostApplyArgs {
    /// Name of a profile (`rookery host audit` lists them), or a TOML file of your own
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: String,
    /// Put everything back when this command ends: it waits for Ctrl-C
    #[arg(long)]
    pub(crate) hold: bool,
    /// Yes, change also what loses committed data at a power failure unless the disks' caches are
    /// on battery
    #[arg(long)]
    pub(crate) accept_data_loss: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
