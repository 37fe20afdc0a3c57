//! CPU per transaction of the order-entry terminals' clients against `sysbench` and `pgbench`: the
//! same statements, tables, connections and processor, in turn.
//!
//! Server on CPU 0, client on CPU 1, TCP on 127.0.0.1, all statements prepared. What is weighed is
//! user and system time of the client's whole process, its start included.

use std::process::Command;

use super::{
    client::{Weighed, weigh},
    mix::{LIBRARY, Mix, TERMINALS},
    say,
};
use crate::bench::{
    lamp::{median, shuffle},
    servers::{Kind, Server, program},
};

/// Connections of every client.
pub(super) const CONNECTIONS: u32 = 8;

/// Rows of sysbench's table.
const SYSBENCH_ROWS: u64 = 100_000;

/// Branches of pgbench, 100 000 accounts each: one per connection, so that clients seldom wait for
/// each other.
const PGBENCH_SCALE: u64 = 8;

pub(super) fn run(repeats: u32, seconds: u32) -> Result<(), String> {
    say(&format!(
        "databases: server on CPU {}, clients on CPU {}, {CONNECTIONS} connections over TCP, \
         {repeats} repeats of {seconds} s in random order",
        super::SERVER_CPU,
        super::CLIENT_CPU
    ))?;
    let mariadb = Server::start(Kind::MariaDb, Some(super::SERVER_CPU))?;
    sysbench(&mariadb, "oltp_read_write", &["prepare"])?;
    compare(
        &mariadb,
        "oltp_point_select",
        Mix::PointSelect,
        repeats,
        seconds,
    )?;
    compare(
        &mariadb,
        "oltp_read_write",
        Mix::ReadWrite,
        repeats,
        seconds,
    )?;
    drop(mariadb);
    let postgres = Server::start(Kind::Postgres, Some(super::SERVER_CPU))?;
    pgbench(&postgres, &["-i", "-q", "-s", &PGBENCH_SCALE.to_string()])?;
    compare(
        &postgres,
        "select only (-S)",
        Mix::SelectOnly,
        repeats,
        seconds,
    )?;
    compare(&postgres, "TPC-B", Mix::TpcB, repeats, seconds)
}

/// Weighs every client `repeats` times and prints what a transaction costs.
fn compare(
    server: &Server,
    name: &str,
    mix: Mix,
    repeats: u32,
    seconds: u32,
) -> Result<(), String> {
    let clients: &[&str] = match server.kind {
        Kind::MariaDb => &["sysbench", TERMINALS],
        Kind::Postgres => &["pgbench", TERMINALS, LIBRARY],
    };
    let mut costs = vec![Vec::new(); clients.len()];
    for _ in 0..repeats {
        let mut order: Vec<usize> = (0..clients.len()).collect();
        shuffle(&mut order);
        for client in order {
            let (weighed, transactions) = match client {
                0 => peer(server, mix, seconds)?,
                _ => ours(server, clients[client], mix, seconds)?,
            };
            costs[client].push(weighed.cpu.as_secs_f64() * 1e6 / transactions as f64);
        }
    }
    for (client, costs) in clients.iter().zip(&costs) {
        let mut sorted = costs.clone();
        sorted.sort_by(f64::total_cmp);
        say(&format!(
            "{name:<18} {client:<14} {:8.2} CPU us/transaction ({:.2} to {:.2})",
            median(costs),
            sorted.first().copied().unwrap_or_default(),
            sorted.last().copied().unwrap_or_default()
        ))?;
    }
    for (client, own) in clients.iter().zip(&costs).skip(1) {
        say(&format!(
            "{name:<18} ratio          {:8.3} (median of {client} / median of {})",
            median(own) / median(&costs[0]),
            clients[0],
        ))?;
    }
    Ok(())
}

fn ours(server: &Server, client: &str, mix: Mix, seconds: u32) -> Result<(Weighed, u64), String> {
    let own =
        std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let rows = if server.kind == Kind::MariaDb {
        SYSBENCH_ROWS
    } else {
        PGBENCH_SCALE
    };
    let weighed = weigh(
        on_client_cpu(&own)
            .args(["bench", "driver", "statements", client, mix.name()])
            .arg(server.url("bench"))
            .args([
                rows.to_string(),
                CONNECTIONS.to_string(),
                seconds.to_string(),
            ]),
    )?;
    let count = weighed.output.trim().parse();
    let count = count.map_err(|_| "the client wrote no number of transactions".to_owned())?;
    Ok((weighed, count))
}

fn peer(server: &Server, mix: Mix, seconds: u32) -> Result<(Weighed, u64), String> {
    let (seconds, time) = (seconds.to_string(), format!("--time={seconds}"));
    let (weighed, label) = match mix {
        Mix::PointSelect => (
            sysbench(server, "oltp_point_select", &[&time, "run"])?,
            "transactions:",
        ),
        Mix::ReadWrite => (
            sysbench(server, "oltp_read_write", &[&time, "run"])?,
            "transactions:",
        ),
        Mix::SelectOnly | Mix::TpcB => {
            let connections = CONNECTIONS.to_string();
            let mut options = vec![
                "-n",
                "-M",
                "prepared",
                "-j",
                "1",
                "-c",
                &connections,
                "-T",
                &seconds,
            ];
            if mix == Mix::SelectOnly {
                options.push("-S");
            }
            (
                pgbench(server, &options)?,
                "number of transactions actually processed:",
            )
        }
    };
    let line = weighed
        .output
        .lines()
        .find_map(|line| line.trim().strip_prefix(label));
    let count = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    let count = count.ok_or_else(|| {
        format!(
            "the peer told no number of transactions:\n{}",
            weighed.output
        )
    })?;
    Ok((weighed, count))
}

fn sysbench(server: &Server, script: &str, words: &[&str]) -> Result<Weighed, String> {
    let (options, command) = words.split_at(words.len() - 1);
    weigh(
        on_client_cpu(&program("sysbench")?)
            .args([
                script,
                "--db-driver=mysql",
                "--mysql-host=127.0.0.1",
                "--mysql-user=root",
                "--mysql-db=bench",
            ])
            .args(["--tables=1", "--rand-type=uniform"])
            .args([
                format!("--mysql-port={}", server.port),
                format!("--table-size={SYSBENCH_ROWS}"),
                format!(
                    "--threads={}",
                    if command == ["prepare"] {
                        1
                    } else {
                        CONNECTIONS
                    }
                ),
            ])
            .args(options)
            .args(command),
    )
}

fn pgbench(server: &Server, words: &[&str]) -> Result<Weighed, String> {
    weigh(
        on_client_cpu(&program("pgbench")?)
            .args([
                "-h",
                "127.0.0.1",
                "-U",
                "oe",
                "-p",
                &server.port.to_string(),
            ])
            .args(words)
            .arg("bench"),
    )
}

fn on_client_cpu(program: &std::path::Path) -> Command {
    let mut command = Command::new("taskset");
    command
        .args(["-c", &super::CLIENT_CPU.to_string()])
        .arg(program);
    command
}
