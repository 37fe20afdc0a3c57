//! Container images as the root of guests: what they say of themselves completes what the study
//! says.

use std::{collections::BTreeMap, path::Path};

use rookery_guest::{Fill, FillError, Recipe, Template};
use rookery_image::{ImageDescription, ImageSource, Limits, Options, describe, unpack};
use rookery_study::{ImageArchive, ImageFile, ImageRoot, ImageService, ImageUse, StopSignalName};

use crate::{StackContext, StackError};

/// Raised when the same image gives another root.
const VERSION: u32 = 1;
/// Directories of every guest, on which the host mounts.
const OF_GUESTS: [&str; 7] = ["conf", "data", "dev", "proc", "run", "sys", "tmp"];
/// Variables that mark the processes of a run.
const OWN_VARIABLES: &str = "ROOKERY_";
/// The name of what an image runs where the study names no service.
const SERVICE: &str = "app";
/// A container has this file from its runtime, an image has it not.
const HOSTS: &str = "/etc/hosts";
/// Starts a program in a directory: `$0` is the directory, what follows is the program.
const IN_DIRECTORY: &str = "cd \"$0\" && exec \"$@\"";

/// What the image says of itself; nothing where the root is made of packages.
///
/// # Errors
/// When it cannot be read, or is for another host.
pub(super) fn description(image: &ImageUse) -> Result<Option<ImageDescription>, StackError> {
    match &image.root {
        ImageRoot::Packages(_) => Ok(None),
        ImageRoot::Archive(archive) => Ok(Some(describe(&source(archive), &Limits::default())?)),
    }
}

fn source(archive: &ImageArchive) -> ImageSource {
    ImageSource {
        path: archive.path.clone().into(),
        reference: archive.reference.clone(),
    }
}

/// The root of the image, unpacked or found.
///
/// # Errors
/// When it cannot be unpacked.
pub(super) fn root(
    context: &StackContext<'_>,
    archive: &ImageArchive,
) -> Result<Template, StackError> {
    let source = source(archive);
    let id = describe(&source, &Limits::default())?.id;
    let fill = |root: &Path| {
        context.building("root of image guests", "unpacking the image");
        let options = Options {
            directories: OF_GUESTS.map(str::to_owned).to_vec(),
            ..Options::default()
        };
        let unpacked = unpack(&source, root, &options, context.stop)?;
        if unpacked.image.id != id {
            return Err(FillError::from("the image was replaced meanwhile"));
        }
        let names = unpacked.image.names.into_iter().take(1);
        let mut versions: BTreeMap<String, String> =
            names.map(|name| ("name".to_owned(), name)).collect();
        versions.insert("image".to_owned(), id.to_string());
        Ok(versions)
    };
    context.template(&Recipe {
        description: format!("image root {VERSION}, container image {id}"),
        program: context.program.to_owned(),
        base: None,
        fill: Fill::Root(&fill),
    })
}

/// The image of the study with what the container image says where the study says nothing.
///
/// # Errors
/// When neither says what guests run.
pub(super) fn completed(
    image: &ImageUse,
    described: &ImageDescription,
) -> Result<ImageUse, StackError> {
    let mut image = image.clone();
    for (name, value) in &described.environment {
        let said = image.environment.contains_key(name) || image.secrets.contains_key(name);
        if !said && !name.starts_with(OWN_VARIABLES) {
            image.environment.insert(name.clone(), value.clone());
        }
    }
    if image.services.is_empty() {
        image.services.push(service(described)?);
    }
    if image.files.iter().all(|file| file.to != HOSTS) {
        image.files.push(ImageFile {
            to: HOSTS.to_owned(),
            text: "127.0.0.1 localhost\n::1 localhost\n".to_owned(),
            mode: 0o644,
        });
    }
    add_volumes(&mut image, described);
    Ok(image)
}

/// Adds the volumes of the image to what guests write, the outermost of those that hold each other.
/// A volume that the study writes into, by `data` or by files, is as the study says; one that every
/// guest has is there already.
fn add_volumes(image: &mut ImageUse, described: &ImageDescription) {
    let mut volumes: Vec<String> = described
        .volumes
        .iter()
        .filter_map(|path| plain(path))
        .collect();
    volumes.sort_by_key(String::len);
    for volume in volumes {
        let of_guests = OF_GUESTS
            .iter()
            .any(|own| within(&volume, &format!("/{own}")));
        let taken = image
            .data
            .iter()
            .any(|data| within(&volume, data) || within(data, &volume));
        let has_file = image.files.iter().any(|file| within(&file.to, &volume));
        if !(of_guests || taken || has_file) {
            image.data.push(volume);
        }
    }
}

