//! What only banking, e-commerce and support have: the per-page table, the criteria of a passing
//! window, and the index where all three ran.

mod pages;

use std::collections::BTreeMap;

use rookery_analysis::Run;
use rookery_workload::{
    Counters,
    web2005::{Model, Profile, Web2005Counters, web_index},
};

use super::{
    Brief, Part, Section,
    windows::{PointWindow, WindowCounters, windows},
};
use crate::{
    prose::{format, loop_type::loop_type},
    tables::{Table, table},
};

/// How the section is to be read.
const CAPTION: &str = "Windows of all guests and all good trials of a point together. A page is \
                       its dynamic request and its embedded files. A window passes where all \
                       criteria are met. These are figures of workloads that are modelled on a \
                       published benchmark; they are no results of it.";

/// More rows than this are closed at first.
const FOLDED: usize = 40;

const WINDOWS: [&str; 14] = [
    "point",
    "sessions",
    "pages/s",
    "good",
    "tolerable or better",
    "failed",
    "validation errors",
    "mean page",
    "bytes per page",
    "ABR, bytes/s",
    "304",
    "offered",
    "connections",
    "window",
];

const CRITERIA: [&str; 4] = ["point", "criterion", "met", "found"];

const INDEX: [&str; 5] = [
    "what ran",
    "banking sessions",
    "e-commerce sessions",
    "support sessions",
    "web-index",
];

const BROWSERS: [&str; 7] = [
    "point",
    "begin with a cache",
    "files from the cache",
    "content per page",
    "mean first byte",
    "late first bytes",
    "TLS sessions resumed",
];

impl WindowCounters for Web2005Counters {
    fn of_guest(counters: &Counters) -> Option<&Self> {
        Self::from_counters(counters)
    }

    fn add_guest(&mut self, other: &Self) {
        self.merge(other);
    }

    fn add_window(&mut self, other: &Self) {
        let window_s = self.window_s + other.window_s;
        let users = self.users.max(other.users);
        self.merge(other);
        (self.window_s, self.users) = (window_s, users);
    }
}

type WebWindow<'r> = PointWindow<'r, Web2005Counters>;

/// Every single window met all criteria.
fn passes(window: &WebWindow<'_>) -> bool {
    window
        .single()
        .all(|counters| counters.criteria().iter().all(|criterion| criterion.met))
}

/// The section of a run; `None` where no trial ended well.
pub(super) fn section(run: &Run) -> Option<Section> {
    let windows: Vec<WebWindow<'_>> = windows(run);
    if windows.is_empty() {
        return None;
    }
    let part = |heading, caption, fold_beyond, rows, table| Part {
        heading,
        caption,
        fold_beyond,
        rows,
        table,
    };
    let parts = [
        part("", "", usize::MAX, "points", figures(&windows)),
        part(
            "Browsers of today",
            "Profile `modern`: what users had in their caches they did not ask for. Content is what \
             pages and files are after decompression. A first byte is late after 500 ms.",
            usize::MAX,
            "points",
            browsers(&windows),
        ),
        part(
            "Pages by type",
            "Columns as in the published results: requests include those with a validation error; \
             the byte rate of a row is its bytes by the time of all page types, so that rows add \
             up to the total. Published bytes are the mean of the published result.",
            FOLDED,
            "page types",
            pages::table_of(&windows),
        ),
        part(
            "Criteria of a passing window",
            "Judged over all windows of a point together.",
            FOLDED,
            "criteria",
            criteria(&windows),
        ),
        part(
            "Index",
            "The geometric mean of the three numbers of sessions as shares of 120, 114 and 162, \
             times 100. Only sessions of passing windows of the profile `classic2005` count.",
            usize::MAX,
            "rows",
            index(&windows),
        ),
    ];
    Some(Section {
        id: "web2005",
        name: "Pages",
        title: "Pages, bands and criteria",
        caption: format!("{}. {CAPTION}", loop_type(run)),
        parts: parts
            .into_iter()
            .filter(|part| !part.table.rows.is_empty())
            .collect(),
    })
}

/// What stands on a terminal.
pub(super) fn brief(run: &Run) -> Brief {
    let windows: Vec<WebWindow<'_>> = windows(run);
    if windows.is_empty() {
        return Brief::default();
    }
    let unmet: Vec<String> = windows
        .iter()
        .filter(|window| !passes(window))
        .map(|window| window.point.label())
        .collect();
    let remark = match &unmet[..] {
        [] => "Every window met all criteria.".to_owned(),
        points => format!(
            "Windows that did not meet all criteria: {}.",
            points.join(", ")
        ),
    };
    let tables = [
        figures(&windows),
        browsers(&windows),
        pages::brief_table(&windows),
        index(&windows),
    ];
    Brief {
        tables: tables
            .into_iter()
            .filter(|table| !table.rows.is_empty())
            .collect(),
        remarks: vec![remark],
    }
}

