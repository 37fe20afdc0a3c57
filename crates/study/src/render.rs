//! The plan as plain text, for the terminal.

mod network;
mod storage;
mod wish;

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use rookery_cast::truncate_u64;
use rookery_text::{Table, wrapped};

use crate::{
    Callers, CpuTime, DatabaseUse, Design, Factor, GuestGroup, GuestKind, LampUse, Level, Load,
    Order, Plan, Point, SettingValue, Study, Swap, Trial, Variant, grammar::kinds::cpu_list,
    names::Named as _, plan::thousandth, source::printable, time_text::plain_time,
};

/// Points, trials in their order, cost and notes of a plan, in lines of `width`, without colours.
#[must_use]
pub fn render_plan(plan: &Plan, study: &Study, width: usize) -> String {
    let mut out = String::new();
    write_head(&mut out, plan, study);
    out.push('\n');
    if !plan.factors.is_empty() {
        write_factors(&mut out, plan, width);
        out.push('\n');
    }
    if !plan.points.is_empty() {
        write_points(&mut out, &plan.points, study, width);
        out.push('\n');
        write_groups(&mut out, plan, width);
        write_trials(&mut out, plan, study);
        out.push('\n');
    }
    if !plan.searches.is_empty() {
        write_searches(&mut out, plan, study);
        out.push('\n');
    }
    write_cost(&mut out, plan);
    if !plan.notes.is_empty() {
        out.push_str("\nNotes\n");
        for note in &plan.notes {
            let _ = writeln!(out, "  - {note}");
        }
    }
    wrapped(&out, width)
}

fn write_head(out: &mut String, plan: &Plan, study: &Study) {
    let (load, workload) = (&study.load, &study.workload);
    let _ = writeln!(out, "{}", printable(&study.title, 200));
    let subjects = subjects(plan);
    let studies = plan.variants.iter().flat_map(Variant::studies);
    let workloads = distinct(studies.map(|study| study.workload.kind().name()));
    let grouped = plan.points.iter().any(Point::has_groups);
    // Where guests differ in what they run, no pace and no setting is that of all.
    if workloads.len() > 1 || (grouped && subjects.len() > 1) {
        let _ = writeln!(out, "  {}; seed {}", subjects.join("; "), study.seed);
        write_phases(out, load, None);
    } else {
        let _ = writeln!(out, "  {}, seed {}", subjects.join("; "), study.seed);
        write_phases(out, load, Some(&workload.keys().pace()));
        write_setup(out, plan, study);
    }
    let guests = cpu_list(&plan.guest_cpus);
    let driver = match plan.driver_cpus.as_slice() {
        [] => "elsewhere".to_owned(),
        cpus => format!("on CPU {}", cpu_list(cpus)),
    };
    let _ = writeln!(
        out,
        "  driver {driver}; guests on CPU {guests}, pinned: {}",
        study.guest.pin.name()
    );
    if study.guest.cpu != CpuTime::default() || study.host.overcommit > 1.0 {
        let _ = writeln!(
            out,
            "  guests are {}; up to {} vCPUs on a CPU",
            study.guest.cpu, study.host.overcommit
        );
    }
    if let Some(weights) = weights(plan) {
        let _ = writeln!(out, "  CPU weights of guests: {weights}");
    }
    if let Some(swaps) = swaps(plan) {
        let _ = writeln!(
            out,
            "  memory of guests that does not fit is swapped to: {swaps}"
        );
    }
}

/// The weights that guests have beside each other; nothing where no study asks for one.
fn weights(plan: &Plan) -> Option<String> {
    let studies = || plan.variants.iter().flat_map(Variant::studies);
    let asked = studies().any(|study| study.guest.cpu_weight.is_some());
    let weight = |study: &Study| {
        let weight = study.guest.cpu_weight;
        weight.map_or_else(|| "none".to_owned(), |weight| weight.to_string())
    };
    asked.then(|| distinct(studies().map(weight)).join(", "))
}

