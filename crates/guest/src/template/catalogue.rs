//! Which templates there are.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::Path,
    time::SystemTime,
};

use rookery_host::{HostError, mounts};
use rookery_stats::DatabaseLoad;

use super::recipe::Versions;
use super::{
    lease::USED,
    metadata::{self, LayerKind, Metadata, bytes_on_disk},
};
use crate::error::GuestError;

/// Length of a digest in characters.
const DIGEST_LENGTH: usize = 64;

/// What is known of a built template (of one layer: what it stands on is a template of its own).
#[derive(Clone, Debug, PartialEq)]
pub struct TemplateInfo {
    /// Its address.
    pub digest: String,
    /// What it holds, in words.
    pub description: String,
    /// Kind of layer; `None` when another version of Rookery built it.
    pub kind: Option<LayerKind>,
    /// Digest of the template on which it stands.
    pub base: Option<String>,
    /// What it takes on the disk, MiB.
    pub size_mib: f64,
    /// When it was built, RFC 3339; empty when another version of Rookery built it.
    pub built_at: String,
    /// How long that took, seconds.
    pub build_s: f64,
    /// What a root file system holds, with versions.
    pub versions: Versions,
    /// How its database was loaded; nothing where it has none, or does not say.
    pub load: Option<DatabaseLoad>,
    /// When it was last used.
    pub last_used: SystemTime,
    /// What uses it now, in words.
    pub used_by: Option<String>,
}

impl TemplateInfo {
    /// When it was last used, RFC 3339 to the second.
    #[must_use]
    pub fn last_used_at(&self) -> String {
        metadata::text_of(jiff::Timestamp::try_from(self.last_used).unwrap_or_default())
    }
}

/// All built templates below a directory, the least recently used first. A directory that is not
/// there has none.
///
/// # Errors
/// When the directory cannot be read.
pub fn templates(directory: &Path) -> Result<Vec<TemplateInfo>, GuestError> {
    let failed = |error: io::Error| {
        GuestError::in_template(
            "reading the template directory",
            HostError::at(directory, error),
        )
    };
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mounted =
        overlay_options().map_err(|error| GuestError::in_template("reading the mounts", error))?;
    let mut found = Vec::new();
    for entry in entries {
        let name = entry.map_err(failed)?.file_name();
        if let Some(digest) = name.to_str().filter(|name| is_digest(name)) {
            found.extend(read(directory, digest, &mounted).map_err(failed)?);
        }
    }
    found.sort_by(|a, b| (a.last_used, &a.digest).cmp(&(b.last_used, &b.digest)));
    Ok(found)
}

/// Whether a name is that of a template; nothing else in the directory is ours.
pub(super) fn is_digest(name: &str) -> bool {
    name.len() == DIGEST_LENGTH
        && name
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Options of all mounted overlays: they name the layers.
pub(super) fn overlay_options() -> io::Result<Vec<String>> {
    let overlays = mounts()?
        .into_iter()
        .filter(|mount| mount.kind == "overlay");
    Ok(overlays.map(|mount| mount.options).collect())
}

/// One template; `None` when it has just been removed.
fn read(directory: &Path, digest: &str, mounted: &[String]) -> io::Result<Option<TemplateInfo>> {
    let whole = directory.join(digest);
    let described = match fs::read(whole.join(metadata::FILE)) {
        Ok(bytes) => serde_json::from_slice::<Metadata>(&bytes).ok(),
        Err(_) => None,
    };
    let described = match described {
        Some(described) => described,
        None => match bytes_on_disk(&whole) {
            Ok(bytes) => unknown(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        },
    };
    let touched = whole
        .join(USED)
        .metadata()
        .or_else(|_| whole.metadata())
        .and_then(|data| data.modified());
    let Metadata {
        description,
        kind,
        base,
        size_mib,
        built_at,
        build_s,
        versions,
        content: _,
        load,
    } = described;
    Ok(Some(TemplateInfo {
        digest: digest.to_owned(),
        description,
        kind,
        base,
        size_mib,
        built_at,
        build_s,
        versions,
        load,
        last_used: touched.unwrap_or(SystemTime::UNIX_EPOCH),
        used_by: user_of(&whole, digest, mounted)?,
    }))
}

fn unknown(bytes: u64) -> Metadata {
    Metadata {
        description: "built by another version of Rookery".to_owned(),
        kind: None,
        base: None,
        size_mib: bytes as f64 / f64::from(1 << 20),
        built_at: String::new(),
        build_s: 0.0,
        versions: Versions::new(),
        content: String::new(),
        load: None,
    }
}

/// Who uses a template: a living run holds it; guests of a dead run may still be mounted on it.
pub(super) fn user_of(
    whole: &Path,
    digest: &str,
    mounted: &[String],
) -> io::Result<Option<String>> {
    let held = match File::open(whole) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(error),
        Ok(directory) => match directory.try_lock() {
            Ok(()) => {
                directory.unlock()?;
                false
            }
            Err(TryLockError::WouldBlock) => true,
            Err(TryLockError::Error(error)) => return Err(error),
        },
    };
    if held {
        return Ok(Some("a living run uses it".to_owned()));
    }
    // Another directory may hold a template of the same digest. What the kernel or we would write
    // otherwise in options cannot be compared.
    let real = whole.canonicalize().ok();
    let plain = |path: &&str| !path.contains(|c: char| c.is_whitespace() || "\\,:#\"".contains(c));
    let name = real
        .as_deref()
        .and_then(Path::to_str)
        .filter(plain)
        .unwrap_or(digest);
    let beneath = mounted.iter().any(|options| options.contains(name));
    Ok(beneath
        .then(|| "guests of a dead run stand on it (`rookery clean` removes them)".to_owned()))
}
