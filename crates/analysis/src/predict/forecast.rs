//! What one layout would do at one load, with all that may be said of it.

use std::collections::BTreeSet;

use rookery_cast::truncate_u32;
use rookery_study::Vcpus;
use serde::Serialize;

use crate::mean::mean;
use crate::predict::{
    candidates::{Candidates, Method},
    choose::Choice,
    error::PredictError,
    interval::{Ranged, SPREAD_OF_TWO, Uncertainty},
    ratios::Ratios,
    reading::{Offer, PERCENTILES, Readings},
    shape::Shape,
    structure::{Limit, State, Structure},
};

/// No number is given beyond so many times what was measured.
const FARTHEST: f64 = 2.0;

/// Where a prediction lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// A layout and load that were measured.
    Measured,
    /// Between the loads of a measured layout.
    Between,
    /// Beyond the loads of a measured layout.
    Beyond,
    /// A layout that was not measured.
    OtherLayout,
}

impl Place {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Between => "between loads",
            Self::Beyond => "beyond loads",
            Self::OtherLayout => "other layout",
        }
    }

    fn inside(self) -> bool {
        matches!(self, Self::Measured | Self::Between)
    }
}

/// A predicted percentile.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ForecastQuantile {
    /// Operation.
    pub operation: String,
    /// Percentile, 0 to 100.
    pub percentile: f64,
    /// Its value, s.
    pub seconds: Ranged,
    /// Whether it is the model's own; otherwise the measured ratio to the mean.
    pub by_model: bool,
}

/// Whether limits would be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    /// With their whole interval.
    Yes,
    /// Broken with the whole interval of some percentile.
    No,
    /// An interval holds a limit.
    Unsure,
    /// There are no limits on percentiles, or none that can be predicted.
    Unknown,
}

impl Kept {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Yes => "kept",
            Self::No => "broken",
            Self::Unsure => "unsure",
            Self::Unknown => "-",
        }
    }
}

/// All numbers of a forecast.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Numbers {
    /// Orders per minute of all guests.
    pub units_per_minute: Ranged,
    /// Mean time of an order, s.
    pub response_s: Option<Ranged>,
    /// Percentiles of the whole order.
    pub quantiles: Vec<ForecastQuantile>,
    /// Cores in use over cores that the guests can use; `None` by a law.
    pub utilisation: Option<f64>,
    /// What limits throughput; `None` by a law.
    pub limit: Option<Limit>,
    /// Whether the limits on percentiles are kept.
    pub kept: Kept,
    /// The percentile that is nearest to its limit, over that limit: above 1 it is broken.
    pub load_of_limit: Option<Ranged>,
    /// That limit in words.
    pub nearest_limit: Option<String>,
    /// The method.
    pub method: Method,
}

/// What one layout would do at one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// Number of guests.
    pub guests: u32,
    /// vCPUs of each guest.
    pub vcpus: f64,
    /// Users, or arrivals per second, at all guests together.
    pub load: f64,
    /// Where it lies.
    pub place: Place,
    /// The numbers, or why there are none.
    pub numbers: Result<Numbers, PredictError>,
}

impl Forecast {
    /// The layout: `4 x 0.25 vCPU`.
    #[must_use]
    pub fn layout(&self) -> String {
        format!(
            "{} x {} vCPU",
            self.guests,
            Vcpus(truncate_u32((self.vcpus * 1000.0).round()))
        )
    }
}

/// A chosen model with everything that its forecasts need.
#[derive(Clone, Debug)]
pub struct Forecaster {
    /// The trials behind it.
    pub readings: Readings,
    /// All models.
    pub candidates: Candidates,
    /// The model for layouts that were not measured, and for all where it is no worse than others.
    pub choice: Choice,
    /// A law that did better on the measured layouts, and its uncertainty.
    pub law: Option<(Choice, Uncertainty)>,
    /// How much faster storage is than it was, > 0.
    disk_speed: f64,
    uncertainty: Uncertainty,
    ratios: Ratios,
}

