//! The images that guests boot from: the system, the same for all, and the disk of a template. Both
//! are ext4, made without mounting, and lie in templates of their own: built once, leased, listed
//! and removed like all others.
//!
//! The system holds kernel, systemd and the boot script; every guest reads it, none writes. What a
//! guest serves lies on its own disk, where the guest's service runs it in the very root that a
//! container would have.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use rookery_host::{ENCLOSED, Host, HostError, bound_command, volume::devices::DISK_LABEL};

use super::{
    building::{Long, Watch},
    initrd::initrd,
    merge::merge_layers,
};
use crate::{
    error::{FillError, GuestError},
    lab_core::LabCore,
    paths::remove_tree,
    template::{Fill, Recipe, Template, Versions},
};

/// Raised when the same packages give another system.
const SYSTEM_VERSION: u32 = 2;
/// Raised when the same layers give another disk.
const DISK_VERSION: u32 = 2;
/// What the system is made of. mmdebstrap configures it, so that it boots.
const PACKAGES: &str =
    "linux-image-cloud-amd64,busybox-static,systemd-sysv,udev,kmod,iproute2,base-files";
/// It would make another initial file system than [`initrd`].
const INITRD_MAKER: &str = "/etc/kernel/postinst.d/initramfs-tools";
/// Programs that look at every boot for what a guest cannot have: other disks, encrypted ones,
/// services of old.
const GENERATORS: &str = "usr/lib/systemd/system-generators";
/// Directories of `/usr/share` that no guest reads.
const UNREAD: [&str; 5] = ["doc", "man", "locale", "info", "lintian"];
/// The release that is taken where this host is no Debian.
const SUITE: &str = "bookworm";
/// Sources that Debian's installer and images write.
const HOST_SOURCES: [&str; 2] = [
    "/etc/apt/sources.list.d/debian.sources",
    "/etc/apt/sources.list",
];
/// A mirror that is slower than this is none.
const BUILD_LIMIT: Duration = Duration::from_secs(15 * 60);
/// Making a file system of a few hundred MiB takes seconds; a slow disk and a large database take
/// longer.
const IMAGE_LIMIT: Duration = Duration::from_secs(10 * 60);
/// Room for the system itself, MiB. It is read only, so it needs none beyond its files.
const SYSTEM_MIB: u64 = 1024;
/// The system: its parts are files in the root of a template.
#[derive(Clone, Debug)]
pub(super) struct System {
    pub(super) template: Template,
}

impl System {
    pub(super) fn kernel(&self) -> PathBuf {
        self.template.root.join("vmlinuz")
    }

    pub(super) fn initrd(&self) -> PathBuf {
        self.template.root.join("initrd.img")
    }

    pub(super) fn image(&self) -> PathBuf {
        self.template.root.join("system.img")
    }
}

/// The system, built or found built.
///
/// # Errors
/// When mmdebstrap or mke2fs fail, or the patience ends.
pub(super) fn system(core: &LabCore, watch: Watch<'_>) -> Result<System, GuestError> {
    let (suite, sources) = release();
    let host = &*core.host;
    let fill = |root: &Path| build_system(host, root, &suite, sources.as_deref(), watch);
    let recipe = Recipe {
        description: format!(
            "system of virtual machines {SYSTEM_VERSION}, {suite}: {}",
            PACKAGES.replace(',', " ")
        ),
        program: PathBuf::new(),
        base: None,
        fill: Fill::Root(&fill),
    };
    core.template(&recipe, watch.patience)
        .map(|template| System { template })
}

/// The image of a template's disk, built or found built.
///
/// # Errors
/// When the layers do not fit, or the patience ends.
pub(super) fn disk(
    core: &LabCore,
    template: &Template,
    size_mib: u64,
    watch: Watch<'_>,
) -> Result<Template, GuestError> {
    let host = &*core.host;
    let layers: Vec<String> = template
        .layers
        .iter()
        .map(|layer| digest_of(layer))
        .collect();
    let fill = |root: &Path| build_disk(host, root, &template.layers, size_mib, watch);
    let recipe = Recipe {
        description: format!(
            "disk of virtual machines {DISK_VERSION}, {size_mib} MiB: {}",
            layers.join(" ")
        ),
        program: PathBuf::new(),
        base: None,
        fill: Fill::Root(&fill),
    };
    core.template(&recipe, watch.patience)
}

/// The image in the template of [`disk`].
pub(super) fn disk_image(template: &Template) -> PathBuf {
    template.root.join("disk.img")
}

/// The name of the template that holds a layer's root.
fn digest_of(layer: &Path) -> String {
    let holder = layer.parent().and_then(Path::file_name);
    holder
        .unwrap_or(layer.as_os_str())
        .to_string_lossy()
        .into_owned()
}

