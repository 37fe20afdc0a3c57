//! The points of a study on a host: every combination of every layout, equal ones merged.

use std::{
    borrow::Cow,
    collections::{BTreeMap, btree_map::Entry},
};

use rookery_cast::{count_u32, truncate_u32, truncate_u64};

use super::{MIB, cpus::Division, pins, placement, storage, thousandths};
use crate::{
    Amount, Callers, CpuSet, CpuTime, EvaluationError, GuestGroup, GuestKind, HostFacts, Layout,
    Measure, Per, Pinning, Point, PointData, Study, Variables, Variant, Vcpus, VolumeSizes,
    expression::{BYTES, NO_UNITS},
    grammar::Context,
    grammar::kinds::{MOST_RATE, MOST_USERS, cpu_list},
    problem::Code,
    workloads::DataRequest,
};

/// Less memory than this no stack starts with, MiB.
pub(super) const LEAST_MEMORY_MIB: u64 = 16;

/// What rules call the users of a guest that is only loaded.
const IDLE_USERS: f64 = 1.0;

/// One combination of a layout, with the places of its numbers in the file.
pub(super) struct Combination<'a> {
    pub(super) layout: &'a str,
    pub(super) guests: u32,
    pub(super) vcpus: Vcpus,
    /// Users, or arrivals per second.
    pub(super) amount: &'a Amount,
    /// Visitors that may be present at a guest of an open load.
    pub(super) max_in_flight: Option<u32>,
    /// Whether there are no users at all: databases are loaded and nothing else.
    pub(super) idle: bool,
    pub(super) guests_path: String,
    pub(super) vcpus_path: String,
    pub(super) amount_path: String,
}

impl Combination<'_> {
    /// Users of all guests, not yet whole, or arrivals. Rules are evaluated for one guest and users
    /// rounded to whole ones.
    fn total(&self) -> Result<f64, EvaluationError> {
        match self.amount {
            // All vCPUs together are exact thousandths; shares of guests would be rounded twice.
            Amount::Scaled(scaled) => Ok(match scaled.per {
                Per::Vcpu => scaled.amount * thousandths(self.guests, self.vcpus) as f64 / 1000.0,
                Per::Guest => scaled.amount * f64::from(self.guests),
                Per::Host => scaled.amount,
            }),
            rule @ Amount::Rule(_) => {
                let each = rule.each(&self.variables(0.0, 0.0), &NO_UNITS)?;
                let each = if self.max_in_flight.is_some() {
                    each
                } else {
                    each.round()
                };
                Ok(each * f64::from(self.guests))
            }
        }
    }

    fn variables(&self, memory_bytes: f64, users: f64) -> Variables {
        Variables {
            vcpus: self.vcpus.cpus(),
            memory_bytes,
            users,
            guests: f64::from(self.guests),
            callers: 1.0,
        }
    }

    /// What rules call the users of a guest: of an open load, the visitors that may be present.
    pub(super) fn users_each(&self, offered: Offered) -> f64 {
        let users = f64::from(offered.users) / f64::from(self.guests);
        if self.idle {
            return IDLE_USERS;
        }
        self.max_in_flight.map_or(users, f64::from)
    }

    pub(super) fn describe(&self) -> String {
        let plural = if self.guests == 1 { "guest" } else { "guests" };
        format!("{} {plural} of {} vCPU", self.guests, self.vcpus)
    }
}

/// Expands all layouts of a variant; points have no ids yet. Every problem is told to the context;
/// combinations that have no users, memory or database at all are left out.
pub(super) fn expand(
    variant: &Variant,
    division: &Division,
    host: &HostFacts,
    context: &mut Context,
) -> Vec<Point> {
    let study = &variant.study;
    let mut points: Vec<Point> = Vec::new();
    // Everything else of a point follows from these.
    let mut known: BTreeMap<(u32, Vcpus, (u32, u64)), usize> = BTreeMap::new();
    for combination in combinations(study, &division.guests) {
        if division.sound {
            check_cpus(&combination, study, division, context);
        }
        if check_table(&combination, study, division, context).is_none() {
            continue;
        }
        let Some(offered) = offered(&combination, division, context) else {
            continue;
        };
        let users = combination.users_each(offered);
        let memory = memory(&combination, users, study, host, context);
        let database = memory.and_then(|mib| database(&combination, users, mib, study, context));
        let (Some(memory_mib), Some(database)) = (memory, database) else {
            continue;
        };
        match known.entry((combination.guests, combination.vcpus, offered.key())) {
            Entry::Occupied(place) => {
                let layouts = &mut points[*place.get()].layouts;
                if !layouts.iter().any(|layout| layout == combination.layout) {
                    layouts.push(combination.layout.to_owned());
                }
            }
            Entry::Vacant(place) => {
                place.insert(points.len());
                points.push(point(
                    variant,
                    &combination,
                    offered,
                    memory_mib,
                    database,
                    (division, host),
                    context,
                ));
            }
        }
    }
    points
}