/// Where memory goes that does not fit; nothing where no study asks for it.
fn swaps(plan: &Plan) -> Option<String> {
    let studies = || plan.variants.iter().flat_map(Variant::studies);
    let asked = studies().any(|study| study.guest.swap != Swap::None);
    asked.then(|| distinct(studies().map(|study| study.guest.swap.to_string())).join(", "))
}

/// What a plan runs: each workload with its stack once, with the kinds of guests.
fn subjects(plan: &Plan) -> Vec<String> {
    let studies = || plan.variants.iter().flat_map(Variant::studies);
    let pair = |study: &Study| (study.workload.kind().name(), study.stack.kind().name());
    distinct(studies().map(pair))
        .into_iter()
        .map(|(workload, stack)| {
            let same = studies().filter(|study| pair(study) == (workload, stack));
            let kinds = distinct(same.map(|study| plural_kind(study.guest.kind())));
            format!("{workload} on the {stack} stack in {}", kinds.join(", "))
        })
        .collect()
}

fn plural_kind(kind: GuestKind) -> &'static str {
    match kind {
        GuestKind::Bare => "bare guests",
        GuestKind::Container => "containers",
        GuestKind::Vm => "machines",
        GuestKind::Fake => "fake guests",
        GuestKind::External => "a system that runs already",
    }
}

/// Each once, in the order of their first.
fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for one in all {
        if !seen.contains(&one) {
            seen.push(one);
        }
    }
    seen
}

/// The load's model and phases; without a pace, which each group has of its own.
fn write_phases(out: &mut String, load: &Load, pace: Option<&str>) {
    let pace = pace.map_or_else(String::new, |pace| format!(", {pace}"));
    let open = load.wish().map(|wish| wish.open).unwrap_or_default();
    let _ = writeln!(
        out,
        "  {} model{pace}; ramp-up {}, settle {}, steady {}, ramp-down {}",
        load.model().name(),
        load.ramp_up,
        wish::time(load.settle, open.settle),
        wish::time(load.steady, open.steady),
        plain_time(load.ramp_down)
    );
}

/// How the stack, the workload and the storage are set up.
fn write_setup(out: &mut String, plan: &Plan, study: &Study) {
    if let Some(lamp) = study.stack.lamp() {
        let _ = writeln!(out, "  {}", lamp_of(lamp, plan));
    }
    if let Some(workload) = study
        .workload
        .keys()
        .describe_in_plan(&|key| plan.varies("workload", key))
    {
        let _ = writeln!(out, "  {workload}");
    }
    if let Some(database) = study.stack.database() {
        let _ = writeln!(out, "  {}", database_of(database, plan));
    }
    for line in storage::lines(study, plan) {
        let _ = writeln!(out, "  {line}");
    }
    let network = network::unusual(&study.guest, plan);
    if !network.is_empty() {
        let _ = writeln!(out, "  network: {}", network.join(", "));
    }
}

/// How LAMP is set up, but for what is a factor.
fn lamp_of(lamp: &LampUse, plan: &Plan) -> String {
    let words = [
        ("stack.server", format!("Apache {}", lamp.server.name())),
        ("stack.tuning", format!("tuning {}", lamp.tuning.name())),
        (
            "stack.buffer_pool",
            format!("buffer pool {}", lamp.buffer_pool.name()),
        ),
    ];
    without_factors(&words, &lamp.settings, plan)
}

/// How a database server is set up, but for what is a factor.
fn database_of(database: &DatabaseUse, plan: &Plan) -> String {
    let words = [
        ("stack.tuning", format!("tuning {}", database.tuning.name())),
        (
            "stack.buffer_pool",
            format!("buffer pool {}", database.buffer_pool.name()),
        ),
    ];
    without_factors(&words, &database.settings, plan)
}

/// Keys and their words, then single settings, but for what is a factor.
fn without_factors(
    words: &[(&str, String)],
    settings: &BTreeMap<String, SettingValue>,
    plan: &Plan,
) -> String {
    let factor = |key: &str| plan.factors.iter().any(|factor| factor.key == key);
    let mut parts: Vec<String> = words
        .iter()
        .filter(|(key, _)| !factor(key))
        .map(|(_, text)| text.clone())
        .collect();
    for (name, value) in settings.iter().filter(|(name, _)| !factor(name)) {
        parts.push(format!("{name} = {}", printable(&value.to_string(), 60)));
    }
    parts.join(", ")
}