impl Forecaster {
    /// Fit and choose models, with `draws` refits from this seed for intervals.
    ///
    /// # Errors
    /// When no model can be fitted.
    pub fn fit(readings: Readings, draws: usize, seed: u64) -> Result<Self, PredictError> {
        let candidates = Candidates::fit(&readings);
        let choice = Choice::choose(&readings, &candidates, true)
            .or_else(|_| Choice::choose(&readings, &candidates, false))?;
        let uncertainty = Uncertainty::resample(&readings, &candidates, &choice, draws, seed);
        let law = Choice::choose(&readings, &candidates, false)
            .ok()
            .filter(|law| !law.method.holds_for_any_layout());
        let law = law.map(|law| {
            let uncertainty = Uncertainty::resample(&readings, &candidates, &law, draws, seed);
            (law, uncertainty)
        });
        let ratios = Ratios::from_readings(&readings, &candidates, choice.method);
        Ok(Self {
            readings,
            candidates,
            choice,
            law,
            disk_speed: 1.0,
            uncertainty,
            ratios,
        })
    }

    /// With storage so much faster (above 1) or slower, > 0. No counter says which part of the
    /// delay that does not queue is storage, so that intervals reach from none of it to all of it.
    #[must_use]
    pub fn with_disk_speed(self, factor: f64) -> Self {
        Self {
            disk_speed: factor,
            law: None,
            ..self
        }
    }

    /// The chosen queueing model; `None` when a law was chosen.
    #[must_use]
    pub fn structure(&self) -> Option<&Structure> {
        self.candidates.structure(self.choice.method).ok()
    }

    /// Where a layout and load lie.
    #[must_use]
    pub fn place(&self, shape: &Shape, load: f64) -> Place {
        let loads: Vec<f64> = self
            .readings
            .of_shape(shape)
            .map(|reading| reading.load)
            .collect();
        let ends = loads
            .iter()
            .fold((f64::INFINITY, 0.0_f64), |(low, high), load| {
                (low.min(*load), high.max(*load))
            });
        if loads.is_empty() {
            Place::OtherLayout
        } else if loads.contains(&load) {
            Place::Measured
        } else if ends.0 < load && load < ends.1 {
            Place::Between
        } else {
            Place::Beyond
        }
    }

    /// Why no number may be given; `None` when one may. Not beyond twice of what was measured: load
    /// of the layout or per core, guests, cores.
    #[must_use]
    pub fn too_far(&self, shape: &Shape, load: f64) -> Option<PredictError> {
        let unit = self.readings.offer.unit();
        let all = &self.readings.all;
        let most =
            |of: &dyn Fn(&crate::predict::Reading) -> f64| all.iter().map(of).fold(0.0, f64::max);
        let beyond = |value: f64, most: f64| value > FARTHEST * most * (1.0 + 1e-9);
        let reason = |what: &str, largest: f64| {
            Some(PredictError::TooFar {
                what: what.to_owned(),
                largest,
            })
        };
        if let Some(largest) = self.readings.largest(shape) {
            return if beyond(load, largest) {
                reason(&format!("load of this layout, {unit}"), largest)
            } else {
                None
            };
        }
        let per_core = most(&|reading| reading.load_per_core());
        let (guests, cores) = (
            most(&|reading| f64::from(reading.shape.guests)),
            most(&|reading| reading.shape.capacity()),
        );
        if beyond(load / shape.capacity(), per_core) {
            reason(&format!("{unit} per core"), per_core)
        } else if beyond(f64::from(shape.guests), guests) {
            reason("number of guests", guests)
        } else if beyond(shape.capacity(), cores) {
            reason("number of cores", cores)
        } else {
            None
        }
    }