fn point(
    variant: &Variant,
    combination: &Combination<'_>,
    offered: Offered,
    memory_mib: u64,
    database: PointData,
    (division, host): (&Division, &HostFacts),
    context: &mut Context,
) -> Point {
    let study = &variant.study;
    let group = group(
        study,
        combination,
        offered,
        (memory_mib, database),
        (&division.guests, host),
        context,
    );
    let usable = usable(study, combination.vcpus);
    Point {
        id: 0,
        variant: variant.id,
        levels: variant.levels.clone(),
        layouts: vec![combination.layout.to_owned()],
        capacity_cpus: pins::capacity(group.pins.iter().map(|pin| (pin, usable))),
        groups: vec![group],
        tiles: 1,
        baseline: None,
        search: None,
    }
}

/// A guest with a share uses all of its CPUs where nobody else wants them.
pub(super) fn usable(study: &Study, vcpus: Vcpus) -> Vcpus {
    match study.guest.cpu {
        CpuTime::Share => Vcpus(1000 * vcpus.whole_cpus()),
        CpuTime::Cap { .. } => vcpus,
    }
}

/// The guests of a combination, laid on some of the guest CPUs.
pub(super) fn group(
    study: &Study,
    combination: &Combination<'_>,
    offered: Offered,
    (memory_mib, database): (u64, PointData),
    (cpus, host): (&CpuSet, &HostFacts),
    context: &mut Context,
) -> GuestGroup {
    let (guests, vcpus) = (combination.guests, combination.vcpus);
    let overcommit = study.host.overcommit;
    let pins = pins::lay(
        &study.guest.pin,
        guests,
        vcpus,
        cpus,
        &host.places,
        overcommit,
    );
    let mut group = GuestGroup {
        name: String::new(),
        guests,
        vcpus,
        users: deal(offered.users, guests),
        rate_per_s: offered.rate_per_s,
        memory_mib,
        database,
        nodes: placement::nodes(study.guest.pin.binds_memory(), &pins, &host.places),
        pins,
        volumes_mib: VolumeSizes::default(),
        callers: Callers::Users,
        host: None,
    };
    let users = combination.users_each(offered);
    group.volumes_mib = storage::volumes_mib(study, &group, users, context);
    group
}

/// One point of a layout that is not in the study's own numbers.
pub(super) struct Single<'a> {
    pub(super) layout: &'a str,
    pub(super) guests: u32,
    pub(super) vcpus: Vcpus,
    /// Users, or arrivals per second.
    pub(super) amount: &'a Amount,
}

/// Such a point, without an id. Every problem is told to the context, at the place of the search.
pub(super) fn single(
    variant: &Variant,
    asked: &Single<'_>,
    division: &Division,
    host: &HostFacts,
    context: &mut Context,
) -> Option<Point> {
    let study = &variant.study;
    let place = || "load.search".to_owned();
    let combination = Combination {
        layout: asked.layout,
        guests: asked.guests,
        vcpus: asked.vcpus,
        amount: asked.amount,
        max_in_flight: study.load.max_in_flight(),
        idle: false,
        guests_path: place(),
        vcpus_path: place(),
        amount_path: place(),
    };
    let before = context.findings.len();
    check_cpus(&combination, study, division, context);
    check_table(&combination, study, division, context)?;
    let offered = offered(&combination, division, context)?;
    let users = combination.users_each(offered);
    let memory_mib = memory(&combination, users, study, host, context)?;
    let database = database(&combination, users, memory_mib, study, context)?;
    let point = point(
        variant,
        &combination,
        offered,
        memory_mib,
        database,
        (division, host),
        context,
    );
    (context.findings.len() == before).then_some(point)
}

/// Load on all guests of a combination: users, or arrivals per second.
pub(super) fn total(
    guests: u32,
    vcpus: Vcpus,
    amount: &Amount,
    rate: bool,
) -> Result<f64, EvaluationError> {
    let combination = Combination {
        layout: "",
        guests,
        vcpus,
        amount,
        max_in_flight: rate.then_some(1),
        idle: false,
        guests_path: String::new(),
        vcpus_path: String::new(),
        amount_path: String::new(),
    };
    combination.total()
}

