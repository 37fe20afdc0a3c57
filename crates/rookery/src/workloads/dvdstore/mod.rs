//! DVD Store: its load files, its embedded server, and the driver against a store that runs.

pub(crate) mod app;
pub(crate) mod data;
pub(crate) mod drive;
mod words;

use super::{Starter, Unit};

/// What `rookery new` may begin with.
pub(super) const STARTERS: [Starter; 2] = [
    Starter {
        name: "embedded",
        what: "the built-in demo shop, which needs nothing installed and no root",
        workload: "kind = \"dvdstore\"\n\
                   database = \"4MB per guest\"      # data of each guest\n\
                   think_time = \"250ms\"            # after each order, 0 to twice this\n",
        stack: "kind = \"embedded\"\n",
        guest: "kind = \"bare\"                   # processes; \"container\" needs root and runc\n\
                memory = \"128MiB per guest\"\n\
                pin = \"pack\"                    # all guests on one core: equal CPU for all\n",
        settle: "2s",
        unit: Unit {
            plural: "users",
            low: 100,
            high: 800,
            most: 4000,
        },
        limit: "p95 = \"250ms\"                  # of every request\nerrors = 0.001\n",
        tunings: None,
    },
    Starter {
        name: "lamp",
        what: "Apache, PHP and MariaDB in containers (root, runc, mmdebstrap)",
        workload: "kind = \"dvdstore\"\n\
                   database = \"10MB per vcpu\"      # data of each guest\n\
                   think_time = \"250ms\"            # after each order, 0 to twice this\n",
        stack: "kind = \"lamp\"\n",
        guest: "kind = \"container\"\n\
                memory = \"640MiB per vcpu\"\n",
        settle: "10s",
        unit: Unit {
            plural: "users",
            low: 10,
            high: 50,
            most: 400,
        },
        limit: "p95 = \"2s\"                     # of every request\nerrors = 0.001\n",
        tunings: Some(["stock", "pureflex"]),
    },
];
