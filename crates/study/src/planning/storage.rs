//! How large the volumes of guests are.

use rookery_cast::truncate_u64;

use super::{MIB, guest_files::guest_files_mib, machines};
use crate::{
    Amount, EvaluationError, GuestGroup, RoleUse, Scaled, StorageRole, Study, Variables,
    VolumeSizes, VolumeUse, expression::BYTES, grammar::Context, problem::Code,
};

/// Room for logs and what the file system itself takes, MiB.
const SPARE_MIB: u64 = 256;

/// The volumes of each guest of a group, or its part of a shared one. One that is too small is
/// refused.
pub(super) fn volumes_mib(
    study: &Study,
    group: &GuestGroup,
    users: f64,
    context: &mut Context,
) -> VolumeSizes {
    let data = [(StorageRole::Data, data_mib(study, group, users, context))];
    let beside = study
        .storage
        .roles
        .iter()
        .map(|(role, wanted)| (*role, role_mib(*role, wanted, group, users, context)));
    data.into_iter().chain(beside).collect()
}

/// The volume of a role beside the data, MiB.
fn role_mib(
    role: StorageRole,
    wanted: &RoleUse,
    group: &GuestGroup,
    users: f64,
    context: &mut Context,
) -> u64 {
    let path = format!("storage.{}.size", role.name());
    // The grammar wants a size.
    let Some(size) = &wanted.volume.size else {
        return 0;
    };
    let span = context.spans.nearest(&path);
    let each = match each_mib(size, group, users) {
        Ok(each) => each,
        Err(why) => {
            let name = role.name();
            let message = format!("the {name} volumes of {} guests: {why}", group.guests);
            context.refuse::<()>(Code::Disk, span, message, "change the rule");
            return 0;
        }
    };
    let least = least_mib(&wanted.volume, group.guests);
    if each < least {
        let message = format!(
            "a guest would have {each} MiB of volume for this, and its file system needs {least} \
             MiB"
        );
        let help = format!("write `size = \"{least}MiB per guest\"` or more");
        context.refuse::<()>(Code::Disk, span, message, help);
    }
    each
}

/// That of the data, MiB; 0 where there is none.
fn data_mib(study: &Study, group: &GuestGroup, users: f64, context: &mut Context) -> u64 {
    let Some(volume) = &study.storage.volume else {
        return 0;
    };
    let machine = machines::disk_on_volume_mib(study, volume);
    let wanted = machine.unwrap_or(group.database.used_mib() + guest_files_mib(study));
    let Some(size) = &volume.size else {
        let usual = 3 * group.database.megabytes() + SPARE_MIB;
        return machine.unwrap_or(usual.max(wanted).max(least_mib(volume, group.guests)));
    };
    let span = context.spans.nearest("storage.size");
    let each = match each_mib(size, group, users) {
        Ok(each) => each,
        Err(why) => {
            let message = format!("the volumes of {} guests: {why}", group.guests);
            context.refuse::<()>(Code::Disk, span, message, "change the rule");
            return 0;
        }
    };
    let least = wanted.max(least_mib(volume, group.guests));
    if each < least {
        let what = match study.guest.vm() {
            Some(machine) => format!("a disk of {} MiB", machine.disk.size_mib),
            None => format!("a database of {}", group.database),
        };
        let message = format!(
            "a guest would have {each} MiB of volume: {what} and its file system need about \
             {least} MiB"
        );
        let smaller = if machine.is_some() {
            ", or make `disk_size` in [guest.vm] smaller"
        } else {
            ""
        };
        let help =
            format!("write `size = \"{least}MiB per guest\"` or more, or remove the key{smaller}");
        context.refuse::<()>(Code::Disk, span, message, help);
    }
    each
}

/// In whole MiB, rounded up.
fn each_mib(size: &Amount, group: &GuestGroup, users: f64) -> Result<u64, EvaluationError> {
    let variables = Variables {
        vcpus: group.vcpus.cpus(),
        memory_bytes: group.memory_mib as f64 * MIB,
        users,
        guests: f64::from(group.guests),
        callers: 1.0,
    };
    let each = match size {
        Amount::Rule(_) => size.each(&variables, &BYTES).map(|bytes| bytes / MIB),
        Amount::Scaled(Scaled { .. }) => size.each(&variables, &BYTES),
    };
    // What floats add beyond a millionth is not another MiB.
    each.map(|each| truncate_u64((each - 1e-6).ceil()))
}

/// What the file system needs to be made at all, of each guest's part.
fn least_mib(volume: &VolumeUse, guests: u32) -> u64 {
    let whole = match (volume.raw, volume.filesystem) {
        (true, _) => 1,
        (false, file_system) => file_system.least_mib() * u64::from(volume.tier.devices()),
    };
    if volume.shared {
        whole.div_ceil(u64::from(guests))
    } else {
        whole
    }
}

#[cfg(test)]
mod tests {
    use crate::{Document, HostFacts, Plan, StorageRole};

    fn planned(storage: &str, root: bool) -> Result<Plan, String> {
        planned_for("kind = \"container\"", storage, root)
    }

    fn planned_for(guest: &str, storage: &str, root: bool) -> Result<Plan, String> {
        let text = format!(
            "title = \"t\"\nworkload = {{ kind = \"dvdstore\", database = \"10MB per guest\" \
             }}\nload = {{ users = 9 }}\n\
             guest = {{ {guest}, memory = \"256MiB\" }}\nhost = {{ guest_cpus = 0, driver_cpus = \
             1, overcommit = 4 }}\n\
             layout = [{{ name = \"a\", guests = [1, 3], vcpus = 1 }}]\n[storage]\npool \
             = \"volume\"\n{storage}"
        );
        let host = HostFacts {
            cpus: vec![0, 1],
            memory_mib: 4096,
            disk_free_mib: 100_000,
            root,
            places: Vec::new(),
        };
        let document = Document::parse("s.toml", &text).map_err(|problems| problems.to_string())?;
        Plan::of(&document, &host).map_err(|problems| problems.to_string())
    }