/// The sizes of the guests of a layout. One that runs already has the CPUs that the driver leaves.
pub(super) fn sizes<'s>(study: &'s Study, layout: &'s Layout, guests: &CpuSet) -> Cow<'s, [Vcpus]> {
    match study.guest.kind() {
        GuestKind::External => Cow::Owned(vec![Vcpus(1000 * count_u32(guests.len()))]),
        _ => Cow::Borrowed(&layout.vcpus),
    }
}

fn combinations<'s>(study: &'s Study, cpus: &CpuSet) -> impl Iterator<Item = Combination<'s>> {
    study
        .layouts
        .iter()
        .enumerate()
        .flat_map(move |(index, layout)| {
            let path = format!("layout[{index}]");
            let amounts_path = match (study.load.open(), &layout.users) {
                (Some(_), _) => "load.rate".to_owned(),
                (None, Some(_)) => format!("{path}.users"),
                (None, None) => "load.users".to_owned(),
            };
            let amounts = study.amounts_of(layout);
            let sizes = sizes(study, layout, cpus);
            let mut all = Vec::with_capacity(layout.guests.len() * sizes.len() * amounts.len());
            for (g, guests) in layout.guests.iter().enumerate() {
                for (v, vcpus) in sizes.iter().enumerate() {
                    for (u, amount) in amounts.iter().enumerate() {
                        all.push(Combination {
                            layout: &layout.name,
                            guests: *guests,
                            vcpus: *vcpus,
                            amount,
                            max_in_flight: study.load.max_in_flight(),
                            idle: study.measure == Measure::LoadTime,
                            guests_path: format!("{path}.guests[{g}]"),
                            vcpus_path: format!("{path}.vcpus[{v}]"),
                            amount_path: format!("{amounts_path}[{u}]"),
                        });
                    }
                }
            }
            all
        })
}

/// The guest CPUs must carry the vCPUs.
fn check_cpus(
    combination: &Combination<'_>,
    study: &Study,
    division: &Division,
    context: &mut Context,
) {
    if check_width(combination, division, context).is_some() {
        let asked = thousandths(combination.guests, combination.vcpus);
        let asked = AskedCpus {
            guests: &combination.describe(),
            thousandths: asked,
            more_room: "",
        };
        check_total(&asked, &combination.guests_path, study, division, context);
    }
}

/// Each guest must fit on the guest CPUs.
pub(super) fn check_width(
    combination: &Combination<'_>,
    division: &Division,
    context: &mut Context,
) -> Option<()> {
    let cpus = division.guests.len();
    let noun = if cpus == 1 { "guest CPU" } else { "guest CPUs" };
    if combination.vcpus.whole_cpus() as usize > cpus {
        let span = context.spans.nearest(&combination.vcpus_path);
        let message = format!(
            "a guest of {} vCPUs does not fit on {cpus} {noun}",
            combination.vcpus
        );
        let help = format!(
            "use at most {cpus} vCPUs per guest, or give more CPUs to `guest_cpus` in [host]"
        );
        return context.refuse(Code::TooFewCpus, span, message, help);
    }
    Some(())
}

/// CPUs that guests ask for.
pub(super) struct AskedCpus<'a> {
    /// The guests in words.
    pub(super) guests: &'a str,
    /// All their vCPUs, in thousandths.
    pub(super) thousandths: u64,
    /// What gives them more room beside what helps everywhere, with the comma after it.
    pub(super) more_room: &'a str,
}

/// All guests together must fit on the guest CPUs; `path` is the key that is to blame.
pub(super) fn check_total(
    asked: &AskedCpus<'_>,
    path: &str,
    study: &Study,
    division: &Division,
    context: &mut Context,
) {
    let cpus = division.guests.len();
    let noun = if cpus == 1 { "guest CPU" } else { "guest CPUs" };
    let AskedCpus {
        guests, more_room, ..
    } = asked;
    let asked = asked.thousandths as f64 / 1000.0;
    let most = cpus as f64 * study.host.overcommit;
    if asked <= most + 1e-9 {
        return;
    }
    let span = context.spans.nearest(path);
    let overcommit = study.host.overcommit;
    let message = format!(
        "{guests} want {asked} CPUs, {cpus} {noun} with overcommit {overcommit} carry {most}"
    );
    let enough = (asked / cpus as f64 * 1000.0).ceil() / 1000.0;
    let help = format!(
        "{more_room}use fewer or smaller guests, give more CPUs to `guest_cpus`, or allow sharing with \
         `overcommit = {enough}` in [host]"
    );
    context.refuse::<()>(Code::TooFewCpus, span, message, help);
}

