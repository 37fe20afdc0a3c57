//! The workload file itself.

use std::{fmt::Write as _, time::Duration};

use rookery_cast::truncate_u64;
use rookery_text::hanging;
use rookery_workload::{DelayDistribution, http::CaptureSource};

use super::{
    request::{self, RequestKeys},
    steps::Recorded,
    values::Values,
};
use crate::{
    grammar::{written, written_key},
    names::Named as _,
    time_text::plain_time,
};

/// Longest lines.
const WIDTH: usize = 98;
/// A shorter pause is one that a page makes by itself, ms.
const SHORTEST_PAUSE: f64 = 500.0;
/// Longest pause that a user is thought to make, ms.
const LONGEST_PAUSE: f64 = 60_000.0;
/// The pause where the archive says nothing.
const GUESSED_PAUSE: Duration = Duration::from_secs(1);
/// Most sites that are named.
const MOST_SITES: usize = 10;
/// What stands where a secret was.
const PLACEHOLDER: &str = "change-me";

/// The pauses of a user.
struct Pauses {
    mean: Duration,
    distribution: DelayDistribution,
    remark: String,
}

/// The file for what was recorded. `name` is the archive's, `unused` are entries of it that are no
/// requests.
pub(super) fn text(name: &str, recorded: &Recorded, unused: usize) -> String {
    let mut values = Values::new(recorded);
    let all: Vec<RequestKeys> = (0..recorded.operations.len())
        .map(|place| request::keys(recorded, place, &mut values))
        .collect();
    let mut out = String::new();
    for line in heading(name, recorded, unused) {
        remark(&mut out, &line);
    }
    out.push('\n');
    let pauses = pauses(recorded);
    remark(&mut out, &pauses.remark);
    let _ = writeln!(out, "think_time = {}", written(&plain_time(pauses.mean)));
    let _ = writeln!(
        out,
        "think_distribution = {}",
        written(pauses.distribution.name())
    );
    if accepts_gzip(recorded) {
        out.push_str("gzip = true\n");
    }
    script(&mut out, recorded);
    feeders(&mut out, recorded, &values);
    for (place, keys) in all.iter().enumerate() {
        operation(&mut out, recorded, place, keys, &values);
    }
    out
}

fn heading(name: &str, recorded: &Recorded, unused: usize) -> Vec<String> {
    let scheme = if recorded.site.https { "https" } else { "http" };
    let site = format!("{scheme}://{}", recorded.site.authority);
    let mut lines = vec![format!(
        "A first draft, from {name}: {} operations of {site}. Look at every line; then try it: \
         rookery workload check FILE --try {site}",
        recorded.operations.len()
    )];
    if recorded.site.https {
        lines.push(
            "The site spoke TLS: say whose certificate it must have by `ca`, or by --ca or --insecure."
                .to_owned(),
        );
    }
    let sites: Vec<String> = recorded
        .elsewhere
        .iter()
        .take(MOST_SITES)
        .map(|(site, count)| format!("{site} ({count})"))
        .collect();
    let further = recorded.elsewhere.len().saturating_sub(MOST_SITES);
    if !sites.is_empty() {
        let more = match further {
            0 => String::new(),
            further => format!(" and {further} further sites"),
        };
        lines.push(format!(
            "Left out, with their numbers of requests: {}{more}.",
            sites.join(", ")
        ));
    }
    let unused = unused + recorded.unused;
    if unused > 0 {
        lines.push(format!(
            "{unused} further entries are no operations: without an answer, of scripts alone, or \
             with addresses that are too long."
        ));
    }
    if recorded.too_many > 0 {
        lines.push(format!(
            "{} further operations or steps have no room in a workload file.",
            recorded.too_many
        ));
    }
    lines.push(
        "No checks are guessed but statuses: add `contains`, `json` or `matches`.".to_owned(),
    );
    lines
}

/// Appends a comment.
fn remark(out: &mut String, text: &str) {
    for line in hanging("", &plain(text), WIDTH) {
        let _ = writeln!(out, "# {line}");
    }
}

