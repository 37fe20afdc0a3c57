//! Guests that boot from a cloud image: a copy of it that nobody writes to, and a seed for
//! cloud-init (NoCloud) that makes each clone somebody.
//!
//! The seed is JSON, which is YAML: whatever stands in a name stays in it. The seed's disk is FAT,
//! made without mounting.

use std::{
    fs, io,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    time::Duration,
};

use rookery_host::{Host, Invocation, bound_command};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    building::{Long, Watch},
    plug::Plug,
    seed::Names,
};
use crate::{
    error::{FillError, GuestError},
    lab_core::LabCore,
    link::{BACK_END_DEVICE, GUEST_DEVICE},
    template::{Fill, Recipe, Template, Versions},
};

/// Raised when the same image gives another template.
const VERSION: u32 = 1;
/// Copying and unpacking an image takes as long as the disk does.
const COPY_LIMIT: Duration = Duration::from_secs(10 * 60);
/// Size of the seed's disk, KiB.
const SEED_KIB: u32 = 1024;
/// Name of the seed's disk in a guest's directory.
pub(super) const SEED_FILE: &str = "cloud-seed.img";
/// Name of the seed's file system, by which cloud-init finds it.
const SEED_LABEL: &str = "CIDATA";
/// Where the service's script lies in a guest.
const BOOT: &str = "/usr/local/lib/rookery/boot";
/// Its unit.
const UNIT: &str = "rookery-guest.service";

/// The copy of an image, built or found built: raw with holes, without a backing file.
///
/// # Errors
/// When it is no image, or the patience ends.
pub(super) fn image(
    core: &LabCore,
    source: &Path,
    watch: Watch<'_>,
) -> Result<Template, GuestError> {
    let host = &*core.host;
    let fail = |what: String| GuestError::Template {
        what: format!(
            "the cloud image {} cannot be used: {what}",
            source.display()
        ),
        help: "name a qcow2 or raw image of this host that holds cloud-init".to_owned(),
    };
    let digest = Invocation::new("sha256sum")
        .arg("--binary")
        .arg(source)
        .timeout(COPY_LIMIT);
    let said = host.run(digest).map_err(|error| fail(error.to_string()))?;
    let digest = said
        .trim_start_matches('\\')
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .to_owned();
    let fill = |root: &Path| copy(host, source, root, &digest, watch);
    let recipe = Recipe {
        description: format!("cloud image {VERSION}, SHA-256 {digest}"),
        program: PathBuf::new(),
        base: None,
        fill: Fill::Root(&fill),
    };
    core.template(&recipe, watch.patience)
}

/// The image in the template of [`image`].
pub(super) fn image_file(template: &Template) -> PathBuf {
    template.root.join("cloud.img")
}

fn copy(
    host: &dyn Host,
    source: &Path,
    root: &Path,
    digest: &str,
    watch: Watch<'_>,
) -> Result<Versions, FillError> {
    #[derive(Deserialize)]
    struct Info {
        format: String,
    }
    let info = Invocation::new("qemu-img")
        .args(["info", "--output=json"])
        .arg(source)
        .timeout(COPY_LIMIT);
    let said = host.run(info)?;
    let info: Info = serde_json::from_str(&said)?;
    if !["qcow2", "raw"].contains(&info.format.as_str()) {
        return Err(format!("its format is {}", info.format).into());
    }
    let mut command = bound_command("qemu-img");
    command
        .args(["convert", "-q", "-f", &info.format, "-O", "raw", "-S", "4k"])
        .arg(source)
        .arg(root.join("cloud.img"));
    let long = Long {
        what: "cloud image",
        command,
        words: &root.join("words"),
        step: |_| None,
        limit: COPY_LIMIT,
    };
    long.run(host, "cloud image", watch)?;
    Ok(Versions::from([(
        "cloud-image".to_owned(),
        digest.to_owned(),
    )]))
}

