//! Layouts that were not run: the study of a stored run with another layout, planned as
//! `rookery plan` would plan it.

use rookery_study::{
    Amount, Document, HostFacts, Layout, LoopType, Per, Plan, Problems, Scaled, Study, Vcpus,
};

use crate::{
    Run,
    predict::{error::PredictError, shape::Shape},
};

/// A host other than that of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Host {
    /// CPUs for guests; `None` = those of the run.
    pub cpus: Option<u32>,
    /// Memory, MiB; `None` = that of the run's host.
    pub memory_mib: Option<u64>,
}

/// The study of a variant with other layouts, of which each has this load on all guests together;
/// one trial of each, and no search.
#[must_use]
pub fn study_with(study: &Study, layouts: &[(String, u32, Vcpus)], loads: &[f64]) -> Study {
    let amounts: Vec<Amount> = loads
        .iter()
        .map(|amount| {
            Amount::Scaled(Scaled {
                amount: *amount,
                per: Per::Host,
            })
        })
        .collect();
    let mut study = study.clone();
    study.load.search = None;
    match &mut study.load.loop_type {
        LoopType::Open(open) => open.rate = amounts,
        LoopType::Closed { users } => *users = amounts,
    }
    study.layouts = layouts
        .iter()
        .map(|(name, guests, vcpus)| Layout {
            name: name.clone(),
            guests: vec![*guests],
            vcpus: vec![*vcpus],
            users: None,
            baseline: None,
            overrides: Vec::new(),
            groups: Vec::new(),
            tiles: Vec::new(),
            hosts: Vec::new(),
        })
        .collect();
    study
}

/// The shape of a layout: that of a measured point where there is one on the run's own host, else
/// as it would be planned.
///
/// # Errors
/// When it does not fit on the host.
pub fn shape(
    run: &Run,
    variant: u32,
    guests: u32,
    vcpus: Vcpus,
    host: Host,
) -> Result<Shape, PredictError> {
    let plan = &run.header.plan;
    let known = plan.variants.iter().find(|known| known.id == variant);
    let study = known.map_or(&run.header.study, |known| &known.study);
    let mut points = plan.points.iter();
    let measured = points.find(|point| {
        point.variant == variant && point.guests() == guests && point.only_group().vcpus == vcpus
    });
    match measured.filter(|_| host == Host::default()) {
        Some(point) => Ok(Shape::from_point(point, &study.guest)),
        None => planned(run, study, guests, vcpus, host),
    }
}

fn planned(
    run: &Run,
    study: &Study,
    guests: u32,
    vcpus: Vcpus,
    host: Host,
) -> Result<Shape, PredictError> {
    let plan = &run.header.plan;
    let mut study = study_with(
        study,
        &[("asked".to_owned(), guests, vcpus)],
        &[f64::from(guests.max(1))],
    );
    let mut facts = HostFacts {
        root: true,
        ..run.header.host.facts.clone()
    };
    if let Some(cpus) = host.cpus {
        facts.cpus = (0..=cpus).collect();
        (study.host.guest_cpus, study.host.driver_cpus) =
            (Some((0..cpus).collect()), Some(vec![cpus]));
    } else {
        (study.host.guest_cpus, study.host.driver_cpus) = (
            Some(plan.guest_cpus.clone()),
            Some(plan.driver_cpus.clone()),
        );
    }
    facts.memory_mib = host.memory_mib.unwrap_or(facts.memory_mib);
    let document =
        Document::parse("the study of the run", &study.to_toml()).map_err(not_planned)?;
    let plan = Plan::of(&document, &facts).map_err(not_planned)?;
    let point = plan
        .points
        .first()
        .ok_or_else(|| PredictError::NotPlanned {
            problems: vec!["it has no point".to_owned()],
        })?;
    Ok(Shape::from_point(point, &study.guest))
}

#[expect(clippy::needless_pass_by_value, reason = "as `map_err` gives it")]
fn not_planned(problems: Problems) -> PredictError {
    PredictError::NotPlanned {
        problems: problems
            .list()
            .iter()
            .map(|problem| problem.message.clone())
            .collect(),
    }
}
