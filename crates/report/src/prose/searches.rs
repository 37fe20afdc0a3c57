//! What searches found, in words.

use rookery_analysis::{
    Analysis,
    searches::{SearchEnding, SearchRatio, SearchSummary},
};
use rookery_study::Over;

use super::format;

/// What its load counts, of one or of many: `user`, `users`.
fn unit(search: &SearchSummary, load: f64) -> &'static str {
    match (search.over, load == 1.0) {
        (Over::Users, true) => "user",
        (Over::Guests, true) => "guest",
        (over, _) => over.unit(),
    }
}

/// `560 users`.
pub(crate) fn loaded(search: &SearchSummary, load: f64) -> String {
    format!("{} {}", format::load(load), unit(search, load))
}

/// What is looked for by the searches of a run, which are all alike: `largest load`, `least
/// memory`.
pub(crate) fn sought(all: &[SearchSummary]) -> &'static str {
    all.first()
        .map_or(Over::Users, |search| search.over)
        .sought()
}

/// Whether the memory of guests is searched.
pub(crate) fn over_memory(all: &[SearchSummary]) -> bool {
    all.iter().any(|search| search.over == Over::Memory)
}

/// What carries the load: `One guest of 1 vCPU`, `2 guests of 0.5 vCPU, tuning=stock`; of a search
/// over guests `This host`; of one over memory with the load.
fn subject(search: &SearchSummary) -> String {
    let vcpus = format::trimmed(search.vcpus);
    let mut subject = match (search.over, search.guests) {
        (Over::Guests, _) => format!("This host, with guests of {vcpus} vCPU"),
        (_, 1) => format!("One guest of {vcpus} vCPU"),
        (_, guests) => format!("{guests} guests of {vcpus} vCPU"),
    };
    if let (Over::Memory, Some(load)) = (search.over, &search.load_of_each) {
        subject += &format!(" with a load of {load}");
    }
    for level in &search.levels {
        subject += &format!(", {}", level.words());
    }
    subject
}

/// The edge in words: `between 540 and 590 with 95 %`; `None` where nothing bounds it.
fn edge(search: &SearchSummary) -> Option<String> {
    match search.edge {
        (Some(low), Some(high)) => Some(format!(
            "between {} and {} with 95 %",
            format::load(low),
            format::load(high)
        )),
        (None, Some(high)) => Some(format!("below {} with 95 %", format::load(high))),
        (Some(low), None) => Some(format!("above {} with 95 %", format::load(low))),
        (None, None) => None,
    }
}

/// Why it ended; `None` where it simply found what it looked for.
fn ending(search: &SearchSummary) -> Option<String> {
    let probes = format::counted(search.probes, "trial");
    let memory = search.over == Over::Memory;
    match &search.ending {
        SearchEnding::Found => None,
        SearchEnding::BudgetSpent => Some(format!(
            "its budget of {probes} was spent before it was sure"
        )),
        SearchEnding::NothingPasses if memory => Some(format!(
            "even {}, the most that it may try, are too little",
            loaded(search, search.highest)
        )),
        SearchEnding::EverythingPasses if memory => Some(format!(
            "even {}, the least that it may try, are enough: search lower",
            loaded(search, search.lowest)
        )),
        SearchEnding::NothingPasses => Some(format!(
            "even {}, the fewest that it may try, break the limits",
            loaded(search, search.lowest)
        )),
        SearchEnding::EverythingPasses => Some(format!(
            "even {}, the most that it may try, are within the limits: search higher",
            loaded(search, search.highest)
        )),
        SearchEnding::Void { load, reason } => Some(format!(
            "it stopped at {}, where trials were void twice running: {}",
            loaded(search, *load),
            reason.trim_end_matches('.')
        )),
        SearchEnding::Interrupted if search.tried.is_empty() => Some("it has not begun".to_owned()),
        SearchEnding::Interrupted => Some("it is not at its end".to_owned()),
    }
}

