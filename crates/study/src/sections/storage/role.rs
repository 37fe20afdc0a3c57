//! `[storage.log]` and `[storage.temporary]`: volumes of their own for what servers keep beside
//! their data.

use std::{collections::BTreeMap, time::Duration};

use super::{
    BLOCK_DEVICE, DIRECTORY, LONGEST_COMMIT, MOST_DIRECTORIES, RoleUse, SECTION, StorageKeys,
    StorageRole, StorageUse, Switch,
};
use crate::{
    grammar::{
        Below, Context, Reader, keys,
        kinds::{Choice, Memory, PathFromRoot, PerSecond, Time, Values},
    },
    storage_use::{AccessTimes, BlockSize, FileSystem, JournalMode, VolumeCache},
};

pub(super) const BELOW: Below = Below {
    names: || StorageRole::BESIDE_DATA.map(StorageRole::name).to_vec(),
    named_freely: false,
    meaning: || {
        "A volume of its own in each guest for the log that its server writes ahead of its data \
         (`log`: MariaDB's redo log, PostgreSQL's pg_wal), or for what its server puts aside while \
         it sorts and joins (`temporary`: MariaDB's tmpdir, PostgreSQL's temporary files). \
         Where the data lie, [storage] says. Of the stacks \"mariadb\", \"postgresql\" and \"lamp\" \
         (where its pages have a database), in containers, machines (each a disk of its own) and \
         bare guests."
            .to_owned()
    },
    keys: RoleKeys::keys,
    any: None,
};

keys! {
    /// Keys of a role.
    RoleKeys {
        /// Size of the volume.
        size: Memory = Memory, Required;
        /// Its file system.
        filesystem: Choice<FileSystem> = Choice::NEW, Optional("\"ext4\"");
        /// Block size of the file system.
        block_size: Choice<BlockSize> = Choice::NEW, Optional("\"4KiB\"");
        /// What reading does to access times.
        atime: Choice<AccessTimes> = Choice::NEW, Optional("\"relatime\"");
        /// Write barriers (ext4 only).
        barriers: Choice<Switch> = Choice::NEW, Optional("on");
        /// Journal mode (ext4 only).
        journal: Choice<JournalMode> = Choice::NEW, Optional("\"ordered\"");
        /// Tell the device at once which blocks are free.
        discard: Choice<Switch> = Choice::NEW, Optional("\"off\"");
        /// Time between two commits of the journal, in whole seconds (ext4 only).
        commit: Time = Time { min: Duration::from_secs(1), max: LONGEST_COMMIT, example: "5s" }, Optional("5 s");
        /// Whether the host caches the volume a second time.
        cache: Choice<VolumeCache> = Choice::NEW, Optional("\"none\"");
        /// Directories in which the files behind the volumes lie, each on a disk of its own: guests
        /// are dealt over them in turn.
        directories: Values<PathFromRoot> = Values { kind: DIRECTORY, most: MOST_DIRECTORIES }, Optional("the run's directory");
        /// Empty block devices or partitions of this host on which the volumes are made, instead of
        /// files: guests are dealt over them in turn, and each takes a whole one.
        block_devices: Values<PathFromRoot> = Values { kind: BLOCK_DEVICE, most: MOST_DIRECTORIES }, Optional("none");
        /// Most reads per second of a guest from it (this and all keys below: containers and
        /// machines only).
        read_iops: PerSecond = PerSecond::Count, Default("\"none\"");
        /// Most writes per second of a guest to it.
        write_iops: PerSecond = PerSecond::Count, Default("\"none\"");
        /// Most bytes that a guest reads from it per second.
        read_bps: PerSecond = PerSecond::Bytes, Default("\"none\"");
        /// Most bytes that a guest writes to it per second.
        write_bps: PerSecond = PerSecond::Bytes, Default("\"none\"");
    }
}

impl RoleKeys {
    /// A volume of a role is one of the data whose other keys are not said.
    fn build(self, section: &str, context: &mut Context) -> Option<RoleUse> {
        if self.misread(section, context) {
            return None;
        }
        let keys = StorageKeys {
            size: Some(self.size?),
            filesystem: self.filesystem,
            block_size: self.block_size,
            atime: self.atime,
            barriers: self.barriers,
            journal: self.journal,
            discard: self.discard,
            commit: self.commit,
            cache: self.cache,
            directories: self.directories,
            block_devices: self.block_devices,
            read_iops: self.read_iops,
            write_iops: self.write_iops,
            read_bps: self.read_bps,
            write_bps: self.write_bps,
            ..StorageKeys::default()
        };
        let limits = keys.limits()?;
        let volume = keys.volume(false, section, context)?;
        Some(RoleUse { volume, limits })
    }

    fn of(role: &RoleUse) -> Self {
        let keys = StorageKeys::of(&StorageUse {
            volume: Some(role.volume.clone()),
            limits: role.limits,
            ..StorageUse::default()
        });
        Self {
            size: keys.size,
            filesystem: keys.filesystem,
            block_size: keys.block_size,
            atime: keys.atime,
            barriers: keys.barriers,
            journal: keys.journal,
            discard: keys.discard,
            commit: keys.commit,
            cache: keys.cache,
            directories: keys.directories,
            block_devices: keys.block_devices,
            read_iops: keys.read_iops,
            write_iops: keys.write_iops,
            read_bps: keys.read_bps,
            write_bps: keys.write_bps,
        }
    }
}

