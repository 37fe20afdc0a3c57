//! The command line of `fleet` and of its agents.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Check every host, copy this program where it is missing or another, start each agent once
    Up(FleetArgs),
    /// Show how every host stands; changes nothing
    Status(FleetArgs),
    /// Print the end of each agent's log
    Logs(FleetLogsArgs),
    /// Remove from every host what runs left there, the program and its directory
    Down(FleetArgs),
    /// Make a key for a NATS server: write its seed to a new file, print its public key
    Key(FleetKeyArgs),
}

#[derive(Debug, Args)]
pub(crate) struct FleetKeyArgs {
    /// File for the seed, which `credentials` in the hosts file names
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct FleetArgs {
    /// File that names the hosts
    #[arg(value_name = "HOSTS.toml")]
    pub(crate) hosts: PathBuf,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FleetLogsArgs {
    /// File that names the hosts
    #[arg(value_name = "HOSTS.toml")]
    pub(crate) hosts: PathBuf,
    /// Most bytes of each log
    #[arg(long, default_value_t = 16_384, value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    pub(crate) bytes: u64,
}

#[derive(Debug, Args)]
pub(crate) struct AgentArgs {
    /// Directory of the program, its log and its runs
    #[arg(long, value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// CPUs that are lent
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<String>,
    /// Memory that is lent, MiB
    #[arg(long, value_name = "MIB")]
    pub(crate) memory_mib: Option<u64>,
    /// Speak over the NATS server that the first message on standard input names
    #[arg(long)]
    pub(crate) dial: bool,
}