/// Release and sources of this host, if it is a Debian; else Debian 12 from mmdebstrap's own
/// mirror.
fn release() -> (String, Option<String>) {
    let text = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let value = |key: &str| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
        Some(line.trim_matches('"').to_owned())
    };
    let plain = |name: &String| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    let own = value("ID")
        .filter(|id| id == "debian")
        .and_then(|_| value("VERSION_CODENAME"))
        .filter(plain);
    let serves = |path: &&str| {
        let text = fs::read_to_string(path).unwrap_or_default();
        own.as_ref()
            .is_some_and(|suite| text.split_whitespace().any(|word| word == suite))
            && !text.contains("cdrom:")
    };
    let sources = HOST_SOURCES.into_iter().find(serves).map(str::to_owned);
    (own.unwrap_or_else(|| SUITE.to_owned()), sources)
}

fn build_system(
    host: &dyn Host,
    root: &Path,
    suite: &str,
    sources: Option<&str>,
    watch: Watch<'_>,
) -> Result<Versions, FillError> {
    let tree = root.join("tree");
    let files = root.join("files");
    write_files(&files)?;
    // Before any package is configured, so that none writes its own.
    let early = r#"cp -a "$ROOKERY_FILES/." "$1/""#;
    let [enclosure, enclosed @ ..] = ENCLOSED;
    let mut command = bound_command(enclosure);
    command
        .args(enclosed)
        .arg("mmdebstrap")
        .args(["--variant=minbase", "--mode=root", "--format=directory"])
        .arg(format!("--include={PACKAGES}"))
        .arg(format!("--dpkgopt=path-exclude={INITRD_MAKER}"))
        .args(UNREAD.map(|name| format!("--dpkgopt=path-exclude=/usr/share/{name}/*")))
        .arg(format!("--essential-hook={early}"))
        .arg(suite)
        .arg(&tree)
        .args(sources)
        .env("LC_ALL", "C.UTF-8")
        .env("ROOKERY_FILES", &files)
        .env("TMPDIR", root.parent().unwrap_or(root));
    let long = Long {
        what: "system of machines",
        command,
        words: &root.join("words"),
        step,
        limit: BUILD_LIMIT,
    };
    long.run(host, "mmdebstrap", watch).map_err(|error| {
        let help = "is a Debian mirror within reach, and mmdebstrap installed (apt install \
                    mmdebstrap)?";
        HostError::because(error, help)
    })?;
    let version = settle(&tree, root)?;
    make_image(
        host,
        &tree,
        &root.join("system.img"),
        SYSTEM_MIB,
        &["-O", "^has_journal"],
        "system of machines",
        watch,
    )?;
    remove_tree(&tree)?;
    remove_tree(&files)?;
    Ok(Versions::from([
        ("linux".to_owned(), version),
        ("suite".to_owned(), suite.to_owned()),
    ]))
}

/// What a line of mmdebstrap says of its step.
fn step(line: &str) -> Option<&'static str> {
    let steps = [
        (
            "I: running apt-get update",
            "fetching the lists of packages",
        ),
        ("I: downloading packages", "fetching packages"),
        ("Get:", "fetching packages"),
        ("I: extracting archives", "unpacking packages"),
        ("I: installing essential packages", "configuring packages"),
        ("I: installing remaining packages", "configuring packages"),
        ("I: cleaning ", "tidying up"),
    ];
    steps
        .into_iter()
        .find(|(start, _)| line.starts_with(start))
        .map(|(_, step)| step)
}

