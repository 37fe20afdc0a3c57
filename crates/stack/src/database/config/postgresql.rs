//! Configuration of PostgreSQL as a guest of its own.

use std::collections::BTreeSet;

use rookery_study::StorageRole;

use super::{Software, SupervisedService};
use crate::{
    database::{DATABASE, SUPERUSER, USER},
    lamp::config::{HEAD, initialising},
    tuning::{Component, Tuned},
};

/// Its configuration, below the guest's directory of configurations. Of two lines for one setting
/// the later counts.
pub(in crate::database) const CONFIG: &str = "postgresql.conf";

/// Where the server lives. The directory of the socket is named from the data directory, in which
/// the server stands: so its path is short however long the guest's is. Memory of parallel workers
/// is in files of the data: what is killed leaves nothing on the host.
const PLACES: &str = "\
hba_file = '{conf}/pg_hba.conf'
ident_file = '{conf}/pg_ident.conf'
unix_socket_directories = '..'
unix_socket_permissions = 0700
dynamic_shared_memory_type = mmap
logging_collector = off
log_destination = stderr
log_timezone = 'UTC'
timezone = 'UTC'
lc_messages = 'C'
ssl = off
";

/// Even with its buffers elsewhere PostgreSQL keeps a few bytes of System V shared memory, which
/// would outlive a killed server.
const IPC: &str = "ipc_namespace = true\n";

/// The network of the guest.
const SERVING: &str = "\
listen_addresses = '{address}'
port = {port}
";

/// No network.
const ALONE: &str = "\
listen_addresses = ''
port = {port}
";

/// For a database that is being made: no waits for the disk, since a load that is cut off is thrown
/// away, and no vacuum beside the load.
const BUILDING: &str = "\
fsync = off
full_page_writes = off
synchronous_commit = off
wal_level = minimal
max_wal_senders = 0
shared_buffers = 256MB
max_wal_size = 128MB
min_wal_size = 32MB
checkpoint_timeout = 1h
maintenance_work_mem = 256MB
autovacuum = off
";

pub(super) fn guest(software: &Software, tuned: &Tuned) -> SupervisedService {
    let mut text = format!("{PLACES}{SERVING}");
    for setting in tuned.component(Component::Postgresql) {
        text += &format!("{} = '{}'\n", setting.name, setting.value);
    }
    let hba = format!("local all all trust\nhost {DATABASE} {USER} samenet trust\n");
    service(format!("{HEAD}{IPC}{}", postgres(software)), text, hba)
}

pub(super) fn builder(software: &Software) -> SupervisedService {
    making(software, &BTreeSet::new(), BUILDING)
}

pub(super) fn loading(
    software: &Software,
    tuned: &Tuned,
    roles: &BTreeSet<StorageRole>,
) -> SupervisedService {
    let settings: String = tuned
        .component(Component::Postgresql)
        .map(|setting| format!("{} = '{}'\n", setting.name, setting.value))
        .collect();
    making(software, roles, &settings)
}

/// An empty cluster, and then the server with these settings.
fn making(software: &Software, roles: &BTreeSet<StorageRole>, settings: &str) -> SupervisedService {
    let services = format!(
        "{HEAD}{IPC}{}{}",
        initialising("postgresql"),
        postgres(software)
    );
    let text = format!("{PLACES}{ALONE}{settings}");
    let mut service = service(services, text, "local all all trust\n".to_owned());
    service
        .files
        .push(("initialise.sh".to_owned(), initialise(software, roles)));
    service
}

fn service(services: String, config: String, hba: String) -> SupervisedService {
    // The file of user names must be there, and has none.
    SupervisedService::new([
        ("services.toml", services),
        (CONFIG, config),
        ("pg_hba.conf", hba),
        ("pg_ident.conf", "\n".to_owned()),
    ])
}

/// The script that makes an empty cluster inside a guest. What is unfinished keeps another name, so
/// that it is not taken for done. What has volumes of its own is begun there.
fn initialise(software: &Software, roles: &BTreeSet<StorageRole>) -> String {
    let of = |role: StorageRole, text: &'static str| match roles.contains(&role) {
        true => text,
        false => "",
    };
    let without_log = of(StorageRole::Log, "rm -rf \"{log}/pg_wal\"\n");
    let log = of(StorageRole::Log, " --waldir=\"{log}/pg_wal\"");
    let temporary = of(
        StorageRole::Temporary,
        "mkdir -p -m 700 \"{temporary}/pgsql_tmp\"\n\
         ln -s \"{temporary}/pgsql_tmp\" \"{data}/postgresql.part/base/pgsql_tmp\"\n",
    );
    format!(
        r#"set -eu
rm -rf "{{data}}/postgresql.part"
{without_log}"{}" --pgdata="{{data}}/postgresql.part" --username={SUPERUSER} --auth=trust --encoding=UTF8 --locale=C --no-sync{log}
{temporary}mv "{{data}}/postgresql.part" "{{data}}/postgresql"
"#,
        software.initial.display()
    )
}

/// PostgreSQL ends its clients' sessions and writes everything out on SIGINT; on SIGTERM it would
/// wait for them.
fn postgres(software: &Software) -> String {
    format!(
        r#"
[[service]]
name = "postgresql"
command = ["{}", "-D", "{{data}}/postgresql", "-c", "config_file={{conf}}/postgresql.conf"]
keep_group = true
ready = "log:database system is ready to accept connections"
ready_within_ms = 300000
stop_signal = "INT"
grace_ms = 120000
"#,
        software.server.display()
    )
}
