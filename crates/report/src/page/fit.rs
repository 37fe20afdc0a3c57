//! Figures of fitted laws and forecasts as one self-contained page. They need no run: measurements
//! may come from anywhere.

use super::sheet::{self, Section};
use crate::{
    ReportError,
    figures::data::{Datum, Figure, Mark, Panel, Row, Series},
};

/// One measured run.
#[derive(Clone, Copy, Debug)]
pub struct FitPoint {
    /// Load.
    pub n: f64,
    /// Throughput.
    pub x: f64,
}

/// A place of a curve.
#[derive(Clone, Copy, Debug)]
pub struct CurvePoint {
    /// Load.
    pub n: f64,
    /// Expected throughput.
    pub x: f64,
    /// 95 % interval of one run; `None` where there is none.
    pub run: Option<(f64, f64)>,
}

/// One curve.
#[derive(Clone, Debug)]
pub struct FitCurve {
    /// Its name.
    pub name: String,
    /// Its places, loads ascending.
    pub points: Vec<CurvePoint>,
    /// Whether it is the answer: drawn with its band, and solid within the measured loads; others
    /// have dashes of their own.
    pub chosen: bool,
}

/// One drawing.
#[derive(Clone, Debug)]
pub struct FitPanel {
    /// Its heading; empty where there is only one.
    pub label: String,
    /// The measurements.
    pub points: Vec<FitPoint>,
    /// The curves.
    pub curves: Vec<FitCurve>,
}

/// What the page shows.
#[derive(Clone, Debug)]
pub struct FitFigure {
    /// What kind of page it is, above its title.
    pub kicker: &'static str,
    /// Title of the page.
    pub title: String,
    /// What the terminal says: the fitted or forecast numbers.
    pub numbers: String,
    /// What the load is.
    pub x_title: String,
    /// What the throughput is.
    pub y_title: String,
    /// One drawing after the other.
    pub panels: Vec<FitPanel>,
}

/// Height of a drawing, pixels: curves are compared by their bends.
const HEIGHT: usize = 560;
/// How far above everything measured and expected a drawing reaches. A straight law would press all
/// others flat.
const HEADROOM: f64 = 1.2;

/// The page: the numbers, figures and their data, nothing loaded from elsewhere.
///
/// # Errors
/// When the page cannot be put together: a fault of ours.
pub fn fit_html(figure: &FitFigure) -> Result<String, ReportError> {
    let rivals = figure
        .panels
        .iter()
        .flat_map(|panel| &panel.curves)
        .any(|curve| !curve.chosen);
    let caption = format!(
        "Dots: single runs. Line: what was chosen, with the band in which 95 % of single runs are \
         expected; dashed beyond the largest measured load. {}Grey dashes: in proportion to the \
         smallest load, the ideal.",
        if rivals {
            "Coloured dashes: what was not chosen, cut where it leaves the drawing. "
        } else {
            ""
        }
    );
    let mut sections: Vec<Section> = figure
        .panels
        .iter()
        .enumerate()
        .map(|(index, panel)| {
            Section::figure(&Figure {
                id: format!("figure-{index}"),
                title: if panel.label.is_empty() {
                    "Measurements and curves".to_owned()
                } else {
                    panel.label.clone()
                },
                caption: caption.clone(),
                panels: vec![drawn(panel, figure)],
                ..Figure::default()
            })
        })
        .collect();
    sections.extend(Section::text("numbers", "The numbers", &figure.numbers));
    sheet::render(figure.kicker, &figure.title, sections)
}

