//! What database guests are given, word by word.

use rookery_study::{StorageRole, Variables};

use super::*;
use crate::{database::EngineFacts as _, tuning::Family};

/// Debian 12, as it is found.
fn software(engine: Engine) -> Software {
    let (server, initial, version) = match engine {
        Engine::Mariadb => (
            "/usr/sbin/mariadbd",
            "/usr/share/mysql",
            "1:10.11.19-0+deb12u1",
        ),
        Engine::Postgresql => (
            "/usr/lib/postgresql/15/bin/postgres",
            "/usr/lib/postgresql/15/bin/initdb",
            "15.18-0+deb12u1",
        ),
    };
    Software {
        engine,
        server: server.into(),
        initial: initial.into(),
        prewarm: true,
        version: version.to_owned(),
    }
}

fn tuned(family: Family, name: &str) -> Tuned {
    // A guest of the study that the tuning is from.
    let guest = Variables {
        vcpus: 1.0,
        memory_bytes: 7680.0 * 1_048_576.0,
        users: 8.0,
        guests: 1.0,
        callers: 1.0,
    };
    Tuned::evaluate(family, name, &[], &guest).expect("valid")
}

fn file(service: &SupervisedService, path: &str) -> String {
    let found = service.files.iter().find(|(name, _)| name == path);
    found.unwrap_or_else(|| panic!("no file {path}")).1.clone()
}

#[test]
fn the_files_of_mariadb() {
    let service = guest(
        &software(Engine::Mariadb),
        &tuned(Family::Mariadb, "rhev"),
        true,
        &BTreeSet::new(),
    );
    insta::assert_snapshot!("mariadb", file(&service, "mariadb.cnf"));
    insta::assert_snapshot!("mariadb_services", file(&service, "services.toml"));
    let builder = builder(&software(Engine::Mariadb));
    insta::assert_snapshot!("mariadb_builder", file(&builder, "mariadb.cnf"));
}

#[test]
fn the_files_of_postgresql() {
    let service = guest(
        &software(Engine::Postgresql),
        &tuned(Family::Postgresql, "rhev"),
        true,
        &BTreeSet::new(),
    );
    insta::assert_snapshot!("postgresql", file(&service, "postgresql.conf"));
    insta::assert_snapshot!("postgresql_hba", file(&service, "pg_hba.conf"));
    insta::assert_snapshot!("postgresql_services", file(&service, "services.toml"));
    let builder = builder(&software(Engine::Postgresql));
    insta::assert_snapshot!("postgresql_builder", file(&builder, "postgresql.conf"));
    insta::assert_snapshot!("postgresql_initialise", file(&builder, "initialise.sh"));
}

#[test]
fn servers_are_told_of_volumes_of_their_own() {
    let all = BTreeSet::from(StorageRole::BESIDE_DATA);
    let mariadb = software(Engine::Mariadb);
    let tuned_mariadb = tuned(Family::Mariadb, "stock");
    for service in [
        guest(&mariadb, &tuned_mariadb, false, &all),
        loading(&mariadb, &tuned_mariadb, &all),
    ] {
        let text = file(&service, "mariadb.cnf");
        assert!(
            text.contains("\ninnodb_log_group_home_dir = {log}\n"),
            "{text}"
        );
        // Of two lines for one setting the later counts.
        let tmpdir = text.lines().rfind(|line| line.starts_with("tmpdir"));
        assert_eq!(tmpdir, Some("tmpdir = {temporary}"));
    }
    let postgresql = software(Engine::Postgresql);
    let tuned = tuned(Family::Postgresql, "stock");
    let script = file(&loading(&postgresql, &tuned, &all), "initialise.sh");
    insta::assert_snapshot!(script);
    let plain = file(
        &loading(&postgresql, &tuned, &BTreeSet::new()),
        "initialise.sh",
    );
    assert!(
        !plain.contains("{log}") && !plain.contains("{temporary}"),
        "{plain}"
    );
}

