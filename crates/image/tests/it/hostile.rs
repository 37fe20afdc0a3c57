//! Layers that are meant to do harm. `Place::unpack` checks that nothing outside the root was
//! touched, and that nothing is left after an error.

use std::{fs, os::unix::fs::PermissionsExt as _};

use tar::EntryType;

use crate::build::{Entries, Place};

#[test]
fn no_path_leads_out() {
    for path in [
        "../outside/new",
        "a/../../outside/new",
        "/../outside/new",
        "..",
    ] {
        let place = Place::new();
        let refused = place.refused([Entries::new().file("first", "").file(path, "evil")]);
        assert_eq!(refused, "image::entry", "{path}");
    }
    for kind in [EntryType::Directory, EntryType::Symlink, EntryType::Fifo] {
        let entries = Entries::new().raw(kind, "../outside/precious", "x", b"");
        assert_eq!(Place::new().refused([entries]), "image::entry");
    }
}

#[test]
fn absolute_paths_begin_at_the_root_of_the_image() {
    let place = Place::new();
    let precious = place.precious().display().to_string();
    let name = "/app".to_owned();
    place.unpacked([Entries::new().file(&name, "app").file(&precious, "inside")]);
    assert_eq!(place.read("app"), "app");
    assert_eq!(place.read(precious.trim_start_matches('/')), "inside");
}

#[test]
fn no_link_leads_out_within_a_layer_or_across_layers() {
    for target in ["../outside", "../../../../../outside", "a/../../outside"] {
        let place = Place::new();
        let link = Entries::new().directory("a").symlink("out", target);
        place.unpacked([link, Entries::new().file("out/precious", "evil")]);
        assert_eq!(place.read("outside/precious"), "evil");

        let place = Place::new();
        let entries = Entries::new().directory("a").symlink("out", target);
        place.unpacked([entries.file("out/new", "evil").directory("out/d")]);
        assert_eq!(place.read("outside/new"), "evil");
    }
}

#[test]
fn no_absolute_link_leads_out() {
    let place = Place::new();
    let outside = place.outside().display().to_string();
    let link = Entries::new().symlink("out", &outside);
    let entries = Entries::new()
        .file("out/precious", "evil")
        .symlink("out/link", "/");
    place.unpacked([link, entries.file("out/link/deep/new", "evil")]);
    let inside = outside.trim_start_matches('/');
    assert_eq!(place.read(&format!("{inside}/precious")), "evil");
    assert_eq!(place.read("deep/new"), "evil");
}

#[test]
fn what_is_put_onto_a_link_replaces_the_link() {
    let place = Place::new();
    let precious = place.precious().display().to_string();
    let outside = place.outside().display().to_string();
    let links = Entries::new()
        .symlink("file", &precious)
        .symlink("directory", &outside)
        .symlink("link", &precious);
    let entries = Entries::new()
        .file("file", "own")
        .changed(EntryType::Directory, "directory", |header| {
            header.set_mode(0o777)
        })
        .file("directory/new", "own")
        .symlink("link", "file");
    place.unpacked([links, entries]);
    assert_eq!(place.read("file"), "own");
    assert_eq!(place.read("directory/new"), "own");
    assert_eq!(place.read("link"), "own");
}

#[test]
fn a_directory_that_becomes_a_link_keeps_nothing_open() {
    let place = Place::new();
    let entries = Entries::new()
        .directory("d")
        .file("d/old", "old")
        .symlink("d", "../outside")
        .file("d/new", "new");
    place.unpacked([entries]);
    assert_eq!(place.read("outside/new"), "new");
    assert!(!place.root().join("outside/old").exists());
}

#[test]
fn hard_links_are_to_files_of_the_image() {
    for target in ["../outside/precious", "/../outside/precious"] {
        let place = Place::new();
        let refused = place.refused([Entries::new().link("stolen", target)]);
        assert_eq!(refused, "image::entry", "{target}");
    }
    let place = Place::new();
    let precious = place.precious().display().to_string();
    assert_eq!(
        place.refused([Entries::new().link("stolen", &precious)]),
        "image::entry"
    );

    let place = Place::new();
    let link = Entries::new().symlink("out", "../outside");
    let stolen = Entries::new().link("stolen", "out/precious");
    assert_eq!(place.refused([link, stolen]), "image::entry");

    for target in ["", "d", "none"] {
        let entries = Entries::new().directory("d").link("a", target);
        assert_eq!(Place::new().refused([entries]), "image::entry", "{target}");
    }
}

#[test]
fn a_hard_link_to_a_link_does_not_follow_it() {
    let place = Place::new();
    let precious = place.precious().display().to_string();
    let entries = Entries::new()
        .symlink("a", &precious)
        .link("b", "a")
        .link("c", "b")
        .file("b", "evil");
    place.unpacked([entries]);
    assert_eq!(place.read("b"), "evil");
    assert!(place.root().join("c").is_symlink());
}

#[test]
fn a_hard_link_to_what_it_replaces_is_refused() {
    let entries = Entries::new()
        .directory("d")
        .file("d/f", "f")
        .link("d", "d/f");
    assert_eq!(Place::new().refused([entries]), "image::entry");
    // A file that `tar` was given twice is a link to itself.
    let place = Place::new();
    place.unpacked([Entries::new().file("f", "f").link("f", "./f")]);
    assert_eq!(place.read("f"), "f");
}

