//! Whether a window passes: the rules of the original's runs, and ours where nothing public says
//! more.

use super::{
    Chain, FIRST_BYTE_US, ModernBrowser, PageCount, PageRow, Web2005Counters,
    rules::{Rules, Scope},
};

/// Relative deviation that the share of a page type may have from that of the chain.
const MIX_TOLERANCE: f64 = 0.05;
/// Standard errors that it may have where those are wider.
const MIX_ERRORS: f64 = 4.0;
/// Least share of the pages that so many sessions ask for, 0 to 1.
const LEAST_OFFERED: f64 = 0.98;

impl Web2005Counters {
    /// Whether the window passes, criterion by criterion.
    #[must_use]
    pub fn criteria(&self) -> Vec<Criterion> {
        judged(self)
    }
}

/// One criterion, and whether a window keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct Criterion {
    /// Its name in a table.
    pub name: &'static str,
    /// It is kept.
    pub met: bool,
    /// What was found, as a sentence without its last stop.
    pub found: String,
}

/// Every criterion of a window. What a driver must keep for itself is judged for all workloads
/// alike, and is not among them.
fn judged(counters: &Web2005Counters) -> Vec<Criterion> {
    let table = counters.table();
    let rules = &counters.rules;
    [
        bands(&table.total, &table.rows, rules),
        validation(&table.total, rules),
        requests(&table.rows, rules),
        mix(counters, &table.rows),
        offered(counters),
    ]
    .into_iter()
    .chain(first_byte(counters, &table.rows))
    .collect()
}

/// First bytes of page types, where the profile limits them.
fn first_byte(counters: &Web2005Counters, rows: &[PageRow]) -> Option<Criterion> {
    counters.profile.modern()?;
    let late = |page: &PageCount| {
        let right = page.right();
        (right > 0).then(|| 100.0 * page.late_first_bytes as f64 / right as f64)
    };
    let shares = counters.pages.iter().map(late);
    let worst = rows
        .iter()
        .zip(shares)
        .filter_map(|(row, share)| Some((row.name, share?)))
        .max_by(|one, other| one.1.total_cmp(&other.1));
    let most = ModernBrowser::LATE_PERCENT;
    let limit_ms = FIRST_BYTE_US / 1_000;
    let found = match worst {
        Some((name, share)) => format!(
            "{share:.1} % of the worst page type, {name}, came after more than {limit_ms} ms (at \
             most {most} %)"
        ),
        None => "no page was answered".to_owned(),
    };
    Some(Criterion {
        name: "first bytes",
        met: worst.is_some_and(|(_, share)| share <= most),
        found,
    })
}

fn bands(total: &PageRow, rows: &[PageRow], rules: &Rules) -> Criterion {
    let broken: Vec<&str> = rows
        .iter()
        .filter(|row| row.requests > 0 && !rules.keeps_bands(row))
        .map(|row| row.name)
        .collect();
    let by_page = match &broken[..] {
        [] => "every page type by itself keeps this".to_owned(),
        names => format!("page types that by themselves do not: {}", names.join(", ")),
    };
    let found = match total.percentages() {
        Some([good, tolerable, _]) => format!(
            "{good:.1} % are good (at least {} %), {tolerable:.1} % tolerable or better (at least \
             {} %); {by_page}",
            rules.good_pct, rules.tolerable_pct
        ),
        None => "no page was asked for".to_owned(),
    };
    Criterion {
        name: "response times",
        met: rules.keeps_bands(total) && (rules.scope == Scope::Aggregate || broken.is_empty()),
        found,
    }
}

fn validation(total: &PageRow, rules: &Rules) -> Criterion {
    let share = 100.0 * total.invalid as f64 / total.requests.max(1) as f64;
    Criterion {
        name: "validation errors",
        met: total.requests > 0 && share <= rules.validation_error_pct,
        found: format!(
            "{} of {} requests, {share:.3} % (at most {} %)",
            total.invalid, total.requests, rules.validation_error_pct
        ),
    }
}

fn requests(rows: &[PageRow], rules: &Rules) -> Criterion {
    let rarest = rows.iter().min_by_key(|row| row.requests);
    let (name, fewest) = rarest.map_or(("", 0), |row| (row.name, row.requests));
    Criterion {
        name: "requests of every page type",
        met: fewest >= rules.min_requests,
        found: format!(
            "the rarest page type, {name}, has {fewest} (at least {})",
            rules.min_requests
        ),
    }
}

