//! What of an image is not taken over.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::tar::shown;

/// Paths that are kept as examples.
const EXAMPLES: usize = 5;

/// Something that an image has and an unpacked one has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// A device node. Guests have devices of their own.
    Device,
    /// A named pipe.
    Pipe,
    /// The bit set-user-ID or set-group-ID: no program of a guest needs to become another user,
    /// and none shall become root on the host.
    Privileges,
    /// Capabilities of a program, for the same reason.
    Capabilities,
    /// Another extended attribute.
    Attributes,
    /// The owner, because the caller is not root.
    Owner,
    /// What stood in the place of one of [`Options::directories`](crate::Options::directories).
    Place,
}

/// How often something was dropped, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// How often.
    pub count: u64,
    /// The first paths.
    pub examples: Vec<String>,
}

/// All that was dropped.
pub type Drops = BTreeMap<Loss, Dropped>;

/// Notes a loss.
pub(super) fn add(drops: &mut Drops, loss: Loss, path: &[u8]) {
    let dropped = drops.entry(loss).or_default();
    dropped.count += 1;
    if dropped.examples.len() < EXAMPLES {
        dropped.examples.push(shown(path));
    }
}
