//! `rookery data`: files as published.

mod common;

use common::{Place, code, text};

#[test]
fn ten_megabytes_have_the_published_digests() {
    let place = Place::new();
    let out = place.dir.path().join("dvdstore-10MB");
    let output = place.rookery(&["data", "dvdstore", "--size", "10MB"]).output().expect("starts");
    let printed = text(&output.stdout);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    for digest in [
        "cde9f41c99cf5b6a2ca476b96a79216340c3c1328d0eb7680fcf826b9495a230",
        "f79911d8fbeba4485ad5b76772dc3355fc7becae7ec082ede5bf038f71595c49",
        "41d220dc9bfd030518ac8e063ce4f0fd8262949f5788f9a1a700d66da2d18410",
        "01c6a693b2966085b7ebc47334e3d0a9b2b8b5a0e2fb65f877c3eab7b17983df",
        "e58702d638a2b7077db708a31974db3854cef22beccc24c33630a7232f4b2b47",
        "7e2d77a1ef44528cf927031d17624b1fb7e9769f3a7be1dc542bcb43f974f8e6",
    ] {
        assert!(printed.contains(digest), "{digest} is missing in:\n{printed}");
    }
    assert_eq!(
        std::fs::read_dir(&out).expect("the directory").count(),
        40,
        "2 customers, 36 orders, inventory, products"
    );
}

#[test]
fn a_size_that_does_not_exist_is_refused() {
    let place = Place::new();
    let output = place
        .rookery(&["data", "dvdstore", "--size", "10TB", "--out", "x"])
        .output()
        .expect("starts");
    assert_eq!(code(&output), 2);
    assert!(text(&output.stderr).contains("10TB"));
    assert!(!place.dir.path().join("x").exists());
}
