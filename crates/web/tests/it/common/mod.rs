//! Short trials for tests.

use std::{
    net::SocketAddr,
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use rookery_driver::{Load, Phases};
use rookery_stats::{GuestMeasurement, Measurement, OperationMeasurement, Pacing};
use rookery_testkit::{Behaviour, Request, page};
use rookery_web::{
    Assignment, Config, Limits, Script, run,
    workloads::{
        dvdstore::{DvdstoreScript, SearchWords},
        page::PageScript,
    },
};
use rookery_workload::dvdstore::{ShopperParams, Size};

pub(crate) const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A trial of `users` users on the first CPU: no ramp, a window of 300 ms, no think time.
pub(crate) fn config(target: SocketAddr, users: u32, script: Script) -> Config {
    Config {
        assignments: vec![Assignment {
            guest: "g1".to_owned(),
            target,
            users,
            script,
        }],
        network: None,
        cpus: vec![own_cpu()],
        phases: Phases {
            ramp_up: Duration::ZERO,
            settle: Duration::ZERO,
            steady: ms(300),
            ramp_down: Duration::ZERO,
            drain: ms(5_000),
        },
        load: Load::Closed,
        pacing: Pacing::Think,
        think_time: Duration::ZERO,
        think_distribution: rookery_workload::DelayDistribution::Uniform,
        timeout: ms(5_000),
        limits: Limits::default(),
        seed: 7,
        confirmed_targets: Vec::new(),
    }
}

/// A CPU that this process may use.
pub(crate) fn own_cpu() -> u32 {
    let set = rustix::thread::sched_getaffinity(None).expect("the kernel tells our CPUs");
    (0..1024)
        .find(|&cpu| set.is_set(cpu))
        .expect("we run somewhere") as u32
}

pub(crate) fn page_script() -> Script {
    Script::Page(PageScript {
        path: "/page".to_owned(),
    })
}

/// Shoppers of the small database.
pub(crate) fn shop_script() -> Script {
    Script::Dvdstore(DvdstoreScript {
        directory: "ds2".to_owned(),
        page_type: "php".to_owned(),
        shopper: ShopperParams::new(Size::Mb(10)),
        words: SearchWords::BuiltIn,
    })
}

/// Run without ever stopping.
pub(crate) fn measure(config: &Config) -> Measurement {
    run(config, Instant::now(), &AtomicBool::new(false), &|_| {}).expect("the trial runs")
}

pub(crate) fn operation<'m>(guest: &'m GuestMeasurement, name: &str) -> &'m OperationMeasurement {
    guest
        .operations
        .iter()
        .find(|operation| operation.name == name)
        .expect("the operation is reported")
}

/// A shop that always has what is wanted.
pub(crate) fn shop(request: &Request) -> Behaviour {
    Behaviour::Raw(page(shop_page(&request.target)))
}

pub(crate) fn shop_page(target: &str) -> &'static str {
    let pages = [
        (
            "dslogin",
            "<HTML><INPUT TYPE=HIDDEN NAME=customerid VALUE=123></HTML>",
        ),
        (
            "dsnewcustomer",
            "<HTML>Successfully Added <INPUT TYPE=HIDDEN NAME=customerid VALUE=20001></HTML>",
        ),
        ("dsbrowse", "<HTML><H2>No DVDs Found</H2></HTML>"),
        (
            "dspurchase",
            "<HTML><H3>Order Completed Successfully --- ORDER NUMBER:  17</H3></HTML>",
        ),
        ("index.html", "<HTML>welcome</HTML>"),
    ];
    pages
        .iter()
        .find(|(name, _)| target.contains(name))
        .map_or("<HTML></HTML>", |(_, body)| body)
}
