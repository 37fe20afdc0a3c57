//! The keys of `[stack]` that only images have: what a server of the user is made of, and what its
//! guests run.

mod check;
mod kinds;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, time::Duration};

use crate::{
    foreign_use::StackCommands,
    grammar::{
        Context, keys,
        kinds::{
            Choice, CommandLine, Named, PathFromRoot, Read, Tables, Text, Time, Values, Whole,
        },
    },
    image_use::{
        ImageArchive, ImageFile, ImageInstall, ImageRoot, ImageService, ImageUse, StopSignalName,
    },
    names,
    readiness::Readiness,
};

use self::kinds::{Content, MODE, PACKAGE, READY, SERVICE, Secret, VALUE, is_variable};

impl names::Named for StopSignalName {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("TERM", Self::Term, "SIGTERM"),
        ("INT", Self::Int, "SIGINT"),
        ("QUIT", Self::Quit, "SIGQUIT"),
        ("WINCH", Self::Winch, "SIGWINCH"),
    ];
}

const HOUR: Duration = Duration::from_secs(3600);
/// How long the work in the template may take.
const INSTALL_LIMIT: Duration = Duration::from_secs(600);
/// The status of a healthy guest's answer.
const HEALTHY: u16 = 200;
/// Who may read a file, where nothing is said.
const PLAIN_FILE: u32 = 0o644;

const PATH: PathFromRoot = PathFromRoot {
    example: "/var/lib/site",
};

keys! {
    /// The keys of a file.
    FileKeys {
        /// Where guests find it.
        to: PathFromRoot = PathFromRoot { example: "/etc/site.conf" }, Required;
        /// File with its text, relative to the file of the study.
        from: Text = Text { most: 500, lines: false, example: "site.conf" }, Optional("the text stands in `text`");
        /// Its text.
        text: Content = Content, Optional("in the file `from`");
        /// Who may read, change and run it.
        mode: Read<u32> = MODE, Optional("\"0644\"");
    }
}

keys! {
    /// The keys of a service.
    ServiceKeys {
        /// Its name in the log.
        name: Read<String> = SERVICE, Required;
        /// Program and arguments; it stays in the foreground.
        command: CommandLine = CommandLine, Required;
        /// Services that are ready before it is started.
        after: Values<Read<String>> = Values { kind: SERVICE, most: MOST_SERVICES }, Optional("none");
        /// How it is seen to be ready.
        ready: Read<Readiness> = READY, Optional("when it is started");
        /// How long that may take.
        ready_within: Time = Time { min: Duration::from_millis(1), max: HOUR, example: "120s" }, Optional("\"120s\"");
        /// Signal that asks it to end.
        stop_signal: Choice<StopSignalName> = Choice::NEW, Optional("\"TERM\"");
        /// Time from that signal until it is killed.
        grace: Time = Time { min: Duration::from_millis(1), max: HOUR, example: "20s" }, Optional("\"20s\"");
    }
}

/// Most packages that a study names.
const MOST_PACKAGES: usize = 200;
/// Most files of an image.
const MOST_FILES: usize = 32;
/// Most services of an image.
const MOST_SERVICES: usize = 32;
/// Most variables, and most directories.
const MOST: usize = 64;

keys! {
    /// Keys of `[stack]` with `kind = "image"`.
    ImageKeys {
        /// Debian packages that are installed in the image, with what they need (this and all keys
        /// below: image only).
        packages: Values<Read<String>> = Values { kind: PACKAGE, most: MOST_PACKAGES }, Optional("they or `archive` must be given");
        /// Container image in place of packages: an OCI layout or archive, or what `docker save` or
        /// `podman save` wrote.
        archive: PathFromRoot = PathFromRoot { example: "/srv/images/app.tar" }, Optional("it or `packages` must be given");
        /// Which image of `archive`, by its name.
        reference: Text = Text { most: 500, lines: false, example: "app:1.0" }, Optional("the only one");
        /// Files of the image.
        files: Tables<FileKeys> = Tables { what: "files", most: MOST_FILES, example: "{from = \"site.conf\", to = \"/etc/site.conf\"}", keys: FileKeys::keys, read: FileKeys::read, write: FileKeys::write }, Optional("those of the packages");
        /// What guests run, none of it as root.
        services: Tables<ServiceKeys> = Tables { what: "services", most: MOST_SERVICES, example: "{name = \"web\", command = [\"/usr/bin/python3\", \"/srv/app.py\"]}", keys: ServiceKeys::keys, read: ServiceKeys::read, write: ServiceKeys::write }, Optional("what `archive` says; beside `packages` they must be given");
        /// Port at which users ask.
        port: Whole<u16> = Whole { min: 1, max: u16::MAX }, Optional("it must be given");
        /// Status of the answer at `health` of a guest that is ready.
        health_status: Whole<u16> = Whole { min: 100, max: 599 }, Optional("200");
        /// Variables of services and commands.
        environment: Named<Read<String>> = Named { kind: VALUE, what: "variable", key: "MODE", good: is_variable, most: MOST }, Optional("none");
        /// Variables whose values are kept nowhere: each says where its value is on this host.
        secrets: Named<Secret> = Named { kind: Secret, what: "variable", key: "DB_PASSWORD", good: is_variable, most: MOST }, Optional("none");
        /// Directories that the services write; all others belong to root, as does every file.
        data: Values<PathFromRoot> = Values { kind: PATH, most: MOST }, Optional("`/data` alone");
        /// Command that is run once, when the template is made.
        install: CommandLine = CommandLine, Optional("nothing is run");
        /// Services that run meanwhile.
        install_with: Values<Read<String>> = Values { kind: SERVICE, most: MOST_SERVICES }, Optional("none");
        /// How long that command may take.
        install_limit: Time = Time { min: Duration::from_millis(100), max: HOUR, example: "10min" }, Optional("\"10min\"");
    }
}

