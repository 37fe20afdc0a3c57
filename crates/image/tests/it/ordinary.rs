//! Images as builders make them.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, symlink},
};

use rookery_diagnosis::{Diagnosis as _, ErrorFields};
use rookery_image::{ImageError, ImageSource, Limits, describe};
use serde_json::{Value, json};
use tar::EntryType;

use crate::build::{Entries, Image, Members, Place, architecture, finish_layout, put, zstd};

/// Two layers with something of everything.
fn image() -> Image {
    let base = Entries::new()
        .directory("./")
        .directory("./bin/")
        .changed(EntryType::Regular, "bin/app", |header| {
            header.set_mode(0o755);
            header.set_uid(33);
            header.set_gid(1 << 20);
        })
        .file("etc/app.conf", "port = 80\n")
        .file("etc/old.conf", "old")
        .file("cache/a/b", "b")
        .symlink("lib", "usr/lib")
        .link("bin/app-2", "bin/app");
    let top = Entries::new()
        .file("etc/.wh.old.conf", "")
        .file("cache/new", "new")
        .file("cache/.wh..wh..opq", "")
        .file("lib/libapp.so", "library")
        .file("bin/app", "changed")
        .long(&("deep/".repeat(40) + "file"), "long");
    Image::new([base, top])
}

fn check(place: &Place) {
    assert_eq!(place.read("etc/app.conf"), "port = 80\n");
    assert_eq!(place.read("usr/lib/libapp.so"), "library");
    assert_eq!(place.read("bin/app"), "changed");
    assert_eq!(place.read("bin/app-2"), "");
    assert_eq!(place.read(&("deep/".repeat(40) + "file")), "long");
    // What a layer removes is what lies below it, wherever it says so.
    assert_eq!(place.read("cache/new"), "new");
    assert!(!place.root().join("cache/a").exists());
    assert!(!place.root().join("etc/old.conf").exists());
    let link = fs::read_link(place.root().join("lib")).expect("a link");
    assert_eq!(link.to_str(), Some("usr/lib"));
}

#[test]
fn a_layout_is_unpacked_from_a_directory_and_from_an_archive() {
    let mut unpacked = Vec::new();
    for gzip in [true, false] {
        let image = Image { gzip, ..image() };
        let place = Place::new();
        let source = place.layout(&image.layout());
        unpacked.push(place.unpack(&source).expect("unpacked").image.id);
        check(&place);
        let place = Place::new();
        let source = place.archive(&image.layout());
        unpacked.push(place.unpack(&source).expect("unpacked").image.id);
        check(&place);
    }
    let mut image = Image {
        gzip: false,
        ..image()
    };
    for layer in &mut image.layers {
        *layer = zstd(layer);
    }
    let place = Place::new();
    let source = place.layout(&image.layout());
    unpacked.push(place.unpack(&source).expect("unpacked").image.id);
    check(&place);
    // The same content has the same id, however it is stored.
    unpacked.dedup();
    assert_eq!(unpacked.len(), 1);
}

#[test]
fn what_docker_and_podman_save_is_unpacked() {
    let saved = image().saved();
    let place = Place::new();
    let unpacked = place.unpack(&place.archive(&saved)).expect("unpacked");
    check(&place);
    assert_eq!(unpacked.image.names, ["app:1.0"]);
    assert_eq!(unpacked.image.manifest, None);
    assert_eq!(unpacked.image.command, ["/app"]);

    // Newer releases write a layout and the old list, and both say the same.
    let mut both = image().layout();
    both.extend(saved);
    let place = Place::new();
    let newer = place.unpack(&place.archive(&both)).expect("unpacked");
    check(&place);
    assert_eq!(newer.image.id, unpacked.image.id);
    assert!(newer.image.manifest.is_some());
}

#[test]
fn layers_that_are_links_in_the_archive_are_found() {
    let layer = || Entries::new().file("f", "f");
    let image = Image {
        gzip: false,
        ..Image::new([layer(), layer()])
    };
    let mut saved = image.saved();
    saved.remove("1/layer.tar");
    let mut entries = Entries::new().symlink("1/layer.tar", "../0/layer.tar");
    for (name, bytes) in &saved {
        entries = entries.raw(EntryType::Regular, name, "", bytes);
    }
    let place = Place::new();
    place.unpack(&place.file(&entries.tar())).expect("unpacked");
    assert_eq!(place.read("f"), "f");
}

#[test]
fn modes_owners_and_times_are_those_of_the_image() {
    let place = Place::new();
    let unpacked = place
        .unpack(&place.layout(&image().layout()))
        .expect("unpacked");
    let metadata = |name: &str| fs::symlink_metadata(place.root().join(name)).expect("there");
    let old = metadata("bin/app-2");
    assert_eq!((old.mode() & 0o7777, old.mtime()), (0o755, 1_000_000_000));
    // Files were put into it afterwards.
    let directory = metadata("bin");
    assert_eq!(
        (directory.mode() & 0o7777, directory.mtime()),
        (0o755, 1_000_000_000)
    );
    assert_eq!(metadata("lib").mtime(), 1_000_000_000);
    assert_eq!(metadata("deep").mode() & 0o7777, 0o755);
    if rustix::process::geteuid().is_root() {
        assert_eq!((old.uid(), old.gid()), (33, 1 << 20));
        assert!(unpacked.dropped.is_empty(), "{:?}", unpacked.dropped);
    } else {
        assert_eq!(unpacked.dropped.len(), 1, "{:?}", unpacked.dropped);
    }
}

