//! The studies in the scale of their originals, planned for the machines of these, number by number
//! against the tables that their authors printed (`tests/data/seeds`).

#![expect(
    clippy::disallowed_methods,
    reason = "the tables and studies are files"
)]

use std::{collections::BTreeMap, fs, path::Path};

use rookery_study::{Choices, Document, GuestKind, HostFacts, Plan, Point, Search, StorageRole};

fn file(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The plan of `--scale original --guest vm --host studies/hosts/HOST.toml`.
fn original(study: &str, host: &str) -> (Document, Plan) {
    original_of(study, host, Some(GuestKind::Vm))
}

/// The same of guests of this kind; of the study's own where there is none.
fn original_of(study: &str, host: &str, guest: Option<GuestKind>) -> (Document, Plan) {
    let host = HostFacts::parse(host, &file(&format!("studies/hosts/{host}.toml")))
        .unwrap_or_else(|problems| panic!("{problems}"));
    let choices = Choices {
        scale: Some("original"),
        guest,
        files: &[],
    };
    let document = Document::parse_with(study, &file(&format!("studies/{study}.toml")), choices)
        .unwrap_or_else(|problems| panic!("{problems}"));
    let plan = Plan::of(&document, &host).unwrap_or_else(|problems| panic!("{problems}"));
    (document, plan)
}

/// The rows of a table, each by its heads.
fn table(name: &str) -> Vec<BTreeMap<String, String>> {
    let text = file(&format!("crates/study/tests/data/seeds/{name}.csv"));
    let mut lines = text.lines();
    let heads: Vec<&str> = lines.next().expect("heads").split(',').collect();
    let row = |line: &str| {
        let cells = line.split(',').map(str::to_owned);
        heads
            .iter()
            .map(|head| (*head).to_owned())
            .zip(cells)
            .collect()
    };
    lines.map(row).collect()
}

fn number(row: &BTreeMap<String, String>, head: &str) -> f64 {
    row[head]
        .parse()
        .unwrap_or_else(|_| panic!("{head}: {row:?}"))
}

fn shape(point: &Point) -> (u32, u32) {
    (point.guests(), point.only_group().vcpus.whole_cpus())
}

/// Thousand and 1024 are one where the authors say GB of databases.
fn gb(megabytes: u64) -> f64 {
    megabytes as f64 / 1024.0
}

#[test]
fn pureflex_is_its_tables_1_and_2() {
    let (document, plan) = original("pureflex-dvdstore", "pureflex");
    let rows = table("000_tested_configurations");
    assert_eq!(plan.points.len(), rows.len());
    for row in &rows {
        let wanted = (
            number(row, "guests") as u32,
            number(row, "vcpus_per_guest") as u32,
        );
        let point = plan.points.iter().find(|point| shape(point) == wanted);
        let point = point.unwrap_or_else(|| panic!("no point for {row:?}"));
        let (group, study) = (point.only_group(), plan.study_of(point));
        assert_eq!(
            group.memory_mib as f64,
            1024.0 * number(row, "memory_gb_per_guest"),
            "{row:?}"
        );
        assert_eq!(
            gb(group.database.megabytes()),
            number(row, "database_gb_per_guest"),
            "{row:?}"
        );
        assert_eq!(
            f64::from(point.total_users()),
            number(row, "total_users"),
            "{row:?}"
        );
        assert_eq!(point.capacity_cpus, number(row, "total_vcpus"), "{row:?}");
        let bare = row["layout"] != "kvm";
        assert_eq!(study.guest.kind() == GuestKind::Bare, bare, "{row:?}");
        // Ten users each second, whatever the layout.
        let ramp = study
            .load
            .ramp_up
            .lasting(point.total_users(), point.guests());
        assert_eq!(
            ramp.as_secs_f64(),
            number(row, "total_users") / 10.0,
            "{row:?}"
        );
        if let Some(machine) = study.guest.vm() {
            let disk = format!("{:?}", machine.disk);
            for word in ["Preallocated", "cache: None", "io: Native"] {
                assert!(disk.contains(word), "{disk} lacks {word}");
            }
        }
    }
    let parameter = |name: &str, to: &str| {
        let rows = table("000_driver_parameters");
        let row = rows
            .iter()
            .find(|row| row["parameter"] == name && row["applies_to"].starts_with(to));
        number(row.unwrap_or_else(|| panic!("{name}")), "value")
    };
    let study = document.study();
    let shop = study.workload.dvdstore().expect("a shop");
    assert_eq!(
        shop.think_time.as_secs_f64(),
        parameter("think_time", "all")
    );
    assert_eq!(
        100.0 * shop.new_customers,
        parameter("pct_newcustomers", "all")
    );
    assert_eq!(
        study.load.steady.as_secs_f64(),
        parameter("run_time", "all")
    );
    assert_eq!(
        study.load.settle.as_secs_f64(),
        parameter("warmup_time", "all")
    );
    let limits: Vec<(f64, f64)> = study
        .qos
        .percentiles
        .iter()
        .map(|limit| (limit.percentile, limit.limit_us as f64 / 1e6))
        .collect();
    let wanted = [
        (95.0, parameter("qos_p95", "95 %")),
        (99.0, parameter("qos_p99", "99 %")),
    ];
    assert_eq!(limits, wanted);
    assert_eq!(study.host.reserve_mib, 8192);
    assert!(
        plan.driver_cpus.is_empty(),
        "the driver had machines of its own"
    );
    let compared = study
        .layouts
        .iter()
        .filter(|layout| layout.baseline.is_some())
        .count();
    assert_eq!(
        compared,
        study.layouts.len() - 1,
        "all but bare metal itself"
    );
}

#[test]
fn rhev_is_its_tables_of_sizes_and_pins() {
    let (document, plan) = original("rhev-orderentry", "rhev");
    for row in table("001_guest_configurations") {
        let (most, vcpus) = (
            number(&row, "max_guests") as u32,
            number(&row, "vcpus_per_guest") as u32,
        );
        let point = plan
            .points
            .iter()
            .find(|point| shape(point) == (most, vcpus));
        let group = point
            .unwrap_or_else(|| panic!("no point for {row:?}"))
            .only_group();
        assert_eq!(
            group.memory_mib as f64,
            number(&row, "memory_mb"),
            "{row:?}"
        );
        assert!(
            group
                .users
                .iter()
                .all(|users| f64::from(*users) == number(&row, "clients"))
        );
        // GB of 1000 bytes in MiB, rounded up.
        let lun_mib = (number(&row, "lun_total_gb") * 1e9 / f64::from(1 << 20)).ceil();
        assert_eq!(
            group.volumes_mib.mib(StorageRole::Data) as f64,
            lun_mib,
            "{row:?}"
        );
        // The share of memory that the tuning of the study gives the pool.
        assert_eq!(
            0.6 * group.memory_mib as f64,
            number(&row, "bufferpool_mb"),
            "{row:?}"
        );
    }
    for row in table("001_guest_pinning") {
        let vcpus = number(&row, "vcpus_per_guest") as u32;
        let guest: usize = row["guest"]
            .trim_start_matches("VM")
            .parse()
            .expect("a number");
        let largest = plan.points.iter().filter(|point| shape(point).1 == vcpus);
        let largest = largest.max_by_key(|point| point.guests()).expect("a point");
        let planned = largest.guest_at(guest - 1).expect("a guest");
        let cpus: Vec<u32> = row["host_cpus"]
            .split(' ')
            .map(|cpu| cpu.parse().expect("a number"))
            .collect();
        assert_eq!(planned.cpus(), cpus, "{row:?}");
        // The table of 1-vCPU guests counts CPUs in another way than the other three, which name
        // this host's nodes.
        if vcpus > 1 {
            assert_eq!(
                planned.nodes(),
                [number(&row, "numa_zone") as u32],
                "{row:?}"
            );
        }
    }
    let bare = plan.points.last().expect("points");
    assert_eq!((shape(bare), bare.total_users()), ((1, 16), 128));
    assert_eq!(plan.study_of(bare).guest.kind(), GuestKind::Bare);
    let compared = document
        .study()
        .layouts
        .iter()
        .filter(|layout| layout.baseline.is_some());
    assert_eq!(compared.count(), 4);
}

#[test]
fn cms_storage_is_its_run_rules_and_storages() {
    let (document, plan) = original_of("cms-storage", "t5140", None);
    let rule = |name: &str| {
        let rows = table("004_run_rules");
        let row = rows.iter().find(|row| row["quantity"] == name);
        number(row.unwrap_or_else(|| panic!("{name}")), "value")
    };
    let study = document.study();
    for (time, name) in [
        (study.load.steady, "steady"),
        (study.load.ramp_down, "ramp_down"),
        (study.load.rest, "pause_between_runs"),
        (study.load.ramp_up.lasting(450, 1), "ramp_up"),
    ] {
        assert_eq!(time.as_secs_f64(), rule(name), "{name}");
    }
    let storages = table("004_throughput").len();
    assert_eq!(document.variants().len(), storages);
    let users: Vec<f64> = plan
        .points
        .iter()
        .map(|point| f64::from(point.total_users()))
        .collect();
    assert_eq!(
        users.iter().copied().fold(f64::MAX, f64::min),
        rule("users_min")
    );
    assert!(users.iter().copied().fold(0.0, f64::max) > rule("users_max"));
    // Where the study says that its storages part, and where failures begin.
    for row in table("004_throughput") {
        for head in ["users_linear_up_to", "errors_403_from_users"] {
            assert!(users.contains(&number(&row, head)), "{row:?}");
        }
    }
    for point in &plan.points {
        let held = point.only_group().database.cms().expect("a site");
        assert_eq!(f64::from(held.nodes), rule("nodes"));
        assert_eq!(f64::from(held.users), rule("drupal_users"));
    }
    assert!(plan.driver_cpus.is_empty());
}

#[test]
fn zvm_is_its_setups() {
    let (document, plan) = original("zvm-orderentry", "zvm");
    for row in table("003_guest_setups") {
        let wanted = (
            number(&row, "guests") as u32,
            number(&row, "vcpus_per_guest") as u32,
        );
        let own: Vec<&Point> = plan
            .points
            .iter()
            .filter(|point| shape(point) == wanted)
            .collect();
        assert_eq!(own.len(), 2, "at both hit ratios: {row:?}");
        for point in own {
            let group = point.only_group();
            assert_eq!(
                group.memory_mib as f64,
                number(&row, "memory_mb_per_guest"),
                "{row:?}"
            );
            let total = number(&row, "total_guest_memory_mb");
            assert_eq!(point.total_memory_mib() as f64, total, "{row:?}");
        }
    }
    // "No big difference between 1 CPU, 512 MB and 2 CPUs, 2 GB."
    let servers: Vec<(u32, u64)> = plan
        .points
        .iter()
        .filter(|point| point.guests() == 1)
        .map(|point| (shape(point).1, point.only_group().memory_mib))
        .collect();
    for server in [(1, 512), (2, 2048)] {
        assert_eq!(
            servers.iter().filter(|known| **known == server).count(),
            2,
            "{server:?}"
        );
    }
    // Disks of 8.5 GB: 22 for each of the eight, four for each of the forty.
    for (guests, disks) in [(8, 22.0), (40, 4.0)] {
        let own = plan.points.iter().filter(|point| point.guests() == guests);
        for point in own {
            let gb = point.only_group().volumes_mib.mib(StorageRole::Data) as f64
                * f64::from(1 << 20)
                / 1e9;
            assert!((gb - disks * 8.5).abs() < 1.0, "{guests} guests of {gb} GB");
        }
    }
    // "Databases up to 120 GB": all guests of a layout together.
    for point in &plan.points {
        let group = point.only_group();
        let mib = f64::from(group.guests) * group.database.megabytes() as f64;
        let gb = mib * f64::from(1 << 20) / 1e9;
        assert!((gb - 120.0).abs() < 10.0, "{}: {gb} GB", point.label());
    }
    let study = document.study();
    assert_eq!(study.host.settings.as_deref(), Some("shared-memory"));
    assert_eq!(plan.guest_cpus.len(), 8);
    assert!(plan.points.iter().all(|point| point.capacity_cpus <= 8.0));
}

#[test]
fn web2005_is_its_tables_of_configurations() {
    let (document, plan) = original("web2005", "esx");
    let of_kind = |kind: GuestKind| -> Vec<(u32, u32)> {
        let searches = plan.searches.iter().filter(|search| {
            let variant = &document.variants()[search.variant as usize - 1];
            variant.studies().all(|study| study.guest.kind() == kind)
        });
        let shape = |search: &Search| (search.guests, search.vcpus.whole_cpus());
        searches.map(shape).collect()
    };
    let (native, guests) = (of_kind(GuestKind::Bare), of_kind(GuestKind::Vm));
    let natives = table("002_native_configurations");
    let virtuals = table("002_virtual_configurations");
    // Each with bank, shop and downloads.
    assert_eq!(native.len(), 3 * natives.len());
    assert_eq!(guests.len(), 3 * virtuals.len());
    for row in &natives {
        let wanted = (1, number(row, "cpus") as u32);
        let own = native.iter().filter(|shape| **shape == wanted);
        assert_eq!(own.count(), 3, "{row:?}");
    }
    for row in &virtuals {
        let wanted = (number(row, "guests") as u32, 1);
        let own = guests.iter().filter(|shape| **shape == wanted);
        assert_eq!(own.count(), 3, "{row:?}");
    }
    // 4 GB for each CPU, in either table.
    let largest = natives.iter().map(|row| number(row, "memory_gb"));
    let largest = largest.fold(0.0, f64::max);
    assert_eq!(plan.estimate.memory_mib as f64, largest * 1024.0);
}
