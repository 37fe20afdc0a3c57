//! The figure of a fitted law as one self-contained page. It needs no run: measurements may come from anywhere.

use crate::{
    draw,
    figures::{Datum, Mark, Panel, Row, Series},
};

/// One measured run.
#[derive(Clone, Copy, Debug)]
pub struct FitPoint {
    /// Load.
    pub n: f64,
    /// Throughput.
    pub x: f64,
}

/// One curve.
#[derive(Clone, Debug)]
pub struct FitCurve {
    /// Its name.
    pub name: String,
    /// Load and throughput along it.
    pub points: Vec<(f64, f64)>,
    /// Whether it is the answer: drawn solid within the measured loads, others dashed.
    pub chosen: bool,
}

/// What the page shows.
#[derive(Clone, Debug)]
pub struct FitFigure {
    /// Title of the page.
    pub title: String,
    /// What the load is.
    pub x_title: String,
    /// What the throughput is.
    pub y_title: String,
    /// The measurements.
    pub points: Vec<FitPoint>,
    /// The curves.
    pub curves: Vec<FitCurve>,
    /// Largest measured load; beyond it every curve is dashed.
    pub largest: f64,
}

/// The page: figure and data table, nothing loaded from elsewhere.
#[must_use]
pub fn fit_html(figure: &FitFigure) -> String {
    let panel = panel(figure);
    let table = panel.table();
    let cells = |cells: &[String], tag: &str| {
        cells
            .iter()
            .map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell)))
            .collect::<String>()
    };
    let rows: String = table.rows.iter().map(|row| format!("<tr>{}</tr>\n", cells(row, "td"))).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<style>body{{font-family:sans-serif;margin:2rem auto;\
         max-width:70rem;padding:0 1rem}}table{{border-collapse:collapse;font-variant-numeric:tabular-nums}}td,th{{padding:.15rem .7rem;text-align:right;\
         border-bottom:1px solid #ddd}}</style>\n{library}\n</head>\n<body>\n<h1>{title}</h1>\n<div id=\"figure\"></div>\n<p>Dashed: laws that were not chosen, \
         ends of the 95 % interval, and everything beyond the largest measured load.</p>\n<details><summary>Data</summary>\n<table>\n<tr>{heads}</tr>\n{rows}\
         </table>\n</details>\n<script>const drawing = {drawing};\nPlotly.newPlot('figure', drawing.data, drawing.layout, drawing.config);</script>\n\
         </body>\n</html>\n",
        title = escaped(&figure.title),
        library = draw::library(),
        heads = cells(&table.heads, "th"),
        drawing = draw::json(&panel),
    )
}

fn panel(figure: &FitFigure) -> Panel {
    let mut series = vec![Series {
        name: "measured".to_owned(),
        mark: Mark::Scatter,
        data: figure.points.iter().map(|point| Datum::at(point.n, point.x)).collect(),
    }];
    for curve in &figure.curves {
        let part = |name: String, mark: Mark, wanted: &dyn Fn(f64) -> bool| {
            let data: Vec<Datum> = curve
                .points
                .iter()
                .filter(|(n, _)| wanted(*n))
                .map(|(n, x)| Datum::at(*n, *x))
                .collect();
            (!data.is_empty()).then_some(Series { name, mark, data })
        };
        if curve.chosen {
            series.extend(part(curve.name.clone(), Mark::Line, &|n| n <= figure.largest));
            series.extend(part(format!("{}, extrapolated", curve.name), Mark::Reference, &|n| {
                n > figure.largest
            }));
        } else {
            series.extend(part(curve.name.clone(), Mark::Reference, &|_| true));
        }
    }
    Panel {
        label: String::new(),
        x_title: figure.x_title.clone(),
        rows: vec![Row {
            y_title: figure.y_title.clone(),
            series,
        }],
        ..Panel::default()
    }
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_solid_only_where_it_was_measured() {
        let figure = FitFigure {
            title: "<b>".to_owned(),
            x_title: "users".to_owned(),
            y_title: "rate".to_owned(),
            points: vec![FitPoint { n: 1.0, x: 10.0 }, FitPoint { n: 4.0, x: 30.0 }],
            curves: vec![
                FitCurve {
                    name: "law".to_owned(),
                    points: vec![(1.0, 10.0), (4.0, 31.0), (6.0, 35.0)],
                    chosen: true,
                },
                FitCurve {
                    name: "rival".to_owned(),
                    points: vec![(1.0, 10.0), (6.0, 60.0)],
                    chosen: false,
                },
            ],
            largest: 4.0,
        };
        let drawn: Vec<(String, Mark, usize)> = panel(&figure).rows[0]
            .series
            .iter()
            .map(|s| (s.name.clone(), s.mark, s.data.len()))
            .collect();
        let expected = [
            ("measured", Mark::Scatter, 2),
            ("law", Mark::Line, 2),
            ("law, extrapolated", Mark::Reference, 1),
            ("rival", Mark::Reference, 2),
        ];
        assert_eq!(drawn, expected.map(|(name, mark, count)| (name.to_owned(), mark, count)));
        let page = fit_html(&figure);
        assert!(
            page.contains("<h1>&lt;b&gt;</h1>") && page.contains("<title>&lt;b&gt;</title>"),
            "titles are text"
        );
        let table: Vec<Vec<String>> = panel(&figure).table().rows;
        assert_eq!(table.len(), 3, "one row per load: {table:?}");
        assert!(page.contains(&format!("<td>{}</td>", table[1][2])), "the data stand in the table");
        assert!(
            !page.contains("<script src") && !page.contains("<link"),
            "nothing is loaded from elsewhere"
        );
    }
}
