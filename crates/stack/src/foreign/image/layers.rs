//! The template of an image: a root of packages, files and links on it, and the data that its
//! guests begin with.
//!
//! Everything in the root belongs to root. What guests write lies in their data directory, and the
//! directories that the study names are links into it: so data lie on a volume where one is asked
//! for, and a machine has them on its own disk.

use std::{
    fs, io,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

use rookery_guest::{FillError, GuestUser, Template};
use rookery_study::{ImageInstall, ImageRoot, ImageUse};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::{NAME, archive, links::resolved, services, user};
use crate::{
    StackContext, StackError,
    root::RootRecipe,
    service::GUEST,
    template::{await_end, build, copy_out, copy_tree, data_layer, files_layer, give_to, root},
};

/// Raised when the same words give another template.
const VERSION: u32 = 1;
/// The data directory, as guests see it.
const DATA: &str = "/data";

/// The template of an image, built or found, and as whom its guests run: `user` is what the image
/// says of that.
///
/// # Errors
/// When a step fails; where it is the user's own, its words are in the error.
pub(super) fn template(
    context: &StackContext<'_>,
    image: &ImageUse,
    user: &str,
) -> Result<(Template, GuestUser), StackError> {
    let root = base(context, image)?;
    let user = user::of_image(user, &root.root)?;
    let files = files_layer(context, &root, files_description(image), |layer| {
        put_files(&root.root, layer, image).map_err(FillError::from)
    })?;
    let description = for_user(data_description(image), user);
    let empty = data_layer(context, Some(&files), description, |data| {
        begin_data(context, &root.root, data, image)?;
        give_to(data, user).map(|()| None)
    })?;
    let Some(install) = &image.install else {
        return Ok((empty, user));
    };
    let description = for_user(install_description(image, install), user);
    let whole = data_layer(context, Some(&files), description, |data| {
        installed(context, &empty, (image, user), install, data)?;
        give_to(data, user).map(|()| None)
    })?;
    Ok((whole, user))
}

/// What decides data, with whose they are where that is not the user of all other guests.
fn for_user(description: String, user: GuestUser) -> String {
    match user {
        GUEST => description,
        GuestUser { user, group } => format!("{description}, of user {user}:{group}"),
    }
}

/// The root on which everything else lies.
fn base(context: &StackContext<'_>, image: &ImageUse) -> Result<Template, StackError> {
    let root = match &image.root {
        ImageRoot::Packages(packages) => root(context, &RootRecipe::of_packages(packages), NAME)?,
        ImageRoot::Archive(image) => Some(archive::root(context, image)?),
    };
    root.ok_or_else(|| StackError::NotMade {
        what: "the root of an image",
        reason: "guests of this kind have none of their own".to_owned(),
    })
}

fn digest(of: &impl Serialize) -> String {
    let text = serde_json::to_vec(of).expect("texts and numbers are JSON");
    let digest = Sha256::digest(&text);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What decides the files: their contents, and where guests write.
fn files_description(image: &ImageUse) -> String {
    format!(
        "image files {VERSION}: {} files, {} directories, {}",
        image.files.len(),
        image.data.len(),
        digest(&(&image.files, &image.data))
    )
}

/// What decides the data that guests begin with, the root aside.
fn data_description(image: &ImageUse) -> String {
    format!("image data {VERSION}: {}", image.data.join(" "))
}

/// What decides the data behind the user's own work: its command, what runs meanwhile, and what
/// both are told. Of secrets this is where they are, and not what.
fn install_description(image: &ImageUse, install: &ImageInstall) -> String {
    let told = (&image.environment, &image.secrets, &image.data);
    let run = (
        &install.command,
        services::needed(image, &install.with),
        image.port,
    );
    let program = install.command.first().map_or("", String::as_str);
    format!(
        "image installed {VERSION} by {program}, {}",
        digest(&(run, told))
    )
}

/// Put files and links to data into `layer`, which lies over the root `below`.
fn put_files(below: &Path, layer: &Path, image: &ImageUse) -> Result<(), StackError> {
    for file in &image.files {
        let place = place_in(below, layer, &file.to)?;
        fs::write(&place, &file.text)
            .and_then(|()| fs::set_permissions(&place, fs::Permissions::from_mode(file.mode)))
            .map_err(|error| at(&place, error))?;
    }
    for directory in &image.data {
        let place = place_in(below, layer, directory)?;
        symlink(format!("{DATA}{directory}"), &place).map_err(|error| at(&place, error))?;
    }
    Ok(())
}

/// Copy what the root has in the directories that guests write.
fn begin_data(
    context: &StackContext<'_>,
    root: &Path,
    data: &Path,
    image: &ImageUse,
) -> Result<(), StackError> {
    for directory in &image.data {
        let inside = relative(directory);
        let source = root.join(resolved(root, inside).map_err(|error| at(root, error))?);
        let place = data.join(inside);
        let parent = place.parent().unwrap_or(data);
        fs::create_dir_all(parent).map_err(|error| at(parent, error))?;
        if !source.is_dir() {
            fs::create_dir(&place).map_err(|error| at(&place, error))?;
            continue;
        }
        copy_tree(&source, parent, &|| context.go_on())?;
        if let Some(name) = source.file_name()
            && Some(name) != place.file_name()
        {
            fs::rename(parent.join(name), &place).map_err(|error| at(&place, error))?;
        }
    }
    Ok(())
}

/// Let the user's own work make the data in a guest, and take them from there.
fn installed(
    context: &StackContext<'_>,
    empty: &Template,
    (image, user): (&ImageUse, GuestUser),
    install: &ImageInstall,
    data: &Path,
) -> Result<(), StackError> {
    let (service, limit) = services::of_builder(image, install, user)?;
    build(context, empty, service, |guest| {
        context.building("image", "running `install`");
        await_end(context, guest, "`install` of [stack]", limit)?;
        let made = guest.data_dir().to_owned();
        let entries = fs::read_dir(&made).map_err(|error| at(&made, error))?;
        for entry in entries {
            let name = entry.map_err(|error| at(&made, error))?.file_name();
            let name = name.into_string().map_err(|_| StackError::NotMade {
                what: "`install` of [stack]",
                reason: format!("{DATA} has a name that is no text"),
            })?;
            copy_out(context, guest, &name, data)?;
        }
        Ok(())
    })
}

fn at(path: &Path, source: io::Error) -> StackError {
    StackError::Io {
        what: format!("writing {}", path.display()),
        source,
    }
}

/// A path below the root, without its first slash.
fn relative(path: &str) -> &Path {
    Path::new(path.trim_start_matches('/'))
}

/// Where a path of the guest lies in a layer over the root `below`; the directories around it are
/// made as they are there. Links of the root are followed, so that `/bin/tool` comes to lie where
/// `/bin` leads, and does not hide it.
fn place_in(below: &Path, layer: &Path, path: &str) -> Result<PathBuf, StackError> {
    let inside = relative(path);
    let (parent, name) = match (inside.parent(), inside.file_name()) {
        (Some(parent), Some(name)) => (parent, name),
        _ => return Err(at(inside, io::ErrorKind::InvalidInput.into())),
    };
    let parent = resolved(below, parent).map_err(|error| at(inside, error))?;
    let mut place = layer.to_owned();
    let mut there = below.to_owned();
    for part in parent.components() {
        place.push(part);
        there.push(part);
        if place.is_dir() {
            continue;
        }
        fs::create_dir(&place).map_err(|error| at(&place, error))?;
        let (mode, owner) = match fs::symlink_metadata(&there) {
            Ok(data) if data.is_dir() => (data.mode() & 0o7777, Some((data.uid(), data.gid()))),
            _ => (0o755, None),
        };
        fs::set_permissions(&place, fs::Permissions::from_mode(mode))
            .and_then(|()| match owner {
                Some((user, group)) => std::os::unix::fs::chown(&place, Some(user), Some(group)),
                None => Ok(()),
            })
            .map_err(|error| at(&place, error))?;
    }
    Ok(place.join(name))
}

#[cfg(test)]
mod tests {
    use rookery_study::{ImageFile, SecretSource};

    use super::{super::services::tests::image, *};

    #[test]
    fn files_lie_where_links_of_the_root_lead_and_nowhere_else() {
        let place = tempfile::tempdir().expect("a directory");
        let (below, layer) = (place.path().join("below"), place.path().join("layer"));
        fs::create_dir_all(below.join("usr/bin")).expect("made");
        fs::create_dir_all(below.join("root")).expect("made");
        fs::set_permissions(below.join("root"), fs::Permissions::from_mode(0o700)).expect("set");
        fs::create_dir(&layer).expect("made");
        symlink("usr/bin", below.join("bin")).expect("linked");
        symlink("/../../../etc", below.join("out")).expect("linked");
        symlink("loop", below.join("loop")).expect("linked");
        let mut image = image();
        let file = |to: &str| ImageFile {
            to: to.to_owned(),
            text: "x".to_owned(),
            mode: 0o755,
        };
        image.files = vec![file("/bin/tool"), file("/out/passwd"), file("/root/a/b")];
        image.data = vec!["/var/lib/site".to_owned()];
        put_files(&below, &layer, &image).expect("put");
        let mode = |path: &str| fs::symlink_metadata(layer.join(path)).expect(path).mode() & 0o7777;
        assert_eq!(mode("usr/bin/tool"), 0o755);
        assert_eq!(mode("root"), 0o700);
        assert!(layer.join("etc/passwd").is_file(), "`/..` is `/`");
        assert!(!layer.join("bin").exists() && !layer.join("out").exists());
        let link = fs::read_link(layer.join("var/lib/site")).expect("a link");
        assert_eq!(link, Path::new("/data/var/lib/site"));
        image.files = vec![file("/loop/a")];
        assert!(put_files(&below, &layer, &image).is_err());
    }

    #[test]
    fn data_of_another_user_are_another_template() {
        let description = data_description(&image());
        assert_eq!(for_user(description.clone(), GUEST), description);
        let other = for_user(description.clone(), GuestUser::same(1000));
        assert!(other.ends_with(", of user 1000:1000"), "{other}");
    }

    #[test]
    fn the_key_holds_all_that_decides_the_content_and_no_secret() {
        let first = image();
        let install = |image: &ImageUse| {
            let install = image.install.as_ref().expect("said");
            install_description(image, install)
        };
        let key = install(&first);
        let differs = |change: fn(&mut ImageUse)| {
            let mut other = image();
            change(&mut other);
            install(&other) != key
        };
        assert!(!differs(|_| ()));
        assert!(differs(|image| image.port = 1));
        assert!(differs(|image| {
            image.environment.insert("B".to_owned(), "c".to_owned());
        }));
        assert!(differs(|image| {
            let source = SecretSource::Environment("OTHER".to_owned());
            image.secrets.insert("KEY".to_owned(), source);
        }));
        assert!(differs(
            |image| image.services[1].command = vec!["other".to_owned()]
        ));
        assert!(
            !differs(|image| image.services[0].command = vec!["other".to_owned()]),
            "`web` does not run while the template is made"
        );
        assert!(!differs(|image| image.commands.audit = vec!["a".to_owned()]));
        let mut other = image();
        other.files = vec![ImageFile {
            to: "/a".to_owned(),
            text: "1".to_owned(),
            mode: 0o644,
        }];
        let before = files_description(&other);
        other.files[0].text = "2".to_owned();
        assert_ne!(files_description(&other), before);
    }
}
