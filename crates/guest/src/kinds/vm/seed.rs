//! What one guest is told before it boots: who it is, and what it runs. Written to a disk of its
//! own without any file system; the guest's service reads it.

use std::{
    fs, io,
    io::{Read, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use rookery_host::{RunId, without_links};
use rookery_study::StorageRole;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{plug::Plug, relay::Relay};
use crate::{
    files::GuestPaths,
    spec::{FileReaders, GuestSpec, GuestUser},
    storage::RoleMove,
};

/// What the disk begins with.
const MAGIC: &[u8; 16] = b"rookery seed 1\n\0";
/// Most bytes of a seed: files of a guest are configuration, not data.
const MAX_BYTES: u64 = 32 << 20;
/// Disks are whole sectors.
const SECTOR: usize = 512;

/// What a guest is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Seed {
    /// Its name.
    pub(crate) hostname: String,
    /// Whether its system has made its network already; else the service does.
    pub(crate) has_network: bool,
    /// Its address with the length of the network's prefix: `10.77.0.1/16`.
    pub(crate) address: String,
    /// Its address on the network of tiers, where it has an interface to one: `10.76.0.1/16`.
    pub(crate) back_end: Option<String>,
    /// Largest packet, bytes.
    pub(crate) mtu: u32,
    /// Lines by which `tc` limits and impairs what it sends; empty = nothing does.
    pub(crate) disciplines: String,
    /// Words of the program, the program first, as they are inside its root.
    pub(crate) command: Vec<String>,
    /// Variables of the program.
    pub(crate) environment: Vec<(String, String)>,
    /// Port of its service.
    pub(crate) port: u16,
    /// As whom the program runs.
    pub(crate) user: Option<GuestUser>,
    /// Most processes and threads of the program's user; root is not held to it.
    pub(crate) pids: Option<u32>,
    /// Files below `/conf`.
    pub(crate) files: Vec<SeedFile>,
    /// Sockets that are led to the host.
    pub(crate) relay: Option<Relay>,
    /// Whether it has a disk to swap to.
    pub(crate) swaps: bool,
    /// Disks beside that of its data.
    pub(crate) roles: Vec<SeedRole>,
}

/// A file of a guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SeedFile {
    /// Where, below `/conf`.
    pub(crate) path: String,
    /// What stands in it.
    pub(crate) text: String,
    /// Who may read it in the guest.
    pub(crate) readers: FileReaders,
}

/// What the guest is told of a disk of a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SeedRole {
    /// What it is for.
    pub(crate) role: StorageRole,
    /// Its file system, as the kernel calls it.
    pub(crate) file_system: String,
    /// Flags of the mount.
    pub(crate) flags: u32,
    /// Options of the file system.
    pub(crate) options: String,
    /// What is moved there from the data.
    pub(crate) moved: Vec<RoleMove>,
}

impl Seed {
    /// That of a guest. Its sockets are another matter, see [`Relay`].
    pub(crate) fn new(
        spec: &GuestSpec,
        paths: &GuestPaths,
        plug: &Plug,
        mtu: u32,
        loader: Option<[String; 3]>,
    ) -> Self {
        let mut command: Vec<String> = loader.into_iter().flatten().collect();
        command.push(paths.program.clone());
        command.extend(paths.args(spec));
        Self {
            hostname: spec.name.clone(),
            has_network: false,
            address: format!("{}/{}", plug.inside, plug.prefix),
            back_end: plug
                .back_end
                .map(|address| format!("{address}/{}", plug.prefix)),
            mtu,
            disciplines: String::new(),
            command,
            environment: vec![(
                "PATH".to_owned(),
                "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned(),
            )],
            port: paths.listen.port(),
            user: spec.user,
            pids: spec.pids,
            files: spec
                .files
                .iter()
                .map(|file| SeedFile {
                    path: file.path.clone(),
                    text: paths.text_of(file),
                    readers: file.readers,
                })
                .collect(),
            relay: None,
            swaps: false,
            roles: Vec::new(),
        }
    }

    /// Write the disk, which root alone reads: secrets may be on it.
    ///
    /// # Errors
    /// When it is too large, or the host's disk fails.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(io::Error::other(format!(
                "a guest's files are larger than {} MiB",
                MAX_BYTES >> 20
            )));
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text);
        bytes.resize(bytes.len().next_multiple_of(SECTOR), 0);
        let mut file = without_links::replace(path)?;
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
        file.write_all(&bytes)
    }

    /// Read the disk.
    ///
    /// # Errors
    /// When it holds no seed.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let mut file = fs::File::open(path)?;
        let mut head = [0; MAGIC.len() + 8];
        file.read_exact(&mut head)?;
        let (magic, length) = head.split_at(MAGIC.len());
        let length = length
            .try_into()
            .map(u64::from_le_bytes)
            .unwrap_or(u64::MAX);
        if magic != MAGIC || length > MAX_BYTES {
            return Err(io::Error::other(format!(
                "{} holds no seed of a guest",
                path.display()
            )));
        }
        let mut text = Vec::new();
        file.take(length).read_to_end(&mut text)?;
        Ok(serde_json::from_slice(&text)?)
    }
}