/// A text that may stand in a comment.
fn plain(text: &str) -> String {
    let shown = |c: char| match c {
        c if c.is_control() || rookery_diagnosis::commands(c) => '?',
        c => c,
    };
    text.chars().map(shown).collect()
}

/// Median and distribution of the pauses that a user made.
fn pauses(recorded: &Recorded) -> Pauses {
    let all = recorded
        .operations
        .iter()
        .flat_map(|operation| &operation.pauses);
    let mut all: Vec<f64> = all
        .copied()
        .filter(|pause| *pause >= SHORTEST_PAUSE)
        .map(|pause| pause.min(LONGEST_PAUSE))
        .collect();
    all.sort_by(f64::total_cmp);
    let (Some(shortest), Some(longest)) = (all.first(), all.last()) else {
        return Pauses {
            mean: GUESSED_PAUSE,
            distribution: DelayDistribution::Constant,
            remark: "Pauses are guessed: the archive has none of half a second or more.".to_owned(),
        };
    };
    let count = all.len() as f64;
    let mean = all.iter().sum::<f64>() / count;
    let variance = all.iter().map(|pause| (pause - mean).powi(2)).sum::<f64>() / count;
    let distribution = match variance.sqrt() / mean {
        _ if all.len() < 3 => DelayDistribution::Constant,
        scatter if scatter < 0.15 => DelayDistribution::Constant,
        scatter if scatter < 0.7 => DelayDistribution::Uniform,
        _ => DelayDistribution::TruncatedExponential,
    };
    Pauses {
        mean: rounded(all[all.len() / 2]),
        distribution,
        remark: format!(
            "The median of {} pauses from {} to {}; how they scatter is guessed from them.",
            all.len(),
            plain_time(rounded(*shortest)),
            plain_time(rounded(*longest))
        ),
    }
}

/// Milliseconds with two digits.
fn rounded(ms: f64) -> Duration {
    let unit = 10_f64.powf(ms.max(1.0).log10().floor() - 1.0).max(1.0);
    Duration::from_millis(truncate_u64((ms / unit).round() * unit))
}

fn accepts_gzip(recorded: &Recorded) -> bool {
    let headers = recorded
        .operations
        .iter()
        .flat_map(|operation| &operation.request.headers);
    let mut wanted = headers.filter(|(name, _)| name == "accept-encoding");
    wanted.any(|(_, value)| value.contains("gzip"))
}

fn script(out: &mut String, recorded: &Recorded) {
    let names = recorded.script.iter();
    let names: Vec<String> = names
        .map(|place| format!("{},", written(&recorded.operations[*place].name)))
        .collect();
    out.push_str(
        "# One session; for a mix give operations a `weight` or `next` instead.\nscript = [\n",
    );
    for line in hanging("    ", &names.join(" "), WIDTH) {
        let _ = writeln!(out, "{line}");
    }
    out.push_str("]\n");
}

/// Numbers that lie so close together are given as a range: of so many at least one was seen.
const SPARSEST: u64 = 10;

fn feeders(out: &mut String, recorded: &Recorded, values: &Values<'_>) {
    for seen in &values.seen {
        let operation = &recorded.operations[seen.operation];
        let values = operation.varied.iter().flat_map(|varied| &varied.values);
        let values: Vec<&str> = values.map(String::as_str).collect();
        out.push('\n');
        let range = range(&values);
        let what = match range {
            Some(_) => format!(
                "from the {} numbers that {} was seen with",
                values.len(),
                operation.name
            ),
            None => format!("that {} was seen with", operation.name),
        };
        remark(out, &format!("Values {what}: say here what the site has."));
        let _ = writeln!(out, "[[feeder]]\nname = {}", written(&seen.name));
        let _ = match range {
            Some((first, last)) => writeln!(out, "range = \"{first}..{last}\""),
            None => {
                let values: Vec<String> = values.into_iter().map(written).collect();
                writeln!(out, "values = [{}]", values.join(", "))
            }
        };
    }
    for feeder in &values.feeders {
        out.push('\n');
        remark(
            out,
            &format!(
                "A secret was removed here. Give values of your own, or `csv = \"FILE\"` with a column \
             for each: `{}`.",
                feeder.of.chars().take(40).collect::<String>()
            ),
        );
        let _ = writeln!(
            out,
            "[[feeder]]\nname = {}\nvalues = [{}]\nper = \"session\"",
            written(&feeder.name),
            written(PLACEHOLDER)
        );
    }
}

