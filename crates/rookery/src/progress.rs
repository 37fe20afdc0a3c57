//! How a run is told to people (a bar on a terminal, lines elsewhere) and to programs (JSON lines).

use std::{
    collections::HashMap,
    fmt::Write,
    io::{IsTerminal, stderr},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use rookery_cast::truncate_u64;
use rookery_lab::{Event, Headline, LoadEnd};

use crate::{
    colour::{Colour, painted},
    live_table::LiveTable,
    logging, output,
};

/// Reports the events of a run.
pub(crate) enum ProgressReporter {
    /// Says nothing.
    Quiet,
    /// JSON lines to standard output, until nobody takes them any more.
    Json(AtomicBool),
    /// Lines to standard error, with a bar when it is a terminal.
    People(ProgressBar, Mutex<Known>),
}

/// What is known of a run from its events so far.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// What is being built, as it was told last.
    building: String,
    /// The trials that run, in words, each with its point. Several run where a fleet performs them.
    trials: HashMap<u32, (String, String)>,
    points: LiveTable,
    /// The points as the bar shows them.
    shown: Arc<Mutex<String>>,
    pace: Option<Pace>,
}

/// How fast trials go.
#[derive(Debug)]
struct Pace {
    started: Instant,
    /// Expected seconds of a trial, before one has ended.
    expected_s: f64,
    /// Trials that ended since the start, and all that were left then or were added since.
    ended: u32,
    left: u32,
    /// Whether trials were added: more may follow.
    grew: bool,
}

impl Pace {
    /// Seconds that are left after `elapsed_s`: by the pace so far, once a trial has ended.
    fn left_s(&self, elapsed_s: f64) -> f64 {
        let all = f64::from(self.ended + self.left);
        let expected = match self.ended {
            0 => self.expected_s,
            ended => elapsed_s / f64::from(ended),
        };
        (expected * all - elapsed_s).max(0.0)
    }

    /// In words: `about 3 min 20 s left`, `at least 20 s left` where a search goes on.
    fn words(&self, elapsed_s: f64) -> String {
        let about = if self.grew { "at least" } else { "about" };
        format!("{about} {} left", duration(self.left_s(elapsed_s)))
    }
}

impl ProgressReporter {
    pub(crate) fn new(quiet: bool, json: bool) -> Self {
        match (json, quiet) {
            (true, _) => Self::Json(AtomicBool::new(true)),
            (false, true) => Self::Quiet,
            (false, false) => {
                let known = Known::default();
                Self::People(bar_with_table(&known.shown), Mutex::new(known))
            }
        }
    }

    pub(crate) fn report(&self, event: &Event) {
        match self {
            Self::Quiet => {}
            Self::Json(heard) => report_to_programs(heard, event),
            Self::People(bar, known) => {
                let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                match event {
                    Event::Building { what, detail } => {
                        report_building(bar, &mut known.building, what, detail);
                    }
                    _ => report_to_people(bar, &mut known, event),
                }
                known.tell_time(bar);
            }
        }
    }

    pub(crate) fn finish(&self) {
        if let Self::People(bar, _) = self {
            bar.finish_and_clear();
        }
    }
}

impl Known {
    /// Show what the trial that ended adds to its point.
    fn add_trial(
        &mut self,
        point: &str,
        outcome: &str,
        headline: Option<&Headline>,
        qos: Option<bool>,
    ) {
        self.points.add(point, outcome, headline, qos);
        let text = self.points.render(output::error_width());
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }

    /// A trial that runs, in words.
    fn trial(&self, id: u32) -> &str {
        self.trials.get(&id).map_or("", |(trial, _)| trial)
    }

    /// Show how long the run will still take.
    fn tell_time(&self, bar: &ProgressBar) {
        if let Some(pace) = &self.pace {
            bar.set_prefix(pace.words(pace.started.elapsed().as_secs_f64()));
        }
    }
}

/// What the bar of a run shows: two lines, of which the second is cut at the width, and the points
/// so far.
const TRIALS: &str = "  {bar:20} {pos}/{len} trials, {elapsed}, {prefix}\n  {wide_msg}\n{points}";

/// The bar of a run, which shows what `points` holds below its lines.
fn bar_with_table(points: &Arc<Mutex<String>>) -> ProgressBar {
    let bar = bar(false, TRIALS);
    let points = Arc::clone(points);
    let style = bar
        .style()
        .with_key("points", move |_: &ProgressState, to: &mut dyn Write| {
            let text = points.lock().unwrap_or_else(PoisonError::into_inner);
            // A terminal that takes nothing more has nothing to show.
            let _ = to.write_str(&text);
        });
    bar.set_style(style);
    bar
}

/// What a bar over bytes shows.
const BYTES: &str = "  {bar:30} {bytes}/{total_bytes}  {bytes_per_sec}  {eta} left";

/// A bar over bytes; hidden when nobody would see it.
pub(crate) fn bytes_bar(quiet: bool) -> ProgressBar {
    bar(quiet, BYTES)
}

