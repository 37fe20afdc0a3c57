//! The searches of a study on a host: one for each combination of guests and vCPUs, with the range
//! that the host carries.

use std::borrow::Cow;

use rookery_cast::truncate_u32;

use super::{
    cpus::Division,
    points::{self, LEAST_MEMORY_MIB, Single},
};
use crate::{
    Amount, CpuSet, EvaluationError, GuestKind, HostFacts, Level, Over, Per, Point, Scaled, Search,
    SearchEnd, SearchUse, Variant, Vcpus,
    grammar::{Context, kinds::MOST_USERS},
    problem::Code,
    sections::MOST_GUESTS,
    vm_shape,
};

/// Users, or arrivals per second, of each vCPU that are tried at most, unless the study says more.
const MOST_PER_VCPU: f64 = 10_000.0;

/// Smallest rate of interest unless said, arrivals per second.
const LEAST_RATE: f64 = 0.1;

/// The key of what a search over memory searches.
const MEMORY: &str = "guest.memory";

/// What one search is about, before it has its range.
struct Subject<'a> {
    layout: &'a str,
    guests: u32,
    vcpus: Vcpus,
    /// Of a search over guests, or over their memory.
    load: Option<&'a Amount>,
}

/// Why an end of a search's range has no value.
#[derive(Debug, thiserror::Error)]
enum BadEnd {
    #[error("a number of guests stands alone")]
    NotAlone,
    #[error(transparent)]
    Value(#[from] EvaluationError),
}

/// All searches of a variant, without ids, and the point of each at its largest load; every problem
/// is told to the context.
pub(super) fn expand(
    variant: &Variant,
    division: &Division,
    host: &HostFacts,
    context: &mut Context,
) -> Vec<(Search, Option<Point>)> {
    let Some(search) = &variant.study.load.search else {
        return Vec::new();
    };
    let mut found: Vec<(Search, Option<Point>)> = Vec::new();
    for subject in subjects(variant, search.over, &division.guests) {
        let same = |(known, _): &&mut (Search, Option<Point>)| {
            known.vcpus == subject.vcpus
                && known.load.as_ref() == subject.load
                && (search.over == Over::Guests || known.guests == subject.guests)
        };
        if let Some((known, _)) = found.iter_mut().find(same) {
            if !known.layouts.iter().any(|layout| layout == subject.layout) {
                known.layouts.push(subject.layout.to_owned());
            }
            continue;
        }
        let search = one(variant, search, &subject, division, host, context);
        let largest = |search: &Search| {
            point(
                variant,
                search,
                search.highest,
                division,
                host,
                &mut Context::default(),
            )
        };
        found.extend(search.map(|search| {
            let point = largest(&search);
            (search, point)
        }));
    }
    found
}

fn subjects<'v>(variant: &'v Variant, over: Over, cpus: &CpuSet) -> Vec<Subject<'v>> {
    let study = &variant.study;
    let mut subjects = Vec::new();
    for layout in &study.layouts {
        for vcpus in points::sizes(study, layout, cpus).iter() {
            let subject = |guests: u32, load| Subject {
                layout: &layout.name,
                guests,
                vcpus: *vcpus,
                load,
            };
            match over {
                Over::Users | Over::Rate => {
                    subjects.extend(layout.guests.iter().map(|guests| subject(*guests, None)))
                }
                Over::Guests => subjects.extend(
                    study
                        .amounts_of(layout)
                        .iter()
                        .map(|amount| subject(1, Some(amount))),
                ),
                Over::Memory => {
                    for guests in &layout.guests {
                        let loads = study.amounts_of(layout).iter();
                        subjects.extend(loads.map(|amount| subject(*guests, Some(amount))));
                    }
                }
            }
        }
    }
    subjects
}

