//! Looks at virtual machines, to and from their table.

use rookery_stats::{MachineInside, MachineLook, MachineOutside};
use rusqlite::{Transaction, params};

use crate::cells::{Cells, int};

/// Write the looks of a trial.
pub(crate) fn write(
    transaction: &Transaction<'_>,
    trial: u32,
    looks: &[MachineLook],
) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached(
        "INSERT INTO machines VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,
         ?23, ?24, ?25, ?26, ?27, ?28, ?29)",
    )?;
    for (position, look) in looks.iter().enumerate() {
        let outside = &look.outside;
        let inside =
            |of: fn(&MachineInside) -> u64| look.inside.as_ref().map(|inside| int(of(inside)));
        let pressure =
            |of: fn(&MachineInside) -> Option<u64>| look.inside.as_ref().and_then(of).map(int);
        statement.execute(params![
            trial,
            int(position as u64),
            look.guest,
            look.at_s,
            int(outside.cpu_us),
            int(outside.vcpu_us),
            int(outside.vcpu_wait_us),
            int(outside.balloon_bytes),
            int(outside.resident_bytes),
            int(outside.reads),
            int(outside.read_bytes),
            int(outside.writes),
            int(outside.written_bytes),
            int(outside.flushes),
            int(outside.disk_us),
            int(outside.received_bytes),
            int(outside.sent_bytes),
            int(outside.dropped),
            inside(|inside| inside.uptime_us),
            inside(|inside| inside.user_us),
            inside(|inside| inside.system_us),
            inside(|inside| inside.idle_us),
            inside(|inside| inside.iowait_us),
            inside(|inside| inside.steal_us),
            inside(|inside| inside.memory_bytes),
            inside(|inside| inside.available_bytes),
            pressure(|inside| inside.cpu_pressure_us),
            pressure(|inside| inside.memory_pressure_us),
            pressure(|inside| inside.io_pressure_us),
        ])?;
    }
    Ok(())
}

/// Read one look.
pub(crate) fn read(cells: &Cells<'_>) -> Result<MachineLook, String> {
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

fn inside(cells: &Cells<'_>) -> Result<Option<MachineInside>, String> {
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
