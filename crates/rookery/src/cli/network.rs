//! What `rookery host network` can be told.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct HostNetworkArgs {
    /// Kinds of link, separated by commas [default: loopback, veth, routed, macvlan, vxlan]
    #[arg(long, value_name = "DEVICE,...", value_delimiter = ',', num_args = 1..=8,
        default_values_t = LinkName::USUAL, hide_default_value = true)]
    pub(crate) devices: Vec<LinkName>,
    /// Largest packets of the links, bytes, separated by commas
    #[arg(long, value_name = "BYTES,...", value_delimiter = ',', num_args = 1..=8, default_values_t = [1500, 9000, 65_485],
        value_parser = clap::value_parser!(u32).range(1280..=65_485))]
    pub(crate) mtu: Vec<u32>,
    /// Streams at the same time, separated by commas
    #[arg(long, value_name = "N,...", value_delimiter = ',', num_args = 1..=16, default_values_t = rookery_host::iperf::STREAMS,
        value_parser = clap::value_parser!(u32).range(1..=128))]
    pub(crate) streams: Vec<u32>,
    /// Seconds at each point
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=600))]
    pub(crate) seconds: u32,
    /// Print as JSON, with what iperf3 said of each point
    #[arg(long)]
    pub(crate) json: bool,
}

/// A kind of link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LinkName {
    /// Within one network namespace
    Loopback,
    /// A pair of interfaces and a bridge
    Veth,
    /// A macvlan on such a pair
    Macvlan,
    /// An ipvlan on such a pair
    Ipvlan,
    /// A tunnel through such a pair
    Vxlan,
    /// Such a pair with routes instead of the bridge
    Routed,
}

impl LinkName {
    /// Those that every kernel for servers has.
    const USUAL: [Self; 5] = [
        Self::Loopback,
        Self::Veth,
        Self::Routed,
        Self::Macvlan,
        Self::Vxlan,
    ];
}

impl std::fmt::Display for LinkName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Loopback => "loopback",
            Self::Veth => "veth",
            Self::Macvlan => "macvlan",
            Self::Ipvlan => "ipvlan",
            Self::Vxlan => "vxlan",
            Self::Routed => "routed",
        })
    }
}
