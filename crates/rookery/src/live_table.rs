//! What the trials so far have measured, point by point, in a few lines below the progress line.

use rookery_lab::Headline;
use rookery_stats::{Spread, Summary};
use rookery_text::Table;

/// Points that are shown: those whose trials ended last.
const MOST_POINTS: usize = 8;

/// The points of a run that have had a trial, that of the newest trial last.
#[derive(Debug, Default)]
pub(crate) struct LiveTable {
    points: Vec<PointRow>,
}

/// Columns of a line that are not the name of its point: gaps, numbers, the indent.
const OTHER_COLUMNS: usize = 52;
/// A name has at least so many.
const LEAST_NAME: usize = 12;

/// A point and its trials.
#[derive(Debug, Default)]
struct PointRow {
    name: String,
    rate: String,
    /// What good trials are summed up by.
    values: Vec<f64>,
    not_done: u32,
    met: u32,
    judged: u32,
}

impl LiveTable {
    /// Take a trial that ended.
    pub(crate) fn add(
        &mut self,
        point: &str,
        outcome: &str,
        headline: Option<&Headline>,
        qos: Option<bool>,
    ) {
        let known = self.points.iter().position(|row| row.name == point);
        let mut row = match known {
            Some(index) => self.points.remove(index),
            None => PointRow {
                name: point.to_owned(),
                ..PointRow::default()
            },
        };
        if outcome == "done" {
            if let Some(headline) = headline {
                row.rate.clone_from(&headline.rate);
                row.values.push(headline.value);
            }
            row.judged += u32::from(qos.is_some());
            row.met += u32::from(qos == Some(true));
        } else {
            row.not_done += 1;
        }
        self.points.push(row);
    }

    /// The table in lines of `width`, without a line end at its end; empty before the first trial
    /// has ended. Long names are cut, so that a
    /// point is one line.
    pub(crate) fn render(&self, width: usize) -> String {
        let first = self.points.len().saturating_sub(MOST_POINTS);
        let shown = &self.points[first..];
        let heads = ["point", "trials", self.rate(), "", "limits met"];
        let room = width.saturating_sub(OTHER_COLUMNS).max(LEAST_NAME);
        let rows: Vec<Vec<String>> = shown.iter().map(|row| row.cells(room)).collect();
        let indented = width.saturating_sub(2);
        let text = Table::new(heads.map(str::to_owned).to_vec(), rows).render(indented);
        let lines: Vec<String> = text.lines().map(|line| format!("  {line}")).collect();
        lines.join("\n")
    }

    /// What the means count, in words.
    fn rate(&self) -> &str {
        let mut rates = self.points.iter().map(|row| row.rate.as_str());
        rates.find(|rate| !rate.is_empty()).unwrap_or("mean")
    }
}

/// A name in at most `room` characters. Its middle is left out: points of a study begin alike, and
/// differ by their load at the end.
fn cut(name: &str, room: usize) -> String {
    let length = name.chars().count();
    if length <= room {
        return name.to_owned();
    }
    let kept = room.saturating_sub(3);
    let front: String = name.chars().take(kept / 2).collect();
    let back: String = name.chars().skip(length - (kept - kept / 2)).collect();
    format!("{front}...{back}")
}

impl PointRow {
    fn cells(&self, room: usize) -> Vec<String> {
        let (mean, interval) = self.mean();
        let done = self.values.len();
        let trials = match self.not_done {
            0 => done.to_string(),
            other => format!("{done} (+{other})"),
        };
        let limits = match self.judged {
            0 => String::new(),
            judged => format!("{} of {judged}", self.met),
        };
        vec![cut(&self.name, room), trials, mean, interval, limits]
    }

    /// The mean, and its 95 % interval where three trials give one.
    fn mean(&self) -> (String, String) {
        let Some(summary) = Summary::from_values(&self.values) else {
            return (String::new(), String::new());
        };
        let interval = match summary.spread {
            Spread::Single => String::new(),
            Spread::Range { min, max } => format!("{min:.0} to {max:.0}"),
            Spread::Interval { half_width } => format!("± {half_width:.0}"),
        };
        (format!("{:.0}", summary.mean), interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headline(value: f64) -> Headline {
        Headline {
            metric: "orders_per_minute".to_owned(),
            value,
            rate: "orders/min".to_owned(),
        }
    }

    #[test]
    fn points_are_shown_with_their_trials_in_80_columns() {
        let mut table = LiveTable::default();
        assert_eq!(table.render(80), "");
        for value in [2_380.0, 2_391.0, 2_402.0] {
            let point = "scale-up, 1 x 1 vCPU, 100 users";
            table.add(point, "done", Some(&headline(value)), Some(true));
        }
        table.add("scale-out, 4 x 0.25 vCPU, 800 users", "void", None, None);
        let point = "scale-out, 2 x 0.5 vCPU, 800 users, tuning modern, storage volume";
        table.add(point, "failed", None, None);
        for value in [18_000.0, 19_000.0] {
            table.add(point, "done", Some(&headline(value)), Some(false));
        }
        let text = table.render(80);
        assert!(text.lines().all(|line| line.chars().count() <= 80));
        insta::assert_snapshot!(text);
    }

    #[test]
    fn only_the_last_points_are_shown() {
        let mut table = LiveTable::default();
        for point in 0..30 {
            table.add(&format!("p{point}"), "done", Some(&headline(1.0)), None);
        }
        let text = table.render(80);
        assert_eq!(text.lines().count(), 2 + MOST_POINTS);
        assert!(text.contains("p29") && !text.contains("p21 "), "{text}");
    }
}
