//! Images that are not what they say.

use std::{fs, os::unix::fs::symlink};

use rookery_diagnosis::Diagnosis as _;
use rookery_image::{Digest, ImageSource, Limits, describe};
use serde_json::{Value, json};
use tar::EntryType;

use crate::build::{Entries, Image, Members, Place, finish_layout, gzip, put, zstd};

fn image() -> Image {
    Image::new([
        Entries::new().file("first", "first"),
        Entries::new().file("second", &"second".repeat(1_000)),
    ])
}

fn code(members: &Members) -> &'static str {
    let place = Place::new();
    let directory = place.unpack(&place.layout(members)).expect_err("damaged");
    let archive = place.unpack(&place.archive(members)).expect_err("damaged");
    assert_eq!(directory.code(), archive.code());
    directory.code()
}

#[test]
fn no_byte_of_any_blob_can_be_changed() {
    let whole = image().layout();
    let blobs: Vec<&String> = whole
        .keys()
        .filter(|name| name.starts_with("blobs/"))
        .collect();
    assert_eq!(blobs.len(), 4);
    for name in blobs {
        let length = whole[name].len();
        for place in [0, length / 2, length - 1] {
            let mut members = whole.clone();
            members.get_mut(name).expect("there")[place] ^= 1;
            assert_eq!(code(&members), "image::damaged", "{name} at {place}");
        }
        let mut members = whole.clone();
        members.get_mut(name).expect("there").pop();
        assert_eq!(code(&members), "image::damaged", "{name}, shorter");
        let mut members = whole.clone();
        members.get_mut(name).expect("there").push(b' ');
        assert_eq!(code(&members), "image::damaged", "{name}, longer");
        let mut members = whole.clone();
        members.remove(name);
        assert_eq!(code(&members), "image::missing", "{name}");
    }
}

#[test]
fn sizes_are_checked_where_digests_hold() {
    let mut members = image().layout();
    let index = members["index.json"].clone();
    let mut index: Value = serde_json::from_slice(&index).expect("JSON");
    index["manifests"][0]["size"] = json!(1);
    finish_layout(&mut members, index["manifests"].clone());
    assert_eq!(code(&members), "image::damaged");
}

#[test]
fn layers_must_be_what_the_configuration_says() {
    let mut image = image();
    image.config["rootfs"]["diff_ids"][1] = json!(Digest::of(b"something else"));
    assert_eq!(code(&image.layout()), "image::damaged");
    // An archive of `docker save` has no other digest of them.
    assert_eq!(code(&image.saved()), "image::damaged");
    image.config["rootfs"]["diff_ids"] = json!([]);
    assert_eq!(code(&image.layout()), "image::document");
}

#[test]
fn a_saved_configuration_has_the_name_of_its_digest() {
    let mut members = image().saved();
    for (name, bytes) in &mut members {
        if name.len() > 64 {
            bytes.push(b' ');
        }
    }
    assert_eq!(code(&members), "image::damaged");
}

#[test]
fn a_stream_that_ends_early_is_refused_although_its_digest_holds() {
    let whole = gzip(&Entries::new().file("a", &"a".repeat(2_000)).tar());
    let cut = gzip(&Entries::new().file("a", &"a".repeat(2_000)).tar()[..1_000]);
    for layer in [whole[..whole.len() - 9].to_vec(), cut] {
        let mut image = Image {
            gzip: false,
            ..Image::new([])
        };
        image.config["rootfs"]["diff_ids"] = json!([Digest::of(&layer)]);
        image.layers.push(layer);
        assert_eq!(code(&image.layout()), "image::layer");
    }
}

