//! What is known of an image.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{digest::Digest, tree::Drops};

/// What an image says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageDescription {
    /// The digest of its configuration, which holds those of its layers: the same content has the
    /// same id, however it is compressed and packed. Templates are addressed by it.
    pub id: Digest,
    /// The digest of its manifest; archives of `docker save` and `podman save` have none.
    pub manifest: Option<Digest>,
    /// What it is called where it lies.
    pub names: Vec<String>,
    /// For which it was built, such as `amd64`.
    pub architecture: String,
    /// Variables that its programs find.
    pub environment: BTreeMap<String, String>,
    /// What it runs: its entry point, followed by its arguments. May be empty.
    pub command: Vec<String>,
    /// Where that runs.
    pub working_directory: String,
    /// As whom: `name`, `uid`, `name:group` or `uid:gid`; empty for root.
    pub user: String,
    /// Ports that it listens on.
    pub ports: Vec<ExposedPort>,
    /// Directories that hold data.
    pub volumes: Vec<String>,
    /// What its builder noted.
    pub labels: BTreeMap<String, String>,
    /// The signal that ends it, if not SIGTERM.
    pub stop_signal: Option<String>,
    /// Digests of its layers, decompressed, the lowest first.
    pub layers: Vec<Digest>,
}

/// A port that an image listens on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExposedPort {
    /// Its number, not 0.
    pub number: u16,
    /// `tcp`, `udp` or `sctp`.
    pub protocol: String,
}

/// An image that was unpacked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnpackedImage {
    /// What it says about itself.
    pub image: ImageDescription,
    /// Bytes of its layers, decompressed; files that later layers removed count as well.
    pub layer_bytes: u64,
    /// Entries of its layers.
    pub entries: u64,
    /// What of it was not taken over.
    pub dropped: Drops,
}
