//! The keys of a server's users, as its controller keeps them: in one file beside the hosts file.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    net::SocketAddr,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use serde::{Deserialize, Serialize};

use super::{ServerFiles, absent_or, config};
use crate::bus::{NatsError, NatsServer, new_seed, public_key};

/// What a user of an own server needs. It has a secret: it is never logged.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UserKeys {
    /// The seed of the user.
    seed: String,
    /// The certificate of the authority that signed the server's, as PEM.
    authority: String,
}

impl UserKeys {
    /// New keys, and the files of a server that listens there and knows them.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub(crate) fn make(listen: SocketAddr) -> Result<(Self, ServerFiles), NatsError> {
        let made = rookery_stack::signed_by_own_authority(listen.ip());
        let made = made.map_err(|error| NatsError::System(io::Error::other(error)))?;
        let keys = Self {
            seed: new_seed()?,
            authority: made.authority,
        };
        let files = ServerFiles {
            config: keys.config(listen)?,
            certificate: made.certificate,
            key: made.key,
        };
        Ok((keys, files))
    }

    /// The configuration of the server that knows these keys.
    ///
    /// # Errors
    /// When the seed is none.
    pub(super) fn config(&self, listen: SocketAddr) -> Result<String, NatsError> {
        Ok(config(listen, &public_key(&self.seed)?))
    }

    /// The server, for its user.
    pub(crate) fn server(&self, listen: SocketAddr) -> NatsServer {
        NatsServer::encrypted(listen, self.seed.clone(), self.authority.clone())
    }

    /// The keys of a file; nothing where it is not there.
    ///
    /// # Errors
    /// When it cannot be read, or holds something else.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, NatsError> {
        let text = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text,
        };
        let read = text.and_then(|text| serde_json::from_slice(&text).map_err(io::Error::other));
        read.map(Some).map_err(|source| fault(path, source))
    }

    /// Write them to a file that only its owner may read; it has its name only when it is whole.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn write(&self, path: &Path) -> Result<(), NatsError> {
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = Path::new(&part);
        let written = || -> io::Result<()> {
            // One that was left by a controller that died may be open to others.
            absent_or(fs::remove_file(part))?;
            let mut options = OpenOptions::new();
            let mut file = options
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(part)?;
            serde_json::to_writer(&mut file, self)?;
            file.write_all(b"\n")?;
            file.sync_all()?;
            fs::rename(part, path)
        };
        written().map_err(|source| fault(path, source))
    }

    /// Remove the file, where it is there.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub(crate) fn remove(path: &Path) -> Result<(), NatsError> {
        absent_or(fs::remove_file(path)).map_err(|source| fault(path, source))
    }
}

fn fault(path: &Path, source: io::Error) -> NatsError {
    let path = path.display().to_string();
    NatsError::File { path, source }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn keys_are_kept_in_a_file_of_their_owner() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("h.toml.keys");
        assert!(UserKeys::read(&path).expect("no file").is_none());
        let listen = SocketAddr::from(([192, 0, 2, 1], 4222));
        let (keys, files) = UserKeys::make(listen).expect("made");
        fs::write(place.path().join("h.toml.keys.part"), "old").expect("written");
        keys.write(&path).expect("written");
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(UserKeys::read(&path).expect("readable") == Some(keys.clone()));
        assert_eq!(keys.config(listen).expect("a seed"), files.config);
        assert!(!files.config.contains(&keys.seed), "the server has no seed");
        fs::write(&path, "{}").expect("written");
        assert!(UserKeys::read(&path).is_err());
        UserKeys::remove(&path).expect("removed");
        UserKeys::remove(&path).expect("nothing there");
        assert_eq!(fs::read_dir(place.path()).expect("there").count(), 0);
    }
}