fn drawn(panel: &FitPanel, figure: &FitFigure) -> Panel {
    let largest = panel.points.iter().map(|point| point.n).fold(0.0, f64::max);
    let mut series = vec![Series {
        name: "measured".to_owned(),
        mark: Mark::Scatter,
        data: panel
            .points
            .iter()
            .map(|point| Datum::at(point.n, point.x))
            .collect(),
    }];
    let (chosen, rivals): (Vec<&FitCurve>, Vec<&FitCurve>) =
        panel.curves.iter().partition(|curve| curve.chosen);
    series.extend(chosen.iter().flat_map(|curve| parts(curve, largest)));
    series.extend(rivals.iter().enumerate().map(|(number, curve)| Series {
        name: curve.name.clone(),
        mark: Mark::Rival(number),
        data: data(curve, &|_| true),
    }));
    let top = top(panel, largest);
    series.extend(ideal(panel, top));
    Panel {
        x_title: figure.x_title.clone(),
        rows: vec![Row {
            y_title: figure.y_title.clone(),
            series,
            ..Row::default()
        }],
        top: Some(top).filter(|top| *top > 0.0),
        height: Some(HEIGHT),
        ..Panel::default()
    }
}

fn data(curve: &FitCurve, wanted: &dyn Fn(f64) -> bool) -> Vec<Datum> {
    let places = curve.points.iter().filter(|point| wanted(point.n));
    places
        .map(|point| Datum {
            ends: point.run,
            ..Datum::at(point.n, point.x)
        })
        .collect()
}

/// The curve within the measured loads, and beyond them from the last place within.
fn parts(curve: &FitCurve, largest: f64) -> Vec<Series> {
    let last = curve
        .points
        .iter()
        .map(|point| point.n)
        .filter(|n| *n <= largest)
        .fold(0.0, f64::max);
    let within = Series {
        name: curve.name.clone(),
        mark: Mark::Fit,
        data: data(curve, &|n| n <= largest),
    };
    let beyond = Series {
        name: format!("{}, beyond what was measured", curve.name),
        mark: Mark::Beyond,
        data: data(curve, &|n| n >= last),
    };
    let worth = |series: &Series, least: usize| series.data.len() >= least;
    let mut parts: Vec<Series> = Some(within)
        .filter(|within| worth(within, 1))
        .into_iter()
        .collect();
    parts.extend(Some(beyond).filter(|beyond| worth(beyond, 2)));
    parts
}

/// Where a drawing ends: above everything measured, and everything that was chosen with its band
/// within the measured loads.
fn top(panel: &FitPanel, largest: f64) -> f64 {
    let chosen = panel
        .curves
        .iter()
        .filter(|curve| curve.chosen)
        .flat_map(|curve| &curve.points);
    let of_curve = chosen.map(|point| match point.run {
        Some((_, high)) if point.n <= largest => high.max(point.x),
        _ => point.x,
    });
    let all = panel.points.iter().map(|point| point.x).chain(of_curve);
    HEADROOM * all.filter(|x| x.is_finite()).fold(0.0, f64::max)
}

