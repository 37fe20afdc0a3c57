//! A figure as a plain picture (SVG), for readers without scripts: the same data, axes and limits
//! as the figure that is drawn by a script, without its pointer.

use super::{colours, scale::Scale};
use crate::{
    figures::data::{Datum, Mark, Panel, Place, Row, Series, nines},
    prose::{format, plain::plain},
};

const WIDTH: f64 = 960.0;
/// Height of the axes of a figure with one row, and of each of several.
const HEIGHTS: [f64; 2] = [300.0, 150.0];
const LEFT: f64 = 90.0;
const RIGHT: f64 = 20.0;
/// Room beneath each row, for the names of places.
const FOOT: f64 = 66.0;
/// Height of a line of the legend.
const LEGEND: f64 = 20.0;
/// Longest name at an axis or in the legend, characters.
const LONGEST: usize = 34;

/// The picture; nothing where no axes fit the data (forests and heat have their tables).
pub(crate) fn svg(panel: &Panel, title: &str) -> String {
    let rows: Vec<&Row> = panel.rows.iter().filter(|row| drawable(row)).collect();
    if rows.is_empty() {
        return String::new();
    }
    let height = HEIGHTS[usize::from(rows.len() > 1)];
    let mut body = String::new();
    let mut top = 0.0;
    let mut first = 0;
    for row in rows {
        let entries = legend(row, first, top);
        top += LEGEND * (entries.1 + 0.6);
        body += &entries.0;
        body += &Axes::new(panel, row, top, height).drawn(row, first);
        top += height + FOOT;
        first += row
            .series
            .iter()
            .filter(|series| own_colour(series))
            .count();
    }
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {top:.0}\" role=\"img\" \
         fill=\"currentColor\" font-size=\"12\"><title>{}</title>\n{body}</svg>",
        plain(title)
    )
}

fn drawable(row: &Row) -> bool {
    let known = |series: &Series| !matches!(series.mark, Mark::Forest | Mark::Heat);
    row.series.iter().any(|series| !series.data.is_empty()) && row.series.iter().all(known)
}

/// Whether a series takes the next colour; the others have that of the one before, or none.
fn own_colour(series: &Series) -> bool {
    !matches!(
        series.mark,
        Mark::Beyond | Mark::Floor | Mark::Reference | Mark::Trials
    )
}

fn colour(row: &Row, index: usize, first: usize) -> &'static str {
    let before = row.series[..=index]
        .iter()
        .filter(|series| own_colour(series))
        .count();
    match row.series[index].mark {
        Mark::Reference => super::GREY,
        _ => colours::SERIES[(first + before.saturating_sub(1)) % colours::SERIES.len()],
    }
}

/// The names of the series above the axes, and how many lines they take.
fn legend(row: &Row, first: usize, top: f64) -> (String, f64) {
    let (mut drawn, mut x, mut line) = (String::new(), LEFT, 0.0);
    for (index, series) in row.series.iter().enumerate() {
        if series.mark == Mark::Floor || series.data.is_empty() {
            continue;
        }
        let name = short(&series.name);
        let width = 30.0 + 7.0 * name.chars().count() as f64;
        if x + width > WIDTH && x > LEFT {
            (x, line) = (LEFT, line + 1.0);
        }
        let y = top + LEGEND * line;
        drawn += &format!(
            "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"12\" height=\"12\" fill=\"{}\"/><text \
             x=\"{:.1}\" y=\"{:.1}\">{}</text>\n",
            y + 2.0,
            colour(row, index, first),
            x + 17.0,
            y + 12.0,
            plain(&name)
        );
        x += width;
    }
    (drawn, line + 1.0)
}

fn short(name: &str) -> String {
    let mut short: String = name.chars().take(LONGEST).collect();
    if short.len() < name.len() {
        short.push('…');
    }
    short
}

/// The axes of a row, in the picture.
struct Axes<'a> {
    panel: &'a Panel,
    unit: &'a str,
    /// Names along x; empty where x is a number.
    names: Vec<&'a str>,
    x: Scale,
    y: Scale,
    top: f64,
    bottom: f64,
}