    /// Why nothing may be said of layouts that were not measured, where something that no counter
    /// shows limited the measured ones: a lock in each guest and a disk that all share look alike
    /// until there are two numbers of guests.
    #[must_use]
    pub fn not_the_cpu(&self) -> Option<PredictError> {
        let shapes = self.readings.shapes();
        let numbers: BTreeSet<u32> = shapes.iter().map(|shape| shape.guests).collect();
        if self.choice.method != Method::Hidden || numbers.len() > 1 {
            return None;
        }
        let largest = self.readings.lots().into_iter().next_back()?;
        let (shape, load) = (&largest[0].shape, largest[0].load);
        let cores: Option<Vec<f64>> = largest.iter().map(|reading| reading.cores).collect();
        Some(PredictError::NotTheCpu {
            load,
            unit: self.readings.offer.unit(),
            layout: shape.label(),
            measured: mean(&cores?)? / shape.capacity(),
        })
    }

    /// The forecast of a layout at a load.
    #[must_use]
    pub fn forecast(&self, shape: &Shape, load: f64) -> Forecast {
        let place = self.place(shape, load);
        let unknown = || (place == Place::OtherLayout).then(|| self.not_the_cpu())?;
        let numbers = match self.too_far(shape, load).or_else(unknown) {
            Some(reason) => Err(reason),
            None => self.numbers(shape, load, place),
        };
        Forecast {
            guests: shape.guests,
            vcpus: shape.vcpus,
            load,
            place,
            numbers,
        }
    }

    fn numbers(&self, shape: &Shape, load: f64, place: Place) -> Result<Numbers, PredictError> {
        let state = self.candidates.state(self.choice.method, shape, load);
        let (method, x, response) = self.throughput(shape, load, place, state.as_ref())?;
        let unit = self.readings.workload.main_operation();
        let quantiles = PERCENTILES.into_iter().filter_map(|percentile| {
            let (seconds, by_model) =
                self.quantile(shape, unit, percentile, state.as_ref(), response?)?;
            Some(ForecastQuantile {
                operation: unit.to_owned(),
                percentile,
                seconds,
                by_model,
            })
        });
        let nearest = response
            .zip(state.as_ref())
            .and_then(|(response, state)| self.nearest_limit(shape, response, state));
        Ok(Numbers {
            units_per_minute: x.scaled(60.0),
            response_s: response,
            quantiles: quantiles.collect(),
            utilisation: state
                .as_ref()
                .filter(|_| method == self.choice.method)
                .map(|state| state.utilisation),
            limit: state
                .as_ref()
                .filter(|_| method == self.choice.method)
                .map(|state| state.limit),
            kept: nearest
                .as_ref()
                .map_or(Kept::Unknown, |(load, _)| kept(*load)),
            load_of_limit: nearest.as_ref().map(|(load, _)| *load),
            nearest_limit: nearest.map(|(_, words)| words),
            method,
        })
    }

    /// Throughput and response time, by a law where one did better on this layout.
    fn throughput(
        &self,
        shape: &Shape,
        load: f64,
        place: Place,
        state: Option<&State>,
    ) -> Result<(Method, Ranged, Option<Ranged>), PredictError> {
        let law = self.law.as_ref().filter(|_| place != Place::OtherLayout);
        if let Some((law, uncertainty)) = law
            && let Some(x) = self.candidates.throughput(law.method, shape, load)
        {
            let x = uncertainty.of_law(x, place.inside());
            return Ok((law.method, x, self.interactive(load, x)));
        }
        let state = state.ok_or(PredictError::NoValue)?;
        let (x, response) = self.uncertainty.around(shape, load, state, place.inside());
        let (x, response) = self.with_other_disk(shape, load, x, response);
        Ok((self.choice.method, x, Some(response)))
    }

    /// Intervals that also hold what would follow if all of the delay were storage.
    fn with_other_disk(
        &self,
        shape: &Shape,
        load: f64,
        x: Ranged,
        response: Ranged,
    ) -> (Ranged, Ranged) {
        let other = self
            .structure()
            .filter(|_| self.disk_speed != 1.0)
            .and_then(|structure| {
                let other = Structure {
                    residual_s: structure.residual_s / self.disk_speed,
                    ..structure.clone()
                };
                other.at(shape, load)
            });
        let Some(other) = other else {
            return (x, response);
        };
        let with = |range: Ranged, value: f64| Ranged {
            value: range.value,
            low: range.low.min(range.low / range.value * value),
            high: range.high.max(range.high / range.value * value),
        };
        (with(x, other.x), with(response, other.response_s))
    }

