//! A driver on another host, through a tunnel, against one on this host: the same users, the same
//! guest on CPU 0, the driver on CPU 1. The other host is a network namespace of this machine, so
//! that both have the same CPUs, and both ends of the tunnel are paid here.

use super::controller::Controller;
use crate::bench::{
    driver::quartiles,
    lamp::{median, say, shuffle},
};

/// The least and the largest ratio of CPU per request.
const GOAL: std::ops::RangeInclusive<f64> = 0.95..=1.05;

/// Where a driver is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Here,
    Elsewhere,
}

/// Measure pairs, and say their ratio.
pub(super) fn compare(pairs: u32) -> Result<(), String> {
    let place = tempfile::tempdir().map_err(|error| error.to_string())?;
    let controller = Controller::new(place.path(), 1);
    let entry = controller.hosts.entry(0, "cpus = \"1\"");
    controller.with_fleet(&[entry], |file| measure(&controller, pairs, file))
}

fn measure(controller: &Controller<'_>, pairs: u32, file: &str) -> Result<(), String> {
    let (mut here, mut elsewhere, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..pairs {
        let mut order = [Place::Here, Place::Elsewhere];
        shuffle(&mut order);
        for place in order {
            let cost = cost(controller, place, file)?;
            match place {
                Place::Here => here.push(cost),
                Place::Elsewhere => elsewhere.push(cost),
            }
        }
        ratios.extend(
            elsewhere
                .last()
                .zip(here.last())
                .map(|(far, near)| far / near),
        );
    }
    for (name, costs) in [("here", &mut here), ("elsewhere", &mut elsewhere)] {
        let [low, middle, high] = quartiles(costs);
        say(&format!(
            "driver {name:<9} {middle:6.2} us of CPU per request (quartiles {low:.2} to \
                 {high:.2})"
        ))?;
    }
    let ratio = median(&ratios);
    say(&format!(
        "driver elsewhere / here: {ratio:.3} (median of {pairs} pairs){}",
        if GOAL.contains(&ratio) {
            ""
        } else {
            ", beyond 5 %"
        }
    ))
}

/// CPU time of the driver for a request, us.
fn cost(controller: &Controller<'_>, place: Place, file: &str) -> Result<f64, String> {
    let more = match place {
        Place::Here => vec![],
        Place::Elsewhere => vec!["--drivers", file],
    };
    let (export, _) = controller.run(&study_of(place), &more)?;
    let cost = export["measurements"][0]["driver_cpu_ms_per_request"].as_f64();
    let cost = cost.ok_or_else(|| format!("nothing was measured: {}", export["reasons"]))?;
    Ok(1e3 * cost)
}

/// More users than the guest carries, so that the driver is at work.
fn study_of(place: Place) -> String {
    let driver = match place {
        Place::Here => "driver_cpus = 1",
        Place::Elsewhere => "driver = \"elsewhere\"",
    };
    format!(
        "title = \"Drivers\"\nseed = 3\n\n[workload]\nkind = \"sample\"\nthink_time = \"1ms\"\n\n\
         [load]\nusers = 16\nramp_up = \"500ms\"\nsettle = \"1s\"\nsteady = \"10s\"\n\
         repeats = 1\nretry_void = 0\n\n[qos]\nerrors = 0.5\n\n[stack]\nkind = \"bundled\"\n\n\
         [guest]\nkind = \"container\"\nmemory = \"128MiB per guest\"\n\n[host]\n{driver}\n\
         guest_cpus = 0\nother_work = 1\n\n[[layout]]\nname = \"one\"\nguests = 1\nvcpus = 1\n"
    )
}

#[cfg(test)]
mod tests {
    use rookery_study::Study;

    use super::*;

    #[test]
    fn its_studies_are_valid() {
        for place in [Place::Here, Place::Elsewhere] {
            let text = study_of(place);
            assert!(Study::parse("fleet.toml", &text).is_ok(), "{text}");
        }
    }
}