impl<'a> Axes<'a> {
    fn new(panel: &'a Panel, row: &'a Row, top: f64, height: f64) -> Self {
        let data = || row.series.iter().flat_map(|series| &series.data);
        let mut names: Vec<&str> = Vec::new();
        for datum in data() {
            if let Place::Name(name) = &datum.x
                && !names.contains(&name.as_str())
            {
                names.push(name);
            }
        }
        let bottom = top + height;
        let ends = data().flat_map(|datum| {
            let (low, high) = datum.ends.unwrap_or((datum.y, datum.y));
            [datum.y, low.min(datum.y), high.max(datum.y)]
        });
        let values = ends
            .chain(row.levels.iter().map(|level| level.0))
            .chain([stacked(row)]);
        let places = data()
            .filter_map(|datum| match datum.x {
                Place::Number(x) => Some(x),
                Place::Name(_) => None,
            })
            .chain(panel.window.into_iter().flat_map(|(from, to)| [from, to]));
        let x = if names.is_empty() {
            Scale::new(
                places,
                panel.log.0 || panel.nines,
                None,
                (LEFT, WIDTH - RIGHT),
            )
        } else {
            Scale::linear((-0.5, names.len() as f64 - 0.5), (LEFT, WIDTH - RIGHT))
        };
        Self {
            panel,
            unit: &row.y_title,
            x,
            y: Scale::new(values, panel.log.1, panel.top, (bottom, top)),
            names,
            top,
            bottom,
        }
    }

    fn drawn(&self, row: &Row, first: usize) -> String {
        let mut all = self.window() + &self.grid() + &self.places();
        let bars = row
            .series
            .iter()
            .filter(|series| series.mark == Mark::Bars)
            .count();
        let mut stack = vec![0.0; self.names.len()];
        let mut bar = 0;
        for (index, series) in row.series.iter().enumerate() {
            let colour = colour(row, index, first);
            all += &match series.mark {
                Mark::Floor | Mark::Stack => self.stacked(series, colour, &mut stack),
                Mark::Columns => self.bars(series, colour, (0, 1)),
                Mark::Bars => {
                    bar += 1;
                    self.bars(series, colour, (bar - 1, bars))
                }
                Mark::Scatter => self.dots(series, colour, 4.5),
                Mark::Trials => self.dots(series, "currentColor", 2.6),
                Mark::Dots => self.line(series, colour) + &self.dots(series, colour, 4.5),
                _ => self.line(series, colour),
            };
        }
        all + &self.levels(row) + &self.uprights()
    }

    fn at(&self, place: &Place) -> f64 {
        match place {
            Place::Number(x) => self.x.at(*x),
            Place::Name(name) => {
                let index = self.names.iter().position(|known| known == name);
                self.x.at(index.unwrap_or(0) as f64)
            }
        }
    }

    fn window(&self) -> String {
        self.panel.window.map_or_else(String::new, |(from, to)| {
            let (from, to) = (self.x.at(from), self.x.at(to));
            format!(
                "<rect x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
                 fill=\"#5a8cbe\" opacity=\"0.15\"/>\n",
                self.top,
                (to - from).max(0.0),
                self.bottom - self.top
            )
        })
    }

    fn grid(&self) -> String {
        let mut lines: String = self
            .y
            .ticks()
            .into_iter()
            .map(|value| {
                let y = self.y.at(value);
                format!(
                    "<path d=\"M{LEFT} {y:.1}H{}\" stroke=\"currentColor\" opacity=\"0.15\"/><text \
                     x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
                    WIDTH - RIGHT,
                    LEFT - 6.0,
                    y + 4.0,
                    format::trimmed(value)
                )
            })
            .collect();
        let middle = (self.top + self.bottom) / 2.0;
        lines += &format!(
            "<text transform=\"translate(14 {middle:.0}) rotate(-90)\" \
             text-anchor=\"middle\">{}</text>\n",
            plain(self.unit)
        );
        lines
    }

    fn places(&self) -> String {
        let label = |x: f64, y: f64, text: &str| {
            format!(
                "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>\n",
                plain(&short(text))
            )
        };
        let mut all: String = if self.panel.nines {
            super::NINES
                .map(|p| label(self.x.at(nines(p)), self.bottom + 16.0, &format!("p{p}")))
                .concat()
        } else if self.names.is_empty() {
            self.x
                .ticks()
                .into_iter()
                .map(|x| label(self.x.at(x), self.bottom + 16.0, &format::trimmed(x)))
                .collect()
        } else {
            // Names of neighbours stand at two heights, so that long ones do not meet.
            self.names
                .iter()
                .enumerate()
                .map(|(i, name)| {
                    let lower = if i % 2 == 1 { 14.0 } else { 0.0 };
                    label(self.x.at(i as f64), self.bottom + 16.0 + lower, name)
                })
                .collect()
        };
        let middle = (LEFT + WIDTH - RIGHT) / 2.0;
        all += &label(middle, self.bottom + 48.0, &self.panel.x_title);
        all
    }