/// The path of a directory that a guest can have: from the root, of names alone.
fn plain(path: &str) -> Option<String> {
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    let good = path.starts_with('/')
        && !names.is_empty()
        && names
            .iter()
            .all(|name| ![".", ".."].contains(name) && !name.contains(char::is_control));
    good.then(|| format!("/{}", names.join("/")))
}

/// Whether a path is a directory, or lies below it.
fn within(path: &str, directory: &str) -> bool {
    let rest = path.strip_prefix(directory);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn service(described: &ImageDescription) -> Result<ImageService, StackError> {
    if described.command.is_empty() {
        return Err(StackError::NotMade {
            what: "guests of the image",
            reason: "neither `services` nor the image says what they run".to_owned(),
        });
    }
    let mut command = described.command.clone();
    if described.working_directory != "/" {
        let before = ["/bin/sh", "-c", IN_DIRECTORY, &described.working_directory];
        command.splice(0..0, before.map(str::to_owned));
    }
    let mut service = ImageService::new(SERVICE, command);
    if let Some(signal) = described.stop_signal.as_deref() {
        service.stop_signal = match signal.trim_start_matches("SIG") {
            "INT" | "2" => StopSignalName::Int,
            "QUIT" | "3" => StopSignalName::Quit,
            "WINCH" | "28" => StopSignalName::Winch,
            _ => StopSignalName::Term,
        };
    }
    Ok(service)
}

#[cfg(test)]
mod tests {
    use super::{super::services::tests::image, *};

    fn described() -> ImageDescription {
        let json = r#"{"id":"sha256:ID","manifest":null,"names":["app:1.0"],
            "architecture":"amd64",
            "environment":{"PATH":"/opt/bin","MODE":"image","KEY":"x","ROOKERY_RUN":"x"},
            "command":["./app","--port=80"],"working_directory":"/srv","user":"",
            "ports":[],"volumes":[],"labels":{},"stop_signal":"SIGQUIT","layers":[]}"#;
        serde_json::from_str(&json.replace("ID", &"0".repeat(64))).expect("a description")
    }

    #[test]
    fn what_the_study_says_counts_before_what_the_image_says() {
        let of_study = image();
        let image = completed(&of_study, &described()).expect("whole");
        assert_eq!(image.services, of_study.services);
        assert_eq!(image.environment["MODE"], of_study.environment["MODE"]);
        assert_eq!(image.environment["PATH"], "/opt/bin");
        for name in ["KEY", "ROOKERY_RUN"] {
            assert!(!image.environment.contains_key(name), "{name}");
        }
    }

    #[test]
    fn volumes_are_data_where_the_study_says_nothing_else() {
        let mut of_study = image();
        of_study.data = vec!["/srv/own".to_owned()];
        of_study.files.push(ImageFile {
            to: "/var/www/html/index.php".to_owned(),
            text: String::new(),
            mode: 0o644,
        });
        let volumes = [
            "/var/lib/app/cache",
            "/var/lib/app/",
            "/srv",
            "/srv/own/inner",
            "/var/www/html",
            "/data",
            "/tmp/x",
            "/",
            "relative",
            "/a/../b",
            "/var/lib/apparel",
        ];
        let described = ImageDescription {
            volumes: volumes.map(str::to_owned).to_vec(),
            ..described()
        };
        let image = completed(&of_study, &described).expect("whole");
        assert_eq!(image.data, ["/srv/own", "/var/lib/app", "/var/lib/apparel"]);
    }

    #[test]
    fn what_the_image_runs_is_run_in_its_directory() {
        let mut of_study = image();
        of_study.services.clear();
        let completed_image = completed(&of_study, &described()).expect("whole");
        let [service] = &completed_image.services[..] else {
            panic!("{:?}", completed_image.services);
        };
        let expected = ["/bin/sh", "-c", IN_DIRECTORY, "/srv", "./app", "--port=80"];
        assert_eq!(service.command, expected);
        assert_eq!(service.stop_signal, StopSignalName::Quit);
        let silent = ImageDescription {
            command: Vec::new(),
            ..described()
        };
        assert!(completed(&of_study, &silent).is_err());
    }
}