/// A table of pins must have a row for each guest, with as many CPUs as it has vCPUs.
pub(super) fn check_table(
    combination: &Combination<'_>,
    study: &Study,
    division: &Division,
    context: &mut Context,
) -> Option<()> {
    let Pinning::Table(rows) = &study.guest.pin else {
        return Some(());
    };
    let span = context.spans.nearest("guest.pin");
    if rows.len() < combination.guests as usize {
        let message = format!(
            "`guest.pin` has the CPUs of {} guests, and there are {}",
            rows.len(),
            combination.describe()
        );
        return context.refuse(Code::TooFewCpus, span, message, "add a row for each guest");
    }
    let width = combination.vcpus.whole_cpus() as usize;
    for (guest, row) in (1..).zip(rows.iter().take(combination.guests as usize)) {
        let strange = row
            .iter()
            .find(|cpu| division.sound && !division.guests.contains(cpu));
        if let Some(cpu) = strange {
            let message = format!("`guest.pin` pins guest {guest} to CPU {cpu}, no guest CPU");
            let help = format!("choose among the guest CPUs {}", cpu_list(&division.guests));
            return context.refuse(Code::NoSuchCpu, span, message, help);
        }
        if row.len() != width {
            let message = format!(
                "`guest.pin` gives guest {guest} {} CPUs, and it has {} vCPUs",
                row.len(),
                combination.vcpus
            );
            let help = format!("give each guest {width} CPUs, or let the layout say its own pins");
            return context.refuse(Code::Contradiction, span, message, help);
        }
    }
    Some(())
}

/// The load on all guests of a point.
#[derive(Clone, Copy)]
pub(super) struct Offered {
    pub(super) users: u32,
    pub(super) rate_per_s: Option<f64>,
}

impl Offered {
    /// Equal loads have equal keys.
    fn key(self) -> (u32, u64) {
        (self.users, self.rate_per_s.map_or(0, f64::to_bits))
    }
}

/// Users of all guests, rounded to whole users, or their arrivals.
pub(super) fn offered(
    combination: &Combination<'_>,
    division: &Division,
    context: &mut Context,
) -> Option<Offered> {
    let span = context.spans.nearest(&combination.amount_path);
    let total = match combination.total() {
        Ok(total) => total,
        Err(why) => {
            let what = if combination.max_in_flight.is_some() {
                "arrivals"
            } else {
                "users"
            };
            let message = format!("the {what} of {}: {why}", combination.describe());
            return context.refuse(Code::Users, span, message, "change the rule");
        }
    };
    match combination.max_in_flight {
        Some(most) => {
            // What floats add beyond a millionth is not another rate.
            let rate = arrivals(
                combination,
                (total * 1e6).round() / 1e6,
                most,
                division,
                context,
            )?;
            Some(Offered {
                users: 0,
                rate_per_s: Some(rate),
            })
        }
        None => Some(Offered {
            users: users(combination, total.round(), context)?,
            rate_per_s: None,
        }),
    }
}

/// Arrivals per second at all guests.
fn arrivals(
    combination: &Combination<'_>,
    total: f64,
    max_in_flight: u32,
    division: &Division,
    context: &mut Context,
) -> Option<f64> {
    if !(total > 0.0 && total <= MOST_RATE) {
        let span = context.spans.nearest(&combination.amount_path);
        let message = format!(
            "{} get {total} arrivals per second together",
            combination.describe()
        );
        let help = format!("write a rate above 0, of at most {MOST_RATE} in all");
        return context.refuse(Code::Users, span, message, help);
    }
    let threads = division.driver.len();
    if (max_in_flight as usize) < threads {
        let span = context.spans.nearest("load.max_in_flight");
        let message = format!(
            "at most {max_in_flight} visitors may be present, fewer than the driver has CPUs \
             ({threads})"
        );
        let help = format!("write at least `max_in_flight = {threads}`");
        return context.refuse(Code::Users, span, message, help);
    }
    Some(total)
}