#[test]
fn every_services_file_is_one_that_the_supervisor_understands() {
    for engine in Engine::ALL {
        let software = software(engine);
        for (service, names) in [
            (
                guest(
                    &software,
                    &tuned(engine.family(), "stock"),
                    false,
                    &BTreeSet::new(),
                ),
                vec![engine.key()],
            ),
            (builder(&software), vec!["initialise", engine.key()]),
        ] {
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("services.toml");
            std::fs::write(&path, file(&service, "services.toml")).expect("written");
            let services = crate::supervise::Services::read(&path).expect("understood");
            assert!(services.guest.user_namespace);
            assert_eq!(services.guest.ipc_namespace, engine == Engine::Postgresql);
            let found: Vec<&str> = services
                .services
                .iter()
                .map(|service| service.name.as_str())
                .collect();
            assert_eq!(found, names);
        }
    }
}

#[test]
fn every_tuning_has_a_value_for_every_guest() {
    for engine in Engine::ALL {
        for name in engine.family().names() {
            for (vcpus, memory, users) in
                [(0.05, 64.0, 1.0), (0.25, 384.0, 2.0), (8.0, 61_440.0, 64.0)]
            {
                let guest = Variables {
                    vcpus,
                    memory_bytes: memory * 1_048_576.0,
                    users,
                    guests: 40.0,
                    callers: 1.0,
                };
                let tuned = Tuned::evaluate(engine.family(), name, &[], &guest).expect("valid");
                assert_eq!(tuned.name, name);
                for setting in &tuned.settings {
                    let same = tuned
                        .settings
                        .iter()
                        .filter(|other| other.name == setting.name)
                        .count();
                    assert_eq!(same, 1, "{} of {name}", setting.key());
                    assert!(setting.reason.len() > 10, "{setting:?}");
                }
            }
        }
    }
}

#[test]
fn rhev_follows_the_paper() {
    let value = |family: Family, name: &str| {
        let tuned = tuned(family, "rhev");
        tuned
            .settings
            .iter()
            .find(|setting| setting.name == name)
            .map(|setting| setting.value.clone())
    };
    // 4608 MiB of 7680 MiB; logs and their buffers of a guest of one vCPU.
    assert_eq!(
        value(Family::Mariadb, "innodb_buffer_pool_size"),
        Some((4608_u64 << 20).to_string())
    );
    assert_eq!(
        value(Family::Postgresql, "shared_buffers"),
        Some(format!("{}kB", 4608_u64 << 10))
    );
    assert_eq!(
        value(Family::Mariadb, "innodb_log_file_size"),
        Some((4096_u64 << 20).to_string())
    );
    assert_eq!(
        value(Family::Postgresql, "max_wal_size"),
        Some(format!("{}kB", 16_u64 << 20))
    );
    assert_eq!(
        value(Family::Postgresql, "wal_buffers"),
        Some("128000kB".to_owned())
    );
    assert_eq!(
        value(Family::Mariadb, "max_connections"),
        Some("175".to_owned())
    );
}

#[test]
fn settings_of_other_stacks_and_sizes_without_units_are_refused() {
    let refusal = |family: Family, key: &str, value: &str| {
        let overrides = [(key.to_owned(), value.to_owned())];
        let guest = Variables {
            vcpus: 1.0,
            memory_bytes: 1e9,
            users: 8.0,
            guests: 1.0,
            callers: 1.0,
        };
        Tuned::evaluate(family, "stock", &overrides, &guest)
            .expect_err("refused")
            .to_string()
    };
    assert!(
        refusal(Family::Mariadb, "postgresql.work_mem", "1MiB")
            .contains("this stack has no component")
    );
    assert!(
        refusal(Family::Postgresql, "postgresql.listen_addresses", "x")
            .contains("Rookery sets this itself")
    );
    assert!(
        refusal(Family::Postgresql, "postgresql.shared_buffers", "1024").contains("has no unit")
    );
    assert!(refusal(Family::Mariadb, "mariadb.port", "1").contains("Rookery sets this itself"));
}