/// A bar that shows itself as `template` says; hidden when nobody would see it.
pub(crate) fn bar(quiet: bool, template: &str) -> ProgressBar {
    if quiet || !stderr().is_terminal() || logging::on_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template(template);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

/// A bar over the seconds of one load; hidden when nobody would see it.
pub(crate) fn load_bar(quiet: bool, load: Duration) -> ProgressBar {
    let bar = bar(quiet, "  {bar:30} {pos}/{len} s  {msg}");
    bar.set_length(load.as_secs());
    bar
}

/// A listener that goes away, `head` for one, must not end the run: guests would stay behind.
fn report_to_programs(heard: &AtomicBool, event: &Event) {
    let Ok(mut line) = serde_json::to_value(event) else {
        return;
    };
    line["at"] = now().into();
    if heard.load(Ordering::Relaxed)
        && let Err(error) = output::try_result(line)
    {
        heard.store(false, Ordering::Relaxed);
        output::remark(format!(
            "the events cannot be printed any more ({error}); the run goes on, Ctrl-C ends it"
        ));
    }
}

/// Now: RFC 3339 in UTC, to the millisecond.
pub(crate) fn now() -> String {
    let now = jiff::Timestamp::now();
    now.round(jiff::Unit::Millisecond)
        .unwrap_or(now)
        .to_string()
}

fn line(bar: &ProgressBar, text: &str) {
    line_in(bar, text, None);
}

/// A line, its `painted` part in a colour. Lines are broken before they are coloured.
fn line_in(bar: &ProgressBar, text: &str, part: Option<(&str, Colour)>) {
    let mut text = output::message(text, output::error_width());
    if let Some((part, colour)) = part {
        text = text.replacen(part, &painted(part, colour, stderr().is_terminal()), 1);
    }
    if bar.is_hidden() {
        output::verbatim_remark(text);
    } else {
        bar.println(text);
    }
}

/// On a terminal every step moves the bar's text; elsewhere a line is worth it only when something
/// else is being done than before.
fn report_building(bar: &ProgressBar, told: &mut String, what: &str, detail: &str) {
    bar.set_message(format!("{what}: {detail}"));
    let doing: String = format!("{what}: {detail}")
        .chars()
        .filter(|c| !c.is_ascii_digit())
        .collect();
    if bar.is_hidden() && *told != doing {
        output::remark(format!("  {what}: {detail}"));
        *told = doing;
    }
}

fn report_to_people(bar: &ProgressBar, known: &mut Known, event: &Event) {
    match event {
        Event::RunStarted {
            run,
            title,
            directory,
            trials,
            finished_before,
            expected_s,
        } => {
            bar.set_length(u64::from(*trials));
            bar.set_position(u64::from(*finished_before));
            let left = trials.saturating_sub(*finished_before);
            known.pace = Some(Pace {
                started: Instant::now(),
                expected_s: expected_s / f64::from(left.max(1)),
                ended: 0,
                left,
                grew: false,
            });
            let before = if *finished_before > 0 {
                format!(", {finished_before} finished before")
            } else {
                String::new()
            };
            line(
                bar,
                &format!(
                    "run {run}: {}\n  {}{before}, about {} in {directory}",
                    output::printable(title),
                    counted(*trials, "trial"),
                    duration(*expected_s)
                ),
            );
        }
        Event::Template { database, seconds } if *seconds > 1.0 => line(
            bar,
            &format!("  template with a database of {database}: {seconds:.1} s"),
        ),
        Event::Template { .. } | Event::Building { .. } | Event::LoadStarted { .. } => {}
        Event::PoolTried {
            point,
            bytes,
            target,
            hit,
            why,
        } => {
            let pool = format!("{:.2} MiB", *bytes as f64 / f64::from(1 << 20));
            let found = match hit {
                Some(hit) => format!("{:.1} % of reads hit a buffer pool of {pool}", 100.0 * hit),
                None => format!(
                    "no buffer pool of {pool}: {}",
                    output::printable(why.as_deref().unwrap_or("not said"))
                ),
            };
            line(
                bar,
                &format!(
                    "  calibration of point {point} ({:.0} % asked): {found}",
                    100.0 * target
                ),
            );
        }
        Event::Grown { trials } => {
            let before = bar.length().unwrap_or(0);
            bar.set_length(u64::from(*trials));
            if let Some(pace) = &mut known.pace {
                let more = u64::from(*trials).saturating_sub(before);
                pace.left += u32::try_from(more).unwrap_or(u32::MAX);
                pace.grew = true;
            }
        }
        Event::Resting { seconds } => bar.set_message(format!("resting {seconds:.0} s")),
        Event::Retried {
            trial,
            again,
            attempt,
        } => line(
            bar,
            &format!("  trial {trial} is run again as trial {again} (attempt {attempt})"),
        ),
        Event::TimesChosen { settle_s, steady_s } => line(
            bar,
            &format!(
                "  pilots have chosen: settle {}, window {}",
                duration(*settle_s),
                duration(*steady_s)
            ),
        ),
        Event::SearchEnded {
            search,
            subject,
            text,
        } => line(bar, &format!("  search {search}, {subject}: {text}")),
        Event::TrialStarted {
            trial,
            point,
            repeat,
        } => {
            let text = format!("trial {trial}, {point}, repeat {repeat}");
            bar.set_message(format!("{text}: cloning"));
            known.trials.insert(*trial, (text, point.clone()));
        }
        Event::GuestsReady {
            trial,
            guests,
            seconds,
        } => {
            let guests = counted(*guests, "guest");
            bar.set_message(format!(
                "{}: {guests} healthy after {seconds:.1} s",
                known.trial(*trial)
            ));
        }
        Event::Load {
            trial,
            phase,
            elapsed_s,
            total_s,
            requests_per_s,
            errors_per_s,
            ..
        } => {
            let errors = if *errors_per_s > 0.0 {
                format!(", {errors_per_s:.0} errors/s")
            } else {
                String::new()
            };
            bar.set_message(format!(
                "{}: {phase} {elapsed_s:.0}/{total_s:.0} s, {requests_per_s:.0} requests/s{errors}",
                known.trial(*trial)
            ));
        }
        Event::TrialEnded {
            trial,
            outcome,
            reasons,
            headline,
            load,
            qos,
        } => {
            bar.inc(1);
            let (text, point) = known.trials.remove(trial).unwrap_or_default();
            known.add_trial(&point, outcome, headline.as_ref(), *qos);
            if let Some(pace) = &mut known.pace {
                pace.ended += 1;
                pace.left = pace.left.saturating_sub(1);
            }
            let (limits, colour) = match qos {
                _ if outcome == "failed" => ("", Colour::Red),
                _ if outcome != "done" => ("", Colour::Yellow),
                _ if load.is_some() => ("", Colour::Green),
                Some(true) => (", limits met", Colour::Green),
                Some(false) => (", limits missed", Colour::Yellow),
                None => (", limits not judged", Colour::Yellow),
            };
            let headline = match (load, headline) {
                (Some(load), _) => format!(", {}", loaded(*load)),
                (None, Some(headline)) => format!(", {:.0} {}", headline.value, headline.rate),
                (None, None) => String::new(),
            };
            let reasons: String = reasons
                .iter()
                .map(|reason| {
                    reason
                        .lines()
                        .map(|line| format!("\n      {}", output::printable(line)))
                        .collect::<String>()
                })
                .collect();
            let part = limits.strip_prefix(", ").unwrap_or(outcome);
            line_in(
                bar,
                &format!("  {text}: {outcome}{headline}{limits}{reasons}"),
                Some((part, colour)),
            );
        }
        Event::Remark { text } => line(bar, &format!("  note: {text}")),
        Event::ChangeRefused { text } => line(bar, &format!("  not changed: {text}")),
        Event::RunEnded { .. } => bar.set_message(""),
    }
}

/// `loaded in 4.2 s, 12300 rows/s`
fn loaded(load: LoadEnd) -> String {
    let rate = load
        .rows_per_s
        .map_or_else(String::new, |rate| format!(", {rate:.0} rows/s"));
    let seconds = load.load_time_s;
    if seconds < 10.0 {
        format!("loaded in {seconds:.2} s{rate}")
    } else {
        format!("loaded in {seconds:.1} s{rate}")
    }
}

/// `1 trial`, `2 trials`.
fn counted(count: u32, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Seconds as people say them: `45 s`, `3 min 20 s`, `2 h 5 min`.
pub(crate) fn duration(seconds: f64) -> String {
    let whole = truncate_u64(seconds.max(0.0).round());
    match (whole / 3600, whole % 3600 / 60, whole % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_the_pace_of_the_trials_that_ended() {
        let mut pace = Pace {
            started: Instant::now(),
            expected_s: 10.0,
            ended: 0,
            left: 6,
            grew: false,
        };
        assert_eq!(pace.words(2.0), "about 58 s left");
        (pace.ended, pace.left, pace.grew) = (2, 4, true);
        assert_eq!(pace.words(40.0), "at least 1 min 20 s left");
    }

    #[test]
    fn a_load_is_told_by_its_time_and_rate() {
        let load = |load_time_s, rows_per_s| LoadEnd {
            load_time_s,
            rows_per_s,
        };
        assert_eq!(
            loaded(load(4.2, Some(12_300.4))),
            "loaded in 4.20 s, 12300 rows/s"
        );
        assert_eq!(loaded(load(61.25, None)), "loaded in 61.2 s");
    }

    #[test]
    fn one_guest_is_one() {
        assert_eq!(counted(1, "guest"), "1 guest");
        assert_eq!(counted(2, "guest"), "2 guests");
    }

    #[test]
    fn durations_are_said_as_people_say_them() {
        assert_eq!(duration(44.6), "45 s");
        assert_eq!(duration(200.0), "3 min 20 s");
        assert_eq!(duration(7500.0), "2 h 5 min");
        assert_eq!(duration(-1.0), "0 s");
    }
}