    fn bars(&self, series: &Series, colour: &str, (index, of): (usize, usize)) -> String {
        let room = self.x.at(1.0) - self.x.at(0.0);
        let width = (0.8 * room / of.max(1) as f64).min(160.0);
        let shift = width * (index as f64 - 0.5 * of.max(1) as f64);
        series
            .data
            .iter()
            .map(|datum| {
                let (x, y) = (self.at(&datum.x) + shift, self.y.at(datum.y));
                let fill = if datum.broken {
                    colours::pale(colour)
                } else {
                    colour.to_owned()
                };
                let note = datum.note.as_ref().map_or_else(String::new, |note| {
                    format!(
                        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" \
                         fill=\"{}\">{}</text>",
                        x + width / 2.0,
                        self.bottom - 6.0,
                        colours::text_on(&fill),
                        plain(&short(note))
                    )
                });
                format!(
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
                     fill=\"{fill}\"/>{note}{}\n",
                    width * 0.94,
                    (self.bottom - y).max(0.0),
                    self.whisker(datum, x + width * 0.47)
                )
            })
            .collect()
    }

    fn stacked(&self, series: &Series, colour: &str, stack: &mut [f64]) -> String {
        let width = 0.7 * (self.x.at(1.0) - self.x.at(0.0)).min(160.0);
        let mut all = String::new();
        for datum in &series.data {
            let Place::Name(name) = &datum.x else {
                continue;
            };
            let Some(base) = self
                .names
                .iter()
                .position(|known| known == name)
                .and_then(|i| stack.get_mut(i))
            else {
                continue;
            };
            let (foot, head) = (self.y.at(*base), self.y.at(*base + datum.y));
            *base += datum.y;
            if series.mark == Mark::Stack {
                all += &format!(
                    "<rect x=\"{:.1}\" y=\"{head:.1}\" width=\"{width:.1}\" height=\"{:.1}\" \
                     fill=\"{colour}\"/>\n",
                    self.at(&datum.x) - width / 2.0,
                    (foot - head).max(0.0)
                );
            }
        }
        all
    }

    fn dots(&self, series: &Series, colour: &str, radius: f64) -> String {
        series
            .data
            .iter()
            .map(|datum| {
                let (x, y) = (self.at(&datum.x), self.y.at(datum.y));
                let fill = if datum.broken { "none" } else { colour };
                format!(
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{fill}\" \
                     stroke=\"{colour}\"/>{}\n",
                    self.whisker(datum, x)
                )
            })
            .collect()
    }

    fn line(&self, series: &Series, colour: &str) -> String {
        let steps: Vec<String> = series
            .data
            .iter()
            .map(|datum| format!("{:.1} {:.1}", self.at(&datum.x), self.y.at(datum.y)))
            .collect();
        let dashes = match series.mark {
            Mark::Reference | Mark::Beyond | Mark::Rival(_) => " stroke-dasharray=\"6 4\"",
            _ => "",
        };
        format!(
            "<path d=\"M{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}/>\n",
            steps.join("L")
        )
    }

    fn whisker(&self, datum: &Datum, x: f64) -> String {
        datum.ends.map_or_else(String::new, |(low, high)| {
            format!(
                "<path d=\"M{x:.1} {:.1}V{:.1}\" stroke=\"{}\" stroke-width=\"1.5\"/>",
                self.y.at(low),
                self.y.at(high),
                super::WHISKER
            )
        })
    }

    fn levels(&self, row: &Row) -> String {
        row.levels
            .iter()
            .map(|(value, name)| {
                let y = self.y.at(*value);
                format!(
                    "<path d=\"M{LEFT} {y:.1}H{}\" stroke=\"{limit}\" stroke-width=\"1.6\" \
                     stroke-dasharray=\"8 4\"/><text x=\"{}\" y=\"{:.1}\" \
                     text-anchor=\"end\">{}</text>\n",
                    WIDTH - RIGHT,
                    WIDTH - RIGHT - 4.0,
                    y - 4.0,
                    plain(name),
                    limit = super::LIMIT
                )
            })
            .collect()
    }

    fn uprights(&self) -> String {
        self.panel
            .lines
            .iter()
            .map(|(at, name)| {
                let x = self.x.at(*at);
                format!(
                    "<path d=\"M{x:.1} {:.1}V{:.1}\" stroke=\"{}\"/><text x=\"{:.1}\" \
                     y=\"{:.1}\">{}</text>\n",
                    self.top,
                    self.bottom,
                    super::GREY,
                    x + 4.0,
                    self.top + 12.0,
                    plain(name)
                )
            })
            .collect()
    }
}

/// The highest stack of a row.
fn stacked(row: &Row) -> f64 {
    let mut heights: Vec<(&Place, f64)> = Vec::new();
    let parts = row
        .series
        .iter()
        .filter(|series| matches!(series.mark, Mark::Floor | Mark::Stack));
    for datum in parts.flat_map(|series| &series.data) {
        match heights.iter_mut().find(|(place, _)| **place == datum.x) {
            Some((_, height)) => *height += datum.y,
            None => heights.push((&datum.x, datum.y)),
        }
    }
    heights
        .iter()
        .map(|(_, height)| *height)
        .fold(0.0, f64::max)
}
