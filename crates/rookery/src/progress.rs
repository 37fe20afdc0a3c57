//! How a run is told to people (a bar on a terminal, lines elsewhere) and to programs (JSON lines).

use std::{
    io::{IsTerminal, stderr},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use indicatif::{ProgressBar, ProgressStyle};
use rookery_cast::truncate_u64;
use rookery_lab::Event;

use crate::{logging, output};

/// Reports the events of a run.
pub(crate) enum ProgressReporter {
    /// Says nothing.
    Quiet,
    /// JSON lines to standard output, until nobody takes them any more.
    Json(AtomicBool),
    /// Lines to standard error, with a bar when it is a terminal; and what is being built, as it
    /// was told last.
    People(ProgressBar, Mutex<String>),
}

impl ProgressReporter {
    pub(crate) fn new(quiet: bool, json: bool) -> Self {
        match (json, quiet) {
            (true, _) => Self::Json(AtomicBool::new(true)),
            (false, true) => Self::Quiet,
            (false, false) => Self::People(bar(false, TRIALS), Mutex::default()),
        }
    }

    pub(crate) fn report(&self, event: &Event) {
        match self {
            Self::Quiet => {}
            Self::Json(heard) => report_to_programs(heard, event),
            Self::People(bar, building) => match event {
                Event::Building { what, detail } => report_building(bar, building, what, detail),
                _ => report_to_people(bar, event),
            },
        }
    }

    pub(crate) fn finish(&self) {
        if let Self::People(bar, _) = self {
            bar.finish_and_clear();
        }
    }
}

/// What the bar of a run shows.
const TRIALS: &str = "  {bar:30} {pos}/{len} trials  {elapsed} elapsed  {msg}";

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
    let Ok(line) = serde_json::to_string(event) else {
        return;
    };
    if heard.load(Ordering::Relaxed)
        && let Err(error) = output::try_result(line)
    {
        heard.store(false, Ordering::Relaxed);
        output::remark(format!(
            "the events cannot be printed any more ({error}); the run goes on, Ctrl-C ends it"
        ));
    }
}

fn line(bar: &ProgressBar, text: String) {
    if bar.is_hidden() {
        output::remark(text);
    } else {
        bar.println(text);
    }
}

/// On a terminal every step moves the bar's text; elsewhere a line is worth it only when something
/// else is being done than before.
fn report_building(bar: &ProgressBar, building: &Mutex<String>, what: &str, detail: &str) {
    bar.set_message(format!("{what}: {detail}"));
    let mut told = building.lock().unwrap_or_else(PoisonError::into_inner);
    let doing: String = format!("{what}: {detail}")
        .chars()
        .filter(|c| !c.is_ascii_digit())
        .collect();
    if bar.is_hidden() && *told != doing {
        output::remark(format!("  {what}: {detail}"));
        *told = doing;
    }
}

fn report_to_people(bar: &ProgressBar, event: &Event) {
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
            let before = if *finished_before > 0 {
                format!(", {finished_before} finished before")
            } else {
                String::new()
            };
            line(
                bar,
                format!(
                    "run {run}: {}\n  {}{before}, about {} in {directory}",
                    output::printable(title),
                    counted(*trials),
                    duration(*expected_s)
                ),
            );
        }
        Event::Template { database, seconds } if *seconds > 1.0 => line(
            bar,
            format!("  template with {database} of data: {seconds:.1} s"),
        ),
        Event::Template { .. } | Event::Building { .. } => {}
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
                format!(
                    "  calibration of point {point} ({:.0} % asked): {found}",
                    100.0 * target
                ),
            );
        }
        Event::Grown { trials } => bar.set_length(u64::from(*trials)),
        Event::SearchEnded {
            search,
            subject,
            text,
        } => line(bar, format!("  search {search}, {subject}: {text}")),
        Event::TrialStarted {
            trial,
            point,
            repeat,
        } => {
            bar.set_message(format!("trial {trial}: {point}, repeat {repeat}: cloning"));
            if bar.is_hidden() {
                line(bar, format!("  trial {trial}: {point}, repeat {repeat}"));
            }
        }
        Event::GuestsReady {
            trial,
            guests,
            seconds,
        } => bar.set_message(format!(
            "trial {trial}: {guests} guests healthy after {seconds:.1} s"
        )),
        Event::Load {
            trial,
            phase,
            elapsed_s,
            total_s,
            requests_per_s,
            errors_per_s,
        } => {
            let errors = if *errors_per_s > 0.0 {
                format!(", {errors_per_s:.0} errors/s")
            } else {
                String::new()
            };
            bar.set_message(format!(
                "trial {trial}: {phase} {elapsed_s:.0}/{total_s:.0} s, {requests_per_s:.0} \
                 requests/s{errors}"
            ));
        }
        Event::TrialEnded {
            trial,
            outcome,
            reasons,
            headline,
            qos,
        } => {
            bar.inc(1);
            let qos = match qos {
                Some(true) => ", QoS kept",
                Some(false) => ", QoS not kept",
                None if outcome == "done" => ", QoS not judged",
                None => "",
            };
            let headline = headline.as_ref().map_or_else(String::new, |headline| {
                format!(", {:.0} {}", headline.value, headline.rate)
            });
            let reasons: String = reasons
                .iter()
                .map(|reason| {
                    reason
                        .lines()
                        .map(|line| format!("\n      {}", output::printable(line)))
                        .collect::<String>()
                })
                .collect();
            line(
                bar,
                format!("  trial {trial}: {outcome}{headline}{qos}{reasons}"),
            );
        }
        Event::Remark { text } => line(bar, format!("  note: {text}")),
        Event::RunEnded { .. } => bar.set_message(""),
    }
}

/// `1 trial`, `2 trials`.
fn counted(trials: u32) -> String {
    format!("{trials} {}", if trials == 1 { "trial" } else { "trials" })
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
    use super::duration;

    #[test]
    fn durations_are_said_as_people_say_them() {
        assert_eq!(duration(44.6), "45 s");
        assert_eq!(duration(200.0), "3 min 20 s");
        assert_eq!(duration(7500.0), "2 h 5 min");
        assert_eq!(duration(-1.0), "0 s");
    }
}
