//! What a guest whose servers run under the supervisor is given.

use rookery_guest::{FileReaders, GuestFile, Health};

use crate::service::{GUEST, Service};

/// Arguments of the guest's program, and files with their paths below the guest's directory of
/// configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupervisedService {
    /// Arguments of the `rookery` program.
    pub args: Vec<String>,
    /// Path and text of each file.
    pub files: Vec<(String, String)>,
}

impl SupervisedService {
    /// The supervisor with these files; `services.toml` is among them.
    pub(crate) fn new(files: impl IntoIterator<Item = (impl Into<String>, String)>) -> Self {
        Self {
            args: ["supervise", "{conf}/services.toml"]
                .map(str::to_owned)
                .to_vec(),
            files: files
                .into_iter()
                .map(|(path, text)| (path.into(), text))
                .collect(),
        }
    }

    /// The service of a guest, with its port and health, and the sockets by which the host talks
    /// to it.
    pub(crate) fn in_guest(self, port: u16, health: Health, sockets: Vec<String>) -> Service {
        Service {
            args: self.args,
            files: self
                .files
                .into_iter()
                .map(|(path, text)| GuestFile {
                    path,
                    text,
                    readers: FileReaders::All,
                })
                .collect(),
            port,
            health,
            sockets,
            user: GUEST,
        }
    }
}
