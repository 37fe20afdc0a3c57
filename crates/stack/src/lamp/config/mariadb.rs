//! Configuration of MariaDB, and its first database.

use std::{
    collections::BTreeSet,
    fs::{self, DirBuilder},
    io::{self, Write},
    os::unix::fs::DirBuilderExt,
    path::Path,
    process::Stdio,
};

use rookery_host::bound_command;
use rookery_study::StorageRole;
use rustix::process::geteuid;

use super::{Component, Software, Tuned, WebServer};
use crate::lamp::{LampError, SCHEMA_SETTINGS};

/// Where the server lives. The socket is named from the data directory, in which the server stands:
/// so its path is short however long the guest's is. The buffer pool is neither stored nor filled:
/// a trial begins cold, or warmed by the lab's own procedure.
pub(crate) const PLACES: &str = "\
[mariadbd]
datadir = {data}/mysql
socket = ../mysql.sock
pid_file = {run}/mariadbd.pid
tmpdir = {data}
skip_name_resolve
innodb_buffer_pool_load_at_startup = OFF
innodb_buffer_pool_dump_at_shutdown = OFF
";

/// Where log and temporary files are that have volumes of their own. Of two lines for one setting
/// the later counts.
pub(crate) fn role_places(roles: &BTreeSet<StorageRole>) -> String {
    let lines = roles.iter().map(|role| match role {
        StorageRole::Data => "",
        StorageRole::Log => "innodb_log_group_home_dir = {log}\n",
        StorageRole::Temporary => "tmpdir = {temporary}\n",
    });
    lines.collect()
}

/// For a database that is being made: a log that holds a load's writes, and no waits for the disk,
/// since a load that is cut off is thrown away. The log's buffer is small because the log cannot be
/// made smaller than it at the end.
pub(crate) const BUILDING: &str = "\
innodb_buffer_pool_size = 268435456
innodb_log_file_size = 268435456
innodb_log_buffer_size = 4194304
innodb_flush_log_at_trx_commit = 0
innodb_doublewrite = OFF
max_allowed_packet = 67108864
innodb_undo_tablespaces = 3
";

/// For the making of the system tables. The redo log is of the least size: each guest makes its own
/// of the size it is tuned to.
const BOOTSTRAP_OPTIONS: [&str; 4] = [
    "--bootstrap",
    "--log-warnings=0",
    "--innodb-log-file-size=4M",
    "--innodb-buffer-pool-size=32M",
];

/// Configuration of a serving guest.
pub(crate) fn config(tuned: &Tuned, server: WebServer) -> String {
    let mut text = base();
    for setting in tuned.of_component(Component::Mariadb, server) {
        text += &format!("{} = {}\n", setting.name, setting.value);
    }
    text
}

/// Its configuration, below the guest's directory of configuration.
pub(super) const CONFIG: &str = "mariadb.cnf";

/// What lets the guests of other groups in, below the guest's directory of configuration.
pub(super) const ACCOUNTS: &str = "accounts.sql";

/// The network of a guest that is the database of others, and who may come.
const OF_TIER: &str = "\
bind_address = {address}
port = {port}
init_file = {conf}/accounts.sql
";

/// Configuration of a guest that is the database of others.
pub(super) fn config_of_tier(tuned: &Tuned, server: WebServer) -> String {
    let schema = SCHEMA_SETTINGS.map(|(name, value)| format!("{name} = {value}\n"));
    let mut text = format!("{PLACES}{OF_TIER}{}", schema.concat());
    for setting in tuned.of_component(Component::Mariadb, server) {
        text += &format!("{} = {}\n", setting.name, setting.value);
    }
    text
}

/// The account of the pages in other guests; a statement to a line, as the server reads them at its
/// start.
pub(super) fn accounts_of_tier(password: &str) -> String {
    format!(
        "CREATE OR REPLACE USER 'web'@'%' IDENTIFIED BY '{password}';\n\
         GRANT ALL PRIVILEGES ON DS2.* TO 'web'@'%';\n"
    )
}

