//! Looks at virtual machines, to and from their table.

use rookery_stats::{MachineInside, MachineLook, MachineOutside};
use rusqlite::Transaction;

use crate::{
    Damage,
    cells::{Cells, int},
    insert::insert,
};

/// Write the looks of a trial.
pub(crate) fn write(
    transaction: &Transaction<'_>,
    trial: u32,
    looks: &[MachineLook],
) -> rusqlite::Result<()> {
    for (position, look) in looks.iter().enumerate() {
        let outside = &look.outside;
        let inside =
            |of: fn(&MachineInside) -> u64| look.inside.as_ref().map(|inside| int(of(inside)));
        let pressure =
            |of: fn(&MachineInside) -> Option<u64>| look.inside.as_ref().and_then(of).map(int);
        insert(
            transaction,
            "machines",
            &[
                ("trial", &trial),
                ("position", &int(position as u64)),
                ("guest", &look.guest),
                ("at_s", &look.at_s),
                ("outside_cpu_us", &int(outside.cpu_us)),
                ("vcpu_us", &int(outside.vcpu_us)),
                ("vcpu_wait_us", &int(outside.vcpu_wait_us)),
                ("balloon_bytes", &int(outside.balloon_bytes)),
                ("resident_bytes", &int(outside.resident_bytes)),
                ("reads", &int(outside.reads)),
                ("read_bytes", &int(outside.read_bytes)),
                ("writes", &int(outside.writes)),
                ("written_bytes", &int(outside.written_bytes)),
                ("flushes", &int(outside.flushes)),
                ("disk_us", &int(outside.disk_us)),
                ("received_bytes", &int(outside.received_bytes)),
                ("sent_bytes", &int(outside.sent_bytes)),
                ("dropped", &int(outside.dropped)),
                ("inside_uptime_us", &inside(|inside| inside.uptime_us)),
                ("inside_user_us", &inside(|inside| inside.user_us)),
                ("inside_system_us", &inside(|inside| inside.system_us)),
                ("inside_idle_us", &inside(|inside| inside.idle_us)),
                ("inside_iowait_us", &inside(|inside| inside.iowait_us)),
                ("inside_steal_us", &inside(|inside| inside.steal_us)),
                ("inside_memory_bytes", &inside(|inside| inside.memory_bytes)),
                (
                    "inside_available_bytes",
                    &inside(|inside| inside.available_bytes),
                ),
                (
                    "inside_cpu_pressure_us",
                    &pressure(|inside| inside.cpu_pressure_us),
                ),
                (
                    "inside_memory_pressure_us",
                    &pressure(|inside| inside.memory_pressure_us),
                ),
                (
                    "inside_io_pressure_us",
                    &pressure(|inside| inside.io_pressure_us),
                ),
            ],
        )?;
    }
    Ok(())
}

/// Read one look.
pub(crate) fn read(cells: &Cells<'_>) -> Result<MachineLook, Damage> {
    Ok(MachineLook {
        guest: cells.text("guest")?,
        at_s: cells.real("at_s")?,
        outside: MachineOutside {
            cpu_us: cells.count("outside_cpu_us")?,
            vcpu_us: cells.count("vcpu_us")?,
            vcpu_wait_us: cells.count("vcpu_wait_us")?,
            balloon_bytes: cells.count("balloon_bytes")?,
            resident_bytes: cells.count("resident_bytes")?,
            reads: cells.count("reads")?,
            read_bytes: cells.count("read_bytes")?,
            writes: cells.count("writes")?,
            written_bytes: cells.count("written_bytes")?,
            flushes: cells.count("flushes")?,
            disk_us: cells.count("disk_us")?,
            received_bytes: cells.count("received_bytes")?,
            sent_bytes: cells.count("sent_bytes")?,
            dropped: cells.count("dropped")?,
        },
        inside: inside(cells)?,
    })
}

fn inside(cells: &Cells<'_>) -> Result<Option<MachineInside>, Damage> {
    let Some(uptime_us) = cells.optional_count("inside_uptime_us")? else {
        return Ok(None);
    };
    Ok(Some(MachineInside {
        uptime_us,
        user_us: cells.count("inside_user_us")?,
        system_us: cells.count("inside_system_us")?,
        idle_us: cells.count("inside_idle_us")?,
        iowait_us: cells.count("inside_iowait_us")?,
        steal_us: cells.count("inside_steal_us")?,
        memory_bytes: cells.count("inside_memory_bytes")?,
        available_bytes: cells.count("inside_available_bytes")?,
        cpu_pressure_us: cells.optional_count("inside_cpu_pressure_us")?,
        memory_pressure_us: cells.optional_count("inside_memory_pressure_us")?,
        io_pressure_us: cells.optional_count("inside_io_pressure_us")?,
    }))
}