/// Shares of page types against those of the chain.
fn mix(counters: &Web2005Counters, rows: &[PageRow]) -> Criterion {
    let chain = Chain::new(counters.model);
    let all: u64 = rows.iter().map(|row| row.requests).sum();
    let mut worst: Option<(&str, f64)> = None;
    let mut met = all > 0;
    for (place, row) in rows.iter().enumerate() {
        let expected = chain.share(place);
        let found = row.requests as f64 / all.max(1) as f64;
        let error = (expected * (1.0 - expected) / all.max(1) as f64).sqrt();
        let off = (found - expected).abs();
        met &= off <= (MIX_TOLERANCE * expected).max(MIX_ERRORS * error);
        let relative = off / expected;
        if worst.is_none_or(|(_, worst)| relative > worst) {
            worst = Some((row.name, relative));
        }
    }
    let (name, relative) = worst.unwrap_or_default();
    Criterion {
        name: "mix of pages",
        met,
        found: format!(
            "the share of {name} is {:.1} % off that of the chain (at most 5 % or four standard \
             errors)",
            100.0 * relative
        ),
    }
}

fn offered(counters: &Web2005Counters) -> Criterion {
    let offered = counters.offered();
    Criterion {
        name: "offered load",
        met: offered.is_some_and(|offered| offered >= LEAST_OFFERED),
        found: match offered {
            Some(offered) => format!(
                "{:.1} % of the pages that so many sessions ask for at this response time (at \
                 least 98 %)",
                100.0 * offered
            ),
            None => "not known: no page was answered".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web2005::{Model, PageCount};

    /// A window of 1000 s in which everything is as it should be.
    fn healthy(model: Model) -> Web2005Counters {
        let chain = Chain::new(model);
        let mut counters = Web2005Counters::new(model);
        counters.window_s = 1_000.0;
        counters.think_s = model.think_s().0;
        let pages = 100_000.0;
        for (place, count) in counters.pages.iter_mut().enumerate() {
            let requests = (pages * chain.share(place)).round() as u64;
            *count = PageCount {
                requests,
                good: requests,
                response_us: requests * 500_000,
                bytes: requests * 30_000,
                ..PageCount::default()
            };
        }
        let cycle_s = chain.think_share * counters.think_s + 0.5;
        counters.users = (pages / 1_000.0 * cycle_s).round() as u64;
        counters
    }

    fn broken(counters: &Web2005Counters) -> Vec<&'static str> {
        let all = judged(counters).into_iter();
        all.filter(|one| !one.met).map(|one| one.name).collect()
    }

    #[test]
    fn a_window_as_it_should_be_passes() {
        for model in Model::ALL {
            assert_eq!(broken(&healthy(model)), Vec::<&str>::new(), "{model:?}");
        }
    }

    #[test]
    fn every_violation_breaks_its_own_criterion() {
        let change = |change: fn(&mut Web2005Counters)| {
            let mut counters = healthy(Model::Banking);
            change(&mut counters);
            broken(&counters)
        };
        // Six of a hundred logins of a fifth of all pages are late: the aggregate keeps.
        let late = |counters: &mut Web2005Counters| {
            let late = counters.pages[0].requests * 6 / 100;
            counters.pages[0].good -= late;
            counters.pages[0].tolerable += late;
        };
        assert_eq!(change(late), Vec::<&str>::new());
        let mut by_page = healthy(Model::Banking);
        by_page.rules.scope = Scope::Page;
        late(&mut by_page);
        assert_eq!(broken(&by_page), ["response times"]);
        assert!(judged(&by_page)[0].found.ends_with("do not: login"));
        assert_eq!(
            change(|counters| {
                let invalid = counters.pages[1].requests / 20;
                counters.pages[1].good -= invalid;
                counters.pages[1].invalid = invalid;
            }),
            ["validation errors"]
        );
        assert_eq!(
            change(|counters| counters.rules.min_requests = 1_000_000),
            ["requests of every page type"]
        );
        assert_eq!(
            change(|counters| {
                counters.pages[8].requests *= 2;
                counters.pages[8].good *= 2;
            }),
            ["mix of pages"]
        );
        assert_eq!(
            change(|counters| counters.users = counters.users * 103 / 100),
            ["offered load"]
        );
    }

    #[test]
    fn without_a_page_nothing_is_kept() {
        let counters = Web2005Counters::new(Model::Support);
        assert_eq!(broken(&counters).len(), 5);
    }
}
