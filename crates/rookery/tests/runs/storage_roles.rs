//! Logs and temporary files of database servers on volumes of their own.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use super::storage::left;
use crate::common::{
    Place, code, lamp_tests, long_tests, measured,
    orderentry::{assert_audits, database_tests, tiny},
    root_tests, text, tiny_study,
};

/// A log and temporary files on volumes of their own; the log's file lies in `disk`, and its writes
/// are limited where they can be.
fn roles(disk: &Path, limited: bool) -> String {
    let limit = if limited { "write_iops = 5000\n" } else { "" };
    format!(
        "[storage.log]\nsize = \"400MiB\"\natime = \"noatime\"\ndirectories = [\"{}\"]\n{limit}\n\
         [storage.temporary]\nsize = \"64MiB\"\n\n[host]",
        disk.display()
    )
}

/// Waits until one of these is below a run's directory of volumes while `child` runs.
fn appears(place: &Place, child: &mut Child, wanted: &str) -> PathBuf {
    let deadline = Instant::now() + Duration::from_secs(240);
    loop {
        let runs = fs::read_dir(place.runs()).into_iter().flatten().flatten();
        let mut paths = runs.map(|run| run.path().join("guests/volumes").join(wanted));
        if let Some(found) = paths.find(|path| path.exists()) {
            return found;
        }
        assert!(
            child.try_wait().expect("waits").is_none(),
            "it ended before there was {wanted}"
        );
        assert!(Instant::now() < deadline, "{wanted} does not appear");
        sleep(Duration::from_millis(5));
    }
}

/// A shop on LAMP for some seconds.
fn shop(guest: &str) -> String {
    // A translated machine takes long to come up, and to answer.
    let (ready_within, timeout, steady) = match guest {
        "vm" => ("5min", "60s", "15s"),
        _ => ("1min", "20s", "4s"),
    };
    let study = tiny_study(guest, "1", "")
        .replace("guests = [1, 2]", "guests = 1")
        .replace("\"embedded\"", "\"lamp\"")
        .replace("128MiB per guest", "512MiB per guest");
    let replaced = [
        ("steady = \"1s\"", format!("steady = \"{steady}\"")),
        (
            "drain = \"2s\"",
            format!("drain = \"5s\"\ntimeout = \"{timeout}\""),
        ),
        ("p95 = \"5s\"", format!("p95 = \"{timeout}\"")),
        ("min_operations = 10", "min_operations = 1".to_owned()),
        (
            "memory =",
            format!("ready_within = \"{ready_within}\"\nmemory ="),
        ),
    ];
    let all = replaced.into_iter();
    all.fold(study, |study, (from, to)| study.replace(from, &to))
}