    /// R = N/X - Z, where that is surely above 0.
    fn interactive(&self, load: f64, x: Ranged) -> Option<Ranged> {
        let Offer::Closed {
            think_s,
            cycle: false,
        } = self.readings.offer
        else {
            return None;
        };
        let of = |x: f64| load / x - think_s;
        (of(x.high) > 0.0).then(|| Ranged {
            value: of(x.value),
            low: of(x.high),
            high: of(x.low),
        })
    }

    fn quantile(
        &self,
        shape: &Shape,
        operation: &str,
        percentile: f64,
        state: Option<&State>,
        response: Ranged,
    ) -> Option<(Ranged, bool)> {
        let state = state?;
        if operation == self.readings.workload.main_operation()
            && self.ratios.model_holds(percentile)
        {
            return Some((
                response.times(state.quantile_s(percentile) / state.response_s, 0.0),
                true,
            ));
        }
        let (ratio, scatter) = self.ratios.at(shape, operation, percentile, state)?;
        Some((response.times(ratio, SPREAD_OF_TWO * scatter), false))
    }

    /// The percentile nearest to its limit, over the limit.
    fn nearest_limit(
        &self,
        shape: &Shape,
        response: Ranged,
        state: &State,
    ) -> Option<(Ranged, String)> {
        let all = self.readings.limits.iter().flat_map(|limit| {
            let operations = match &limit.operation {
                Some(name) => vec![name.clone()],
                None => self.ratios.operations(limit.percentile),
            };
            operations.into_iter().filter_map(move |operation| {
                let (ratio, scatter) =
                    self.ratios.at(shape, &operation, limit.percentile, state)?;
                let seconds = response.times(ratio, SPREAD_OF_TWO * scatter);
                let limit_ms = limit.limit_us as f64 / 1e3;
                Some((
                    seconds.scaled(1e3 / limit_ms),
                    format!("{operation} p{} <= {limit_ms} ms", limit.percentile),
                ))
            })
        });
        all.max_by(|(a, _), (b, _)| a.value.total_cmp(&b.value))
    }

    /// The largest load of a layout at which the limits are kept by the expected values, searched
    /// up to `most`; `None` when there are no limits to predict, or not even the smallest load
    /// keeps them.
    #[must_use]
    pub fn knee(&self, shape: &Shape, most: f64) -> Option<f64> {
        self.largest_load(shape, most, |limit| limit.value <= 1.0)
    }

    /// As [`Self::knee`], by any demand on the percentile nearest to its limit, over that limit.
    pub(crate) fn largest_load(
        &self,
        shape: &Shape,
        most: f64,
        keeps: impl Fn(Ranged) -> bool,
    ) -> Option<f64> {
        const STEPS: usize = 14;
        let limit_at = |load: f64| {
            let state = self.candidates.state(self.choice.method, shape, load)?;
            let inside = self.place(shape, load).inside();
            let (x, response) = self.uncertainty.around(shape, load, &state, inside);
            let (_, response) = self.with_other_disk(shape, load, x, response);
            Some(self.nearest_limit(shape, response, &state)?.0)
        };
        let whole = matches!(self.readings.offer, Offer::Closed { .. });
        let least = if whole {
            f64::from(shape.guests)
        } else {
            most * 1e-3
        };
        if !limit_at(least).is_some_and(&keeps) {
            return None;
        }
        if limit_at(most).is_some_and(&keeps) {
            return Some(most);
        }
        let (mut low, mut high) = (least, most);
        for _ in 0..STEPS {
            let middle = (low * high).sqrt();
            if limit_at(middle).is_some_and(&keeps) {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some(if whole { low.floor() } else { low })
    }
}

fn kept(load: Ranged) -> Kept {
    if load.high <= 1.0 {
        Kept::Yes
    } else if load.low > 1.0 {
        Kept::No
    } else {
        Kept::Unsure
    }
}