/// Who a clone is to be.
#[derive(Clone, Copy, Debug)]
pub(super) struct CloudSeed<'a> {
    pub(super) hostname: &'a str,
    pub(super) names: &'a Names,
    pub(super) plug: Plug,
    pub(super) mtu: u32,
}

impl CloudSeed<'_> {
    /// Names and text of the seed's files.
    fn files(&self) -> [(&'static str, String); 3] {
        [
            (
                "user-data",
                format!("#cloud-config\n{:#}\n", self.user_data()),
            ),
            ("meta-data", format!("{:#}\n", self.meta_data())),
            ("network-config", format!("{:#}\n", self.network())),
        ]
    }

    fn user_data(&self) -> Value {
        let file = |path: &str, permissions: &str, content: &str| json!({"path": path, "permissions": permissions, "content": content});
        let machine_id = [
            "cloud-init-per",
            "instance",
            "machine-id",
            "sh",
            "-c",
            "echo \"$0\" > /etc/machine-id",
        ];
        let machine_id: Vec<&str> = machine_id
            .into_iter()
            .chain([self.names.machine_id.as_str()])
            .collect();
        json!({
            "hostname": self.hostname,
            "preserve_hostname": false,
            "manage_etc_hosts": true,
            // No clone keeps keys of the image, and nobody logs in.
            "ssh_deletekeys": true,
            "ssh_genkeytypes": ["ed25519"],
            "ssh_pwauth": false,
            "disable_root": true,
            "users": [],
            // The image is as large as it has to be, and what a package brings would not be the
            // same tomorrow.
            "growpart": {"mode": "off"},
            "resize_rootfs": false,
            "locale": false,
            "package_update": false,
            "package_upgrade": false,
            "bootcmd": [machine_id],
            "write_files": [
                file(BOOT, "0755", include_str!("system/cloud-boot.sh")),
                file(&format!("/etc/systemd/system/{UNIT}"), "0644", include_str!("system/cloud-guest.service")),
            ],
            "runcmd": [["systemctl", "daemon-reload"], ["systemctl", "enable", "--now", "--no-block", UNIT]],
        })
    }

    fn meta_data(&self) -> Value {
        json!({"instance-id": self.names.uuid, "local-hostname": self.hostname})
    }

    /// Version 2 of cloud-init's network configuration. The name is that which the guest's service
    /// knows.
    fn network(&self) -> Value {
        let interface = |name: &str, mac: &str, address: Ipv4Addr| {
            json!({
                "match": {"macaddress": mac},
                "set-name": name,
                "dhcp4": false,
                "dhcp6": false,
                "addresses": [format!("{address}/{}", self.plug.prefix)],
                "mtu": self.mtu,
            })
        };
        let to_users = interface(GUEST_DEVICE, &self.names.mac, self.plug.inside);
        let mut ethernets = json!({GUEST_DEVICE: to_users});
        if let Some(address) = self.plug.back_end {
            ethernets[BACK_END_DEVICE] =
                interface(BACK_END_DEVICE, &self.names.back_end_mac, address);
        }
        json!({"version": 2, "ethernets": ethernets})
    }

    /// Write the seed's disk into a directory; gives the file.
    ///
    /// # Errors
    /// When mkfs.vfat or mcopy fail, or are missing.
    pub(super) fn write(&self, host: &dyn Host, directory: &Path) -> io::Result<PathBuf> {
        let texts = directory.join("cloud-seed");
        let image = directory.join(SEED_FILE);
        fs::create_dir_all(&texts)?;
        for (name, text) in self.files() {
            fs::write(texts.join(name), text)?;
        }
        match fs::remove_file(&image) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // The number of the volume would be the time otherwise.
        let make = Invocation::new("mkfs.vfat")
            .args(["-C", "-n", SEED_LABEL, "-i", "524b5259"])
            .arg(&image)
            .arg(SEED_KIB.to_string());
        host.run(make).map_err(io::Error::other)?;
        let mut copy = Invocation::new("mcopy").args(["-o", "-i"]).arg(&image);
        for (name, _) in self.files() {
            copy = copy.arg(texts.join(name));
        }
        host.run(copy.arg("::")).map_err(io::Error::other)?;
        Ok(image)
    }
}

