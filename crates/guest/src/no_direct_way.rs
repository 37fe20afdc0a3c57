//! Why there is no direct way to another host.

/// Why there is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoDirectWay {
    /// This host knows no way at all.
    #[error("this host knows no way there")]
    NoRoute,
    /// The other host is on another segment.
    #[error("it is on another network, behind {gateway}")]
    Behind {
        /// The router.
        gateway: String,
    },
    /// The interface carries no Ethernet frames.
    #[error("{device} of this host, which leads there, is no Ethernet interface")]
    NoEthernet {
        /// The interface.
        device: String,
    },
    /// The interface carries frames of its own hardware address alone.
    #[error(
        "{device} of this host, which leads there, is a radio, which sends for one hardware address"
    )]
    Radio {
        /// The interface.
        device: String,
    },
}