fn one(
    variant: &Variant,
    search: &SearchUse,
    subject: &Subject<'_>,
    division: &Division,
    host: &HostFacts,
    context: &mut Context,
) -> Option<Search> {
    let written = match search.over {
        Over::Memory => written_memory(variant, subject, division, host),
        Over::Users | Over::Rate | Over::Guests => 0,
    };
    let (lowest, highest) = range(search, subject, (variant, written), context)?;
    let mut planned = Search {
        id: 0,
        variant: variant.id,
        levels: match search.over {
            Over::Memory => without_memory(&variant.levels),
            Over::Users | Over::Rate | Over::Guests => variant.levels.clone(),
        },
        layouts: vec![subject.layout.to_owned()],
        over: search.over,
        guests: subject.guests,
        vcpus: subject.vcpus,
        load: subject.load.cloned(),
        lowest,
        highest,
        ladder: Vec::new(),
        hint: None,
        stuck: None,
    };
    if !division.sound {
        return Some(planned);
    }
    // The study's own problem: it names the key that must be changed.
    point(variant, &planned, lowest, division, host, context)?;
    let fits = |load: f64| {
        point(
            variant,
            &planned,
            load,
            division,
            host,
            &mut Context::default(),
        )
        .is_some()
    };
    if !fits(highest) {
        if search.to.is_some() {
            return point(variant, &planned, highest, division, host, context).and(None);
        }
        planned.highest = largest(lowest, highest, fits);
    }
    Some(planned)
}

/// The memory of each guest as the study has it, MiB: the most that is tried unless said. Nothing
/// where the study has none for such guests.
fn written_memory(
    variant: &Variant,
    subject: &Subject<'_>,
    division: &Division,
    host: &HostFacts,
) -> u64 {
    let asked = subject.load.map(|amount| Single {
        layout: subject.layout,
        guests: subject.guests,
        vcpus: subject.vcpus,
        amount,
    });
    let point = asked
        .and_then(|asked| points::single(variant, &asked, division, host, &mut Context::default()));
    point.map_or(0, |point| point.only_group().memory_mib)
}

/// The least memory that guests of a variant start with, MiB.
fn least_memory(variant: &Variant) -> u64 {
    match variant.study.guest.kind() {
        GuestKind::Vm => vm_shape::LEAST_MEMORY_MIB,
        _ => LEAST_MEMORY_MIB,
    }
}

/// The range that the study asks for; `written_mib` = the memory of each guest as it stands in the
/// study, where memory is searched.
fn range(
    search: &SearchUse,
    subject: &Subject<'_>,
    (variant, written_mib): (&Variant, u64),
    context: &mut Context,
) -> Option<(f64, f64)> {
    let whole = search.over != Over::Rate;
    let vcpus = f64::from(subject.guests) * subject.vcpus.cpus();
    let (least, most) = match search.over {
        Over::Users => (
            f64::from(subject.guests),
            (MOST_PER_VCPU * vcpus).clamp(f64::from(subject.guests), f64::from(MOST_USERS)),
        ),
        Over::Rate => (LEAST_RATE, MOST_PER_VCPU * vcpus),
        Over::Guests => (1.0, f64::from(MOST_GUESTS)),
        Over::Memory => (least_memory(variant) as f64, written_mib as f64),
    };
    let mut end = |asked: Option<&SearchEnd>, key: &str, otherwise: f64| -> Option<f64> {
        let amount = match asked {
            None => return Some(otherwise),
            Some(SearchEnd::Memory { memory_mib }) => return Some((*memory_mib as f64).max(least)),
            Some(SearchEnd::Load(amount)) => amount,
        };
        let load = match (search.over, amount) {
            (
                Over::Guests,
                Amount::Scaled(Scaled {
                    amount,
                    per: Per::Guest | Per::Host,
                }),
            ) => Ok(*amount),
            (Over::Guests, _) => Err(BadEnd::NotAlone),
            (over, amount) => {
                points::total(subject.guests, subject.vcpus, amount, over == Over::Rate)
                    .map_err(BadEnd::from)
            }
        };
        let place = context.spans.nearest(&format!("load.search.{key}"));
        match load {
            Ok(load) => Some(if whole { load.round() } else { load }.max(least)),
            Err(why) => {
                let message = format!("`load.search.{key}`: {why}");
                context.refuse(
                    Code::Malformed,
                    place,
                    message,
                    format!("write a plain number: `{key} = 4`"),
                )
            }
        }
    };
    let lowest = end(search.from.as_ref(), "from", least)?;
    let highest = end(search.to.as_ref(), "to", most.max(lowest))?;
    if highest <= lowest {
        let message = format!(
            "the search of {} x {} vCPU would go from {lowest} to {highest} {}",
            subject.guests,
            subject.vcpus,
            search.over.unit()
        );
        let help = "make `to` in [load.search] larger than `from`";
        return context.refuse(
            Code::Contradiction,
            context.spans.nearest("load.search"),
            message,
            help,
        );
    }
    Some((lowest, highest))
}

/// The largest whole load between one that fits and one that does not.
fn largest(fits: f64, not: f64, test: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (fits, not);
    while high - low > 1.0 {
        let middle = ((low + high) / 2.0).floor();
        if test(middle) {
            low = middle
        } else {
            high = middle
        }
    }
    low
}

