//! From a study and a host to a plan: [`Plan::of`].

mod cpus;
mod estimate;
mod notes;
mod pins;
mod points;
mod trials;

use std::collections::BTreeSet;

use crate::{
    Document, GuestKind, HostFacts, Plan, Point, Problems, Vcpus,
    grammar::Context,
    problem::{Code, Finding},
};

impl Plan {
    /// Expands a study on a host into points, pins and trials. The same document and host give the same plan.
    ///
    /// # Errors
    ///
    /// Every contradiction between study and host at once, at the line of the guilty key: CPUs that do not exist, driver and
    /// guests on one CPU, more vCPUs, memory or disk than there is, guests that need root, fewer users than guests.
    pub fn of(document: &Document, host: &HostFacts) -> Result<Self, Problems> {
        let study = document.study();
        let mut context = Context {
            findings: Vec::new(),
            spans: document.spans().clone(),
        };
        check_root(document, host, &mut context);
        let division = cpus::divide(&study.host, host, &mut context);
        let points = points::expand(study, division.as_ref(), host, &mut context);
        let (Some(division), []) = (division, context.findings.as_slice()) else {
            return Err(refusal(document, context.findings));
        };
        let estimate = estimate::estimate(study, &points);
        if let Some(finding) = disk_finding(document, host, estimate.disk_mib) {
            return Err(refusal(document, vec![finding]));
        }
        let mut points = points;
        set_baselines(&mut points);
        Ok(Self {
            trials: trials::order(study, &points),
            notes: notes::notes(study, &points, &division),
            points,
            driver_cpus: division.driver,
            guest_cpus: division.guests,
            estimate,
        })
    }
}

/// Many combinations stumble over one value: the first of a kind at a place speaks for all.
fn refusal(document: &Document, mut findings: Vec<Finding>) -> Problems {
    let mut told = BTreeSet::new();
    findings.retain(|finding| told.insert((finding.code, finding.span.start)));
    Problems::new(document.source(), findings)
}

fn check_root(document: &Document, host: &HostFacts, context: &mut Context) {
    if document.study().guest.kind == GuestKind::Container && !host.root {
        let span = context.spans.nearest("guest.kind");
        let mend = "run as root, or write `kind = \"bare\"` in [guest]";
        context.refuse::<()>(Code::NeedsRoot, span, "containers need root, and this is not root", mend);
    }
}

fn disk_finding(document: &Document, host: &HostFacts, disk_mib: u64) -> Option<Finding> {
    let message = format!(
        "templates and guests need about {disk_mib} MiB of disk, {} MiB are free",
        host.disk_free_mib
    );
    (disk_mib > host.disk_free_mib).then(|| Finding {
        code: Code::Disk,
        span: document.spans().nearest("workload.database"),
        message,
        mend: "make the database smaller, use fewer guests, or free disk space".to_owned(),
    })
}

/// The baseline of a point is the one guest that could use the same CPUs and serves the same users.
fn set_baselines(points: &mut [Point]) {
    let singles: Vec<(u32, f64, u32)> = points
        .iter()
        .filter(|point| point.guests == 1)
        .map(|point| (point.id, point.capacity_cpus, point.total_users()))
        .collect();
    for point in points {
        // Capacities are sums of thousandths; half of one apart is equal.
        let equal =
            |(_, capacity, users): &&(u32, f64, u32)| (capacity - point.capacity_cpus).abs() < 0.0005 && *users == point.total_users();
        point.baseline = singles.iter().find(equal).map(|(id, _, _)| *id);
    }
}

/// vCPUs of `guests` guests, in thousandths.
fn thousandths(guests: u32, vcpus: Vcpus) -> u64 {
    u64::from(guests) * u64::from(vcpus.0)
}