    fn sizes(storage: &str) -> Vec<u64> {
        let plan = planned(storage, true).unwrap_or_else(|problems| panic!("{problems}"));
        plan.points
            .iter()
            .map(|point| point.only_group().volumes_mib.mib(StorageRole::Data))
            .collect()
    }

    #[test]
    fn volumes_are_as_large_as_asked_or_as_the_database_needs() {
        assert_eq!(sizes(""), [286, 286]);
        assert_eq!(sizes("filesystem = \"xfs\"\n"), [300, 300]);
        assert_eq!(sizes("size = \"300MiB\"\n"), [300, 300]);
        assert_eq!(
            sizes("size = \"600MiB per host\"\nper = \"host\"\n"),
            [600, 200]
        );
        assert_eq!(sizes("size = \"max(100MiB, 64MiB * vcpus)\"\n"), [100, 100]);
    }

    #[test]
    fn a_machines_volume_holds_its_whole_disk() {
        let of_machines = |storage: &str| {
            let plan = planned_for(
                "kind = \"vm\", vm = { disk_size = \"1GiB\" }",
                storage,
                true,
            )?;
            Ok::<_, String>((
                plan.points[0]
                    .only_group()
                    .volumes_mib
                    .mib(StorageRole::Data),
                plan.estimate.disk_mib,
            ))
        };
        let (whole, on_disk) = of_machines("").expect("a plan");
        assert!((1024 + 64..2048).contains(&whole), "{whole}");
        assert!(on_disk > 3 * whole, "{on_disk}");
        let error = of_machines("size = \"600MiB\"\n").expect_err("too small");
        assert!(
            error.contains("a disk of 1024 MiB and its file system need about")
                && error.contains("`disk_size` in [guest.vm]"),
            "{error}"
        );
    }

    #[test]
    fn a_volume_that_is_too_small_is_refused() {
        let text = planned("size = \"20MiB\"\n", true).expect_err("too small");
        assert!(
            text.contains("plan::disk") && text.contains("need about 27 MiB"),
            "{text}"
        );
        assert!(text.contains("size = \"27MiB per guest\""), "{text}");
        assert!(planned("size = \"200MiB\"\nfilesystem = \"xfs\"\n", true).is_err());
    }

    #[test]
    fn volumes_elsewhere_count_where_they_lie() {
        let plan = |storage: &str| {
            let plan = planned(storage, true).unwrap_or_else(|problems| panic!("{problems}"));
            let elsewhere = plan.estimate.elsewhere_mib.into_iter();
            (plan.estimate.disk_mib, elsewhere.collect::<Vec<_>>())
        };
        let (here, none) = plan("size = \"1GiB\"\n");
        assert!(none.is_empty());
        let (rest, elsewhere) = plan("size = \"1GiB\"\ndirectories = [\"/a\", \"/b\"]\n");
        // The first and the third of three guests are in the first directory.
        assert_eq!(
            elsewhere,
            [("/a".to_owned(), 2048), ("/b".to_owned(), 1024)]
        );
        assert_eq!(rest + 3 * 1024, here);
        let shared = "size = \"1GiB\"\nper = \"host\"\ndirectories = [\"/a\", \"/b\"]\n";
        let (_, elsewhere) = plan(shared);
        assert_eq!(elsewhere, [("/a".to_owned(), 3 * 1024)], "one volume");
        let stripe = "size = \"1GiB\"\ntier = \"stripe\"\ndirectories = [\"/a\", \"/b\"]\n";
        let (_, elsewhere) = plan(stripe);
        assert_eq!(
            elsewhere,
            [("/a".to_owned(), 1536), ("/b".to_owned(), 1536)]
        );
    }

    #[test]
    fn each_volume_takes_a_block_device_of_its_own() {
        let sized = |devices: &str| {
            planned(
                &format!("size = \"1GiB\"\nblock_devices = {devices}\n"),
                true,
            )
        };
        let plan = sized("[\"/dev/a\", \"/dev/b\", \"/dev/c\"]")
            .unwrap_or_else(|problems| panic!("{problems}"));
        let on_devices: Vec<_> = plan.estimate.devices_mib.into_iter().collect();
        let each = ["/dev/a", "/dev/b", "/dev/c"].map(|device| (device.to_owned(), 1024));
        assert_eq!(on_devices, each);
        assert!(plan.estimate.elsewhere_mib.is_empty());
        let text = sized("[\"/dev/a\", \"/dev/b\"]").expect_err("three guests");
        assert!(
            text.contains("plan::disk")
                && text.contains("several volumes on each of /dev/a, and")
                && text.contains("`per = \"host\"`"),
            "{text}"
        );
        let shared = sized("[\"/dev/a\"]\nper = \"host\"").expect("one volume for all");
        assert_eq!(shared.estimate.devices_mib["/dev/a"], 3 * 1024);
    }

    #[test]
    fn volumes_count_on_disk_and_need_root() {
        let plan =
            planned("size = \"1GiB\"\n", true).unwrap_or_else(|problems| panic!("{problems}"));
        assert!(
            plan.estimate.disk_mib > 3 * 1024,
            "{}",
            plan.estimate.disk_mib
        );
        let text = planned("", false).expect_err("no root");
        assert!(text.contains("volumes need root"), "{text}");
    }
}
