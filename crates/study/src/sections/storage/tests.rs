//! Tests of `[storage]`.

use super::{super::testing::*, *};

const CONTAINER: &str = "[guest]\nkind = \"container\"\n";

#[test]
fn guests_keep_their_data_in_the_runs_directory_unless_said() {
    assert_eq!(with("").expect("valid").storage, StorageUse::default());
}

#[test]
fn the_file_system_of_the_rhev_study() {
    let text = "[storage]\npool = \"volume\"\nsize = \"1GiB per vcpu\"\natime \
                = \"noatime\"\njournal = \"writeback\"\nbarriers = \"off\"\nread_iops = \
                500\nread_bps = \"20MiB\"\n";
    let study = with(&format!("{CONTAINER}{text}")).expect("valid");
    let volume = study.storage.volume.as_ref().expect("a volume");
    assert_eq!(
        (
            volume.filesystem,
            volume.atime,
            volume.journal,
            volume.barriers,
            volume.shared,
            volume.cache
        ),
        (
            FileSystem::Ext4,
            AccessTimes::Noatime,
            Some(JournalMode::Writeback),
            Some(false),
            false,
            VolumeCache::None
        )
    );
    let limits = study.storage.limits;
    assert_eq!(
        (limits.read_iops, limits.read_bps, limits.write_iops),
        (Some(500), Some(20 << 20), None)
    );
    assert_eq!(
        crate::Study::parse("again", &study.to_toml()).expect("valid"),
        study
    );
}

#[test]
fn keys_of_volumes_have_no_meaning_in_a_directory() {
    assert_eq!(
        refusal("[storage]\nbarriers = \"off\"\natime = \"noatime\"\n"),
        "study::contradiction: `storage.barriers` belongs to volumes, but `storage.pool` \
         is \"directory\"\n\
         study::contradiction: `storage.atime` belongs to volumes, but `storage.pool` \
         is \"directory\""
    );
}

#[test]
fn xfs_has_neither_journal_modes_nor_a_life_without_barriers() {
    assert_eq!(
        refusal("[storage]\npool = \"volume\"\nfilesystem = \"xfs\"\njournal = \"writeback\"\n"),
        "study::contradiction: `storage.journal` belongs to ext4, but `storage.filesystem` \
         is \"xfs\""
    );
    assert_eq!(
        refusal("[storage]\npool = \"volume\"\nfilesystem = \"xfs\"\nbarriers = \"off\"\n"),
        "study::contradiction: xfs always has write barriers: Linux 4.19 took the option away"
    );
    assert!(
        with("[storage]\npool = \"volume\"\nfilesystem = \"xfs\"\nbarriers = \"on\"\n").is_ok()
    );
}

#[test]
fn stripes_are_of_btrfs_over_devices_in_several_directories() {
    let text = "[storage]\npool = \"volume\"\ntier = \"stripe\"\ndevices = 4\ndirectories = \
                [\"/mnt/a\", \"/mnt/b\"]\n";
    let study = with(text).expect("valid");
    let volume = study.storage.volume.as_ref().expect("a volume");
    assert_eq!(
        (volume.filesystem, volume.tier, volume.dealt(0)),
        (
            FileSystem::Btrfs,
            Tier::Stripe { devices: 4 },
            vec!["/mnt/a", "/mnt/b", "/mnt/a", "/mnt/b"]
        )
    );
    assert_eq!(
        crate::Study::parse("again", &study.to_toml()).expect("valid"),
        study
    );
    for (keys, said) in [
        (
            "tier = \"stripe\"\nfilesystem = \"xfs\"\n",
            "xfs lies on one device",
        ),
        (
            "tier = \"stripe\"\njournal = \"ordered\"\n",
            "`storage.filesystem` is \"btrfs\"",
        ),
        (
            "filesystem = \"btrfs\"\nblock_size = \"1KiB\"\n",
            "page of memory",
        ),
        (
            "tier = \"stripe\"\nwrite_iops = 7\n",
            "holds for one device",
        ),
        ("devices = 2\n", "there is none"),
        ("tier = \"single\"\ndevices = 2\n", "there is none"),
        ("directories = [\"here\"]\n", "does not begin with `/`"),
    ] {
        let text = format!("{CONTAINER}[storage]\npool = \"volume\"\n{keys}");
        let refused = refusal(&text);
        assert!(refused.contains(said), "{keys}: {refused}");
    }
    let raw = "[guest]\nkind = \"vm\"\n[storage]\npool = \"raw\"\ntier = \"stripe\"\n";
    assert!(refusal(raw).contains("a raw device has none"));
}