/// The answer in one sentence: what carries how much, how sure that is, and what is missed first.
fn sentence(search: &SearchSummary) -> String {
    let (subject, ending) = (subject(search), ending(search));
    let Some(load) = search.load else {
        let what = match search.over {
            Over::Guests => "number of guests",
            Over::Memory => "amount of memory",
            Over::Users | Over::Rate => "load",
        };
        let why = ending.map_or_else(String::new, |ending| format!(": {ending}"));
        return match search.ending {
            SearchEnding::NothingPasses => format!(
                "{subject}: no {what} is within the limits{why}{}.",
                breaks(search)
            ),
            _ => format!("{subject}: no {what} is known to be within the limits{why}."),
        };
    };
    let one = search.guests == 1;
    let (verb, bound, within) = match (search.over, one) {
        (Over::Memory, true) => ("needs", "at most ", "to keep the limits"),
        (Over::Memory, false) => ("need", "at most ", "each to keep the limits"),
        (Over::Guests, _) | (_, true) => ("carries", "at least ", "within the limits"),
        (_, false) => ("carry", "at least ", "within the limits"),
    };
    let bound = match search.ending {
        SearchEnding::EverythingPasses => bound,
        _ => "",
    };
    let mut aside = vec![if search.confirmed {
        "confirmed".to_owned()
    } else {
        "not confirmed".to_owned()
    }];
    aside.extend(edge(search).map(|edge| format!("edge {edge}")));
    let ending = ending.map_or_else(String::new, |ending| format!(" The search: {ending}."));
    format!(
        "{subject} {verb} {bound}{} {within} ({}){}.{ending}",
        loaded(search, load),
        aside.join("; "),
        breaks(search)
    )
}

/// `; missed first: purchase p95 <= 250 ms`.
fn breaks(search: &SearchSummary) -> String {
    let rule = search.first_to_break.as_deref();
    rule.map_or_else(String::new, |rule| {
        format!("; missed first: {}", rule.trim_end_matches('.'))
    })
}

/// What may be said of a ratio: more, less, or that it cannot be told.
fn judgement(ratio: &SearchRatio) -> &'static str {
    match ratio.interval {
        None => "an edge is not known on both sides, so no difference can be told",
        Some((low, _)) if low > 1.0 => "more, with 95 % confidence",
        Some((_, high)) if high < 1.0 => "less, with 95 % confidence",
        Some(_) => "no difference can be told",
    }
}

/// The ratio and its interval in words: `108 % (edges 101 to 115 % with 95 %)`.
pub(crate) fn ratio(ratio: &SearchRatio) -> String {
    let interval = ratio.interval.map_or_else(String::new, |(low, high)| {
        format!(
            " (edges {:.0} to {:.0} % with 95 %)",
            100.0 * low,
            100.0 * high
        )
    });
    format!("{}{interval}", format::percent(ratio.ratio))
}

/// What load and edge are: a load may lie below the whole interval of its edge, and memory above
/// it.
pub(crate) fn load_and_edge(all: &[SearchSummary]) -> &'static str {
    if over_memory(all) {
        "With the least memory nearly all trials keep the limits. The edge, with which half of the \
         trials keep them, mostly lies a little lower."
    } else {
        "The largest load is one that nearly all trials keep. The edge, which half of the trials \
         keep, mostly lies a little higher."
    }
}

/// More sentences of a kind than this stand in the tables alone.
const MOST_SENTENCES: usize = 8;

