//! The study of `tests/applications/records.py`, which several tests run in ways of their own.

/// What users do: they list records and write new ones.
pub(crate) const WORKLOAD: &str = r#"[workload]
kind = "http"
think_time = "10ms"

[[workload.feeder]]
name = "text"
letters = "4..12"

[[workload.operation]]
name = "list"
path = "/list?first=1&count=5"
contains = "record-1"

[[workload.operation]]
name = "write"
path = "/write?text=${text}"
matches = "^written [0-9]+"
counts = "new records"
"#;

/// A few users for two seconds at one container of the application, which `stack`, the keys of
/// `[stack]` and what follows them, says.
pub(crate) fn container_study(title: &str, stack: &str) -> String {
    format!(
        r#"
title = "{title}"
seed = 3

{WORKLOAD}
[load]
users = 4
ramp_up = "100ms"
settle = "300ms"
steady = "2s"
ramp_down = "100ms"
drain = "2s"
repeats = 1

[stack]
{stack}
[guest]
kind = "container"
memory = "128MiB per guest"

[host]
other_work = 1

[[layout]]
name = "mine"
guests = 1
vcpus = 1
"#
    )
}