/// Smallest and largest of numbers that lie close together.
fn range(values: &[&str]) -> Option<(u64, u64)> {
    let number = |text: &&str| {
        let number: u64 = text.parse().ok()?;
        (number.to_string() == *text).then_some(number)
    };
    let numbers: Vec<u64> = values.iter().map(number).collect::<Option<_>>()?;
    let (first, last) = (*numbers.iter().min()?, *numbers.iter().max()?);
    let dense = (last - first) / SPARSEST < numbers.len() as u64;
    (dense && last < u64::MAX).then_some((first, last))
}

fn operation(
    out: &mut String,
    recorded: &Recorded,
    place: usize,
    keys: &RequestKeys,
    values: &Values<'_>,
) {
    let operation = &recorded.operations[place];
    out.push('\n');
    keys.remarks.iter().for_each(|text| remark(out, text));
    let _ = writeln!(out, "[[operation]]\nname = {}", written(&operation.name));
    lines(out, &keys.lines);
    answer(out, recorded, place);
    let quick = |pause: &f64| *pause < SHORTEST_PAUSE;
    if !operation.pauses.is_empty() && operation.pauses.iter().all(quick) {
        out.push_str("think_time = \"0s\" # the page goes on by itself\n");
    }
    objects(out, recorded, place, values);
    captures(out, place, values);
    for (table, of_table) in &keys.tables {
        let _ = writeln!(out, "[operation.{table}]");
        lines(out, of_table);
    }
}

fn lines(out: &mut String, lines: &[(String, String)]) {
    for (line, remark) in lines {
        match remark.as_str() {
            "" => {
                let _ = writeln!(out, "{line}");
            }
            remark => {
                let _ = writeln!(out, "{line} # {}", plain(remark));
            }
        }
    }
}

/// The status, where it is another than that of a success.
fn answer(out: &mut String, recorded: &Recorded, place: usize) {
    let answer = recorded.operations[place].answer();
    if answer.redirects() {
        let _ = writeln!(
            out,
            "follow = false # what it led to was not recorded, or is another site\nstatus = [{}]",
            answer.status
        );
    } else if !(200..300).contains(&answer.status) && answer.status != 304 {
        let _ = writeln!(out, "status = [{}] # as it was recorded", answer.status);
    }
}

fn objects(out: &mut String, recorded: &Recorded, place: usize, values: &Values<'_>) {
    let operation = &recorded.operations[place];
    let plain = |object: &&String| !values.holds_secret(object);
    let listed: Vec<String> = operation
        .objects
        .iter()
        .filter(plain)
        .map(|object| format!("    {},", written(&object.replace('$', "$$"))))
        .collect();
    let left = operation.more_objects + operation.objects.len() - listed.len();
    if left > 0 {
        remark(
            out,
            &format!(
                "{left} further objects are left out; `find_objects = true` loads what the page names."
            ),
        );
    }
    if !listed.is_empty() {
        let _ = writeln!(out, "objects = [\n{}\n]", listed.join("\n"));
    }
}

fn captures(out: &mut String, place: usize, values: &Values<'_>) {
    for (key, wanted) in [
        ("capture", 0),
        ("capture_json", 1),
        ("capture_header", 2),
        ("capture_cookie", 3),
    ] {
        let of_kind: Vec<(String, String)> = values.captures[place]
            .iter()
            .filter_map(|capture| {
                let (kind, text) = match &capture.source {
                    CaptureSource::Regex(text) => (0, text),
                    CaptureSource::Json(text) => (1, text),
                    CaptureSource::Header(text) => (2, text),
                    CaptureSource::Cookie(text) => (3, text),
                };
                let line = format!("{} = {}", written_key(&capture.name), written(text));
                (kind == wanted).then_some((line, "guessed".to_owned()))
            })
            .collect();
        if !of_kind.is_empty() {
            let _ = writeln!(out, "[operation.{key}]");
            lines(out, &of_kind);
        }
    }
}
