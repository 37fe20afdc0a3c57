//! What machines say of themselves, beside what the host counts of them.

use rookery_analysis::layers::{Inside, LayeredPoint};

use super::Table;
use crate::prose::format;

/// One row per point on machines; `None` where no machine answered.
pub(super) fn table(points: &[LayeredPoint]) -> Option<Table> {
    let row = |point: &LayeredPoint| {
        let (layer, inside) = point
            .layers
            .iter()
            .find_map(|layer| Some((layer, layer.inside?)))?;
        let mut cells = vec![point.label.clone(), layer.name()];
        cells.extend(self::cells(&inside));
        Some(cells)
    };
    let rows: Vec<Vec<String>> = points.iter().filter_map(row).collect();
    let heads = [
        "point",
        "layer",
        "cores, as its kernel counts",
        "vCPU threads, as the host counts",
        "the whole emulator",
        "stolen",
        "waited for a CPU",
        "waited for disks",
        "memory to be had",
        "balloon, MiB",
        "emulator's memory, MiB",
        "pressure: CPU, memory, I/O",
        "disk requests/s",
        "network, kB/s",
    ];
    (!rows.is_empty()).then(|| Table {
        label: "Machines from inside and from outside".to_owned(),
        heads: heads.iter().map(|head| (*head).to_owned()).collect(),
        rows,
    })
}

fn cells(inside: &Inside) -> Vec<String> {
    let pressure = [
        inside.cpu_pressure,
        inside.memory_pressure,
        inside.io_pressure,
    ]
    .map(|share| format::or_none(share, format::percent));
    vec![
        format::number(inside.inside_cores),
        format::number(inside.vcpu_cores),
        format::number(inside.emulator_cores),
        format::number(inside.steal_cores),
        format::number(inside.wait_cores),
        format::number(inside.iowait_cores),
        format::percent(inside.available_share),
        format!("{:.0}", inside.balloon_mib),
        format!("{:.0}", inside.resident_mib),
        pressure.join(", "),
        format::number(inside.disk_requests_per_s),
        format::number(inside.network_bytes_per_s / 1000.0),
    ]
}