/// In proportion to the smallest load, as far as the drawing goes upwards.
fn ideal(panel: &FitPanel, top: f64) -> Option<Series> {
    let smallest = panel
        .points
        .iter()
        .map(|point| point.n)
        .reduce(f64::min)
        .filter(|n| *n > 0.0)?;
    let own: Vec<f64> = panel
        .points
        .iter()
        .filter(|point| point.n == smallest)
        .map(|point| point.x)
        .collect();
    let per_unit = own.iter().sum::<f64>() / own.len() as f64 / smallest;
    let curves = panel
        .curves
        .iter()
        .flat_map(|curve| &curve.points)
        .map(|point| point.n);
    let end = curves
        .chain(panel.points.iter().map(|point| point.n))
        .fold(smallest, f64::max)
        .min(top / per_unit);
    (end > smallest).then(|| Series {
        name: "in proportion".to_owned(),
        mark: Mark::Reference,
        data: [smallest, end].map(|n| Datum::at(n, per_unit * n)).to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(name: &str, places: &[(f64, f64)], chosen: bool) -> FitCurve {
        let point = |(n, x): &(f64, f64)| CurvePoint {
            n: *n,
            x: *x,
            run: chosen.then_some((x - 1.0, x + 1.0)),
        };
        FitCurve {
            name: name.to_owned(),
            points: places.iter().map(point).collect(),
            chosen,
        }
    }

    fn figure() -> FitFigure {
        FitFigure {
            kicker: "Fit",
            title: "<b>".to_owned(),
            numbers: "lambda 9.75".to_owned(),
            x_title: "users".to_owned(),
            y_title: "rate".to_owned(),
            panels: vec![FitPanel {
                label: String::new(),
                points: vec![FitPoint { n: 1.0, x: 10.0 }, FitPoint { n: 4.0, x: 30.0 }],
                curves: vec![
                    curve("rival", &[(1.0, 10.0), (6.0, 6000.0)], false),
                    curve("law", &[(1.0, 10.0), (4.0, 31.0), (6.0, 35.0)], true),
                    curve("other", &[(1.0, 9.0), (6.0, 20.0)], false),
                ],
            }],
        }
    }

    #[test]
    fn the_answer_is_solid_only_where_it_was_measured() {
        let figure = figure();
        let panel = drawn(&figure.panels[0], &figure);
        let series: Vec<(&str, Mark, usize)> = panel.rows[0]
            .series
            .iter()
            .map(|s| (s.name.as_str(), s.mark, s.data.len()))
            .collect();
        let expected = [
            ("measured", Mark::Scatter, 2),
            ("law", Mark::Fit, 2),
            ("law, beyond what was measured", Mark::Beyond, 2),
            ("rival", Mark::Rival(0), 2),
            ("other", Mark::Rival(1), 2),
            ("in proportion", Mark::Reference, 2),
        ];
        assert_eq!(series, expected);
        assert_eq!(
            panel.rows[0].series[1].data[1].ends,
            Some((30.0, 32.0)),
            "the answer has its band"
        );
    }

    #[test]
    fn a_law_that_runs_away_does_not_press_the_others_flat() {
        let figure = figure();
        let panel = drawn(&figure.panels[0], &figure);
        assert_eq!(panel.top, Some(HEADROOM * 35.0), "of 6000 nothing is seen");
        let ideal = &panel.rows[0].series[5].data;
        assert!(
            (ideal[1].y - HEADROOM * 35.0).abs() < 1e-9,
            "cut at the top: {ideal:?}"
        );
        assert!(crate::draw::json(&panel).contains("\"range\":[0.0,42.0]"));
    }

    #[test]
    fn the_page_needs_nothing_else() {
        let page = fit_html(&figure()).expect("a page");
        assert!(
            page.contains("<h1>&lt;b&gt;</h1>") && page.contains("<title>&lt;b&gt;</title>"),
            "titles are text"
        );
        let table: Vec<Vec<String>> = drawn(&figure().panels[0], &figure()).table().rows;
        assert!(
            page.contains(&format!("<td>{}</td>", table[1][2])),
            "the data stand in the table"
        );
        assert!(
            page.contains("lambda 9.75"),
            "the numbers stand in the page"
        );
        assert!(
            !page.contains("<script src") && !page.contains("<link rel=\"stylesheet"),
            "nothing is loaded from elsewhere"
        );
    }

    #[test]
    fn every_panel_has_a_place_of_its_own() {
        let mut two = figure();
        two.panels.push(FitPanel {
            label: "2 x 1 vCPU".to_owned(),
            ..two.panels[0].clone()
        });
        let page = fit_html(&two).expect("a page");
        for words in [
            "id=\"figure-0\"",
            "id=\"figure-1\"",
            "id=\"plot-figure-1\"",
            "<h2>2 x 1 vCPU</h2>",
        ] {
            assert_eq!(page.matches(words).count(), 1, "{words}");
        }
    }

    #[test]
    fn nothing_measured_draws_nothing() {
        let figure = FitFigure {
            panels: vec![FitPanel {
                label: String::new(),
                points: Vec::new(),
                curves: Vec::new(),
            }],
            ..figure()
        };
        let panel = drawn(&figure.panels[0], &figure);
        assert_eq!((panel.top, panel.rows[0].series.len()), (None, 1));
    }
}
