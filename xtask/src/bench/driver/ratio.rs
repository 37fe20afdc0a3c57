//! CPU per request of the driver and of `wrk`, on the same pages, interleaved.

use std::{process::Command, time::Duration};

use rookery_cast::truncate_usize;

use super::{
    client::{self, Load, per_request},
    nginx::Nginx,
    say,
};
use crate::bench::lamp::shuffle;

const CONNECTIONS: u32 = 64;
const PAGES: [&str; 2] = ["/1k", "/30k"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Client {
    Wrk,
    Driver,
}

/// CPU us/request of each repeat.
#[derive(Default)]
struct Costs {
    wrk: Vec<f64>,
    driver: Vec<f64>,
}

pub(super) fn run(repeats: u32, seconds: u32) -> Result<(), String> {
    let nginx = Nginx::start()?;
    say(&format!(
        "nginx (1 process, CPU {}), {CONNECTIONS} keep-alive connections, client on CPU {}, \
         {repeats} repeats of {seconds} s in random order",
        super::SERVER_CPU,
        super::CLIENT_CPU
    ))?;
    let mut costs = [Costs::default(), Costs::default()];
    for _ in 0..repeats {
        let mut order = [
            (0, Client::Wrk),
            (0, Client::Driver),
            (1, Client::Wrk),
            (1, Client::Driver),
        ];
        shuffle(&mut order);
        for (page, client) in order {
            match client {
                Client::Wrk => costs[page].wrk.push(wrk(&nginx, PAGES[page], seconds)?),
                Client::Driver => costs[page]
                    .driver
                    .push(driver(&nginx, PAGES[page], seconds)?),
            }
        }
    }
    for (page, costs) in PAGES.iter().zip(&mut costs) {
        let (wrk, driver) = (quartiles(&mut costs.wrk), quartiles(&mut costs.driver));
        let show = |name: &str, [low, middle, high]: [f64; 3]| {
            format!(
                "{page:>5} {name:<8} {middle:6.2} CPU us/request (quartiles {low:.2} to {high:.2})"
            )
        };
        say(&show("wrk", wrk))?;
        say(&show("rookery", driver))?;
        say(&format!(
            "{page:>5} ratio    {:6.3} (median of rookery / median of wrk)",
            driver[1] / wrk[1]
        ))?;
    }
    Ok(())
}

fn wrk(nginx: &Nginx, page: &str, seconds: u32) -> Result<f64, String> {
    let weighed = client::weigh(
        Command::new("taskset")
            .args(["-c", &super::CLIENT_CPU.to_string(), "wrk", "-t1"])
            .args([
                format!("-c{CONNECTIONS}"),
                format!("-d{seconds}"),
                format!("http://{}{page}", nginx.address),
            ]),
    )?;
    let requests = weighed.output.lines().find_map(|line| {
        line.split_once(" requests in ")?
            .0
            .trim()
            .parse::<u64>()
            .ok()
    });
    let requests =
        requests.ok_or_else(|| format!("wrk told no number of requests:\n{}", weighed.output))?;
    Ok(per_request(weighed.cpu, requests))
}

fn driver(nginx: &Nginx, page: &str, seconds: u32) -> Result<f64, String> {
    let (cpu, found) = client::driver(&Load {
        address: nginx.address,
        path: page,
        users: CONNECTIONS,
        think: Duration::ZERO,
        ramp_up: Duration::ZERO,
        settle: Duration::ZERO,
        steady: Duration::from_secs(seconds.into()),
    })?;
    let number = |key: &str| found[key].as_u64().unwrap_or(0);
    if number("failed") > 0 || number("requests") == 0 {
        return Err(format!("the driver's requests failed: {found}"));
    }
    Ok(per_request(cpu, number("requests")))
}

/// Lower quartile, median, upper quartile, by linear interpolation.
pub(in crate::bench) fn quartiles(values: &mut [f64]) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [0.25, 0.5, 0.75].map(|share| {
        let at = share * values.len().saturating_sub(1) as f64;
        let (low, high) = (
            values[truncate_usize(at.floor())],
            values[truncate_usize(at.ceil())],
        );
        low + (high - low) * at.fract()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_interpolate() {
        assert_eq!(quartiles(&mut [4.0, 1.0, 3.0, 2.0, 5.0]), [2.0, 3.0, 4.0]);
        assert_eq!(quartiles(&mut [1.0, 2.0]), [1.25, 1.5, 1.75]);
    }
}