#[test]
fn documents_must_be_documents() {
    for name in ["index.json", "oci-layout"] {
        let mut members = image().layout();
        for text in ["", "{", "null", "[]", r#"{"manifests": 1}"#, "\0"] {
            members.insert(name.to_owned(), text.into());
            assert_eq!(code(&members), "image::document", "{name}: {text}");
        }
    }
    let mut members = image().layout();
    let sha512 = json!([{ "digest": format!("sha512:{}", "0".repeat(128)), "size": 1 }]);
    finish_layout(&mut members, sha512);
    assert_eq!(code(&members), "image::document");
    let mut saved = image().saved();
    saved.insert("manifest.json".to_owned(), b"[]".to_vec());
    assert_eq!(code(&saved), "image::document");
}

#[test]
fn what_is_stored_like_an_image_but_is_none_is_refused() {
    let mut members = Members::new();
    let config = put(
        &mut members,
        "application/vnd.cncf.helm.config.v1+json",
        b"{}".to_vec(),
    );
    let manifest = json!({ "schemaVersion": 2, "config": config, "layers": [] });
    let kind = "application/vnd.oci.image.manifest.v1+json";
    let manifest = put(&mut members, kind, manifest.to_string().into_bytes());
    finish_layout(&mut members, json!([manifest]));
    assert_eq!(code(&members), "image::unsupported");
}

#[test]
fn damaged_zstd_is_refused() {
    let archive = Entries::new().file("a", &"a".repeat(2_000)).tar();
    let whole = zstd(&archive);
    let cut = whole[..whole.len() - 5].to_vec();
    for stored in [b"\x28\xb5\x2f\xfd and what follows".to_vec(), cut] {
        let mut image = Image {
            gzip: false,
            ..Image::new([])
        };
        image.config["rootfs"]["diff_ids"] = json!([Digest::of(&archive)]);
        image.layers.push(stored);
        let place = Place::new();
        let error = place
            .unpack(&place.layout(&image.layout()))
            .expect_err("refused");
        assert_eq!(error.code(), "image::layer", "{error}");
    }
}

#[test]
fn a_saved_list_names_nothing_outside() {
    let place = Place::new();
    for name in [
        "../outside/precious",
        "/etc/passwd",
        "a/../../outside/precious",
    ] {
        let mut saved = image().saved();
        let list = json!([{ "Config": name, "RepoTags": null, "Layers": [] }]);
        saved.insert("manifest.json".to_owned(), list.to_string().into_bytes());
        for source in [place.layout(&saved), place.archive(&saved)] {
            let error = place.unpack(&source).expect_err("refused");
            assert_eq!(error.code(), "image::missing", "{name}");
        }
    }
}

#[test]
fn what_is_no_archive_says_so() {
    let place = Place::new();
    let code = |bytes: &[u8]| {
        let error = place.unpack(&place.file(bytes)).expect_err("no image");
        error.code()
    };
    let archive = Entries::new().file("a", "a").tar();
    assert_eq!(code(b""), "image::not-an-image");
    assert_eq!(code(&[0; 2_048]), "image::not-an-image");
    assert_eq!(code(&archive), "image::not-an-image");
    assert_eq!(code(&b"#!/bin/sh\n".repeat(100)), "image::not-an-image");
    assert_eq!(code(&archive[..700]), "image::archive");
    assert_eq!(code(&gzip(&archive)), "image::compressed");
}

#[test]
fn pipes_and_links_that_lead_nowhere_do_not_make_us_wait() {
    let place = Place::new();
    let pipe = place.path("pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).expect("a pipe");
    let error = describe(&ImageSource::new(&pipe), &Limits::default()).expect_err("no image");
    assert_eq!(error.code(), "image::read");

    let source = place.layout(&image().layout());
    for name in ["index.json", "oci-layout"] {
        let path = source.path.join(name);
        fs::remove_file(&path).expect("removed");
        symlink(&pipe, &path).expect("linked");
        assert!(place.unpack(&source).is_err());
    }

    let links = Entries::new()
        .symlink("oci-layout", "index.json")
        .symlink("index.json", "oci-layout")
        .raw(EntryType::Regular, "a", "", b"");
    let error = place
        .unpack(&place.file(&links.tar()))
        .expect_err("no image");
    assert_eq!(error.code(), "image::not-an-image");
}
