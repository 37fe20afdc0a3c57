//! Images built in memory, as builders build them and as they never would.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use flate2::{Compression, write::GzEncoder};
use rookery_diagnosis::Diagnosis as _;
use rookery_image::{Digest, ImageError, ImageSource, Options, UnpackedImage, unpack};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::{Value, json};
use tar::EntryType;
use tempfile::TempDir;

/// The entries of a layer.
pub(crate) struct Entries(tar::Builder<Vec<u8>>);

impl Entries {
    pub(crate) fn new() -> Self {
        Self(tar::Builder::new(Vec::new()))
    }

    /// Any entry whatever, its names as they are: no writer's checks are in the way.
    pub(crate) fn raw(mut self, kind: EntryType, path: &str, link: &str, content: &[u8]) -> Self {
        let header = header(kind, path, link, content.len());
        self.0.append(&header, content).expect("in memory");
        self
    }

    pub(crate) fn changed(
        mut self,
        kind: EntryType,
        path: &str,
        change: impl FnOnce(&mut tar::Header),
    ) -> Self {
        let mut header = header(kind, path, "", 0);
        change(&mut header);
        header.set_cksum();
        self.0.append(&header, &[][..]).expect("in memory");
        self
    }

    pub(crate) fn file(self, path: &str, content: &str) -> Self {
        self.raw(EntryType::Regular, path, "", content.as_bytes())
    }

    pub(crate) fn directory(self, path: &str) -> Self {
        self.raw(EntryType::Directory, path, "", b"")
    }

    pub(crate) fn symlink(self, path: &str, target: &str) -> Self {
        self.raw(EntryType::Symlink, path, target, b"")
    }

    pub(crate) fn link(self, path: &str, target: &str) -> Self {
        self.raw(EntryType::Link, path, target, b"")
    }

    pub(crate) fn pax(mut self, records: &[(&str, &[u8])]) -> Self {
        let records = records.iter().copied();
        self.0.append_pax_extensions(records).expect("in memory");
        self
    }

    /// A name as GNU tar writes those above 100 bytes.
    pub(crate) fn long(mut self, path: &str, content: &str) -> Self {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        let written = self.0.append_data(&mut header, path, content.as_bytes());
        written.expect("in memory");
        self
    }

    pub(crate) fn tar(self) -> Vec<u8> {
        self.0.into_inner().expect("in memory")
    }
}

fn header(kind: EntryType, path: &str, link: &str, size: usize) -> tar::Header {
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(kind);
    header.set_size(size as u64);
    header.set_mode(if kind == EntryType::Directory {
        0o755
    } else {
        0o644
    });
    header.set_mtime(1_000_000_000);
    header.set_uid(0);
    header.set_gid(0);
    let fields = header.as_old_mut();
    fields.name[..path.len()].copy_from_slice(path.as_bytes());
    fields.linkname[..link.len()].copy_from_slice(link.as_bytes());
    header.set_cksum();
    header
}

/// The files of a layout or of a saved image, by name.
pub(crate) type Members = BTreeMap<String, Vec<u8>>;

/// An image in the making.
pub(crate) struct Image {
    /// Archives, not compressed.
    pub(crate) layers: Vec<Vec<u8>>,
    pub(crate) config: Value,
    pub(crate) gzip: bool,
}

impl Image {
    pub(crate) fn new(layers: impl IntoIterator<Item = Entries>) -> Self {
        let layers: Vec<Vec<u8>> = layers.into_iter().map(Entries::tar).collect();
        let diff_ids: Vec<Digest> = layers.iter().map(|layer| Digest::of(layer)).collect();
        let config = json!({
            "architecture": architecture(),
            "os": "linux",
            "config": { "Entrypoint": ["/app"], "Env": ["PATH=/bin"] },
            "rootfs": { "type": "layers", "diff_ids": diff_ids },
        });
        Self {
            layers,
            config,
            gzip: true,
        }
    }

    /// Its layers as they are stored.
    pub(crate) fn stored(&self) -> Vec<Vec<u8>> {
        let compress = |layer: &Vec<u8>| {
            if self.gzip {
                gzip(layer)
            } else {
                layer.clone()
            }
        };
        self.layers.iter().map(compress).collect()
    }

    /// Its blobs in `members`; the descriptor of its manifest.
    pub(crate) fn add_to(&self, members: &mut Members) -> Value {
        let blobs = self.stored();
        let layers: Vec<Value> = blobs
            .iter()
            .map(|blob| {
                let zip = if self.gzip { "+gzip" } else { "" };
                let kind = format!("application/vnd.oci.image.layer.v1.tar{zip}");
                put(members, &kind, blob.clone())
            })
            .collect();
        let config = self.config.to_string().into_bytes();
        let config = put(members, "application/vnd.oci.image.config.v1+json", config);
        let manifest = json!({ "schemaVersion": 2, "config": config, "layers": layers });
        let kind = "application/vnd.oci.image.manifest.v1+json";
        put(members, kind, manifest.to_string().into_bytes())
    }

    /// As a layout with nothing else.
    pub(crate) fn layout(&self) -> Members {
        let mut members = Members::new();
        let descriptor = self.add_to(&mut members);
        finish_layout(&mut members, json!([descriptor]));
        members
    }