/// The sentences that open the answer: what carries how much, what variants and splits change.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<String> {
    let all = &analysis.searches;
    let mut sentences = splits(analysis);
    sentences.extend(all.iter().take(MOST_SENTENCES).map(sentence));
    if all.len() > MOST_SENTENCES {
        let more = all.len() - MOST_SENTENCES;
        sentences.push(format!("The table has {more} more."));
    }
    let labels = |found: &SearchRatio| {
        [found.one, found.other].map(|id| {
            analysis
                .search(id)
                .map_or_else(String::new, |search| search.label.clone())
        })
    };
    let named = analysis.searches_against_baselines.iter();
    let across = named.chain(&analysis.searches_across_variants);
    sentences.extend(across.take(MOST_SENTENCES).map(|found| {
        let [one, other] = labels(found);
        format!(
            "{one} against {other}: {} of its {}: {}.",
            ratio(found),
            sought(all),
            judgement(found)
        )
    }));
    sentences
}

/// What the title of most studies asks, one sentence for each big guest that has splits of the same
/// capacity: whether it carries more than they do, and what each of them carries.
fn splits(analysis: &Analysis) -> Vec<String> {
    let ratios = &analysis.searches_against_one_big;
    let mut bigs: Vec<_> = ratios.iter().map(|found| found.other).collect();
    bigs.dedup();
    let of_big = |id| {
        let big = analysis.search(id)?;
        let own: Vec<&SearchRatio> = ratios.iter().filter(|found| found.other == id).collect();
        let each = own.iter().filter_map(|found| split(analysis, found));
        let each = each.collect::<Vec<_>>().join("; ");
        Some(format!(
            "{}: {} carries {} within the limits; of that {each}.",
            verdict(&own),
            big.label,
            loaded(big, big.load?)
        ))
    };
    bigs.into_iter()
        .filter_map(of_big)
        .take(MOST_SENTENCES)
        .collect()
}

/// Whether one big guest carries more than splits of the same capacity.
fn verdict(splits: &[&SearchRatio]) -> &'static str {
    let is_more = |found: &&SearchRatio| found.interval.is_some_and(|(low, _)| low > 1.0);
    let is_less = |found: &&SearchRatio| found.interval.is_some_and(|(_, high)| high < 1.0);
    let (more, less) = (splits.iter().any(is_more), splits.iter().any(is_less));
    match (more, less, splits.iter().all(is_less)) {
        (true, false, _) => "Small guests carry more than one big guest of the same capacity",
        (true, true, _) => "It depends on the split whether one big guest carries more",
        (false, _, true) => "One big guest carries more than small ones of the same capacity",
        (false, true, false) => {
            "No split of the same capacity carries more than one big guest, and some carry less"
        }
        (false, false, false) => {
            "No difference between one big guest and small ones of the same capacity can be told"
        }
    }
}

/// `4 x 2 vCPU 88.8 % (edges 79 to 94 % with 95 %): less, with 95 % confidence`.
fn split(analysis: &Analysis, found: &SearchRatio) -> Option<String> {
    let label = &analysis.search(found.one)?.label;
    Some(format!("{label} {}, {}", ratio(found), judgement(found)))
}

/// Caveats of searches: contradictions, and answers that nothing confirms.
pub(crate) fn caveats(all: &[SearchSummary]) -> Vec<String> {
    let mut caveats = Vec::new();
    let guesses: Vec<&str> = all
        .iter()
        .filter(|search| search.load.is_some() && !search.confirmed)
        .map(|search| search.label.as_str())
        .collect();
    if !guesses.is_empty() {
        caveats.push(format!(
            "Not confirmed: the {} of {}. It is the best guess of what most trials keep, not a \
             result.",
            sought(all),
            guesses.join("; ")
        ));
    }
    for search in all {
        let label = &search.label;
        if let Some((passed, failed)) = search.contradiction {
            caveats.push(format!(
                "{label}: a trial with {} met the limits although another with {} missed them: the \
                 edge is a range, not a line.",
                loaded(search, passed),
                format::load(failed)
            ));
        }
        match search.void_trials() {
            0 => {}
            count => caveats.push(format!(
                "{label}: nothing could be learned from {} of the search; its table gives the \
                 reasons.",
                format::counted(count, "trial")
            )),
        }
    }
    caveats
}
