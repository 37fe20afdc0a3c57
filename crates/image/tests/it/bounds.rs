//! Images that ask for more than they may have.

use std::{fs, io::Write as _, sync::atomic::AtomicBool};

use flate2::{Compression, write::GzEncoder};
use rookery_diagnosis::Diagnosis as _;
use rookery_image::{Digest, Limits, Options, unpack};
use serde_json::json;
use tar::EntryType;

use crate::build::{Entries, Image, Members, Place, finish_layout, put, zstd};

fn limited(change: impl FnOnce(&mut Limits)) -> Options {
    let mut options = Options::default();
    change(&mut options.limits);
    options
}

/// The code of the error that an image gives within these limits.
fn refused(image: &Image, change: impl FnOnce(&mut Limits)) -> &'static str {
    let place = Place::new();
    let source = place.layout(&image.layout());
    let unpacked = place.unpack_with(&source, &limited(change));
    unpacked.expect_err("too much").code()
}

/// A layer whose file of zeros is 1 GiB and whose archive is about a megabyte. Compressed streams
/// may follow each other, so it is not compressed here as a whole.
fn bomb(compress: fn(&[u8]) -> Vec<u8>) -> (Vec<u8>, Members) {
    const PART: usize = 8 << 20;
    const PARTS: usize = 128;
    let whole = Entries::new()
        .raw(EntryType::Regular, "zeros", "", b"")
        .tar();
    let mut header = tar::Header::from_byte_slice(&whole[..512]).clone();
    header.set_size((PART * PARTS) as u64);
    header.set_cksum();
    let mut layer = compress(header.as_bytes());
    let zeros = compress(&vec![0; PART]);
    for _ in 0..PARTS {
        layer.extend(&zeros);
    }
    let mut members = Members::new();
    let kind = "application/vnd.oci.image.layer.v1.tar+gzip";
    let descriptor = put(&mut members, kind, layer.clone());
    let mut image = Image::new([]);
    image.config["rootfs"]["diff_ids"] = json!([Digest::of(b"never reached")]);
    let config = image.config.to_string().into_bytes();
    let config = put(
        &mut members,
        "application/vnd.oci.image.config.v1+json",
        config,
    );
    let manifest = json!({ "schemaVersion": 2, "config": config, "layers": [descriptor] });
    let kind = "application/vnd.oci.image.manifest.v1+json";
    let manifest = put(&mut members, kind, manifest.to_string().into_bytes());
    finish_layout(&mut members, json!([manifest]));
    (layer, members)
}

#[test]
fn a_gibibyte_of_zeros_in_a_small_layer_is_refused_before_anything_is_written() {
    let best = |bytes: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).expect("in memory");
        encoder.finish().expect("in memory")
    };
    refuse_bomb(best);
    refuse_bomb(zstd);
}

fn refuse_bomb(compress: fn(&[u8]) -> Vec<u8>) {
    let (layer, members) = bomb(compress);
    assert!(layer.len() < 2 << 20, "{}", layer.len());
    let place = Place::new();
    let source = place.layout(&members);
    // The directory would be made before the first byte is written: this one cannot be.
    let root = place.path("no/such/directory");
    let unpacked = unpack(&source, &root, &Options::default(), &AtomicBool::new(false));
    assert_eq!(unpacked.expect_err("a bomb").code(), "image::limit");
    let few = limited(|limits| (limits.ratio, limits.unpacked_bytes) = (u64::MAX, 1 << 20));
    let unpacked = place.unpack_with(&source, &few);
    assert_eq!(unpacked.expect_err("a bomb").code(), "image::limit");
}

#[test]
fn bytes_of_all_layers_count_together() {
    let layer = || Entries::new().file("f", &"x".repeat(3_000));
    let image = Image::new([layer(), layer()]);
    let layers: u64 = image.layers.iter().map(|layer| layer.len() as u64).sum();
    assert_eq!(
        refused(&image, |limits| limits.unpacked_bytes = layers - 1),
        "image::limit"
    );
    let place = Place::new();
    let exact = limited(|limits| limits.unpacked_bytes = layers);
    let unpacked = place.unpack_with(&place.layout(&image.layout()), &exact);
    assert_eq!(unpacked.expect("within").layer_bytes, layers);
}