/// The roles below `[storage]`; nothing where one has a problem.
pub(super) fn read_below(
    reader: &mut Reader<'_, '_, '_>,
) -> Option<BTreeMap<StorageRole, RoleUse>> {
    let mut roles = Some(BTreeMap::new());
    for role in StorageRole::BESIDE_DATA {
        if !reader.locate(role.name()) {
            continue;
        }
        let mut below = reader.section(role.name());
        let keys = RoleKeys::read(&mut below);
        let use_of_role = keys.build(&format!("{}.{}", SECTION.name, role.name()), below.context);
        below.finish();
        roles = roles.zip(use_of_role).map(|(mut roles, found)| {
            roles.insert(role, found);
            roles
        });
    }
    roles
}

pub(super) fn write_below(roles: &BTreeMap<StorageRole, RoleUse>, out: &mut String) {
    for (role, role_use) in roles {
        out.push_str(&format!("\n[{}.{}]\n", SECTION.name, role.name()));
        RoleKeys::of(role_use).write(out);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::super::testing::*, *};

    const DATABASE: &str = "[workload]\nkind = \"orderentry\"\n[stack]\nkind = \
                            \"mariadb\"\n[guest]\nkind = \"container\"\n";

    #[test]
    fn a_log_has_a_volume_of_its_own() {
        let text = "[storage.log]\nsize = \"512MiB\"\natime = \"noatime\"\ndirectories = \
                    [\"/mnt/fast\"]\nwrite_iops = 100\n[storage.temporary]\nsize = \
                    \"64MiB\"\n";
        let study = with(&format!("{DATABASE}{text}")).expect("valid");
        assert_eq!(study.storage.volume, None, "the data lie in the directory");
        let log = &study.storage.roles[&StorageRole::Log];
        assert_eq!(log.volume.dealt(0), ["/mnt/fast"]);
        assert_eq!(log.volume.atime, AccessTimes::Noatime);
        assert_eq!(log.limits.write_iops, Some(100));
        assert_eq!(study.storage.roles.len(), 2);
        let again = crate::Study::parse("again", &study.to_toml());
        assert_eq!(again.expect("valid"), study);
    }

    #[test]
    fn a_machine_has_a_disk_for_each_role() {
        let text = "[storage.log]\nsize = \"512MiB\"\nwrite_iops = 100\n";
        let text = format!("{DATABASE}{text}").replace("\"container\"", "\"vm\"");
        let study = with(&text).expect("valid");
        let log = &study.storage.roles[&StorageRole::Log];
        assert_eq!(log.limits.write_iops, Some(100));
    }

    #[test]
    fn the_database_of_pages_has_roles_and_web_servers_before_it_have_none() {
        let role = "[storage.log]\nsize = \"512MiB\"\n";
        let lamp = "title = \"t\"\n[workload]\nkind = \"dvdstore\"\n[load]\nramp_up = \
                    \"1s\"\n[stack]\nkind = \"lamp\"\n[guest]\nkind = \"container\"\n";
        let groups = "[[layout]]\nname = \"a\"\n[[layout.group]]\nname = \"web\"\nusers = \
                      3\n[[layout.group]]\nname = \"database\"\ntier_of = \"web\"\n";
        let text = format!("{lamp}{role}{groups}");
        let document = crate::Document::parse("s.toml", &text);
        let document = document.unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(document.study().storage.roles.len(), 1);
        let of_groups: Vec<usize> = document.variants()[0]
            .studies()
            .map(|study| study.storage.roles.len())
            .collect();
        assert_eq!(of_groups, [0, 1]);
    }

    #[test]
    fn roles_are_refused_where_they_have_no_meaning() {
        let role = "[storage.log]\nsize = \"512MiB\"\n";
        for (text, said) in [
            (
                format!("[guest]\nkind = \"container\"\n{role}"),
                "`storage.log` is a volume for the log of a database server, and the embedded \
                 stack has none of that",
            ),
            (
                format!(
                    "[workload]\nkind = \"web-banking\"\n[stack]\nkind = \"lamp\"\n[guest]\nkind = \
                     \"container\"\n{role}"
                ),
                "the LAMP stack has none of that",
            ),
            (
                format!("{DATABASE}{role}").replace("\"container\"", "\"fake\""),
                "`storage.log` is a volume beside that of the data, and fake guests keep no data",
            ),
            (
                format!("{DATABASE}{role}write_iops = 5\n").replace("\"container\"", "\"bare\""),
                "`storage.log.write_iops` limits I/O, and only containers",
            ),
            (
                format!("{DATABASE}[storage.log]\natime = \"noatime\"\n"),
                "`storage.log.size`",
            ),
            (
                format!("{DATABASE}{role}filesystem = \"xfs\"\njournal = \"ordered\"\n"),
                "`storage.log.journal` belongs to ext4, but `storage.log.filesystem` is \"xfs\"",
            ),
            (
                format!("{DATABASE}[storage]\nlog = 5\n"),
                "`storage.log` is a whole number",
            ),
        ] {
            let refused = refusal(&text);
            assert!(refused.contains(said), "{text}: {refused}");
        }
    }
}
