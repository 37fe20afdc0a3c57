//! `rookery data`: files as published.

use crate::common::{Place, code, text};

#[test]
fn ten_megabytes_have_the_published_digests() {
    let place = Place::new();
    let out = place.dir.path().join("dvdstore-10MB");
    let output = place
        .rookery(&["data", "dvdstore", "--size", "10MB"])
        .output()
        .expect("starts");
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
        assert!(
            printed.contains(digest),
            "{digest} is missing in:\n{printed}"
        );
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

/// Names and bytes of all files in a directory.
fn files(directory: &std::path::Path) -> std::collections::BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(directory).expect("the directory");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .map(|path| {
            let name = path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            (name, std::fs::read(&path).expect("a file"))
        })
        .collect()
}

#[test]
fn order_entry_files_are_the_same_whatever_the_number_of_threads() {
    let place = Place::new();
    let made = |threads: &str| {
        let out = format!("threads-{threads}");
        let args = [
            "data",
            "orderentry",
            "--warehouses",
            "2",
            "--divisor",
            "10",
            "--format",
            "copy",
            "--out",
            &out,
        ];
        let output = place
            .rookery(&args)
            .args(["--threads", threads])
            .output()
            .expect("starts");
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
        files(&place.dir.path().join(out))
    };
    let one = made("1");
    assert!(one == made("4"), "the bytes differ");
    let names: Vec<&str> = one.keys().map(String::as_str).collect();
    assert_eq!(names.len(), 4 + 2 * 6 + 3, "{names:?}");
    assert!(
        names.contains(&"order_line-2.copy") && names.contains(&"load.sql"),
        "{names:?}"
    );
    let lines = |name: &str| one[name].iter().filter(|&&byte| byte == b'\n').count();
    assert_eq!(
        (
            lines("customer-1.copy"),
            lines("district.copy"),
            lines("warehouse.copy")
        ),
        (3000, 20, 2)
    );
    let load = text(&one["load.sql"]);
    assert!(load.contains(
        "\\copy history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, \
                           h_amount, h_data) from 'history-2.copy'"
    ));
}

#[test]
fn order_entry_says_in_json_what_it_wrote() {
    let place = Place::new();
    let args = [
        "data",
        "orderentry",
        "--divisor",
        "100",
        "--format",
        "load-data",
        "--out",
        "oe",
        "--json",
    ];
    let output = place.rookery(&args).output().expect("starts");
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        (report["files"].as_u64(), report["warehouses"].as_u64()),
        (Some(10), Some(1))
    );
    let data = files(&place.dir.path().join("oe"));
    let bytes: usize = data
        .iter()
        .filter(|(name, _)| !name.ends_with(".sql"))
        .map(|(_, bytes)| bytes.len())
        .sum();
    assert_eq!(report["bytes"].as_u64(), Some(bytes as u64));
    assert!(
        text(&data["order_line-1.tsv"]).contains("\t\\N\t5\t"),
        "lines that wait have no date"
    );
    // Nothing is overwritten unasked.
    let again = place.rookery(&args).output().expect("starts");
    assert_eq!(code(&again), 8);
    assert!(
        text(&again.stderr).contains("--overwrite"),
        "{}",
        text(&again.stderr)
    );
}

#[test]
fn order_entry_refuses_a_database_that_cannot_be() {
    let place = Place::new();
    for (option, value, said) in [
        ("--warehouses", "0", "1 to 1000000"),
        ("--divisor", "3", "divisor 3"),
        ("--loaded-at", "yesterday", "2000-01-31 12:00:00"),
    ] {
        let output = place
            .rookery(&["data", "orderentry", option, value, "--out", "x"])
            .output()
            .expect("starts");
        assert_eq!(code(&output), 2, "{option}");
        assert!(
            text(&output.stderr).contains(said),
            "{}",
            text(&output.stderr)
        );
        assert!(!place.dir.path().join("x").exists());
    }
}
