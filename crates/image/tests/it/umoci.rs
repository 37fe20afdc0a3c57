//! An image that another program made: the distribution's `umoci`.

use std::{fs, path::Path, process::Command};

use rookery_image::ImageSource;

use crate::build::Place;

fn umoci(words: &[&str]) {
    let output = Command::new("umoci")
        .args(words)
        .output()
        .expect("umoci is installed (the package umoci)");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "umoci {words:?}: {said}");
}

#[test]
fn an_image_of_umoci_is_unpacked() {
    let place = Place::new();
    let layout = place.path("layout").display().to_string();
    let bundle = place.path("bundle").display().to_string();
    let image = format!("{layout}:1.0");
    umoci(&["init", "--layout", &layout]);
    umoci(&["new", "--image", &image]);
    umoci(&["unpack", "--rootless", "--image", &image, &bundle]);
    let inside = |name: &str| Path::new(&bundle).join("rootfs").join(name);
    fs::create_dir_all(inside("srv/old")).expect("made");
    fs::write(inside("srv/app"), "first").expect("written");
    fs::write(inside("srv/old/file"), "old").expect("written");
    std::os::unix::fs::symlink("srv/app", inside("app")).expect("linked");
    fs::hard_link(inside("srv/app"), inside("srv/same")).expect("linked");
    umoci(&["repack", "--refresh-bundle", "--image", &image, &bundle]);
    fs::remove_dir_all(inside("srv/old")).expect("removed");
    fs::write(inside("srv/new"), "new").expect("written");
    umoci(&["repack", "--image", &image, &bundle]);
    umoci(&[
        "config",
        "--image",
        &image,
        "--config.entrypoint=/srv/app",
        "--config.cmd=--port=8080",
        "--config.env=MODE=test",
        "--config.exposedports=8080/tcp",
        "--config.workingdir=/srv",
        "--config.volume=/data",
        "--author=somebody",
    ]);

    let unpacked = place
        .unpack(&ImageSource::new(&layout).with_reference("1.0"))
        .expect("unpacked");
    assert_eq!(unpacked.image.command, ["/srv/app", "--port=8080"]);
    assert_eq!(unpacked.image.environment["MODE"], "test");
    assert_eq!(unpacked.image.ports[0].number, 8080);
    assert_eq!(unpacked.image.working_directory, "/srv");
    assert_eq!(unpacked.image.volumes, ["/data"]);
    assert_eq!(unpacked.image.layers.len(), 2);
    assert_eq!(place.read("app"), "first");
    assert_eq!(place.read("srv/same"), "first");
    assert_eq!(place.read("srv/new"), "new");
    assert!(!place.root().join("srv/old").exists());
}
