//! One big guest against splits of the same capacity at the same load: what the title of most
//! studies asks. Where loads were searched, [`searches`](super::searches) says it better.

use rookery_analysis::points::PointSummary;
use rookery_stats::Ratio;

use super::{MOST_SENTENCES, format};

/// One sentence for each big guest, the largest loads first; and how many are not compared.
pub(crate) fn sentences(points: &[PointSummary]) -> Vec<String> {
    let mut bigs: Vec<&PointSummary> = points
        .iter()
        .filter(|big| points.iter().any(|point| is_split_of(point, big)))
        .collect();
    bigs.sort_by(|a, b| b.point.load().total_cmp(&a.point.load()));
    let mut sentences: Vec<String> = bigs.iter().filter_map(|big| of_big(points, big)).collect();
    if sentences.len() > MOST_SENTENCES {
        let more = sentences.len() - MOST_SENTENCES;
        sentences.truncate(MOST_SENTENCES);
        sentences.push(format!("The table compares {more} more."));
    }
    let beyond = bigs
        .iter()
        .flat_map(|big| {
            points
                .iter()
                .filter(|point| is_split_of(point, big))
                .map(move |point| (point, big))
        })
        .filter(|(point, big)| !(kept(point) && kept(big)))
        .count();
    if beyond > 0 {
        sentences.push(format!(
            "{} of guests of the same capacity missed the limits on a side, so nothing is said of \
             {}.",
            format::counted(beyond, "comparison"),
            if beyond == 1 { "it" } else { "them" }
        ));
    }
    sentences
}

fn is_split_of(point: &PointSummary, big: &PointSummary) -> bool {
    point.efficiency.is_some()
        && point.point.baseline == Some(big.point.id)
        && point.point.id != big.point.id
}

/// A load beyond the limits is none that anybody would put on.
fn kept(point: &PointSummary) -> bool {
    point.limits.failed == 0
}

fn of_big(points: &[PointSummary], big: &PointSummary) -> Option<String> {
    let splits: Vec<(&PointSummary, Ratio)> = points
        .iter()
        .filter(|point| is_split_of(point, big) && kept(point) && kept(big))
        .filter_map(|point| Some((point, point.efficiency?)))
        .collect();
    if splits.is_empty() {
        return None;
    }
    let mut shown: Vec<&(&PointSummary, Ratio)> = splits.iter().collect();
    let mut more = String::new();
    if shown.len() > MOST_SENTENCES {
        shown.sort_by(|a, b| a.1.value.total_cmp(&b.1.value));
        shown = vec![shown[0], shown[shown.len() - 1]];
        more = format!(" These are the lowest and the highest of {}.", splits.len());
    }
    let each: Vec<String> = shown
        .iter()
        .map(|(point, ratio)| {
            format!(
                "{} {}, {}",
                point.point.label,
                format::ratio(ratio),
                judgement(ratio)
            )
        })
        .collect();
    let ratios: Vec<Ratio> = splits.iter().map(|(_, ratio)| *ratio).collect();
    let throughput = format::or_none(big.per_minute.as_ref(), format::mean);
    let kept_up = big.kept_up() && splits.iter().all(|(point, _)| point.kept_up());
    let hint = if kept_up {
        " All of them kept up with that load, so this says nothing of how much more they carry."
    } else {
        ""
    };
    Some(format!(
        "{}: {} did {throughput} {}; of that {}.{more}{hint}",
        verdict(&ratios),
        big.point.label,
        big.rate,
        each.join("; ")
    ))
}

fn judgement(ratio: &Ratio) -> &'static str {
    match ratio.interval {
        None => "too few repeats to say",
        Some((_, high)) if high < 1.0 => "less, with 95 % confidence",
        Some((low, _)) if low > 1.0 => "more, with 95 % confidence",
        Some(_) => "no difference can be told",
    }
}

fn verdict(ratios: &[Ratio]) -> &'static str {
    let less = |ratio: &Ratio| ratio.interval.is_some_and(|(_, high)| high < 1.0);
    let more = |ratio: &Ratio| ratio.interval.is_some_and(|(low, _)| low > 1.0);
    let told = ratios.iter().any(|ratio| ratio.interval.is_some());
    match (
        ratios.iter().any(more),
        ratios.iter().any(less),
        ratios.iter().all(less),
    ) {
        (true, true, _) => "Whether one big guest does more depends on the split",
        (true, false, _) => "Small guests did more than one big guest of the same capacity",
        (false, _, true) => "One big guest did more than small ones of the same capacity",
        (false, true, false) => {
            "No split did more than one big guest of the same capacity, and some did less"
        }
        (false, false, _) if told => {
            "No difference between one big guest and small ones of the same capacity can be told"
        }
        (false, false, _) => {
            "Too few repeats to tell one big guest from small ones of the same capacity"
        }
    }
}