#[test]
fn removals_remove_nothing_outside() {
    let above = [
        ".wh...",
        "a/.wh...",
        "../outside/.wh.precious",
        "a/../.wh..wh..opq",
    ];
    for path in above.into_iter().chain(["a/.wh..", ".wh..", ".wh."]) {
        let place = Place::new();
        let base = Entries::new().file("a/b", "b");
        let refused = place.refused([base, Entries::new().file(path, "")]);
        assert_eq!(refused, "image::entry", "{path}");
    }
    for path in ["out/.wh.precious", "out/.wh..wh..opq", ".wh.out"] {
        let place = Place::new();
        let link = Entries::new()
            .symlink("out", "../outside")
            .file("kept", "kept");
        place.unpacked([link, Entries::new().file(path, "")]);
        assert_eq!(place.read("kept"), "kept", "{path}");
    }
}

#[test]
fn links_that_lead_round_in_circles_end() {
    let entries = Entries::new()
        .symlink("a", "b")
        .symlink("b", "a")
        .file("a/x", "");
    assert_eq!(Place::new().refused([entries]), "image::entry");
    let entries = Entries::new().symlink("a", "a/a").file("a/x", "");
    assert_eq!(Place::new().refused([entries]), "image::entry");
}

#[test]
fn the_root_is_a_directory_and_stays_one() {
    for kind in [EntryType::Symlink, EntryType::Regular, EntryType::Link] {
        for path in ["", "/", "./"] {
            // A file whose name ends with a slash is a directory.
            if kind == EntryType::Regular && path.ends_with('/') {
                continue;
            }
            let entries = Entries::new().raw(kind, path, "../outside", b"");
            assert_eq!(
                Place::new().refused([entries]),
                "image::entry",
                "{kind:?} `{path}`"
            );
        }
    }
    let place = Place::new();
    place.unpacked([Entries::new().changed(EntryType::Directory, "./", |h| h.set_mode(0o711))]);
    let mode = fs::metadata(place.root())
        .expect("there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o711);
}

#[test]
fn nothing_that_gives_power_is_taken_over() {
    let place = Place::new();
    let capability = ("SCHILY.xattr.security.capability", &b"\x01\0\0\x02"[..]);
    let mine = ("LIBARCHIVE.xattr.user.mine", &b"1"[..]);
    let unpacked = place.unpacked([
        Entries::new()
            .file("dev/null", "a file")
            .file("pipe", "a file"),
        Entries::new()
            .raw(EntryType::Char, "dev/null", "", b"")
            .raw(EntryType::Block, "dev/sda", "", b"")
            .raw(EntryType::Fifo, "pipe", "", b"")
            .changed(EntryType::Regular, "su", |header| {
                header.set_mode(0o104_755)
            })
            .changed(EntryType::Directory, "mail", |header| {
                header.set_mode(0o2_775)
            })
            .changed(EntryType::Directory, "tmp", |header| {
                header.set_mode(0o1_777)
            })
            .pax(&[capability, mine])
            .file("ping", ""),
    ]);
    let dropped = serde_json::to_string_pretty(&unpacked.dropped).expect("JSON");
    insta::assert_snapshot!(dropped);
    let mode = |name: &str| {
        let metadata = fs::metadata(place.root().join(name)).expect("there");
        metadata.permissions().mode() & 0o7777
    };
    let modes = ["su", "mail", "tmp"].map(mode);
    assert_eq!(modes, [0o755, 0o775, 0o1777]);
    assert_eq!(
        fs::read_dir(place.root().join("dev"))
            .expect("there")
            .count(),
        0
    );
    assert!(!place.root().join("pipe").exists());
}

/// The host changes the mode of such directories by their paths, and mounts on them.
#[test]
fn a_directory_that_the_host_uses_is_no_link() {
    let place = Place::new();
    let entries = Entries::new()
        .symlink("tmp", "../outside")
        .file("proc", "")
        .directory("run")
        .file("run/kept", "kept");
    let source = place.layout(&crate::build::Image::new([entries]).layout());
    let options = rookery_image::Options {
        directories: ["tmp", "proc", "run", "sys"].map(str::to_owned).to_vec(),
        ..rookery_image::Options::default()
    };
    let unpacked = place.unpack_with(&source, &options).expect("unpacked");
    for name in &options.directories {
        let metadata = fs::symlink_metadata(place.root().join(name)).expect("there");
        assert!(metadata.is_dir(), "{name}");
        assert_eq!(metadata.permissions().mode() & 0o7777, 0o755, "{name}");
    }
    assert_eq!(place.read("run/kept"), "kept");
    assert_eq!(
        unpacked.dropped[&rookery_image::Loss::Place].examples,
        ["tmp", "proc"]
    );
}

#[test]
fn owners_that_no_system_has_are_refused() {
    let entries = Entries::new().pax(&[("uid", b"4294967295")]).file("a", "");
    assert_eq!(Place::new().refused([entries]), "image::entry");
    let entries = Entries::new().changed(EntryType::Regular, "a", |header| header.set_gid(1 << 40));
    assert_eq!(Place::new().refused([entries]), "image::entry");
}

#[test]
fn what_contradicts_itself_is_refused() {
    let file_as_directory = Entries::new().file("a", "").file("a/b", "");
    assert_eq!(Place::new().refused([file_as_directory]), "image::entry");
    let reserved = Entries::new().file(".wh.a/b", "");
    assert_eq!(Place::new().refused([reserved]), "image::entry");
    let sparse = Entries::new()
        .pax(&[("GNU.sparse.major", b"1")])
        .file("a", "");
    assert_eq!(Place::new().refused([sparse]), "image::layer");
    let unknown = Entries::new().raw(EntryType::new(b'Z'), "a", "", b"");
    assert_eq!(Place::new().refused([unknown]), "image::layer");
    let empty_link = Entries::new().symlink("a", "");
    assert_eq!(Place::new().refused([empty_link]), "image::entry");
}
