//! libvirt's client: one bounded command for each request.

use std::{path::Path, time::Duration};

use rookery_host::{CommandError, Host, Invocation};

/// How long libvirt may take for one request. Starting a guest is the longest: the emulator must
/// come up.
const LIMIT: Duration = Duration::from_secs(60);
/// What is said of a domain that is not there; without its libvirt, none is.
const NO_DOMAIN: [&str; 3] = [
    "failed to get domain",
    "Domain not found",
    "failed to connect to the hypervisor",
];

/// Where libvirt is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Virsh {
    uri: String,
    labels: Vec<(String, String)>,
}

impl Virsh {
    /// The client of a connection; its processes carry these labels.
    pub(crate) fn new(uri: impl Into<String>, labels: Vec<(String, String)>) -> Self {
        Self {
            uri: uri.into(),
            labels,
        }
    }

    /// The client of a private libvirtd whose sockets lie in this directory.
    pub(crate) fn private(sockets: &Path, labels: Vec<(String, String)>) -> Self {
        Self::new(
            format!(
                "qemu+unix:///system?socket={}",
                sockets.join("libvirt-sock").display()
            ),
            labels,
        )
    }

    /// Run one command of virsh; gives its output.
    pub(crate) fn run(&self, host: &dyn Host, words: &[&str]) -> Result<String, CommandError> {
        host.run(self.invocation(words))
    }

    /// Make a domain of a document and start it, its processors held.
    pub(crate) fn create_paused(&self, host: &dyn Host, xml: &str) -> Result<(), CommandError> {
        let invocation = self
            .invocation(&["create", "/dev/stdin", "--paused"])
            .stdin(xml);
        host.run(invocation).map(drop)
    }

    /// End a domain at once; one that is not there is ended.
    pub(crate) fn destroy(&self, host: &dyn Host, domain: &str) -> Result<(), CommandError> {
        match self.run(host, &["destroy", "--domain", domain]) {
            Err(CommandError::Failed { words, .. })
                if NO_DOMAIN.iter().any(|no| words.contains(no)) =>
            {
                Ok(())
            }
            ended => ended.map(drop),
        }
    }

    fn invocation(&self, words: &[&str]) -> Invocation {
        Invocation::new("virsh")
            .args(["--quiet", "--connect", &self.uri])
            .args(words)
            .envs(self.labels.clone())
            .env("LC_ALL", "C")
            .timeout(LIMIT)
    }
}
