//! How many guests of which shape fit on a host within the limits: a search over the model.

use rookery_cast::truncate_u32;
use rookery_study::{Amount, Per, Scaled};
use rookery_study::{Expected, LoopType, Study, Users, Vcpus};
use serde::Serialize;

use crate::{
    Run,
    predict::{
        error::PredictError,
        forecast::{Forecast, Forecaster, Kept, Place},
        interval::Ranged,
        reading::{Offer, Readings},
        scenario::{Host, shape, study_with},
        shape::Shape,
    },
};

/// Sizes of guests, thousandths of a vCPU, that are tried beside the measured ones.
const SIZES: [u32; 6] = [250, 500, 1000, 2000, 4000, 8000];
/// More guests are not tried.
const MOST_GUESTS: u32 = 64;
/// A hint may reach farther than a number that is printed: the search will measure there.
const HINT_REACH: f64 = 8.0;

/// One layout of the plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Packed {
    /// Number of guests.
    pub guests: u32,
    /// vCPUs of each guest.
    pub vcpus: f64,
    /// Cores that all guests can use.
    pub cores: f64,
    /// Memory of all guests, MiB.
    pub memory_mib: u64,
    /// The largest load within the limits: as expected, with the loads up to which they are surely
    /// kept, and possibly kept. With a load asked for: that load.
    pub most_load: Ranged,
    /// Whether more might do: the model may not say.
    pub at_border: bool,
    /// What it would do at that load.
    pub forecast: Forecast,
}

/// Layouts, best first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Packing {
    /// Those of which something can be said, best first.
    pub layouts: Vec<Packed>,
    /// The others, with the reason.
    pub refused: Vec<(String, String)>,
}