/// Variants, aliases and rows that are shown one by one.
const VARIANTS_SHOWN: usize = 32;
const ALIASES_SHOWN: usize = 12;
const ROWS_SHOWN: usize = 64;
/// Most directories whose share of the disk is shown.
const DIRECTORIES_SHOWN: usize = 4;

/// Factors with their levels, the variants, and what the design cannot tell apart.
fn write_factors(out: &mut String, plan: &Plan, width: usize) {
    let combinations = plan.factors.iter().fold(1_u64, |product, factor| {
        product.saturating_mul(factor.levels.len() as u64)
    });
    let _ = match plan.design {
        Design::Full => writeln!(
            out,
            "Factors, all {combinations} combinations of their levels"
        ),
        Design::Screening => writeln!(
            out,
            "Factors, screening design: {} of {combinations} combinations of their levels",
            plan.variants.len()
        ),
    };
    for factor in &plan.factors {
        let key = printable(&factor.key, 100);
        let _ = writeln!(out, "  {key}: {}", factor.levels.join(" | "));
    }
    let names = plan.factors.iter().map(|factor| factor.short_key());
    let own: Vec<String> = plan
        .variants
        .iter()
        .map(|variant| own_keys(variant, plan))
        .collect();
    let has_own = own.iter().any(|words| !words.is_empty());
    let heads = std::iter::once("variant")
        .chain(names)
        .chain(has_own.then_some("of its layouts"));
    let rows = plan
        .variants
        .iter()
        .zip(&own)
        .take(VARIANTS_SHOWN)
        .map(|(variant, own)| {
            let level_of = |factor: &Factor| {
                let own = variant.levels.iter().find(|level| level.key == factor.key);
                own.map_or_else(|| "-".to_owned(), |level| level.value.clone())
            };
            let levels = plan.factors.iter().map(level_of);
            std::iter::once(variant.id.to_string())
                .chain(levels)
                .chain(has_own.then(|| own.clone()))
                .collect()
        });
    out.push('\n');
    let heads = heads.map(|name| printable(name, 100)).collect();
    out.push_str(&Table::new(heads, rows.collect()).render(width));
    write_more(out, plan.variants.len(), VARIANTS_SHOWN, "variants");
    if plan.design == Design::Screening {
        write_aliases(out, &plan.aliases);
    }
}

/// What the layouts of a variant say for themselves: `kind=bare, p95=1s`.
fn own_keys(variant: &Variant, plan: &Plan) -> String {
    let of_factor = |level: &&Level| !plan.factors.iter().any(|factor| factor.has(level));
    let own = variant.levels.iter().filter(of_factor);
    let words = own.map(Level::words);
    printable(&words.collect::<Vec<_>>().join(", "), 100)
}

fn write_aliases(out: &mut String, aliases: &[Vec<String>]) {
    if aliases.is_empty() {
        out.push_str("Effects of single factors and of two together can all be told apart\n");
        return;
    }
    out.push_str(
        "Effects of single factors can be told apart from each other and from all of \
                  these, which cannot:\n",
    );
    for set in aliases.iter().take(ALIASES_SHOWN) {
        let _ = writeln!(out, "  {}", set.join(" = "));
    }
    write_more(out, aliases.len(), ALIASES_SHOWN, "sets");
}

fn write_more(out: &mut String, count: usize, shown: usize, noun: &str) {
    if count > shown {
        let _ = writeln!(out, "  and {} more {noun}", count - shown);
    }
}

