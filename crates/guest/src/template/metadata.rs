//! What is known of a template: `template.json` beside its root.

use std::{fs, io, os::unix::fs::MetadataExt, path::Path, time::Duration};

use jiff::Timestamp;
use rookery_stats::DatabaseLoad;
use serde::{Deserialize, Serialize};

use super::{
    recipe::{Fill, Recipe, Versions},
    seal::seal,
};

/// File of the description, beside the root.
pub(super) const FILE: &str = "template.json";
/// Limit on the depth of a measured tree.
const MAX_DEPTH: u32 = 64;

/// What a layer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LayerKind {
    /// A whole root file system.
    Root,
    /// Data, with or without a program.
    Data,
    /// A program alone.
    Program,
    /// Files on a root.
    Files,
}

/// Content of [`FILE`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Metadata {
    pub(super) description: String,
    pub(super) kind: Option<LayerKind>,
    pub(super) base: Option<String>,
    pub(super) size_mib: f64,
    pub(super) built_at: String,
    pub(super) build_s: f64,
    pub(super) versions: Versions,
    /// What the root held when it was whole ([`seal`]); empty when another version of Rookery built
    /// it.
    #[serde(default)]
    pub(super) content: String,
    /// How its database was loaded; layers of older versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) load: Option<DatabaseLoad>,
}

/// How the database of a whole layer was loaded; nothing where it has none, or does not say.
pub(super) fn load_of(whole: &Path) -> Option<DatabaseLoad> {
    let bytes = fs::read(whole.join(FILE)).ok()?;
    serde_json::from_slice::<Metadata>(&bytes).ok()?.load
}

/// What is known of a layer that was just filled.
#[derive(Default)]
pub(super) struct Filled {
    pub(super) versions: Versions,
    pub(super) load: Option<DatabaseLoad>,
}

/// Describe a layer that was just built.
///
/// # Errors
/// When it cannot be measured or the file not be written.
pub(super) fn write(
    part: &Path,
    recipe: &Recipe<'_>,
    filled: Filled,
    took: Duration,
) -> io::Result<()> {
    let metadata = Metadata {
        description: recipe.description.clone(),
        kind: Some(match recipe.fill {
            Fill::Root(_) => LayerKind::Root,
            Fill::Data(_) | Fill::DataOnly(_) => LayerKind::Data,
            Fill::Program => LayerKind::Program,
            Fill::Files(_) => LayerKind::Files,
        }),
        base: recipe.base.map(|base| base.digest.clone()),
        size_mib: bytes_on_disk(part)? as f64 / f64::from(1 << 20),
        built_at: text_of(Timestamp::now()),
        build_s: took.as_secs_f64(),
        versions: filled.versions,
        load: filled.load,
        content: seal(&part.join("root"))?,
    };
    fs::write(part.join(FILE), serde_json::to_vec_pretty(&metadata)?)
}

/// A time to the second, RFC 3339.
pub(super) fn text_of(time: Timestamp) -> String {
    time.round(jiff::Unit::Second).unwrap_or(time).to_string()
}

/// What a tree takes on the disk; holes take nothing, and a file with two names counts once.
pub(super) fn bytes_on_disk(tree: &Path) -> io::Result<u64> {
    let mut linked = std::collections::BTreeSet::new();
    let mut bytes = 0;
    let mut level = vec![tree.to_owned()];
    for _ in 0..MAX_DEPTH {
        let mut deeper = Vec::new();
        for path in level {
            let data = path.symlink_metadata()?;
            if data.nlink() == 1 || data.is_dir() || linked.insert(data.ino()) {
                bytes += data.blocks() * 512;
            }
            if data.is_dir() {
                for entry in fs::read_dir(&path)? {
                    deeper.push(entry?.path());
                }
            }
        }
        if deeper.is_empty() {
            break;
        }
        level = deeper;
    }
    Ok(bytes)
}