/// Identities of a guest that must differ from those of every other on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    /// Of the domain.
    pub(crate) domain: String,
    /// Of the domain, as libvirt wants it.
    pub(crate) uuid: String,
    /// The guest's `/etc/machine-id`.
    pub(crate) machine_id: String,
    /// Of its network interface, locally administered.
    pub(crate) mac: String,
    /// Its interface on the host's side.
    pub(crate) link: String,
    /// Of its interface to the network of tiers; no guest's interface to users has the same.
    pub(crate) back_end_mac: String,
}

impl Names {
    /// Those of guest `number`, called `guest`: the same for the same run, so that a restart finds
    /// the same machine.
    pub(crate) fn derive(run: &RunId, guest: &str, number: u16) -> Self {
        let digest = |what: &str| -> Vec<u8> {
            let mut hash = Sha256::new();
            for part in ["rookery vm", what, run.as_str(), guest] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part.as_bytes());
            }
            hash.finalize().to_vec()
        };
        let hex = |bytes: &[u8]| {
            bytes
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        };
        let mut id = digest("uuid");
        // RFC 9562, version 8: from data of our own.
        id[6] = id[6] & 0x0f | 0x80;
        id[8] = id[8] & 0x3f | 0x80;
        let text = hex(&id[..16]);
        let uuid = [
            &text[..8],
            &text[8..12],
            &text[12..16],
            &text[16..20],
            &text[20..32],
        ]
        .join("-");
        let own = digest("mac");
        let [high, low] = number.to_be_bytes();
        Self {
            domain: crate::label::guest_netns(run, guest),
            uuid,
            machine_id: hex(&digest("machine id")[..16]),
            mac: format!("52:54:{:02x}:{:02x}:{high:02x}:{low:02x}", own[0], own[1]),
            link: format!("v{number}"),
            // Numbers of guests are less than 1024.
            back_end_mac: format!(
                "52:54:{:02x}:{:02x}:{:02x}:{low:02x}",
                own[0],
                own[1],
                high | 0x80
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;
    use crate::spec::{GuestFile, spec};

    fn run(id: &str) -> RunId {
        RunId::try_from(id.to_owned()).expect("valid")
    }

    fn seed() -> Seed {
        let spec = GuestSpec {
            args: vec!["serve".into(), "{data}".into(), "{listen}; poweroff".into()],
            files: vec![GuestFile {
                path: "a/b".into(),
                text: "port={port}\n\"';\n".into(),
                readers: FileReaders::All,
            }],
            user: Some(GuestUser::same(33)),
            ..spec("g1")
        };
        let paths = GuestPaths {
            data: "/data".into(),
            shared: "/data/rookery-shared".into(),
            conf: "/conf".into(),
            run: "/run".into(),
            program: "/program".into(),
            listen: "10.77.0.1:80".parse().expect("address"),
            roles: std::collections::BTreeMap::new(),
        };
        let plug = Plug {
            inside: [10, 77, 0, 1].into(),
            prefix: 16,
            back_end: Some([10, 76, 0, 1].into()),
            listens: [10, 77, 0, 1].into(),
            outside: paths.listen,
        };
        Seed::new(&spec, &paths, &plug, 1500, None)
    }

    #[test]
    fn a_seed_is_data_and_no_script() {
        insta::assert_snapshot!(serde_json::to_string_pretty(&seed()).expect("json"), @r#"
        {
          "hostname": "g1",
          "has_network": false,
          "address": "10.77.0.1/16",
          "back_end": "10.76.0.1/16",
          "mtu": 1500,
          "disciplines": "",
          "command": [
            "/program",
            "serve",
            "/data",
            "10.77.0.1:80; poweroff"
          ],
          "environment": [
            [
              "PATH",
              "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
            ]
          ],
          "port": 80,
          "user": {
            "user": 33,
            "group": 33
          },
          "pids": null,
          "files": [
            {
              "path": "a/b",
              "text": "port=80\n\"';\n",
              "readers": "all"
            }
          ],
          "relay": null,
          "swaps": false,
          "roles": []
        }
        "#);
    }

    #[test]
    fn what_is_written_is_read() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let path = dir.path().join("seed");
        seed().write(&path).expect("written");
        let data = path.metadata().expect("there");
        assert_eq!((data.len() % 512, data.mode() & 0o777), (0, 0o600));
        assert_eq!(Seed::read(&path).expect("read"), seed());
        fs::write(&path, [0; 512]).expect("written");
        assert!(Seed::read(&path).is_err(), "an empty disk is no seed");
        let mut huge = MAGIC.to_vec();
        huge.extend(u64::MAX.to_le_bytes());
        fs::write(&path, huge).expect("written");
        assert!(Seed::read(&path).is_err());
    }

    #[test]
    fn names_differ_by_run_and_guest_and_stay_the_same() {
        let first = Names::derive(&run("ab12"), "g1", 1);
        insta::assert_debug_snapshot!(first);
        assert_eq!(first, Names::derive(&run("ab12"), "g1", 1));
        for other in [
            Names::derive(&run("ab13"), "g1", 1),
            Names::derive(&run("ab12"), "g2", 2),
        ] {
            assert!(
                other.uuid != first.uuid
                    && other.machine_id != first.machine_id
                    && other.mac != first.mac
            );
        }
        // A guest's number is part of its address on the wire: no two of a lab can be the same.
        assert!(
            Names::derive(&run("ab12"), "x", 1023)
                .mac
                .ends_with(":03:ff")
        );
    }
}
