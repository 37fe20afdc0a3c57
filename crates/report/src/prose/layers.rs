//! What each layer costs: sentences and tables.

use rookery_analysis::{
    estimate::Estimate,
    layers::{AddedCost, Layer, LayeredPoint, Limit},
};
use rookery_stats::Ratio;
use rookery_study::GuestKind;

use super::format;

/// What the numbers are, for captions.
pub(crate) const CAPTION: &str = "CPU per operation is the time that the host counts for the \
                                  guests in the window over the operations completed in it: user \
                                  and \
                                  system of processes; of machines the guest's own code, the \
                                  host's kernel on behalf of vCPUs (system), and the emulator. \
                                  What a layer adds is its difference to the layer below.";

/// Accounts from inside and from outside that differ by more than this share are spoken of.
const APART: f64 = 0.1;

/// From this factor on the end of an interval is not worth its digits.
const HOPELESS: f64 = 100.0;

/// Points of which sentences are made; tables have all.
const MOST_POINTS: usize = 2;

/// The answer: for each of the first points what each layer adds, and what becomes of response
/// times and throughput.
pub(crate) fn sentences(points: &[LayeredPoint]) -> Vec<String> {
    let mut all: Vec<String> = points
        .iter()
        .take(MOST_POINTS)
        .flat_map(|point| cost(point).into_iter().chain(speed(point)))
        .collect();
    if points
        .iter()
        .flat_map(|point| &point.layers)
        .any(Layer::translated)
    {
        all.push(
            "The machines ran under TCG, which translates every instruction: their cost says \
             nothing of machines that a processor carries (KVM)."
                .to_owned(),
        );
    }
    all
}

/// `At 2 x 1 vCPU, 6 users, an order costs 812 µs of the host's CPU on bare processes; containers
/// add 31 µs (...), ...`.
fn cost(point: &LayeredPoint) -> Option<String> {
    let mut layers = point.layers.iter().filter(|layer| layer.cpu_us.is_some());
    let lowest = layers.next()?;
    let (operation, base) = (of_one(point), lowest.cpu_us?);
    let adds: Vec<String> = layers
        .filter_map(|layer| {
            let tax = layer.tax_us?;
            let emulator = match layer.parts_us {
                Some(parts) if layer.kind == GuestKind::Vm => {
                    format!(
                        ", {} of it in the emulator beside the guest",
                        format::ms(parts.emulator)
                    )
                }
                _ => String::new(),
            };
            Some(format!("{} {}{emulator}", people(layer), added(&tax)))
        })
        .collect();
    if adds.is_empty() {
        return None;
    }
    Some(format!(
        "At {}, {operation} costs {} of the host's CPU on {}; {}.",
        point.label,
        time(base.mean, base.ends.map(|(low, high)| (low.max(0.0), high))),
        people(lowest),
        adds.join("; ")
    ))
}

/// What happens to p95 and to throughput.
fn speed(point: &LayeredPoint) -> Option<String> {
    let above = || {
        point
            .layers
            .iter()
            .filter(|layer| layer.throughput_ratio.is_some())
    };
    let lowest = point.layers.iter().find(|layer| layer.limit.is_some())?;
    let times: Vec<String> = above()
        .filter_map(|layer| {
            let p95 = layer
                .percentiles
                .iter()
                .find(|percentile| (percentile.p - 95.0).abs() < 1e-9)?;
            Some(format!(
                "{} as long on {}",
                times_as(&p95.ratio?),
                people(layer)
            ))
        })
        .collect();
    let rates: Vec<String> = above()
        .filter_map(|layer| {
            Some(format!(
                "{} as high on {}",
                times_as(&layer.throughput_ratio?),
                people(layer)
            ))
        })
        .collect();
    if rates.is_empty() {
        return None;
    }
    let p95 = if times.is_empty() {
        String::new()
    } else {
        format!("p95 is {}; ", times.join(", "))
    };
    Some(format!(
        "Against {}, {p95}throughput is {}: {}.",
        people(lowest),
        rates.join(", "),
        comparable(point)
    ))
}