/// The keys of images, by name.
pub(super) const NAMES: [&str; 13] = [
    "packages",
    "archive",
    "reference",
    "files",
    "services",
    "port",
    "health_status",
    "environment",
    "secrets",
    "data",
    "install",
    "install_with",
    "install_limit",
];

impl ImageKeys {
    /// The image; nothing where a key of it was refused or is missing.
    pub(super) fn build(
        self,
        health: Option<String>,
        commands: StackCommands,
        context: &mut Context,
    ) -> Option<ImageUse> {
        if self.misread(crate::sections::STACK, context) || !check::is_whole(&self, context) {
            return None;
        }
        let files = self.files.unwrap_or_default().into_iter().enumerate();
        let files: Vec<_> = files
            .map(|(index, keys)| check::file(keys, index, context))
            .collect();
        let services = self.services.unwrap_or_default().into_iter();
        let image = ImageUse {
            root: match self.archive {
                Some(path) => ImageRoot::Archive(ImageArchive {
                    path,
                    reference: self.reference,
                }),
                None => ImageRoot::Packages(self.packages?),
            },
            files: files.into_iter().collect::<Option<_>>()?,
            services: services.map(service).collect::<Option<_>>()?,
            port: self.port?,
            health: health.unwrap_or_else(|| "/".to_owned()),
            health_status: self.health_status.unwrap_or(HEALTHY),
            environment: self.environment.unwrap_or_default().into_iter().collect(),
            secrets: self.secrets.unwrap_or_default().into_iter().collect(),
            data: self.data.unwrap_or_default(),
            install: self.install.map(|command| ImageInstall {
                command,
                with: self.install_with.unwrap_or_default(),
                limit: self.install_limit.unwrap_or(INSTALL_LIMIT),
            }),
            commands,
        };
        check::image(&image, context).then_some(image)
    }

    pub(super) fn from_use(image: &ImageUse) -> Self {
        let (packages, archive) = match &image.root {
            ImageRoot::Packages(packages) => (Some(packages.clone()), None),
            ImageRoot::Archive(archive) => (None, Some(archive.clone())),
        };
        let (archive, reference) = archive.map_or((None, None), |archive| {
            (Some(archive.path), archive.reference)
        });
        let install = image.install.as_ref();
        Self {
            packages,
            archive,
            reference,
            files: some(image.files.iter().map(file_keys)),
            services: some(image.services.iter().map(service_keys)),
            port: Some(image.port),
            health_status: Some(image.health_status),
            environment: some(pairs(&image.environment)),
            secrets: some(pairs(&image.secrets)),
            data: some(image.data.iter().cloned()),
            install: install.map(|install| install.command.clone()),
            install_with: install.and_then(|install| some(install.with.iter().cloned())),
            install_limit: install.map(|install| install.limit),
        }
    }
}

/// A service; nothing where a key of it was refused.
fn service(keys: ServiceKeys) -> Option<ImageService> {
    Some(ImageService {
        name: keys.name?,
        command: keys.command?,
        after: keys.after.unwrap_or_default(),
        ready: keys.ready,
        ready_within: keys.ready_within.unwrap_or(ImageService::READY_WITHIN),
        stop_signal: keys.stop_signal.unwrap_or_default(),
        grace: keys.grace.unwrap_or(ImageService::GRACE),
    })
}

fn file_keys(file: &ImageFile) -> FileKeys {
    FileKeys {
        to: Some(file.to.clone()),
        from: None,
        text: Some(file.text.clone()),
        mode: Some(file.mode),
    }
}

fn service_keys(service: &ImageService) -> ServiceKeys {
    ServiceKeys {
        name: Some(service.name.clone()),
        command: Some(service.command.clone()),
        after: some(service.after.iter().cloned()),
        ready: service.ready.clone(),
        ready_within: Some(service.ready_within),
        stop_signal: Some(service.stop_signal),
        grace: Some(service.grace),
    }
}

fn pairs<T: Clone>(map: &BTreeMap<String, T>) -> impl Iterator<Item = (String, T)> {
    map.iter()
        .map(|(name, value)| (name.clone(), value.clone()))
}

fn some<T>(values: impl Iterator<Item = T>) -> Option<Vec<T>> {
    let all: Vec<T> = values.collect();
    (!all.is_empty()).then_some(all)
}