#[cfg(test)]
mod tests {
    use rookery_host::{CommandError, RealHost, RunId};

    use super::*;

    fn names() -> Names {
        Names::derive(&RunId::try_from("ab12".to_owned()).expect("valid"), "g1", 1)
    }

    fn seed<'a>(hostname: &'a str, names: &'a Names) -> CloudSeed<'a> {
        CloudSeed {
            hostname,
            names,
            plug: Plug {
                inside: Ipv4Addr::new(10, 77, 0, 1),
                prefix: 16,
                back_end: None,
                listens: Ipv4Addr::new(10, 77, 0, 1),
                outside: "10.77.0.1:80".parse().expect("address"),
            },
            mtu: 1500,
        }
    }

    #[test]
    fn a_clone_is_told_who_it_is() {
        let names = names();
        let [user, meta, network] = seed("g1", &names).files().map(|(_, text)| text);
        insta::assert_snapshot!("cloud_user_data", user);
        insta::assert_snapshot!(meta, @r#"
        {
          "instance-id": "4fb67bf8-d287-898a-8ef2-d5fd2aac7e4d",
          "local-hostname": "g1"
        }
        "#);
        insta::assert_snapshot!(network, @r#"
        {
          "ethernets": {
            "eth0": {
              "addresses": [
                "10.77.0.1/16"
              ],
              "dhcp4": false,
              "dhcp6": false,
              "match": {
                "macaddress": "52:54:01:b1:00:01"
              },
              "mtu": 1500,
              "set-name": "eth0"
            }
          },
          "version": 2
        }
        "#);
    }

    #[test]
    fn a_name_brings_no_keys_along() {
        let names = names();
        let evil = "g1\"\nruncmd: [poweroff]\n#";
        let [user, meta, _] = seed(evil, &names).files().map(|(_, text)| text);
        let user: Value =
            serde_json::from_str(user.trim_start_matches("#cloud-config\n")).expect("JSON");
        let plain = seed("g1", &names).user_data();
        assert_eq!(user["hostname"], evil);
        assert_eq!(user["runcmd"], plain["runcmd"]);
        assert_eq!(
            serde_json::from_str::<Value>(&meta).expect("JSON")["local-hostname"],
            evil
        );
    }

    #[test]
    fn the_seed_is_a_disk_that_cloud_init_finds() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let names = names();
        let image = match seed("g1", &names).write(&RealHost, directory.path()) {
            Err(error)
                if error.to_string().contains("mkfs.vfat") && !has("mkfs.vfat")
                    || !has("mcopy") =>
            {
                assert_eq!(
                    std::env::var("ROOKERY_SKIP_ROOT_TESTS").as_deref(),
                    Ok("1"),
                    "apt install mtools dosfstools"
                );
                return;
            }
            written => written.expect("written"),
        };
        // Each life of a guest writes it anew.
        assert_eq!(
            seed("g1", &names)
                .write(&RealHost, directory.path())
                .expect("again"),
            image
        );
        let read = |name: &str| {
            RealHost.run(
                Invocation::new("mtype")
                    .arg("-i")
                    .arg(&image)
                    .arg(format!("::{name}")),
            )
        };
        assert_eq!(
            read("meta-data").expect("there"),
            seed("g1", &names).files()[1].1.trim_end()
        );
        assert!(
            read("user-data")
                .expect("there")
                .starts_with("#cloud-config\n{")
        );
        let label: Result<String, CommandError> = RealHost.run(
            Invocation::new("mlabel")
                .args(["-s", "-i"])
                .arg(&image)
                .arg("::"),
        );
        assert!(label.expect("mlabel").contains(SEED_LABEL));
    }

    fn has(program: &str) -> bool {
        rookery_host::find_program(program).is_some()
    }
}