fn figures(windows: &[WebWindow<'_>]) -> Table {
    let row = |window: &WebWindow<'_>| {
        let counters = &window.counters;
        let total = counters.table().total;
        let [good, tolerable, fail] = match total.percentages() {
            Some(shares) => shares.map(|percent| format!("{percent:.1} %")),
            None => [(); 3].map(|()| format::NONE.to_owned()),
        };
        let pages = total.requests.saturating_sub(total.invalid) as f64;
        let per_second = (counters.window_s > 0.0).then(|| pages / counters.window_s);
        let scheme = match (counters.encrypted, counters.mixed) {
            (true, true) => "TLS from the cart on",
            (true, false) => "TLS",
            (false, _) => "plain HTTP",
        };
        vec![
            window.point.label(),
            counters.users.to_string(),
            format::or_none(per_second, format::number),
            good,
            tolerable,
            fail,
            total.invalid.to_string(),
            format::or_none(total.mean_response_s, |mean| {
                format!("{:.0} ms", 1e3 * mean)
            }),
            format::or_none(total.mean_bytes, |mean| format!("{mean:.0}")),
            format::or_none(total.weighted_abr, |rate| format!("{rate:.1}")),
            format::or_none(total.not_modified, format::percent),
            format::or_none(counters.offered(), format::percent),
            scheme.to_owned(),
            if passes(window) {
                "passes"
            } else {
                "does not pass"
            }
            .to_owned(),
        ]
    };
    table(&WINDOWS, windows.iter().map(row).collect())
}

/// What only browsers of today do; no row of others.
fn browsers(windows: &[WebWindow<'_>]) -> Table {
    let row = |window: &WebWindow<'_>| {
        let counters = &window.counters;
        let browser = counters.profile.modern()?;
        let total = counters.total();
        let right = total.right();
        let mean = |sum: u64| (right > 0).then(|| sum as f64 / right as f64);
        let share = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
        let handshakes = counters.tls_handshakes + counters.tls_resumed;
        Some(vec![
            window.point.label(),
            format!("{} %", browser.returning_percent),
            format::or_none(
                share(total.fresh, total.fresh + total.objects),
                format::percent,
            ),
            format::or_none(mean(total.body_bytes), |bytes| format!("{bytes:.0} bytes")),
            format::or_none(mean(total.first_byte_us), |us| {
                format!("{:.1} ms", us / 1e3)
            }),
            format::or_none(share(total.late_first_bytes, right), format::percent),
            format::or_none(share(counters.tls_resumed, handshakes), format::percent),
        ])
    };
    table(&BROWSERS, windows.iter().filter_map(row).collect())
}

fn criteria(windows: &[WebWindow<'_>]) -> Table {
    let rows = windows.iter().flat_map(|window| {
        let label = window.point.label();
        window
            .counters
            .criteria()
            .into_iter()
            .map(move |criterion| {
                let met = if criterion.met { "yes" } else { "no" };
                vec![
                    label.clone(),
                    criterion.name.to_owned(),
                    met.to_owned(),
                    criterion.found,
                ]
            })
    });
    table(&CRITERIA, rows.collect())
}

/// The index of the largest passing numbers of sessions of each workload; no row where not all
/// three passed somewhere.
fn index(windows: &[WebWindow<'_>]) -> Table {
    let mut largest: BTreeMap<Model, u64> = BTreeMap::new();
    let classic = |window: &&WebWindow<'_>| window.counters.profile == Profile::Classic2005;
    for window in windows
        .iter()
        .filter(classic)
        .filter(|window| passes(window))
    {
        let sessions = largest.entry(window.counters.model).or_default();
        *sessions = (*sessions).max(window.counters.users);
    }
    let sessions = Model::ALL.map(|model| largest.get(&model).copied());
    let rows = match sessions {
        [Some(banking), Some(ecommerce), Some(support)] => {
            let sessions = [banking, ecommerce, support];
            let small = sessions.map(|count| u32::try_from(count).unwrap_or(u32::MAX));
            let mut row = vec!["the largest passing windows".to_owned()];
            row.extend(sessions.map(|count| count.to_string()));
            row.push(web_index(small).to_string());
            vec![row]
        }
        _ => Vec::new(),
    };
    table(&INDEX, rows)
}

#[cfg(test)]
mod tests;