/// One row for each combination; where variants differ in what is shown, one for each of them.
fn write_points(out: &mut String, points: &[Point], study: &Study, width: usize) {
    let load = if points.iter().any(|point| point.rate_per_s().is_some()) {
        "arrivals/s"
    } else {
        study.workload.kind().info().clients.plural
    };
    let head = [
        "point", "layouts", "guests", "vCPU", load, "MiB", "database", "pins", "CPUs", "baseline",
    ];
    let mut rows = Vec::new();
    let mut groups = points.chunk_by(|a, b| a.variant < b.variant && cells(a) == cells(b));
    for group in groups.by_ref().take(ROWS_SHOWN) {
        let Some(first) = group.first() else { continue };
        let mut row = vec![span_of(group.iter().map(|point| point.id))];
        row.extend(cells(first));
        row.push(baseline_of(group, study));
        rows.push(row);
    }
    out.push_str(&Table::new(head.map(str::to_owned).to_vec(), rows).render(width));
    let more = groups.count();
    write_more(out, ROWS_SHOWN + more, ROWS_SHOWN, "rows");
}

/// The groups of points that have any, one by one.
fn write_groups(out: &mut String, plan: &Plan, width: usize) {
    let mut head = vec![
        "point",
        "group",
        "guests",
        "kind",
        "stack",
        "workload",
        "load",
        "pins",
        "driver CPUs",
        "called by",
    ];
    let on_hosts = plan.points.iter().any(|point| !point.hosts().is_empty());
    head.extend(on_hosts.then_some("host"));
    let mut rows = Vec::new();
    for point in plan.points.iter().filter(|point| point.has_groups()) {
        for (index, (part, study)) in plan.parts(point).into_iter().enumerate() {
            let group = part.only_group();
            let (load, caller) = match &group.callers {
                Callers::Users => (part.load_words(), "users".to_owned()),
                Callers::Group(front) => ("-".to_owned(), printable(front, 40)),
            };
            let driver = match point.driver_cpus(index, &plan.driver_cpus).as_slice() {
                [] => "-".to_owned(),
                cpus => cpu_list(cpus),
            };
            let mut row = vec![
                point.id.to_string(),
                printable(&group.name, 40),
                format!("{} x {} vCPU", group.guests, group.vcpus),
                study.guest.kind().name().to_owned(),
                study.stack.kind().name().to_owned(),
                study.workload.kind().name().to_owned(),
                load,
                pins_of(&part),
                driver,
                caller,
            ];
            let host = group.host.as_deref().unwrap_or("-");
            row.extend(on_hosts.then(|| printable(host, 40)));
            rows.push(row);
        }
    }
    if rows.is_empty() {
        return;
    }
    out.push_str("Groups\n");
    let shown = rows.len().min(ROWS_SHOWN);
    let count = rows.len();
    rows.truncate(shown);
    let head = head.into_iter().map(str::to_owned).collect();
    out.push_str(&Table::new(head, rows).render(width));
    write_more(out, count, ROWS_SHOWN, "rows");
    out.push('\n');
}

/// All columns but the numbers of points.
fn cells(point: &Point) -> [String; 8] {
    let in_tier = |group: &GuestGroup| {
        let place = point.groups.iter().position(|other| other == group);
        place.is_some_and(|place| point.tier_of(place).is_some())
    };
    [
        printable(&point.layouts.join(", "), 60),
        joined(point, |group| group.guests.to_string()),
        joined(point, |group| group.vcpus.to_string()),
        load_of(point),
        joined(point, |group| group.memory_mib.to_string()),
        joined(point, |group| {
            if in_tier(group) {
                "-".to_owned()
            } else {
                group.database.to_string()
            }
        }),
        pins_of(point),
        point.capacity_cpus.to_string(),
    ]
}

/// `4`, or `4-6` where several follow each other.
fn span_of(ids: impl Iterator<Item = u32>) -> String {
    let ids: Vec<u32> = ids.collect();
    match (ids.first(), ids.last()) {
        (Some(first), Some(last)) if first != last => format!("{first}-{last}"),
        (Some(first), _) => first.to_string(),
        (None, _) => String::new(),
    }
}