/// A trial of one guest: `log` is seen on the volume of the log while it runs, `settings` are read
/// back as asked, and nothing is left.
fn run_with_roles(study: &str, guest: &str, log: &str, settings: &[&str]) {
    let place = Place::among_others();
    let disk = place.dir.path().join("disk");
    fs::create_dir(&disk).expect("made");
    let text_of = study.replace("[host]", &roles(&disk, guest == "container"));
    let study = place.study("roles.toml", &text_of);
    let mut child = place
        .rookery(&["run", &study, "-q"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("rookery starts");
    let found = appears(&place, &mut child, &format!("g1-log/g1/{log}"));
    assert!(found.exists() || child.try_wait().expect("waits").is_some());
    let files = fs::read_dir(disk.join("volumes")).map_or(0, Iterator::count);
    assert_eq!(
        files, 1,
        "the file behind the volume lies where it was asked"
    );
    child.wait().expect("ends");
    assert_eq!(left(&place), [""; 0]);
    assert_eq!(fs::read_dir(&disk).expect("there").count(), 0);
    let limited = (guest == "container").then_some("storage.log.write_iops");
    in_force(&place, settings.iter().copied().chain(limited));
}

/// The only run has measured, and what was asked of the volumes of roles, and these settings, is in
/// force before and after the load.
fn in_force<'s>(place: &Place, settings: impl Iterator<Item = &'s str>) {
    let run = place.export();
    let trials = run["trials"].as_array().expect("trials");
    assert!(trials.iter().all(measured), "{trials:#?}");
    assert_audits(&run, 1);
    let rows = run["tunings"].as_array().expect("tunings");
    let kept = |name: &str| {
        let row = rows.iter().find(|row| row["name"] == name);
        let row = row.unwrap_or_else(|| panic!("{name}: {rows:#?}"));
        assert!(
            row["asked"] != "" && row["asked"] == row["effective"],
            "{row}"
        );
        assert_eq!(row["asked"], row["at_end"], "{row}");
    };
    for name in [
        "storage.log.size",
        "storage.log.atime",
        "storage.temporary.size",
    ] {
        kept(name);
    }
    settings.for_each(kept);
}

/// A trial of one machine, whose kernel mounts the volumes: nothing is left of them.
fn run_machine_with_roles(study: &str, settings: &[&str]) {
    let place = Place::among_others();
    let disk = place.dir.path().join("disk");
    fs::create_dir(&disk).expect("made");
    let text_of = study.replace("[host]", &roles(&disk, true));
    place.done("machine.toml", &text_of);
    assert_eq!(left(&place), [""; 0]);
    assert_eq!(fs::read_dir(&disk).expect("there").count(), 0);
    let limited = settings.iter().copied().chain(["storage.log.write_iops"]);
    in_force(&place, limited);
}

#[test]
fn a_machine_of_mariadb_has_its_log_on_a_disk_of_its_own() {
    if long_tests() && database_tests() {
        let settings = ["mariadb.innodb_log_group_home_dir", "mariadb.tmpdir"];
        run_machine_with_roles(&tiny("mariadb", "vm", 1), &settings);
    }
}

#[test]
fn a_machine_of_postgresql_has_its_log_on_a_disk_of_its_own() {
    if root_tests() && database_tests() {
        let settings = ["postgresql.pg_wal", "postgresql.pgsql_tmp"];
        run_machine_with_roles(&tiny("postgresql", "vm", 1), &settings);
    }
}

#[test]
fn a_container_of_mariadb_has_its_log_on_a_volume_of_its_own() {
    if root_tests() && database_tests() {
        let settings = ["mariadb.innodb_log_group_home_dir", "mariadb.tmpdir"];
        run_with_roles(
            &tiny("mariadb", "container", 1),
            "container",
            "ib_logfile0",
            &settings,
        );
    }
}

#[test]
fn a_container_of_postgresql_has_its_log_on_a_volume_of_its_own() {
    if root_tests() && database_tests() {
        let settings = ["postgresql.pg_wal", "postgresql.pgsql_tmp"];
        let log = "pg_wal/archive_status";
        run_with_roles(
            &tiny("postgresql", "container", 1),
            "container",
            log,
            &settings,
        );
    }
}

#[test]
fn a_bare_guest_of_mariadb_has_its_log_on_a_volume_of_its_own() {
    if root_tests() && database_tests() {
        let settings = ["mariadb.innodb_log_group_home_dir", "mariadb.tmpdir"];
        run_with_roles(
            &tiny("mariadb", "bare", 1),
            "bare",
            "ib_logfile0",
            &settings,
        );
    }
}

#[test]
fn a_bare_guest_of_postgresql_has_its_log_on_a_volume_of_its_own() {
    if root_tests() && database_tests() {
        let settings = ["postgresql.pg_wal", "postgresql.pgsql_tmp"];
        let log = "pg_wal/archive_status";
        run_with_roles(&tiny("postgresql", "bare", 1), "bare", log, &settings);
    }
}

/// Where MariaDB was asked to have its log and its temporary files.
const OF_MARIADB: [&str; 2] = ["mariadb.innodb_log_group_home_dir", "mariadb.tmpdir"];

#[test]
fn the_database_of_lamp_containers_has_its_log_on_a_volume_of_its_own() {
    if root_tests() && lamp_tests() {
        run_with_roles(&shop("container"), "container", "ib_logfile0", &OF_MARIADB);
    }
}

#[test]
fn the_database_of_bare_lamp_guests_has_its_log_on_a_volume_of_its_own() {
    if root_tests() && lamp_tests() {
        run_with_roles(&shop("bare"), "bare", "ib_logfile0", &OF_MARIADB);
    }
}

#[test]
fn the_database_of_lamp_machines_has_its_log_on_a_disk_of_its_own() {
    if long_tests() && lamp_tests() {
        run_machine_with_roles(&shop("vm"), &OF_MARIADB);
    }
}

#[test]
fn a_site_in_php_has_its_log_on_a_volume_of_its_own() {
    if !(root_tests() && lamp_tests()) {
        return;
    }
    let site = shop("container").replace(
        "kind = \"dvdstore\"\ndatabase = \"1MB per guest\"\nthink_time = \"20ms\"",
        "kind = \"cms\"\nnodes = \"200 per guest\"\naccounts = \"50 per guest\"\nthink_time = \
         \"100ms\"",
    );
    let site = site.replace("steady = \"4s\"", "steady = \"15s\"");
    run_with_roles(&site, "container", "ib_logfile0", &OF_MARIADB);
}

#[test]
fn the_database_of_a_tier_has_roles_and_the_web_server_before_it_has_none() {
    if !(root_tests() && lamp_tests()) {
        return;
    }
    let place = Place::among_others();
    let disk = place.dir.path().join("disk");
    fs::create_dir(&disk).expect("made");
    let text_of = shop("container")
        .replace("users = \"6 per guest\"\n", "")
        .replace("guests = 1\nvcpus = 1\n", "")
        .replace("[host]\novercommit = 2", "[host]\novercommit = 6")
        .replace("[host]", &roles(&disk, true));
    let groups = "[[layout.group]]\nname = \"web\"\nusers = 3\n[[layout.group]]\nname = \
                  \"database\"\ntier_of = \"web\"\n";
    let (_, run) = place.done("tiers.toml", &format!("{text_of}{groups}"));
    assert_audits(&run, 1);
    let rows = run["tunings"].as_array().expect("tunings");
    let of_roles = rows.iter().filter(|row| {
        let name = row["name"].as_str().expect("a name");
        name.starts_with("storage.log.") || OF_MARIADB.contains(&name)
    });
    let guests: Vec<&str> = of_roles
        .map(|row| row["guest"].as_str().expect("a guest"))
        .collect();
    assert!(
        !guests.is_empty() && guests.iter().all(|guest| *guest == "g2"),
        "{guests:?}"
    );
    assert_eq!(left(&place), [""; 0]);
}

#[test]
fn databases_are_loaded_onto_their_volumes() {
    if !(root_tests() && database_tests()) {
        return;
    }
    let studies = ["mariadb", "postgresql"].map(|stack| tiny(stack, "container", 1));
    for study in studies.into_iter().chain([shop("container")]) {
        let place = Place::among_others();
        let disk = place.dir.path().join("disk");
        fs::create_dir(&disk).expect("made");
        let text_of = study
            .replace("users = 3\n", "")
            .replace("users = \"6 per guest\"\n", "")
            .replace("[load]", "[measure]\nload_time = true\n\n[load]")
            .replace("[host]", &roles(&disk, true));
        let (_, run) = place.done("load.toml", &text_of);
        assert!(
            run["loads"].to_string().contains("\"g1\""),
            "{}",
            run["loads"]
        );
        assert_eq!(left(&place), [""; 0]);
    }
}

#[test]
fn the_plan_shows_roles_and_the_disk_of_each_directory() {
    let place = Place::among_others();
    let disk = place.dir.path().join("disk");
    let text_of = tiny("mariadb", "container", 2).replace("[host]", &roles(&disk, true));
    let study = place.study("plan.toml", &text_of);
    let plan = place
        .rookery(&["plan", &study, "--anyway"])
        .output()
        .expect("rookery starts");
    let said = text(&plan.stdout);
    let disk = disk.display();
    for line in [
        format!(
            "storage of the log: a volume for each guest, 400 MiB each, ext4, in {disk}, noatime, \
             host cache off, at most 5000 writes/s each"
        ),
        "storage of the temporary files: a volume for each guest, 64 MiB each, ext4, relatime, \
         host cache off"
            .to_owned(),
        format!("of disk, 800 MiB in {disk}"),
    ] {
        assert!(said.contains(&line), "{line}\n{said}");
    }
    let lamp = place.study("sample.toml", &text_of.replace("\"mariadb\"", "\"sqlite\""));
    let refused = place
        .rookery(&["check", "--file-only", &lamp])
        .output()
        .expect("rookery starts");
    assert_eq!(code(&refused), 3);
    let said = text(&refused.stderr);
    assert!(
        said.contains("the SQLite stack has none of that") && said.contains("help: "),
        "{said}"
    );
}
