//! Where the guests ran, beside their pins.

use std::collections::BTreeSet;

use rookery_host::{format_cpu_list, residence::Residence};
use rookery_store::{Reason, Tuning};
use rookery_study::Point;

/// What was seen of each guest beside its pins, as settings: CPUs, and memory nodes where guests
/// are bound to some. A guest that was not seen has none. `bound` = whether this kind of guest is
/// held to memory nodes.
pub(super) fn tunings(
    point: &Point,
    guests: &[String],
    seen: &[Residence],
    bound: bool,
) -> Vec<Tuning> {
    let mut rows = Vec::new();
    for (index, (guest, seen)) in guests
        .iter()
        .zip(seen)
        .enumerate()
        .filter(|(_, (_, seen))| seen.seen > 0)
    {
        let row = |name: &str, asked: String, effective: String, at_end: String| Tuning {
            guest: guest.clone(),
            name: name.to_owned(),
            asked,
            effective,
            at_end,
        };
        let Some(planned) = point.guest_at(index) else {
            continue;
        };
        let pins: BTreeSet<u32> = planned.cpus().iter().copied().collect();
        let allowed = format_cpu_list(seen.cpus.iter().copied());
        let at_end = strays(seen, &pins).unwrap_or_else(|| allowed.clone());
        rows.push(row(
            "placement.cpus",
            format_cpu_list(pins),
            allowed,
            at_end,
        ));
        if bound && !planned.nodes().is_empty() {
            let may = format_cpu_list(seen.nodes.iter().copied());
            rows.push(row(
                "placement.memory",
                format_cpu_list(planned.nodes().iter().copied()),
                may.clone(),
                may,
            ));
        }
    }
    rows
}

/// Largest share of looks that may find a thread where it must not be: beyond it, guests were not
/// kept apart, and the trial is void.
const MOST_STRAYS: f64 = 0.05;

/// Guests whose threads strayed from their pins too often, each as a reason that voids the trial.
pub(super) fn faults(point: &Point, guests: &[String], seen: &[Residence]) -> Vec<Reason> {
    let mut faults = Vec::new();
    for (index, (guest, seen)) in guests.iter().zip(seen).enumerate() {
        let Some(planned) = point.guest_at(index) else {
            continue;
        };
        let pins: BTreeSet<u32> = planned.cpus().iter().copied().collect();
        let share = seen.strays(&pins) as f64 / seen.seen.max(1) as f64;
        if let Some(strays) = strays(seen, &pins).filter(|_| share > MOST_STRAYS) {
            let text = format!(
                "guest {guest} left its CPUs {}: {strays}, more than {} %",
                format_cpu_list(pins),
                100.0 * MOST_STRAYS
            );
            faults.push(Reason::new("placement", text));
        }
    }
    faults
}

/// Threads that ran where they must not, in words.
fn strays(seen: &Residence, pins: &BTreeSet<u32>) -> Option<String> {
    let strays = seen.strays(pins);
    let elsewhere = seen
        .ran_on
        .keys()
        .copied()
        .filter(|cpu| !pins.contains(cpu));
    (strays > 0).then(|| {
        format!(
            "{strays} of {} looks found a thread on CPU {}",
            seen.seen,
            format_cpu_list(elsewhere)
        )
    })
}

#[cfg(test)]
mod tests {
    use rookery_host::residence::ThreadPlace;
    use rookery_study::GuestGroup;

    use super::*;

    fn point(pins: Vec<Vec<u32>>, nodes: Vec<Vec<u32>>) -> Point {
        let text = "title = \"t\"\nworkload = { kind = \"dvdstore\" }\nload = { users = 2 \
                    }\nlayout = [{ name = \"a\", guests = 2 }]\nhost = { overcommit = 2 }\n";
        let document = rookery_study::Document::parse("s.toml", text)
            .unwrap_or_else(|problems| panic!("{problems}"));
        let facts = rookery_study::HostFacts {
            cpus: vec![0, 1],
            memory_mib: 8192,
            disk_free_mib: 8192,
            root: true,
            places: Vec::new(),
        };
        let plan = rookery_study::Plan::of(&document, &facts)
            .unwrap_or_else(|problems| panic!("{problems}"));
        Point {
            groups: vec![GuestGroup {
                pins,
                nodes,
                ..plan.points[0].only_group().clone()
            }],
            ..plan.points[0].clone()
        }
    }

    fn seen(cpus: &[u32], ran_on: u32) -> Residence {
        let mut residence = Residence::default();
        residence.add(&ThreadPlace {
            ran_on,
            cpus: cpus.iter().copied().collect(),
            nodes: BTreeSet::from([1]),
        });
        residence
    }

    #[test]
    fn a_thread_that_strays_is_told() {
        let point = point(vec![vec![0, 2], vec![4]], vec![vec![0], vec![1]]);
        let guests = ["g1".to_owned(), "g2".to_owned()];
        let rows = tunings(&point, &guests, &[seen(&[0, 2], 2), seen(&[4, 5], 5)], true);
        let text: Vec<String> = rows
            .iter()
            .map(|row| {
                format!(
                    "{} {}: {} / {} / {}",
                    row.guest, row.name, row.asked, row.effective, row.at_end
                )
            })
            .collect();
        let expected = [
            "g1 placement.cpus: 0,2 / 0,2 / 0,2",
            "g1 placement.memory: 0 / 1 / 1",
            "g2 placement.cpus: 4 / 4-5 / 1 of 1 looks found a thread on CPU 5",
            "g2 placement.memory: 1 / 1 / 1",
        ];
        assert_eq!(text, expected);
        let faults = faults(&point, &guests, &[seen(&[0, 2], 2), seen(&[4, 5], 5)]);
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(
            faults,
            ["guest g2 left its CPUs 4: 1 of 1 looks found a thread on CPU 5, more than 5 %"]
        );
        assert_eq!(
            tunings(
                &point,
                &guests,
                &[seen(&[0, 2], 0), Residence::default()],
                false
            )
            .len(),
            1
        );
    }
}
