//! What guests of an image run: the services of the study under the supervisor.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use rookery_guest::{FileReaders, GuestFile, GuestUser, Health};
use rookery_study::{ImageInstall, ImageService, ImageUse, Readiness, StopSignalName};
use serde::Serialize;

use super::secrets;
use crate::{Service, StackError};

/// Directory of the secrets below that of a guest's files.
const SECRETS: &str = "secrets";
/// The same as guests see it.
const SECRETS_INSIDE: &str = "/conf/secrets";
/// The work in the template, among the services.
const INSTALL: &str = "install";
/// The time that a guest may take beside its services.
const MARGIN: Duration = Duration::from_secs(60);
/// How long the work may take to end when it is to.
const INSTALL_GRACE: Duration = Duration::from_secs(10);

/// The text of a services file.
#[derive(Serialize)]
struct ServicesFile<'a> {
    guest: GuestPart,
    service: Vec<ServicePart<'a>>,
}

#[derive(Serialize)]
struct GuestPart {
    ends_when_done: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    secrets: Option<&'static str>,
}

#[derive(Serialize)]
struct ServicePart<'a> {
    name: &'a str,
    command: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    ready: Option<&'a Readiness>,
    ready_within_ms: u64,
    stop_signal: StopSignalName,
    grace_ms: u64,
    oneshot: bool,
    environment: &'a BTreeMap<String, String>,
}

/// What a guest of an image runs.
///
/// # Errors
/// When a secret cannot be read.
pub(super) fn of_guest(image: &ImageUse, user: GuestUser) -> Result<Service, StackError> {
    let services = image.start_order().unwrap_or_default();
    service(image, file(image, &services, None), user)
}

/// What the guest runs that makes the template: the services that the work needs, and the work.
/// Gives also how long all of it may take.
///
/// # Errors
/// When a secret cannot be read.
pub(super) fn of_builder(
    image: &ImageUse,
    install: &ImageInstall,
    user: GuestUser,
) -> Result<(Service, Duration), StackError> {
    let services = needed(image, &install.with);
    let times = services
        .iter()
        .map(|service| service.ready_within + service.grace);
    let limit = times.sum::<Duration>() + install.limit + MARGIN;
    let service = service(image, file(image, &services, Some(install)), user)?;
    Ok((service, limit))
}

/// The services of these names and those that they need, in the order of their start.
pub(super) fn needed<'i>(image: &'i ImageUse, names: &'i [String]) -> Vec<&'i ImageService> {
    let mut order = image.start_order().unwrap_or_default();
    let mut needed: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    // Who is needed stands before who needs it.
    for service in order.iter().rev() {
        if needed.contains(service.name.as_str()) {
            needed.extend(service.after.iter().map(String::as_str));
        }
    }
    order.retain(|service| needed.contains(service.name.as_str()));
    order
}