/// Configuration of the guest that makes the template.
pub(super) fn builder_config() -> String {
    base() + BUILDING
}

/// Places, and what the schema needs.
fn base() -> String {
    let schema = SCHEMA_SETTINGS.map(|(name, value)| format!("{name} = {value}\n"));
    format!("{PLACES}skip_networking\n{}", schema.concat())
}

/// SQL before the distribution's own: no account that uses a socket's owner.
const BEFORE: &str = "create database mysql;\nuse mysql;\nset @auth_root_socket = NULL;\n";
/// SQL after it: root comes over the socket alone.
const AFTER: &str = "delete from mysql.global_priv where User = 'root' and Host <> \
                     'localhost';\ndelete from mysql.proxies_priv where Host <> 'localhost';\n";

/// The files of the distribution that make the system tables.
fn bootstrap_files(share: &Path) -> [String; 2] {
    ["mysql_system_tables.sql", "mysql_system_tables_data.sql"]
        .map(|name| share.join(name).display().to_string())
}

/// The script that makes the system tables inside a guest. What is unfinished keeps another name,
/// so that it is not taken for done.
pub(crate) fn bootstrap_script(mariadbd: &Path, share: &Path) -> String {
    let options = BOOTSTRAP_OPTIONS.join(" ");
    let files = bootstrap_files(share).join(" ");
    format!(
        r#"set -eu
rm -rf "{{data}}/mysql.part"
mkdir -m 700 "{{data}}/mysql.part"
{{ cat <<'END'
{BEFORE}END
cat {files}
cat <<'END'
{AFTER}END
}} | {} "--defaults-file={{conf}}/mariadb.cnf" "--datadir={{data}}/mysql.part" {options}
mv "{{data}}/mysql.part" "{{data}}/mysql"
"#,
        mariadbd.display()
    )
}

/// Make the system tables of an empty database in `datadir`, which must not exist yet, with the
/// programs of this host.
///
/// # Errors
/// When the directory exists or cannot be made, or the server refuses; then nothing is left of it.
pub fn initialise(software: &Software, datadir: &Path) -> Result<(), LampError> {
    let fail = |what: String| LampError::Initialise {
        datadir: datadir.display().to_string(),
        what,
        help: "give a new directory with room for 20 MB on a file system that may be written",
    };
    DirBuilder::new()
        .mode(0o700)
        .create(datadir)
        .map_err(|error| fail(error.to_string()))?;
    bootstrap(software, datadir).map_err(|error| {
        // The reason is what matters; a remainder would be refused by the next attempt, and named.
        let _ = fs::remove_dir_all(datadir);
        fail(error.to_string())
    })
}

fn bootstrap(software: &Software, datadir: &Path) -> io::Result<()> {
    let mut statements = BEFORE.to_owned();
    for file in bootstrap_files(&software.mariadb_share) {
        statements += &fs::read_to_string(&file)
            .map_err(|error| io::Error::other(format!("{file}: {error}")))?;
    }
    statements += AFTER;
    let mut command = bound_command(&software.mariadbd);
    command
        .arg("--no-defaults")
        .arg("--datadir")
        .arg(datadir)
        .args(BOOTSTRAP_OPTIONS);
    // A server that starts removes the temporary tables of all others in the directory.
    command.arg("--tmpdir").arg(datadir);
    if geteuid().is_root() {
        command.arg("--user=root");
    }
    let mut server = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let fed = server
        .stdin
        .take()
        .map_or(Ok(()), |mut stdin| stdin.write_all(statements.as_bytes()));
    let output = server.wait_with_output()?;
    let words = String::from_utf8_lossy(&output.stderr);
    let complaints: Vec<&str> = words
        .lines()
        .filter(|line| line.contains("ERROR"))
        .collect();
    if output.status.success() && complaints.is_empty() {
        return fed;
    }
    Err(io::Error::other(format!(
        "mariadbd ended with {}: {}",
        output.status,
        complaints.join("; ")
    )))
}
