//! Servers of the user that are made into guests: what they are made of, and what they run.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{foreign_use::StackCommands, readiness::Readiness};

/// A server of the user as an image, from which guests are made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageUse {
    /// What its file system is made from.
    pub root: ImageRoot,
    /// Files on top of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ImageFile>,
    /// What its guests run, in the order of the study. None, where it is what a container image
    /// says.
    pub services: Vec<ImageService>,
    /// Port at which users ask.
    pub port: u16,
    /// Path that a guest which is ready answers.
    pub health: String,
    /// Status of that answer.
    pub health_status: u16,
    /// Variables of services and commands.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Variables whose values are known to this host alone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, SecretSource>,
    /// Directories that guests write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<String>,
    /// What is run once, in the template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<ImageInstall>,
    /// What is run in each guest.
    pub commands: StackCommands,
}

/// What the file system of an image is made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImageRoot {
    /// Packages of the distribution, with all that they need.
    Packages(Vec<String>),
    /// A container image.
    Archive(ImageArchive),
}

/// Where a container image is, on the host that measures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageArchive {
    /// An OCI layout or archive, or what `docker save` or `podman save` wrote.
    pub path: String,
    /// Which image, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

/// A file of an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageFile {
    /// Where guests find it.
    pub to: String,
    /// What is in it.
    pub text: String,
    /// Who may read it and run it: the nine bits of its mode.
    pub mode: u32,
}

/// A service of an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageService {
    /// Its name in the log.
    pub name: String,
    /// Program and arguments, which no shell reads.
    pub command: Vec<String>,
    /// Services that are ready before it is started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// How it is seen to be ready; at once where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Readiness>,
    /// How long that may take.
    pub ready_within: Duration,
    /// Signal that asks it to end.
    #[serde(default)]
    pub stop_signal: StopSignalName,
    /// Time from that signal to its end by force.
    pub grace: Duration,
}

/// The signals by which services are asked to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum StopSignalName {
    /// SIGTERM.
    #[default]
    Term,
    /// SIGINT.
    Int,
    /// SIGQUIT.
    Quit,
    /// SIGWINCH.
    Winch,
}

/// What is run once, in the template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageInstall {
    /// Program and arguments, which no shell reads.
    pub command: Vec<String>,
    /// Services that run meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<String>,
    /// How long it may take.
    pub limit: Duration,
}

/// Where the value of a secret is, on the host that measures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SecretSource {
    /// In this file, but for the end of its last line.
    File(String),
    /// In this variable of the environment of Rookery.
    Environment(String),
}

impl ImageService {
    /// How long a service may take to be ready, where nothing is said: guests may be slow on
    /// purpose.
    pub const READY_WITHIN: Duration = Duration::from_secs(120);
    /// How long it may take to end, where nothing is said.
    pub const GRACE: Duration = Duration::from_secs(20);

    /// A service of which nothing but its command is said.
    #[must_use]
    pub fn new(name: &str, command: Vec<String>) -> Self {
        Self {
            name: name.to_owned(),
            command,
            after: Vec::new(),
            ready: None,
            ready_within: Self::READY_WITHIN,
            stop_signal: StopSignalName::default(),
            grace: Self::GRACE,
        }
    }
}

impl ImageUse {
    /// The services in an order in which each stands behind those that must be ready before it;
    /// otherwise in the order of the study. Nothing where there is no such order.
    #[must_use]
    pub fn start_order(&self) -> Option<Vec<&ImageService>> {
        start_order(&self.services)
    }
}

/// See [`ImageUse::start_order`].
pub(crate) fn start_order(services: &[ImageService]) -> Option<Vec<&ImageService>> {
    let mut left: Vec<&ImageService> = services.iter().collect();
    let mut started = BTreeSet::new();
    let mut order = Vec::new();
    while !left.is_empty() {
        let next = left.iter().position(|service| {
            let after = &service.after;
            after.iter().all(|name| started.contains(name.as_str()))
        })?;
        let service = left.remove(next);
        started.insert(service.name.as_str());
        order.push(service);
    }
    Some(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(name: &str, after: &[&str]) -> ImageService {
        ImageService {
            name: name.to_owned(),
            command: vec!["true".to_owned()],
            after: after.iter().map(|name| (*name).to_owned()).collect(),
            ready: None,
            ready_within: Duration::from_secs(1),
            stop_signal: StopSignalName::Term,
            grace: Duration::from_secs(1),
        }
    }

    #[test]
    fn services_start_behind_those_that_they_need() {
        let order = |services: &[ImageService]| {
            let order = start_order(services)?;
            Some(order.iter().map(|one| one.name.clone()).collect::<Vec<_>>())
        };
        let web = [
            service("web", &["php", "db"]),
            service("cron", &[]),
            service("php", &["db"]),
            service("db", &[]),
        ];
        let expected = ["cron", "db", "php", "web"].map(str::to_owned).to_vec();
        assert_eq!(order(&web), Some(expected));
        assert_eq!(order(&[service("a", &["b"]), service("b", &["a"])]), None);
        assert_eq!(order(&[service("a", &["none"])]), None);
    }
}