    /// As `docker save` of former releases wrote it.
    pub(crate) fn saved(&self) -> Members {
        let mut members = Members::new();
        let mut names = Vec::new();
        for (number, layer) in self.stored().into_iter().enumerate() {
            let name = format!("{number}/layer.tar");
            members.insert(name.clone(), layer);
            names.push(name);
        }
        let config = self.config.to_string().into_bytes();
        let config_name = format!("{}.json", Digest::of(&config).hex());
        members.insert(config_name.clone(), config);
        let manifest = json!([
            { "Config": config_name, "RepoTags": ["app:1.0"], "Layers": names }
        ]);
        members.insert(
            "manifest.json".to_owned(),
            manifest.to_string().into_bytes(),
        );
        members
    }
}

/// Puts a blob among the others; its descriptor.
pub(crate) fn put(members: &mut Members, kind: &str, bytes: Vec<u8>) -> Value {
    let digest = Digest::of(&bytes);
    let descriptor = json!({ "mediaType": kind, "digest": digest, "size": bytes.len() });
    members.insert(format!("blobs/sha256/{}", digest.hex()), bytes);
    descriptor
}

pub(crate) fn finish_layout(members: &mut Members, manifests: Value) {
    let index = json!({ "schemaVersion": 2, "manifests": manifests });
    members.insert("index.json".to_owned(), index.to_string().into_bytes());
    let layout = br#"{"imageLayoutVersion": "1.0.0"}"#;
    members.insert("oci-layout".to_owned(), layout.to_vec());
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("in memory");
    encoder.finish().expect("in memory")
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// This host's, as images name it.
pub(crate) fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// A directory for a test: what is outside the root lies there, too.
pub(crate) struct Place {
    directory: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().expect("temporary directory");
        let place = Self { directory };
        fs::create_dir(place.outside()).expect("made");
        fs::write(place.precious(), "precious").expect("written");
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.path("outside")
    }

    pub(crate) fn precious(&self) -> PathBuf {
        self.outside().join("precious")
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path("root")
    }

    /// Writes the members into a directory.
    pub(crate) fn layout(&self, members: &Members) -> ImageSource {
        let directory = self.path("image");
        for (name, bytes) in members {
            let path = directory.join(name);
            fs::create_dir_all(path.parent().expect("inside")).expect("made");
            fs::write(path, bytes).expect("written");
        }
        ImageSource::new(directory)
    }

    /// Writes the members into an archive.
    pub(crate) fn archive(&self, members: &Members) -> ImageSource {
        let mut entries = Entries::new();
        for (name, bytes) in members {
            entries = entries.raw(EntryType::Regular, name, "", bytes);
        }
        self.file(&entries.tar())
    }

    pub(crate) fn file(&self, bytes: &[u8]) -> ImageSource {
        let path = self.path("image.tar");
        fs::write(&path, bytes).expect("written");
        ImageSource::new(path)
    }

    pub(crate) fn unpack(&self, source: &ImageSource) -> Result<UnpackedImage, ImageError> {
        self.unpack_with(source, &Options::default())
    }

    /// Unpacks into the root, and checks what must hold whatever comes of it.
    pub(crate) fn unpack_with(
        &self,
        source: &ImageSource,
        options: &Options,
    ) -> Result<UnpackedImage, ImageError> {
        let before = state(&self.outside());
        let unpacked = unpack(source, &self.root(), options, &AtomicBool::new(false));
        assert_eq!(
            state(&self.outside()),
            before,
            "something outside was touched"
        );
        assert_eq!(unpacked.is_err(), !self.root().exists(), "{unpacked:?}");
        unpacked
    }

    /// Unpacks these layers, which must be possible.
    pub(crate) fn unpacked(&self, layers: impl IntoIterator<Item = Entries>) -> UnpackedImage {
        let source = self.layout(&Image::new(layers).layout());
        self.unpack(&source)
            .unwrap_or_else(|error| panic!("{error}: {error:?}"))
    }

    /// Unpacks these layers, which must not be possible; the code of the error.
    pub(crate) fn refused(&self, layers: impl IntoIterator<Item = Entries>) -> &'static str {
        let source = self.layout(&Image::new(layers).layout());
        self.unpack(&source).expect_err("refused").code()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        let path = self.root().join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}

/// Names, contents, modes and times below a directory, and its own.
fn state(directory: &Path) -> Vec<String> {
    use std::os::unix::fs::MetadataExt as _;
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(path) = open.pop() {
        let metadata = fs::symlink_metadata(&path).expect("readable");
        let (mode, mtime) = (metadata.mode(), metadata.mtime_nsec());
        let (links, uid) = (metadata.nlink(), metadata.uid());
        found.push(format!("{} {mode:o} {mtime} {links} {uid}", path.display()));
        if metadata.is_dir() {
            let entries = fs::read_dir(&path).expect("readable");
            open.extend(entries.map(|entry| entry.expect("readable").path()));
        } else {
            found.push(fs::read_to_string(&path).expect("readable"));
        }
    }
    found.sort();
    found
}