fn baseline_of(group: &[Point], study: &Study) -> String {
    let named = study.layouts.iter().any(|layout| {
        let has = |point: &Point| point.layouts.contains(&layout.name);
        layout.baseline.is_some() && group.iter().any(has)
    });
    if named {
        // The notes say which: names are long.
        return "named".to_owned();
    }
    if group.iter().all(|point| point.baseline == Some(point.id)) {
        return "itself".to_owned();
    }
    let baselines = span_of(group.iter().filter_map(|point| point.baseline));
    match (baselines.is_empty(), group.len()) {
        (true, _) => "none".to_owned(),
        (false, 1) => format!("point {baselines}"),
        (false, _) => format!("points {baselines}"),
    }
}

/// A cell of all groups.
fn joined(point: &Point, cell: impl Fn(&GuestGroup) -> String) -> String {
    let cells: Vec<String> = point.groups.iter().map(cell).collect();
    cells.join(" + ")
}

/// Users `200`, `200 (50 each)`, `10 (2-3 each)`, or arrivals per second alike.
fn load_of(point: &Point) -> String {
    joined(point, |group| {
        if let Some(rate) = group.rate_per_s {
            let each = thousandth(rate / f64::from(group.guests));
            return match group.guests {
                1 => each.to_string(),
                _ => format!("{} ({each} each)", thousandth(rate)),
            };
        }
        let total = group.total_users();
        match (group.users.last(), group.users.first()) {
            (Some(few), Some(many)) if group.guests > 1 && few == many => {
                format!("{total} ({few} each)")
            }
            (Some(few), Some(many)) if group.guests > 1 => format!("{total} ({few}-{many} each)"),
            _ => total.to_string(),
        }
    })
}

/// Guests that are shown one by one.
const PINS_SHOWN: usize = 4;

/// `0-3`, or `0 | 1 | 0 | 1` guest by guest; with the memory nodes where guests are bound to some:
/// `0,2 (node 0) | 1,3 (node 1)`.
fn pins_of(point: &Point) -> String {
    let mut different: Vec<&[u32]> = point.each_guest().map(|guest| guest.cpus()).collect();
    let guests = different.len();
    different.dedup();
    let most = if different.len() == 1 { 1 } else { PINS_SHOWN };
    let mut shown: Vec<String> = point
        .each_guest()
        .take(most)
        .map(|guest| {
            let cpus = cpu_list(guest.cpus());
            match guest.nodes() {
                [] => cpus,
                [node] => format!("{cpus} (node {node})"),
                nodes => format!("{cpus} (nodes {})", cpu_list(nodes)),
            }
        })
        .collect();
    if different.len() > 1 && guests > PINS_SHOWN {
        shown.push("...".to_owned());
    }
    shown.join(" | ")
}

/// Rounds and trials of a round that are shown one by one.
const ROUNDS_SHOWN: u32 = 5;
const TRIALS_SHOWN: usize = 24;

fn write_trials(out: &mut String, plan: &Plan, study: &Study) {
    if let Some((wish, planned)) = study.load.wish().zip(plan.wish.as_ref()) {
        let budget = clock(planned.budget);
        let _ = writeln!(out, "Wish: {wish}, in up to {budget} of trials");
        wish::write(out, plan, study, wish, planned);
        if planned.pilot().is_some() {
            return;
        }
    }
    let order = match study.load.order {
        Order::Random => "random order, new in every repeat",
        Order::Interleaved => "the order of the file in every repeat",
    };
    let count = |n: usize, noun: &str| {
        if n == 1 {
            format!("1 {noun}")
        } else {
            format!("{n} {noun}s")
        }
    };
    let (trials, points) = (
        count(plan.trials.len(), "trial"),
        count(plan.points.len(), "point"),
    );
    let _ = writeln!(
        out,
        "{trials}: {points} x {}, {order}",
        count(study.load.repeats as usize, "repeat")
    );
    if plan.variants.len() > 1 {
        out.push_str(
            "  the variants of a combination run back to back, as a block in [ ], with \
                      the same seed\n",
        );
    }
    for repeat in 1..=study.load.repeats.min(ROUNDS_SHOWN) {
        let round: Vec<&Trial> = plan
            .trials
            .iter()
            .filter(|trial| trial.repeat == repeat)
            .collect();
        let (mut blocks, mut shown) = (Vec::new(), 0);
        for block in round.chunk_by(|a, b| a.block == b.block) {
            if shown > 0 && shown + block.len() > TRIALS_SHOWN {
                break;
            }
            shown += block.len();
            let points: Vec<String> = block.iter().map(|trial| trial.point.to_string()).collect();
            let points = points.join(" ");
            blocks.push(if plan.variants.len() > 1 {
                format!("[{points}]")
            } else {
                points
            });
        }
        if round.len() > shown {
            blocks.push(format!("and {} more", round.len() - shown));
        }
        let _ = writeln!(out, "  repeat {repeat}: points {}", blocks.join(" "));
    }
    if let Some(half_width) = study.load.half_width() {
        let _ = writeln!(
            out,
            "  more repeats, up to {}, where half of the 95 % interval of the throughput exceeds \
             {} % of the mean",
            study.load.max_repeats,
            thousandth(100.0 * half_width)
        );
    }
    if study.load.repeats > ROUNDS_SHOWN {
        let _ = writeln!(
            out,
            "  and {} more repeats",
            study.load.repeats - ROUNDS_SHOWN
        );
    }
}