/// Users of all guests, at least one for each.
fn users(combination: &Combination<'_>, total: f64, context: &mut Context) -> Option<u32> {
    let span = context.spans.nearest(&combination.amount_path);
    if total < f64::from(combination.guests) && !combination.idle {
        let message = format!(
            "{} have {total} users together: every guest needs at least one",
            combination.describe()
        );
        return context.refuse(
            Code::Users,
            span,
            message,
            format!("give at least {} users", combination.guests),
        );
    }
    if total > f64::from(MOST_USERS) {
        let message = format!(
            "{} have {total} users together, at most {MOST_USERS} are allowed",
            combination.describe()
        );
        return context.refuse(Code::Users, span, message, "use fewer users or guests");
    }
    Some(truncate_u32(total))
}

/// The first number of users that is not whole, said in words.
pub(super) fn rounded_users(study: &Study, cpus: &CpuSet) -> Option<String> {
    let odd = combinations(study, cpus).find_map(|combination| {
        let total = combination
            .total()
            .ok()
            .filter(|_| combination.max_in_flight.is_none())?;
        let whole = total.round();
        ((total - whole).abs() > 1e-6).then(|| {
            (
                combination.describe(),
                (total * 1000.0).round() / 1000.0,
                whole,
            )
        })
    });
    odd.map(|(shape, total, whole)| {
        format!("users are rounded to whole ones: {total} become {whole} ({shape})")
    })
}

/// Shares users out evenly; the first guests get the rest.
fn deal(users: u32, guests: u32) -> Vec<u32> {
    (0..guests)
        .map(|guest| users / guests + u32::from(guest < users % guests))
        .collect()
}

/// Memory of one guest, rounded up to whole MiB. What the host does not have is refused and told
/// all the same.
pub(super) fn memory(
    combination: &Combination<'_>,
    users: f64,
    study: &Study,
    host: &HostFacts,
    context: &mut Context,
) -> Option<u64> {
    if study.guest.kind() == GuestKind::External {
        // It has its memory already, here or elsewhere.
        return Some(0);
    }
    let for_guests = host.memory_mib.saturating_sub(study.host.reserve_mib);
    let variables = combination.variables(for_guests as f64 * MIB, users);
    let each = match &study.guest.memory {
        Amount::Rule(_) => study
            .guest
            .memory
            .each(&variables, &BYTES)
            .map(|bytes| bytes / MIB),
        scaled @ Amount::Scaled(_) => scaled.each(&variables, &BYTES),
    };
    let each = match each {
        // What floats add beyond a millionth is not another MiB.
        Ok(each) => truncate_u64((each - 1e-6).ceil()),
        Err(error) => {
            let span = context.spans.nearest("guest.memory");
            let message = format!("the memory of {}: {error}", combination.describe());
            return context.refuse(Code::Memory, span, message, "change the rule");
        }
    };
    if each < LEAST_MEMORY_MIB {
        let span = context.spans.nearest("guest.memory");
        let message = format!(
            "each of {} would have {each} MiB of memory, too little to start",
            combination.describe()
        );
        return context.refuse(
            Code::Memory,
            span,
            message,
            format!("give each guest at least {LEAST_MEMORY_MIB}MiB"),
        );
    }
    let swapped = study.guest.swap.host_memory_mib(each);
    let all = (each.saturating_add(swapped)).saturating_mul(u64::from(combination.guests));
    let reserve = study.host.reserve_mib;
    if all.saturating_add(reserve) > host.memory_mib {
        let guilty = if combination.guests == 1 {
            "guest.memory"
        } else {
            &combination.guests_path
        };
        let span = context.spans.nearest(guilty);
        let swap = match swapped {
            0 => String::new(),
            mib => format!(", {mib} MiB of zram each"),
        };
        let message = format!(
            "{} with {each} MiB each{swap} and the reserve of {reserve} MiB need {} MiB of memory, \
             this host has {} MiB",
            combination.describe(),
            all.saturating_add(reserve),
            host.memory_mib
        );
        let help = "use fewer guests, less `memory` in [guest], or a smaller `reserve` in [host]";
        context.refuse::<()>(Code::Memory, span, message, help);
    }
    Some(each)
}

/// What a guest has in its database.
pub(super) fn database(
    combination: &Combination<'_>,
    users: f64,
    memory_mib: u64,
    study: &Study,
    context: &mut Context,
) -> Option<PointData> {
    let guest = combination.variables(memory_mib as f64 * MIB, users);
    let request = DataRequest {
        stack: &study.stack,
        seed: study.seed,
        guest: &guest,
        guests: &combination.describe(),
    };
    study.workload.keys().data(&request, context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_shared_out_evenly() {
        assert_eq!(deal(10, 4), [3, 3, 2, 2]);
        assert_eq!(deal(4, 4), [1, 1, 1, 1]);
    }
}