#[test]
fn an_image_says_what_it_is_without_being_unpacked() {
    let place = Place::new();
    let source = place.layout(&image().layout());
    let described = describe(&source, &Limits::default()).expect("described");
    assert!(!place.root().exists());
    assert_eq!(described, place.unpack(&source).expect("unpacked").image);
    let json = serde_json::to_string(&described).expect("JSON");
    assert_eq!(described, serde_json::from_str(&json).expect("and back"));
    assert_eq!(described.layers.len(), 2);
}

/// An image whose only file says which it is.
fn variant(content: &str, architecture: &str) -> Image {
    let mut image = Image::new([Entries::new().file("which", content)]);
    image.config["architecture"] = json!(architecture);
    image
}

fn for_platform(mut descriptor: Value, os: &str, architecture: &str) -> Value {
    descriptor["platform"] = json!({ "os": os, "architecture": architecture });
    descriptor
}

#[test]
fn of_several_platforms_this_hosts_is_taken() {
    let mut members = Members::new();
    let mut manifests = Vec::new();
    for name in ["mips", architecture()] {
        let descriptor = variant(name, name).add_to(&mut members);
        manifests.push(for_platform(descriptor, "linux", name));
    }
    // What a builder notes about an image is none.
    let mut attestation = variant("attestation", "unknown").add_to(&mut members);
    attestation["annotations"] = json!({ "vnd.docker.reference.type": "attestation-manifest" });
    manifests.push(for_platform(attestation, "unknown", "unknown"));
    let inner = json!({ "schemaVersion": 2, "manifests": manifests }).to_string();
    let kind = "application/vnd.oci.image.index.v1+json";
    let inner = put(&mut members, kind, inner.into_bytes());
    finish_layout(&mut members, json!([inner]));
    let place = Place::new();
    place.unpack(&place.layout(&members)).expect("unpacked");
    assert_eq!(place.read("which"), architecture());
}

#[test]
fn an_image_for_another_host_is_refused_and_says_for_which() {
    let mut members = Members::new();
    let mut manifests = Vec::new();
    for (os, name) in [("linux", "mips"), ("windows", architecture())] {
        let descriptor = variant(name, name).add_to(&mut members);
        manifests.push(for_platform(descriptor, os, name));
    }
    finish_layout(&mut members, json!(manifests));
    let place = Place::new();
    let error = place.unpack(&place.layout(&members)).expect_err("refused");
    let Some(ImageError::Platform { known, .. }) = Some(&error) else {
        panic!("{error:?}");
    };
    let windows = format!("windows/{}", architecture());
    assert_eq!(*known, ["linux/mips".to_owned(), windows]);

    // Where the index says nothing, the configuration does.
    let place = Place::new();
    let source = place.layout(&variant("mips", "mips").layout());
    assert_eq!(
        place.unpack(&source).expect_err("refused").code(),
        "image::platform"
    );
}

#[test]
fn of_several_images_one_is_named() {
    let mut members = Members::new();
    let mut manifests = Vec::new();
    for tag in ["1.0", "2.0"] {
        let mut descriptor = variant(tag, architecture()).add_to(&mut members);
        descriptor["annotations"] = json!({
            "org.opencontainers.image.ref.name": tag,
            "io.containerd.image.name": format!("docker.io/library/app:{tag}"),
        });
        manifests.push(descriptor);
    }
    finish_layout(&mut members, json!(manifests));
    let place = Place::new();
    let source = place.layout(&members);
    let error = place.unpack(&source).expect_err("which?");
    assert_eq!(error.code(), "image::ambiguous");
    let help = error.help().expect("help");
    assert_eq!(
        help,
        "name one of `docker.io/library/app:1.0`, `docker.io/library/app:2.0`"
    );
    let none = place.unpack(&source.clone().with_reference("app:3.0"));
    assert_eq!(none.expect_err("none").code(), "image::no-such-image");
    let second = place.unpack(&source.with_reference("app:2.0"));
    assert_eq!(
        second.expect("unpacked").image.names,
        ["docker.io/library/app:2.0"]
    );
    assert_eq!(place.read("which"), "2.0");
}

#[test]
fn an_empty_directory_is_filled_and_another_is_left_alone() {
    let place = Place::new();
    let source = place.layout(&image().layout());
    fs::create_dir(place.root()).expect("made");
    fs::write(place.root().join("file"), "mine").expect("written");
    let stop = std::sync::atomic::AtomicBool::new(false);
    let unpack = || rookery_image::unpack(&source, &place.root(), &Default::default(), &stop);
    assert_eq!(unpack().expect_err("not empty").code(), "image::root");
    assert_eq!(place.read("file"), "mine");
    fs::remove_file(place.root().join("file")).expect("removed");
    unpack().expect("unpacked");
    check(&place);
    // A link in the place of the root is not followed.
    symlink(place.outside(), place.path("link")).expect("linked");
    let linked = rookery_image::unpack(&source, &place.path("link"), &Default::default(), &stop);
    assert_eq!(linked.expect_err("a link").code(), "image::root");
}

#[test]
fn errors_say_where_and_what_to_do() {
    let place = Place::new();
    let explained = |error: ImageError| {
        let text = ErrorFields::new(&error).to_string();
        text.replace(&place.path("").display().to_string(), "/dir/")
    };
    let missing = describe(
        &ImageSource::new(place.path("none.tar")),
        &Limits::default(),
    );
    insta::assert_snapshot!("missing", explained(missing.expect_err("missing")));
    let other = describe(&ImageSource::new(place.outside()), &Limits::default());
    insta::assert_snapshot!("other", explained(other.expect_err("no image")));
    let layers = [Entries::new().file("../../etc/passwd", "")];
    let outside = place.unpack(&place.layout(&Image::new(layers).layout()));
    insta::assert_snapshot!("outside", explained(outside.expect_err("refused")));
}