/// What is searched, in which range, with how many trials.
fn write_searches(out: &mut String, plan: &Plan, study: &Study) {
    let Some(search) = &study.load.search else {
        return;
    };
    let _ = writeln!(
        out,
        "{} for the {} within the limits, after all points: up to {} trials each, {} of \
         them to confirm, resolution {} %",
        if plan.searches.len() == 1 {
            "1 search".to_owned()
        } else {
            format!("{} searches", plan.searches.len())
        },
        search.over.sought(),
        search.probes,
        search.confirm,
        thousandth(100.0 * search.resolution)
    );
    for search in plan.searches.iter().take(ROWS_SHOWN) {
        let ladder = match search.ladder.len() {
            0 => "no ladder".to_owned(),
            1 => "a ladder of 1 point".to_owned(),
            steps => format!("a ladder of {steps} points"),
        };
        let _ = writeln!(
            out,
            "  {}  {}, {}: {} to {} {}, {ladder}",
            search.id,
            printable(&search.label(), 60),
            printable(&search.layouts.join(", "), 60),
            thousandth(search.lowest),
            thousandth(search.highest),
            search.over.unit()
        );
    }
    write_more(out, plan.searches.len(), ROWS_SHOWN, "searches");
}

fn write_cost(out: &mut String, plan: &Plan) {
    let estimate = &plan.estimate;
    let elsewhere: String = estimate
        .elsewhere_mib
        .iter()
        .take(DIRECTORIES_SHOWN)
        .map(|(directory, mib)| format!(", {} in {}", size(*mib), printable(directory, 60)))
        .collect();
    let _ = writeln!(
        out,
        "About {}, up to {} of memory for guests, {} of disk{elsewhere}",
        clock(estimate.duration),
        size(estimate.memory_mib),
        size(estimate.disk_mib)
    );
    let directories = estimate.elsewhere_mib.len();
    write_more(out, directories, DIRECTORIES_SHOWN, "directories");
}

/// `45 s`, `3 min 20 s`, `2 h 5 min`.
fn clock(time: Duration) -> String {
    let seconds = truncate_u64(time.as_secs_f64().ceil());
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, min, 0) => format!("{min} min"),
        (0, min, s) => format!("{min} min {s} s"),
        (h, 0, _) => format!("{h} h"),
        (h, min, _) => format!("{h} h {min} min"),
    }
}

/// `300 MiB`, `12.5 GiB`.
fn size(mib: u64) -> String {
    if mib < 10 * 1024 {
        format!("{mib} MiB")
    } else {
        format!("{:.1} GiB", mib as f64 / 1024.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_read_well() {
        let seconds = |s| clock(Duration::from_secs(s));
        assert_eq!(seconds(45), "45 s");
        assert_eq!(seconds(200), "3 min 20 s");
        assert_eq!(seconds(7500), "2 h 5 min");
        assert_eq!(size(300), "300 MiB");
        assert_eq!(size(12_800), "12.5 GiB");
    }
}