#[test]
fn entries_of_all_layers_count_together() {
    let layer = || Entries::new().file("a", "").file(".wh.b", "").file("c", "");
    let image = Image::new([layer(), layer()]);
    assert_eq!(refused(&image, |limits| limits.entries = 5), "image::limit");
    let place = Place::new();
    let exact = limited(|limits| limits.entries = 6);
    let unpacked = place.unpack_with(&place.layout(&image.layout()), &exact);
    assert_eq!(unpacked.expect("within").entries, 6);
}

#[test]
fn there_are_not_too_many_layers() {
    let image = Image::new((0..3).map(|_| Entries::new()));
    assert_eq!(refused(&image, |limits| limits.layers = 2), "image::limit");
}

#[test]
fn documents_are_short() {
    let mut image = Image::new([Entries::new()]);
    image.config["config"]["Labels"] = json!({ "long": "x".repeat(10_000) });
    assert_eq!(
        refused(&image, |limits| limits.document_bytes = 10_000),
        "image::limit"
    );
}

#[test]
fn paths_are_short_and_flat() {
    let deep = Image::new([Entries::new().long(&("d/".repeat(200) + "f"), "")]);
    assert_eq!(refused(&deep, |_| {}), "image::limit");
    let long = Image::new([Entries::new().long(&("d".repeat(99) + "/").repeat(42), "")]);
    assert_eq!(refused(&long, |_| {}), "image::limit");
    let name = Image::new([Entries::new().long(&"n".repeat(256), "")]);
    assert_eq!(refused(&name, |_| {}), "image::limit");
}

#[test]
fn links_do_not_make_paths_longer_than_they_may_be() {
    let half = "d/".repeat(100);
    let entries = Entries::new()
        .long(&format!("{half}f"), "")
        .pax(&[("linkpath", half.as_bytes())])
        .symlink("link", "")
        .long(&format!("link/{half}f"), "");
    assert_eq!(refused(&Image::new([entries]), |_| {}), "image::limit");
}

#[test]
fn archives_have_not_too_many_members() {
    let mut members = Image::new([Entries::new()]).layout();
    for number in 0..50 {
        members.insert(format!("member-{number}"), Vec::new());
    }
    let place = Place::new();
    let source = place.archive(&members);
    let few = limited(|limits| limits.entries = 50);
    let unpacked = place.unpack_with(&source, &few);
    assert_eq!(unpacked.expect_err("too many").code(), "image::limit");
    place.unpack(&source).expect("within");
}

#[test]
fn indexes_are_not_inside_each_other_for_ever() {
    let mut members = Members::new();
    let mut descriptor = Image::new([Entries::new()]).add_to(&mut members);
    for _ in 0..10 {
        let index = json!({ "schemaVersion": 2, "manifests": [descriptor] });
        let kind = "application/vnd.oci.image.index.v1+json";
        descriptor = put(&mut members, kind, index.to_string().into_bytes());
    }
    finish_layout(&mut members, json!([descriptor]));
    let place = Place::new();
    let unpacked = place.unpack(&place.layout(&members));
    assert_eq!(unpacked.expect_err("nested").code(), "image::document");
}

#[test]
fn a_raised_flag_ends_it_and_nothing_is_left() {
    let place = Place::new();
    let source = place.layout(&Image::new([Entries::new().file("f", "f")]).layout());
    fs::create_dir(place.root()).expect("made");
    let stop = AtomicBool::new(true);
    let error = unpack(&source, &place.root(), &Options::default(), &stop).expect_err("stopped");
    assert!(error.is_stopped(), "{error:?}");
    assert_eq!(fs::read_dir(place.root()).expect("there").count(), 0);
}