#[test]
fn tiers_that_are_not_made_here_are_read_all_the_same() {
    for (name, tier) in [
        ("bcache", ForeignTier::Bcache),
        ("dm-cache", ForeignTier::DmCache),
        ("lvm", ForeignTier::Lvm),
        ("zfs", ForeignTier::Zfs),
    ] {
        let text = format!("[storage]\npool = \"volume\"\ntier = \"{name}\"\n");
        let study = with(&text).expect("valid");
        let volume = study.storage.volume.as_ref().expect("a volume");
        assert_eq!((volume.tier, tier.name()), (Tier::Foreign(tier), name));
        let again = crate::Study::parse("again", &study.to_toml());
        assert_eq!(again.expect("valid"), study);
    }
}

#[test]
fn a_wrong_value_has_one_problem() {
    assert!(
        refusal("[storage]\npool = \"volume\"\natime = \"never\"\n")
            .starts_with("study::unknown-choice: `storage.atime`")
    );
    assert!(
        refusal("[storage]\npool = \"volume\"\ncommit = \"1500ms\"\n")
            .starts_with("study::out-of-range: `storage.commit`")
    );
}

#[test]
fn the_ceiling_is_measured_where_it_is_asked_for() {
    assert!(!with("").expect("valid").storage.ceiling);
    let study = with("[storage]\nceiling = \"on\"\n").expect("valid");
    assert!(study.storage.ceiling);
    assert_eq!(
        crate::Study::parse("again", &study.to_toml()).expect("valid"),
        study
    );
    assert!(refusal("[storage]\nceiling = true\n").contains("`storage.ceiling`"));
}

#[test]
fn what_a_kind_of_guest_cannot_have_is_refused() {
    assert_eq!(
        refusal("[guest]\nkind = \"fake\"\n[storage]\nceiling = \"on\"\n"),
        "study::contradiction: `storage.ceiling` is \"on\", but fake guests keep no data"
    );
    assert_eq!(
        refusal("[storage]\nread_iops = 100\n"),
        "study::contradiction: `storage.read_iops` limits I/O, and only containers and \
         machines can be held to that"
    );
    assert_eq!(
        refusal("[guest]\nkind = \"fake\"\n[storage]\npool = \"volume\"\n"),
        "study::contradiction: `storage.pool` is \"volume\", but fake guests keep no data"
    );
    assert_eq!(
        refusal("[guest]\nkind = \"container\"\n[storage]\npool = \"raw\"\n"),
        "study::contradiction: `storage.pool` is \"raw\", but the embedded stack keeps its \
         data in files"
    );
}

#[test]
fn machines_have_their_disks_on_volumes() {
    for pool in ["volume", "raw"] {
        let study = with(&format!(
            "[guest]\nkind = \"vm\"\n[storage]\npool = \"{pool}\"\n"
        ))
        .expect("valid");
        assert_eq!(
            study.storage.volume.map(|volume| volume.raw),
            Some(pool == "raw")
        );
    }
    assert_eq!(
        refusal(
            "[guest]\nkind = \"vm\"\nvm = { pool = \"lvm:vg0\", clone = \"raw\" \
             }\n[storage]\npool = \"volume\"\n"
        ),
        "study::contradiction: the disks of machines cannot lie both on volumes and in the \
         pool of [guest.vm]"
    );
    assert_eq!(
        refusal("[guest]\nkind = \"vm\"\n[storage]\npool = \"raw\"\nper = \"host\"\n"),
        "study::contradiction: machines cannot share a raw device: each has a file system of \
         its own on it"
    );
}

#[test]
fn block_devices_stand_in_place_of_files() {
    let text = "[storage]\npool = \"volume\"\nblock_devices = [\"/dev/sdb\", \"/dev/sdc1\"]\n";
    let study = with(&format!("{CONTAINER}{text}")).expect("valid");
    let volume = study.storage.volume.as_ref().expect("a volume");
    let devices = ["/dev/sdb", "/dev/sdc1"].map(str::to_owned).to_vec();
    assert_eq!(volume.places, Some(VolumePlaces::BlockDevices(devices)));
    assert_eq!(volume.dealt(3), ["/dev/sdc1"]);
    let again = crate::Study::parse("again", &study.to_toml());
    assert_eq!(again.expect("valid"), study);
    for (keys, said) in [
        (
            "directories = [\"/mnt/a\"]\n",
            "`storage.directories` belongs to files behind loop devices",
        ),
        ("cache = \"none\"\n", "`storage.cache` belongs to files"),
    ] {
        let refused = refusal(&format!("{CONTAINER}{text}{keys}"));
        assert!(refused.contains(said), "{keys}: {refused}");
    }
    let bad = format!("{CONTAINER}{text}").replace("/dev/sdb", "sdb");
    assert!(refusal(&bad).contains("does not begin with `/`"));
}
