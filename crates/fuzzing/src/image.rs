//! Any layer of a container image, and any document of one.

use std::{fs, path::Path};

/// Types of entries, among them those that images do not have and those that speak for others.
const TYPES: &[u8] = b"0000055512234671xgLKS\0Z";
const BLOCK: usize = 512;

/// The bytes are a script of entries: their headers have the right checksums, so that changes to
/// the script reach what lies behind. Nothing outside the root may be touched.
pub(crate) fn layer(bytes: &[u8]) {
    let home = tempfile::tempdir().expect("a temporary directory");
    let (root, outside) = (home.path().join("root"), home.path().join("outside"));
    fs::create_dir(&root).expect("made");
    fs::create_dir(&outside).expect("made");
    fs::write(outside.join("precious"), "precious").expect("written");
    let _ = rookery_image::fuzzing::apply(&archive(bytes), &root);
    assert_eq!(names(home.path()), ["outside", "root"]);
    assert_eq!(names(&outside), ["precious"]);
    let precious = fs::read_to_string(outside.join("precious")).expect("readable");
    assert_eq!(precious, "precious");
}

/// The bytes are a document.
pub(crate) fn documents(bytes: &[u8]) {
    rookery_image::fuzzing::documents(bytes);
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("readable").flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Each entry of a script: its type, and then its name, its link, its content, each after a byte
/// that says how long it is.
fn archive(mut script: &[u8]) -> Vec<u8> {
    let mut archive = Vec::new();
    while let Some((&kind, rest)) = script.split_first() {
        script = rest;
        let name = field(&mut script, 100);
        let link = field(&mut script, 100);
        let content = field(&mut script, 200);
        let kind = TYPES[usize::from(kind) % TYPES.len()];
        archive.extend(header(kind, name, link, content.len()));
        archive.extend(content);
        archive.resize(archive.len().next_multiple_of(BLOCK), 0);
    }
    archive.resize(archive.len() + 2 * BLOCK, 0);
    archive
}

fn field<'a>(script: &mut &'a [u8], longest: usize) -> &'a [u8] {
    let Some((&length, rest)) = script.split_first() else {
        return &[];
    };
    let length = usize::from(length).min(longest).min(rest.len());
    let (field, rest) = rest.split_at(length);
    *script = rest;
    field
}

fn header(kind: u8, name: &[u8], link: &[u8], size: usize) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[..name.len()].copy_from_slice(name);
    block[100..107].copy_from_slice(b"0000755");
    block[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
    block[148..156].fill(b' ');
    block[156] = kind;
    block[157..157 + link.len()].copy_from_slice(link);
    block[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
    block[148..154].copy_from_slice(format!("{sum:06o}").as_bytes());
    block[154] = 0;
    block
}