/// The services file; nothing in it stands for anything else.
fn file(image: &ImageUse, services: &[&ImageService], install: Option<&ImageInstall>) -> String {
    let of_study = services.iter().map(|service| ServicePart {
        name: &service.name,
        command: &service.command,
        ready: service.ready.as_ref(),
        ready_within_ms: milliseconds(service.ready_within),
        stop_signal: service.stop_signal,
        grace_ms: milliseconds(service.grace),
        oneshot: false,
        environment: &image.environment,
    });
    let work = install.map(|install| ServicePart {
        name: INSTALL,
        command: &install.command,
        ready: None,
        ready_within_ms: milliseconds(install.limit),
        stop_signal: StopSignalName::Term,
        grace_ms: milliseconds(INSTALL_GRACE),
        oneshot: true,
        environment: &image.environment,
    });
    let file = ServicesFile {
        guest: GuestPart {
            ends_when_done: install.is_some(),
            secrets: (!image.secrets.is_empty()).then_some(SECRETS_INSIDE),
        },
        service: of_study.chain(work).collect(),
    };
    toml::to_string(&file).expect("texts, numbers and tables of them are TOML")
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The supervisor with a services file and the secrets, which the guest's user alone reads.
fn service(image: &ImageUse, services: String, user: GuestUser) -> Result<Service, StackError> {
    let private = |path: String, text: String| GuestFile {
        path,
        text,
        readers: FileReaders::GuestUser,
    };
    let secrets = secrets::values(&image.secrets)?.into_iter();
    let secrets = secrets.map(|(name, value)| private(format!("{SECRETS}/{name}"), value));
    let mut files = vec![private("services.toml".to_owned(), services)];
    files.extend(secrets);
    Ok(Service {
        args: ["supervise", "{conf}/services.toml"]
            .map(str::to_owned)
            .to_vec(),
        files,
        port: image.port,
        health: Health::Page {
            path: image.health.clone(),
            status: image.health_status,
        },
        sockets: Vec::new(),
        user,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use rookery_study::{Document, StackUse};

    use super::*;
    use crate::supervise::Services;

    /// An image with three services, and work that needs two of them.
    pub(in super::super) fn image() -> ImageUse {
        let text = r#"
title = "t"
[workload]
kind = "http"
operation = [{name = "home", path = "/"}]
[load]
users = 1
[guest]
kind = "container"
[[layout]]
name = "one"
[stack]
kind = "image"
packages = ["python3"]
port = 8080
health_status = 302
environment = {MODE = "{port} \"x\"\n"}
secrets = {KEY = {file = "/none"}}
install = ["sh", "-c", "echo 'a'\necho {data}"]
install_with = ["db"]
install_limit = "90s"
[[stack.services]]
name = "web"
command = ["python3", "/srv/app.py"]
after = ["db"]
[[stack.services]]
name = "db"
command = ["db"]
after = ["disk"]
ready = "socket:/run/db.sock"
[[stack.services]]
name = "disk"
command = ["disk"]
stop_signal = "INT"
"#;
        let document = Document::parse("s.toml", text).expect("valid");
        match &document.study().stack {
            StackUse::Image(image) => image.as_ref().clone(),
            other => panic!("{other:?}"),
        }
    }

    fn read(text: &str) -> Services {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("services.toml");
        std::fs::write(&path, text).expect("written");
        Services::read(&path).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    #[test]
    fn guests_run_all_services_in_their_order() {
        let image = image();
        let order = image.start_order().expect("there is one");
        let services = read(&file(&image, &order, None));
        let names: Vec<&str> = services
            .services
            .iter()
            .map(|service| service.name.as_str())
            .collect();
        assert_eq!(names, ["disk", "db", "web"]);
        assert!(!services.guest.ends_when_done);
        assert_eq!(services.guest.secrets, Some(SECRETS_INSIDE.into()));
        let db = &services.services[1];
        assert_eq!(db.environment["MODE"], "{port} \"x\"\n");
        assert_eq!(db.ready, Some(Readiness::Socket("/run/db.sock".into())));
        assert_eq!(db.ready_within_ms, 120_000);
    }

    #[test]
    fn the_builder_runs_what_the_work_needs_and_then_the_work() {
        let image = image();
        let install = image.install.as_ref().expect("said");
        let needed = needed(&image, &install.with);
        let services = read(&file(&image, &needed, Some(install)));
        let names: Vec<&str> = services
            .services
            .iter()
            .map(|service| service.name.as_str())
            .collect();
        assert_eq!(names, ["disk", "db", INSTALL]);
        assert!(services.guest.ends_when_done);
        let work = &services.services[2];
        assert!(work.oneshot && work.command == install.command);
        assert_eq!(work.ready_within_ms, 90_000);
    }

    #[test]
    fn a_service_is_told_secrets_in_files_of_its_own() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("key");
        std::fs::write(&path, "hunter2\n").expect("written");
        let mut image = image();
        let source = rookery_study::SecretSource::File(path.display().to_string());
        image.secrets.insert("KEY".to_owned(), source);
        let service = of_guest(&image, GuestUser::same(7)).expect("made");
        assert_eq!(service.user, GuestUser::same(7));
        let key = service.files.iter().find(|file| file.path == "secrets/KEY");
        let key = key.expect("there");
        assert_eq!(
            (key.text.as_str(), key.readers),
            ("hunter2", FileReaders::GuestUser)
        );
        assert!(!format!("{service:?}").contains("hunter2"));
        assert!(!service.files[0].text.contains("hunter2"));
        assert!(service.args.iter().all(|word| !word.contains("hunter2")));
    }
}