/// What is written into the system.
fn write_files(files: &Path) -> io::Result<()> {
    let texts: [(&str, &str, u32); 4] = [
        (
            "etc/systemd/system/rookery-guest.target",
            include_str!("system/rookery-guest.target"),
            0o644,
        ),
        (
            "etc/systemd/system/rookery-guest.service",
            include_str!("system/rookery-guest.service"),
            0o644,
        ),
        ("etc/rookery/boot", include_str!("system/boot.sh"), 0o755),
        // An empty one is filled in memory at each boot.
        ("etc/machine-id", "", 0o644),
    ];
    for (name, text, mode) in texts {
        let path = files.join(name);
        for directory in path
            .ancestors()
            .skip(1)
            .take_while(|path| path.starts_with(files))
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
        {
            fs::create_dir_all(directory)?;
            fs::set_permissions(directory, fs::Permissions::from_mode(0o755))?;
        }
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// Take the kernel out of the tree, make its initial file system, and take what is the host's own
/// out of the tree; gives the kernel's version.
fn settle(tree: &Path, root: &Path) -> io::Result<String> {
    let found = fs::read_dir(tree.join("boot"))?
        .flatten()
        .find_map(|entry| {
            Some((
                entry.path(),
                entry
                    .file_name()
                    .to_str()?
                    .strip_prefix("vmlinuz-")?
                    .to_owned(),
            ))
        });
    let (kernel, version) = found.ok_or_else(|| io::Error::other("the packages have no kernel"))?;
    fs::copy(kernel, root.join("vmlinuz"))?;
    fs::write(root.join("initrd.img"), initrd(tree, &version)?)?;
    remove_tree(&tree.join(GENERATORS))?;
    remove_tree(&tree.join("boot"))?;
    for directory in ["boot", "guest"] {
        fs::create_dir(tree.join(directory))?;
    }
    for cache in ["var/cache/apt", "var/lib/apt/lists"] {
        remove_tree(&tree.join(cache))?;
    }
    fs::write(tree.join("etc/fstab"), "")?;
    fs::write(tree.join("etc/machine-id"), "")?;
    // Of the host, copied by mmdebstrap: a guest has neither its name nor its resolver.
    for file in ["etc/hostname", "etc/resolv.conf"] {
        match fs::remove_file(tree.join(file)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(version)
}

fn build_disk(
    host: &dyn Host,
    root: &Path,
    layers: &[PathBuf],
    size_mib: u64,
    watch: Watch<'_>,
) -> Result<Versions, FillError> {
    let tree = root.join("tree");
    merge_layers(layers, &tree)?;
    for directory in ["proc", "sys", "dev", "run", "tmp", "conf"] {
        let path = tree.join(directory);
        if !path.is_dir() {
            fs::create_dir(&path)?;
        }
    }
    make_image(
        host,
        &tree,
        &root.join("disk.img"),
        size_mib,
        &["-J", "size=16", "-L", DISK_LABEL],
        "disk of machines",
        watch,
    )?;
    remove_tree(&tree)?;
    Ok(Versions::new())
}

/// An ext4 image of a directory. Its tables are written now, and not by the guest's kernel while it
/// is being measured.
fn make_image(
    host: &dyn Host,
    tree: &Path,
    image: &Path,
    size_mib: u64,
    options: &[&str],
    what: &str,
    watch: Watch<'_>,
) -> Result<(), FillError> {
    let file = fs::File::create(image)?;
    file.set_len(size_mib << 20)?;
    let mut command = bound_command("mke2fs");
    command
        .args([
            "-q",
            "-F",
            "-t",
            "ext4",
            "-b",
            "4096",
            "-m",
            "0",
            "-E",
            "lazy_itable_init=0,lazy_journal_init=0",
        ])
        .args(options)
        .arg("-d")
        .arg(tree)
        .arg(image)
        .env("LC_ALL", "C");
    let long = Long {
        what,
        command,
        words: &image.with_extension("words"),
        step: |_| None,
        limit: IMAGE_LIMIT,
    };
    long.run(host, "mke2fs", watch).map_err(|error| {
        let said = error.to_string();
        if said.contains("Could not allocate") || said.contains("No space") {
            let what = format!("the files do not fit into {size_mib} MiB: {said}");
            return HostError::refused(what, "give the guest a larger disk").into();
        }
        error.into()
    })
}

#[cfg(test)]
mod tests {
    use rookery_host::{Invocation, RealHost};

    use super::*;
    use crate::label::Label;

    #[test]
    fn the_steps_of_mmdebstrap_are_told() {
        assert_eq!(
            step("I: extracting archives..."),
            Some("unpacking packages")
        );
        assert_eq!(
            step("Get:7 http://mirror.example bookworm/main amd64 udev"),
            Some("fetching packages")
        );
        assert_eq!(step("done"), None);
    }

    #[test]
    fn a_layer_is_named_by_its_template() {
        assert_eq!(digest_of(Path::new("/templates/abc/root")), "abc");
    }

    #[test]
    fn an_image_holds_the_tree() {
        let base = tempfile::tempdir().expect("temporary directory");
        let tree = base.path().join("tree");
        fs::create_dir_all(tree.join("data")).expect("made");
        fs::write(tree.join("data/row"), "first").expect("written");
        let image = base.path().join("disk.img");
        let watch = Watch {
            told: &|_, _| {},
            patience: &crate::patient,
            label: &Label::for_test("toy"),
        };
        make_image(&RealHost, &tree, &image, 64, &[], "toy", watch).expect("made");
        let said = RealHost
            .run(
                Invocation::new("debugfs")
                    .args(["-R", "cat /data/row"])
                    .arg(&image),
            )
            .expect("debugfs");
        assert_eq!(said, "first");
        let error = make_image(
            &RealHost,
            &tree,
            &base.path().join("small.img"),
            0,
            &[],
            "toy",
            watch,
        )
        .expect_err("nothing fits");
        assert!(error.to_string().contains("mke2fs"), "{error}");
    }

    #[test]
    fn the_files_of_the_system_are_readable_whatever_the_umask() {
        let base = tempfile::tempdir().expect("temporary directory");
        let files = base.path().join("files");
        write_files(&files).expect("written");
        let mode = |name: &str| {
            files
                .join(name)
                .metadata()
                .expect("there")
                .permissions()
                .mode()
                & 0o777
        };
        assert_eq!(
            (
                mode("etc"),
                mode("etc/rookery/boot"),
                mode("etc/machine-id")
            ),
            (0o755, 0o755, 0o644)
        );
    }
}
