//! The waterfall: what an operation costs on the lowest layer, what each further layer adds, and
//! what it then costs.

use rookery_analysis::{
    Analysis, Run,
    layers::{Layer, LayeredPoint},
};
use rookery_stats::CpuParts;

use super::data::{Datum, Figure, Mark, Panel, Row, Series};
use crate::{
    prose::{
        layers::{CAPTION, caveats, sentences},
        loop_type::loop_type,
    },
    tables::layers::tables,
};

/// One panel per point.
pub(crate) fn figure(run: &Run, analysis: &Analysis) -> Option<Figure> {
    let points = &analysis.layers;
    let panels = panels(points);
    (!panels.is_empty()).then(|| Figure {
        id: "layers".to_owned(),
        title: "What each layer costs".to_owned(),
        caption: format!(
            "{}. {CAPTION} Whiskers at what is added: 95 % interval, within blocks of trials that \
             ran back to back where there are any.",
            loop_type(run)
        ),
        panels,
        remarks: sentences(points)
            .into_iter()
            .chain(caveats(points))
            .collect(),
        tables: tables(points),
        ..Figure::default()
    })
}

/// The waterfall of every point whose costs are known on two layers or more.
pub(crate) fn panels(points: &[LayeredPoint]) -> Vec<Panel> {
    points.iter().filter_map(panel).collect()
}

/// Reads one part.
type PartOf = fn(&CpuParts) -> f64;

/// Parts in the order in which they are stacked, from the foot.
const PARTS: [(&str, PartOf); 4] = [
    ("user", |parts| parts.user),
    ("system", |parts| parts.system),
    ("guest", |parts| parts.guest),
    ("emulator", |parts| parts.emulator),
];

fn panel(point: &LayeredPoint) -> Option<Panel> {
    let layers: Vec<&Layer> = point
        .layers
        .iter()
        .filter(|layer| layer.cpu_us.is_some())
        .collect();
    if layers.len() < 2 {
        return None;
    }
    let mut series = vec![floors(&layers)];
    series.extend(PARTS.iter().map(|(name, of)| Series {
        name: (*name).to_owned(),
        mark: Mark::Stack,
        data: layers.iter().filter_map(|layer| part(layer, *of)).collect(),
    }));
    series.push(Series {
        name: "not split".to_owned(),
        mark: Mark::Stack,
        data: layers.iter().filter_map(|layer| whole(layer)).collect(),
    });
    series.push(Series {
        name: "added".to_owned(),
        mark: Mark::Stack,
        data: layers.iter().filter_map(|layer| step(layer)).collect(),
    });
    series.retain(|series| !series.data.is_empty());
    Some(Panel {
        label: point.label.clone(),
        x_title: "layer".to_owned(),
        rows: vec![Row {
            y_title: format!("host CPU per {}, µs", point.operation),
            series,
            ..Row::default()
        }],
        ..Panel::default()
    })
}

/// The name of the step to a layer.
fn step_name(layer: &Layer) -> String {
    format!("{} adds", layer.name())
}

/// What carries the steps: nothing is seen of it. It names all places, so that they stand in the
/// order of the layers.
fn floors(layers: &[&Layer]) -> Series {
    let mut data = Vec::new();
    for layer in layers {
        if let (Some(tax), Some(cost)) = (layer.tax_us, layer.cpu_us) {
            // From the layer below up to this one, or, where it is cheaper, from this one up to
            // that below.
            data.push(Datum::named(
                &step_name(layer),
                (cost.mean - tax.value.max(0.0)).max(0.0),
            ));
        }
        data.push(Datum::named(&layer.name(), 0.0));
    }
    Series {
        name: "floor".to_owned(),
        mark: Mark::Floor,
        data,
    }
}

/// One part of a layer's cost; nothing where there is none of it.
fn part(layer: &Layer, of: PartOf) -> Option<Datum> {
    let us = layer.parts_us.as_ref().map(of).filter(|us| *us > 0.0)?;
    Some(Datum::named(&layer.name(), us))
}

/// The cost of a layer of whose parts nobody told.
fn whole(layer: &Layer) -> Option<Datum> {
    let cost = layer.cpu_us.filter(|_| layer.parts_us.is_none())?;
    Some(Datum::named(&layer.name(), cost.mean))
}

/// What a layer adds, with its interval where it stands on its foot.
fn step(layer: &Layer) -> Option<Datum> {
    let tax = layer.tax_us?;
    Some(Datum {
        ends: tax.interval.filter(|_| tax.value > 0.0),
        note: Some(if tax.value < 0.0 { "saved" } else { "added" }.to_owned()),
        ..Datum::named(&step_name(layer), tax.value.abs())
    })
}
