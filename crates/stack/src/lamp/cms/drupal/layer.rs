//! The tree of a site in a layer of the guests' root.

use std::{
    fs, io,
    os::unix::fs::{PermissionsExt as _, chown, symlink},
    path::Path,
    sync::atomic::AtomicBool,
};

use rookery_image::{Options, unpack_archive};
use rustix::process::geteuid;

use super::{SiteError, SiteTree, guest};

/// What the site of a tree has for itself, and guests have otherwise.
const SETTINGS: &str = "sites/default/settings.php";
const UPLOADS: &str = "sites/default/files";

/// Puts a tree into the directory `layer` at its place in the guests' root: `copy` copies a
/// directory into another. It belongs to root and everyone reads it; its settings are ours, and
/// what it writes is a link into the data of the guest.
///
/// # Errors
/// When a file cannot be read or written; when the archive is another one than was looked at.
pub(crate) fn put_tree<E: From<SiteError>>(
    tree: &SiteTree,
    layer: &Path,
    stop: &AtomicBool,
    copy: impl FnOnce(&Path, &Path) -> Result<(), E>,
) -> Result<(), E> {
    let failed = |source| SiteError::Read {
        path: layer.to_owned(),
        source,
    };
    let parent = layer.join("srv");
    fs::create_dir_all(&parent).map_err(failed)?;
    let top = match tree.is_archive {
        true => {
            let unpacked = parent.join("unpacked");
            unpack(tree, &unpacked, stop)?;
            unpacked.join(&tree.top)
        }
        false => {
            copy(&tree.path, &parent)?;
            parent.join(tree.path.file_name().unwrap_or_default())
        }
    };
    Ok(settle(tree, &top, &parent).map_err(failed)?)
}

fn unpack(tree: &SiteTree, to: &Path, stop: &AtomicBool) -> Result<(), SiteError> {
    let digest = unpack_archive(&tree.path, to, &Options::default(), stop)?;
    if digest.to_string() == tree.digest {
        return Ok(());
    }
    Err(SiteError::Changed {
        path: tree.path.clone(),
    })
}

/// Gives what was copied to `top` its name in `parent`, its owner and our settings.
fn settle(tree: &SiteTree, top: &Path, parent: &Path) -> io::Result<()> {
    let place = parent.join(guest::DIRECTORY);
    fs::rename(top, &place)?;
    if tree.is_archive && parent.join("unpacked").exists() {
        fs::remove_dir_all(parent.join("unpacked"))?;
    }
    let documents = place.join(tree.documents);
    let (settings, uploads) = (documents.join(SETTINGS), documents.join(UPLOADS));
    for directory in [
        &documents,
        &documents.join("sites"),
        &documents.join("sites/default"),
    ] {
        open(directory)?;
    }
    for path in [&settings, &uploads] {
        match fs::symlink_metadata(path) {
            Ok(there) if there.is_dir() => fs::remove_dir_all(path)?,
            Ok(_) => fs::remove_file(path)?,
            Err(_) => {}
        }
    }
    fs::write(&settings, guest::settings(tree.generation))?;
    symlink(format!("/data/{}", guest::FILES), &uploads)?;
    read_only(&place)
}

/// Makes a directory that can be written, whatever the user's own site said of it. A link in its
/// place would lead out of the layer.
fn open(directory: &Path) -> io::Result<()> {
    if fs::symlink_metadata(directory).is_ok_and(|there| there.is_symlink()) {
        let what = format!("{} is a link, and must be a directory", directory.display());
        return Err(io::Error::other(what));
    }
    fs::create_dir_all(directory)?;
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755))
}

/// Gives everything to root, for everyone to read; links stay as they are.
fn read_only(path: &Path) -> io::Result<()> {
    let there = fs::symlink_metadata(path)?;
    if there.is_symlink() {
        return Ok(());
    }
    if geteuid().is_root() {
        chown(path, Some(0), Some(0))?;
    }
    let executed = there.permissions().mode() & 0o111 != 0;
    let mode = if there.is_dir() || executed {
        0o755
    } else {
        0o644
    };
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    if there.is_dir() {
        for entry in fs::read_dir(path)? {
            read_only(&entry?.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{super::tree::tests::make, *};

    #[test]
    fn a_tree_has_our_settings_and_nothing_of_the_users_own_site() {
        let place = tempfile::tempdir().expect("a directory");
        let (site, layer) = (place.path().join("mine"), place.path().join("layer"));
        make(&site, "web", "11.1.0");
        let own = site.join("web/sites/default");
        fs::create_dir_all(own.join("files")).expect("made");
        fs::write(own.join("files/private"), "1").expect("written");
        fs::write(own.join("settings.php"), "their password").expect("written");
        fs::set_permissions(&own, fs::Permissions::from_mode(0o555)).expect("set");
        let tree = SiteTree::read(&site).expect("read");
        let stop = AtomicBool::new(false);
        let copy = |from: &Path, to: &Path| {
            let done = rookery_host::bound_command("cp")
                .arg("-a")
                .arg(from)
                .arg(to)
                .status();
            assert!(done.is_ok_and(|status| status.success()));
            Ok::<(), SiteError>(())
        };
        put_tree(&tree, &layer, &stop, copy).expect("put");
        let put = layer.join("srv/site/web/sites/default");
        let text = fs::read_to_string(put.join("settings.php")).expect("there");
        assert!(
            text.contains("/data/mysql.sock") && !text.contains("their"),
            "{text}"
        );
        assert_eq!(
            fs::read_link(put.join("files")).expect("a link"),
            Path::new("/data/files")
        );
        assert_eq!(fs::read_dir(layer.join("srv")).expect("listed").count(), 1);
        assert!(
            own.join("files/private").exists(),
            "the user's own tree is as it was"
        );
    }

    #[test]
    fn nothing_is_written_through_a_link_of_the_tree() {
        let place = tempfile::tempdir().expect("a directory");
        let (site, layer) = (place.path().join("mine"), place.path().join("layer"));
        let outside = place.path().join("outside");
        make(&site, "", "7.105");
        fs::create_dir(&outside).expect("made");
        fs::create_dir_all(site.join("sites")).expect("made");
        symlink(&outside, site.join("sites/default")).expect("linked");
        let tree = SiteTree::read(&site).expect("read");
        let copy = |from: &Path, to: &Path| {
            let done = rookery_host::bound_command("cp")
                .arg("-a")
                .arg(from)
                .arg(to)
                .status();
            assert!(done.is_ok_and(|status| status.success()));
            Ok::<(), SiteError>(())
        };
        let refused = put_tree(&tree, &layer, &AtomicBool::new(false), copy);
        assert!(refused.is_err_and(|error| error.to_string().contains("is a link")));
        assert_eq!(fs::read_dir(&outside).expect("listed").count(), 0);
    }
}