/// What a ratio of throughputs means here.
fn comparable(point: &LayeredPoint) -> String {
    let limits: Vec<(&Layer, Limit)> = point
        .layers
        .iter()
        .filter_map(|layer| Some((layer, layer.limit?)))
        .collect();
    let all = |limit: Limit| limits.iter().all(|(_, own)| *own == limit);
    if all(Limit::OfferedLoad) {
        return "the load that was offered limits it on every layer, so that it says who keeps up, \
                not who could carry more".to_owned();
    }
    if all(Limit::Cpu) {
        return "the CPUs of the guests limit it on every layer, so that it compares what they can \
                carry".to_owned();
    }
    if all(Limit::Waiting) {
        return "neither load nor CPUs limit it, so that it follows from response times".to_owned();
    }
    let told: Vec<String> = limits
        .iter()
        .map(|(layer, limit)| format!("{} {}", limited_by(*limit), on(layer)))
        .collect();
    format!(
        "it is limited by {}, so that it compares different things",
        told.join(", by ")
    )
}

pub(crate) fn limited_by(limit: Limit) -> &'static str {
    match limit {
        Limit::OfferedLoad => "the offered load",
        Limit::Cpu => "CPUs",
        Limit::Waiting => "response times",
    }
}

fn on(layer: &Layer) -> String {
    format!("on {}", people(layer))
}

/// As people call it: `virtual machines (TCG)`.
fn people(layer: &Layer) -> String {
    let kind = match layer.kind {
        GuestKind::Bare => "bare processes",
        GuestKind::Container => "containers",
        GuestKind::Vm => "virtual machines",
        GuestKind::Fake => "guests in name",
        GuestKind::External => "systems that run already",
    };
    match &layer.accelerator {
        Some(accelerator) => format!("{kind} ({accelerator})"),
        None => kind.to_owned(),
    }
}

/// `an order`; where requests of their own go with a unit of work, these belong to it.
fn of_one(point: &LayeredPoint) -> String {
    let article = if point.unit.starts_with(['a', 'e', 'i', 'o']) {
        "an"
    } else {
        "a"
    };
    let around = if point.is_request {
        " with what belongs to it"
    } else {
        ""
    };
    format!("{article} {}{around}", point.unit)
}

/// `add 31 µs (−5 to 67)`, or `save`.
fn added(tax: &AddedCost) -> String {
    if let Some((low, high)) = tax
        .interval
        .filter(|(low, high)| *low <= 0.0 && *high >= 0.0)
    {
        return format!("add nothing that can be told ({})", range(low, high));
    }
    let word = if tax.value < 0.0 { "save" } else { "add" };
    let ends = tax.interval.map(|(low, high)| {
        if tax.value < 0.0 {
            (-high, -low)
        } else {
            (low, high)
        }
    });
    format!("{word} {}", time(tax.value.abs(), ends))
}

/// Microseconds with the ends of their interval, all in the unit that suits the first:
/// `19.2 ms (12.6 to 25.7)`.
fn time(us: f64, ends: Option<(f64, f64)>) -> String {
    let (per_unit, unit) = time_unit(us);
    let interval = ends.map_or_else(String::new, |(low, high)| {
        let shown = |end: f64| in_unit(end, per_unit, us);
        format!(" ({} to {})", shown(low), shown(high))
    });
    format!("{} {unit}{interval}", in_unit(us, per_unit, us))
}

/// An interval of microseconds in one unit: `−1.45 to 2.76 ms`.
fn range(low: f64, high: f64) -> String {
    let scale = low.abs().max(high.abs());
    let (per_unit, unit) = time_unit(scale);
    let shown = |end: f64| in_unit(end, per_unit, scale);
    format!("{} to {} {unit}", shown(low), shown(high))
}

/// Microseconds in the unit that suits such a size, and its name.
fn time_unit(us: f64) -> (f64, &'static str) {
    match us.abs() {
        size if size < 1000.0 => (1.0, "µs"),
        size if size < 1e7 => (1e3, "ms"),
        _ => (1e6, "s"),
    }
}