/// Search layouts on a host: for a load that they must carry, or for the most that they carry
/// within the limits.
///
/// Best is, with a load: the limits surely kept, then with the fewest cores, the least memory, and
/// the widest margin. Without: the most load surely within the limits. Layouts more than twice as
/// large as any measured are left out.
#[must_use]
pub fn pack(run: &Run, forecaster: &Forecaster, host: Host, load: Option<f64>) -> Packing {
    let mut packing = Packing {
        layouts: Vec::new(),
        refused: Vec::new(),
    };
    let plan = &run.header.plan;
    let variant = forecaster.readings.variant;
    let study = plan
        .variants
        .iter()
        .find(|known| known.id == variant)
        .map_or(&run.header.study, |known| &known.study);
    let measured = forecaster.readings.shapes();
    let most_guests = measured.iter().map(|shape| shape.guests).max().unwrap_or(1);
    for vcpus in sizes(study, &measured) {
        let mut reasons: Vec<(u32, PredictError)> = Vec::new();
        for guests in 1..=(2 * most_guests).min(MOST_GUESTS) {
            let found = shape(run, variant, guests, vcpus, host)
                .and_then(|shape| packed(forecaster, &shape, load));
            match found {
                Ok(found) => packing.layouts.push(found),
                Err(reason) => reasons.push((guests, reason)),
            }
        }
        for same in reasons.chunk_by(|(_, a), (_, b)| a == b) {
            let numbers = match (same.first(), same.last()) {
                (Some((first, _)), Some((last, _))) if first != last => {
                    format!("{first} to {last}")
                }
                (Some((first, _)), _) => first.to_string(),
                (None, _) => continue,
            };
            packing
                .refused
                .push((format!("{numbers} x {vcpus} vCPU"), same[0].1.to_string()));
        }
    }
    packing.layouts.sort_by(|a, b| {
        rank(b, load)
            .partial_cmp(&rank(a, load))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    packing
}

/// Larger is better.
fn rank(packed: &Packed, load: Option<f64>) -> [f64; 4] {
    let numbers = packed.forecast.numbers.as_ref().ok();
    let margin = numbers
        .and_then(|numbers| numbers.load_of_limit)
        .map_or(0.0, |limit| -limit.value);
    if load.is_some() {
        let kept = numbers.map_or(0.0, |numbers| match numbers.kept {
            Kept::Yes => 3.0,
            Kept::Unsure => 2.0,
            Kept::Unknown => 1.0,
            Kept::No => 0.0,
        });
        [kept, -packed.cores, -(packed.memory_mib as f64), margin]
    } else {
        [
            packed.most_load.low,
            packed.most_load.value,
            -packed.cores,
            -(packed.memory_mib as f64),
        ]
    }
}

/// Measured sizes, and round ones between half the smallest and twice the largest.
fn sizes(study: &Study, measured: &[Shape]) -> Vec<Vcpus> {
    let of = |shape: &Shape| truncate_u32((shape.vcpus * 1000.0).round());
    let mut sizes: Vec<u32> = measured.iter().map(of).collect();
    let (low, high) = sizes.iter().fold((u32::MAX, 0), |(low, high), size| {
        (low.min(*size), high.max(*size))
    });
    // A part of a vCPU means something only where a quota holds it.
    let whole = !study.guest.caps_cpu_time();
    let round = SIZES
        .into_iter()
        .filter(|size| size * 2 >= low && *size <= high * 2 && (!whole || size % 1000 == 0));
    sizes.extend(round);
    sizes.sort_unstable();
    sizes.dedup();
    sizes.into_iter().map(Vcpus).collect()
}

fn packed(
    forecaster: &Forecaster,
    shape: &Shape,
    load: Option<f64>,
) -> Result<Packed, PredictError> {
    let (most_load, at_border) = match load {
        Some(load) => (
            Ranged {
                value: load,
                low: load,
                high: load,
            },
            false,
        ),
        None => most(forecaster, shape)?,
    };
    if matches!(forecaster.readings.offer, Offer::Closed { .. })
        && most_load.value < f64::from(shape.guests)
    {
        return Err(PredictError::FewUsers);
    }
    let forecast = forecaster.forecast(shape, most_load.value);
    if let Err(reason) = &forecast.numbers {
        return Err(reason.clone());
    }
    Ok(Packed {
        guests: shape.guests,
        vcpus: shape.vcpus,
        cores: shape.capacity(),
        memory_mib: shape.memory_mib * u64::from(shape.guests),
        most_load,
        at_border,
        forecast,
    })
}

/// The largest load of a layout within the limits, as far as the model may say.
fn most(forecaster: &Forecaster, shape: &Shape) -> Result<(Ranged, bool), PredictError> {
    let of_layout = forecaster.readings.largest(shape).map(|load| 2.0 * load);
    let per_core = forecaster
        .readings
        .all
        .iter()
        .map(crate::predict::Reading::load_per_core)
        .fold(0.0, f64::max);
    let border = of_layout.unwrap_or(2.0 * per_core * shape.capacity());
    if let Some(reason) = forecaster.too_far(shape, border * 0.999) {
        return Err(reason);
    }
    let up_to = |keeps: fn(Ranged) -> bool| forecaster.largest_load(shape, border, keeps);
    let value = up_to(|limit| limit.value <= 1.0).ok_or(PredictError::LimitsNotKept)?;
    let most_load = Ranged {
        value,
        low: up_to(|limit| limit.high <= 1.0).unwrap_or(0.0),
        high: up_to(|limit| limit.low <= 1.0).unwrap_or(value),
    };
    Ok((most_load, value >= border * 0.999))
}

/// The study that confirms the best `count` layouts: each at its load.
#[must_use]
pub fn confirming_study(
    run: &Run,
    forecaster: &Forecaster,
    packing: &Packing,
    count: usize,
) -> Study {
    let variant = forecaster.readings.variant;
    let known = run
        .header
        .plan
        .variants
        .iter()
        .find(|known| known.id == variant);
    let study = known.map_or(&run.header.study, |known| &known.study);
    let best = &packing.layouts[..count.min(packing.layouts.len())];
    let layouts: Vec<(String, u32, Vcpus)> = best
        .iter()
        .map(|packed| {
            let vcpus = Vcpus(truncate_u32((packed.vcpus * 1000.0).round()));
            (format!("{} x {vcpus}", packed.guests), packed.guests, vcpus)
        })
        .collect();
    let mut loads: Vec<f64> = best.iter().map(|packed| packed.most_load.value).collect();
    let mut study = study_with(study, &layouts, &loads);
    if study.load.open().is_none() {
        for (layout, load) in study.layouts.iter_mut().zip(&loads) {
            layout.users = Some(amount(*load));
        }
        loads.truncate(1);
        study.load.loop_type = LoopType::Closed {
            users: loads.first().map_or_else(Vec::new, |load| amount(*load)),
        };
    }
    study.title = format!("Confirmation of {}", run.header.title);
    study
}

fn amount(load: f64) -> Users {
    vec![Amount::Scaled(Scaled {
        amount: load,
        per: Per::Host,
    })]
}

/// Where the limits of a layout should be reached, from the trials done so far: the start of a
/// search. `None` when there are no limits on percentiles, or nothing can be fitted yet.
#[must_use]
pub fn predicted_knee(run: &Run, variant: u32, guests: u32, vcpus: Vcpus) -> Option<Expected> {
    let readings = Readings::from_run(run)
        .into_iter()
        .find(|readings| readings.variant == variant)?;
    let shape = shape(run, variant, guests, vcpus, Host::default()).ok()?;
    let most = HINT_REACH
        * shape.capacity()
        * readings
            .all
            .iter()
            .map(crate::predict::Reading::load_per_core)
            .fold(0.0, f64::max);
    let forecaster = Forecaster::fit(readings, 0, 0).ok()?;
    let up_to = |keeps: fn(Ranged) -> bool| forecaster.largest_load(&shape, most, keeps);
    let load = up_to(|limit| limit.value <= 1.0).filter(|load| *load < most)?;
    let (low, high) = (
        up_to(|limit| limit.high <= 1.0),
        up_to(|limit| limit.low <= 1.0),
    );
    let reach = |end: Option<f64>| end.map_or(1.0, |end| (end / load).ln().abs());
    // From 95 % to two of three.
    // Beyond the measured loads of the layout no interval of a model is taken at its word.
    let least = if forecaster.place(&shape, load) == Place::Between {
        1.1
    } else {
        1.3
    };
    let factor = (reach(low).max(reach(high)) / 2.0).exp().clamp(least, 3.0);
    Some(Expected { load, factor })
}