/// The point at one load of a search, without an id.
pub(super) fn point(
    variant: &Variant,
    search: &Search,
    load: f64,
    division: &Division,
    host: &HostFacts,
    context: &mut Context,
) -> Option<Point> {
    let on_all = Amount::Scaled(Scaled {
        amount: load,
        per: Per::Host,
    });
    let (guests, amount) = match (&search.over, &search.load) {
        (Over::Guests, Some(each)) => (truncate_u32(load), each),
        (Over::Memory, Some(each)) => (search.guests, each),
        _ => (search.guests, &on_all),
    };
    let variant = match search.over {
        Over::Memory => Cow::Owned(with_memory(variant, load)),
        Over::Users | Over::Rate | Over::Guests => Cow::Borrowed(variant),
    };
    let asked = Single {
        layout: search.layouts.first().map_or("", String::as_str),
        guests,
        vcpus: search.vcpus,
        amount,
    };
    let point = points::single(&variant, &asked, division, host, context)?;
    Some(Point {
        layouts: search.layouts.clone(),
        search: Some(search.id),
        ..point
    })
}

/// A variant whose guests have so much memory each, MiB; it is one of its levels.
fn with_memory(variant: &Variant, mib: f64) -> Variant {
    let mut changed = variant.clone();
    let value = format!("{mib}MiB");
    match changed.levels.iter_mut().find(|level| level.key == MEMORY) {
        Some(level) => level.value = value,
        None => changed.levels.push(Level {
            key: MEMORY.to_owned(),
            value,
        }),
    }
    changed.study.guest.memory = Amount::Scaled(Scaled {
        amount: mib,
        per: Per::Guest,
    });
    changed
}

/// The levels beside memory.
fn without_memory(levels: &[Level]) -> Vec<Level> {
    let others = levels.iter().filter(|level| level.key != MEMORY);
    others.cloned().collect()
}

/// Brings the searches of all variants together by what they are about, and gives them ids and
/// ladders.
pub(super) fn combine(expanded: Vec<Vec<Search>>, points: &[Point]) -> Vec<Search> {
    let mut groups: Vec<Vec<Search>> = Vec::new();
    for search in expanded.into_iter().flatten() {
        if widened(&mut groups, &search) {
            continue;
        }
        let same = |group: &&mut Vec<Search>| {
            group.first().is_some_and(|first| {
                first.guests == search.guests
                    && first.vcpus == search.vcpus
                    && first.load == search.load
            })
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(search),
            None => groups.push(vec![search]),
        }
    }
    let mut searches: Vec<Search> = groups.into_iter().flatten().collect();
    for (id, search) in (1..).zip(&mut searches) {
        search.id = id;
        search.ladder = points
            .iter()
            .filter(|point| on_ladder(search, point))
            .map(|point| point.id)
            .collect();
    }
    searches
}

/// Whether one of the searches is the same but for the memory of its variant, which is searched: it
/// then has the range of both.
fn widened(groups: &mut [Vec<Search>], search: &Search) -> bool {
    let about = |search: &Search| {
        let levels = search.levels.clone();
        (levels, search.guests, search.vcpus, search.load.clone())
    };
    let same = |known: &&mut Search| about(known) == about(search);
    let mut known = groups.iter_mut().flatten();
    let Some(known) = known.find(same).filter(|_| search.over == Over::Memory) else {
        return false;
    };
    known.lowest = known.lowest.min(search.lowest);
    known.highest = known.highest.max(search.highest);
    for layout in &search.layouts {
        if !known.layouts.contains(layout) {
            known.layouts.push(layout.clone());
        }
    }
    true
}

fn on_ladder(search: &Search, point: &Point) -> bool {
    let (comparable, guests) = match search.over {
        Over::Memory => (
            without_memory(&point.levels) == search.levels,
            point.guests() == search.guests,
        ),
        Over::Users | Over::Rate => (
            point.variant == search.variant,
            point.guests() == search.guests,
        ),
        Over::Guests => (point.variant == search.variant, true),
    };
    if !comparable || !guests || point.only_group().vcpus != search.vcpus {
        return false;
    }
    match &search.load {
        None => true,
        Some(amount) => {
            let rate = point.rate_per_s().is_some();
            points::total(point.guests(), point.only_group().vcpus, amount, rate)
                .is_ok_and(|total| (total - point.load()).abs() < 0.5)
        }
    }
}