/// With the decimals that suit `scale`, and the minus sign that people write.
fn in_unit(us: f64, per_unit: f64, scale: f64) -> String {
    let sign = if us < 0.0 { "\u{2212}" } else { "" };
    let digits = format::beside(us.abs() / per_unit, scale / per_unit);
    format!("{sign}{digits}")
}

/// A number with the minus sign that people write.
pub(crate) fn signless(value: f64) -> String {
    let text = format::number(value.abs());
    if value < 0.0 {
        format!("\u{2212}{text}")
    } else {
        text
    }
}

/// The mean of an amount with its ends: `812 (800 to 824)`. No amount is below nothing, whatever
/// few trials say.
pub(crate) fn mean(mean: &Estimate) -> String {
    let ends = mean.ends.map_or_else(String::new, |(low, high)| {
        format!(
            " ({} to {})",
            format::beside(low.max(0.0), mean.mean),
            format::beside(high, mean.mean)
        )
    });
    format!("{}{ends}", format::number(mean.mean))
}

/// A ratio with its interval: `1.05 (1.02 to 1.08)`.
pub(crate) fn ratio(ratio: &Ratio) -> String {
    format!("{}{}", factor(ratio.value), ends(ratio))
}

/// The same in a sentence: `1.05 times (1.02 to 1.08)`.
fn times_as(ratio: &Ratio) -> String {
    format!("{} times{}", factor(ratio.value), ends(ratio))
}

fn ends(ratio: &Ratio) -> String {
    match ratio.interval {
        // Two blocks that scatter: digits would feign knowledge.
        Some((_, high)) if high > HOPELESS * ratio.value => {
            " (known to no factor of 100)".to_owned()
        }
        Some((low, high)) => format!(" ({} to {})", factor(low), factor(high)),
        None => String::new(),
    }
}

/// Two decimals, fewer where they would feign knowledge: `0.93`, `31.9`, `116`.
fn factor(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// What is to be known beside the numbers.
pub(crate) fn caveats(points: &[LayeredPoint]) -> Vec<String> {
    let layers = || points.iter().flat_map(|point| &point.layers);
    let mut all = Vec::new();
    if layers().any(|layer| layer.kind == GuestKind::Bare) {
        all.push(
            "Bare processes are held to whole CPUs: where guests have a part of one, they may use \
             more than containers and machines. Without root their memory is not held either."
                .to_owned(),
        );
    }
    if layers().any(|layer| layer.tax_us.is_some_and(|tax| !tax.paired)) {
        all.push(
            "Layers of different runs, or of too few whole blocks, are compared by their means: \
             what changed on the host between them counts as cost."
                .to_owned(),
        );
    }
    all.extend(points.iter().filter_map(disagreement));
    let silent = |layer: &&Layer| {
        layer.kind == GuestKind::Vm && layer.trials > 0 && layer.parts_us.is_none()
    };
    if layers().any(|layer| silent(&layer)) {
        all.push(
            "Of some machines no vCPU thread was found: their CPU time is not split.".to_owned(),
        );
    }
    all
}

/// Where machines and host do not agree on what the vCPUs used.
fn disagreement(point: &LayeredPoint) -> Option<String> {
    let (layer, inside) = point
        .layers
        .iter()
        .find_map(|layer| Some((layer, layer.inside?)))?;
    let apart = inside.inside_cores / inside.vcpu_cores - 1.0;
    if !apart.is_finite() || apart.abs() <= APART {
        return None;
    }
    let why = match (apart > 0.0, layer.translated()) {
        (true, true) => {
            "TCG tells machines nothing of the time that the host ran something else, and they \
             take it for their own use"
        }
        (true, false) => "what they missed while the host ran something else is in it",
        (false, _) => "the host's work on behalf of their vCPUs they do not see",
    };
    Some(format!(
        "At {}, the kernels of the machines count {} cores and the host {} for their vCPU threads: \
         {why}. Costs above are those of the host.",
        point.label,
        format::number(inside.inside_cores),
        format::number(inside.vcpu_cores)
    ))
}
