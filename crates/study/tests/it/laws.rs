//! Laws of study files and plans, tried on random studies.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::{
    common::{assert_plan, assert_useful, host},
    storage::{storage, with_server_or_without_roles},
};
use proptest::{
    collection::vec,
    option,
    prelude::*,
    sample::{select, subsequence},
};
use rookery_stats::{
    Pacing,
    qos::{PercentileLimit, Qos},
};
use rookery_study::{
    Amount, Arrivals, BackEnd, BufferPool, Course, CourseStep, CpuTime, DatabaseSize, DatabaseUse,
    Document, DriverPlace, DvdstoreUse, Engine, Expression, GuestKind, GuestShape, HostUse,
    Impairment, LabShape, LampSite, LampUse, Layout, LayoutGroup, LinkDevice, LinkShape, Load,
    LoopType, Measure, Offloads, OpenLoad, OpenTimes, Order, OrderentryUse, Over, Override,
    PacketCpus, PacketPolicy, Pages, Per, PercentileWish, Pin, Pinning, Plan, Precision, RampUp,
    RateLimit, RateQueue, RepeatGoal, Scaled, SearchEnd, SearchUse, SettingValue, SimulatedUse,
    StackUse, StartRate, Study, Swap, SwapKind, TuningProfile, Vcpus, Visit, WebServer, Wish,
    Workload,
    vm_shape::{
        CpuModel, DiskCache, DiskClone, DiskIo, DiskShape, MemoryShape, NetworkShape, NicOffloads,
        VmShape,
    },
};
use rookery_workload::{
    DelayDistribution,
    orderentry::{
        DeliveryMode, HitTarget, Isolation, Profile,
        sql::Style,
        terminal::{Binding, Mix, Pacing as TerminalPacing},
    },
};

fn per() -> impl Strategy<Value = Per> {
    select(vec![Per::Vcpu, Per::Guest, Per::Host])
}

/// A scaled amount, or the same by a rule; `unit` is that of rules.
fn amount(low: f64, high: f64, unit: &'static str) -> impl Strategy<Value = Amount> {
    let scaled = (low..high, any::<bool>(), per()).prop_map(|(amount, whole, per)| {
        Amount::Scaled(Scaled {
            amount: if whole { amount.ceil() } else { amount },
            per,
        })
    });
    let (low, high) = (low.ceil() as u32, high as u32);
    let rule = (low..high, low..high).prop_map(move |(least, each)| {
        let text = format!("max({least}{unit}, {each}{unit} * vcpus)");
        Amount::Rule(Expression::parse(&text).expect("an expression"))
    });
    prop_oneof![3 => scaled, 1 => rule]
}

fn time(low_us: u64, high_us: u64) -> impl Strategy<Value = Duration> {
    (low_us..=high_us, select(vec![1, 1_000, 1_000_000]))
        .prop_map(move |(us, unit)| Duration::from_micros((us / unit * unit).max(low_us)))
}

const MINUTE: u64 = 60_000_000;

/// How think times of order entry scatter unless said.
const SPECIFIED: DelayDistribution = DelayDistribution::TruncatedExponential;

fn distribution() -> impl Strategy<Value = DelayDistribution> {
    select(vec![
        DelayDistribution::Constant,
        DelayDistribution::Uniform,
        DelayDistribution::Exponential,
        DelayDistribution::TruncatedExponential,
    ])
}

prop_compose! {
    fn workload()(
        database in amount(0.5, 500.0, "MB"), think_time in time(1, MINUTE), pacing in select(vec![Pacing::Think, Pacing::Cycle]),
        scattered in distribution(), new_customers in 0.0..=1.0, searches in 1_u32..=100, search_batch in 1_u32..=50, line_items in 1_u32..=50,
    ) -> Workload {
        Workload::Dvdstore(DvdstoreUse { database, think_time, think_distribution: if pacing == Pacing::Cycle { DelayDistribution::Uniform } else { scattered }, pacing, new_customers, searches, search_batch, line_items })
    }
}

fn users() -> impl Strategy<Value = Vec<Amount>> {
    vec(amount(1.0, 900.0, ""), 1..4).prop_map(|users| distinct(users, |user| format!("{user:?}")))
}

fn distinct<T, K: Ord>(list: Vec<T>, key: impl Fn(&T) -> K) -> Vec<T> {
    let mut seen = BTreeSet::new();
    list.into_iter()
        .filter(|item| seen.insert(key(item)))
        .collect()
}

prop_compose! {
    fn search()(
        over in select(vec![Over::Users, Over::Guests]), from in option::of(amount(1.0, 900.0, "")), to in option::of(amount(1.0, 900.0, "")),
        resolution in 0.001..0.5, interval in option::of(0.002..1.0), probes in 2_u32..200, confirm in 0_u32..10, steady in option::of(time(1_000_000, MINUTE)),
    ) -> SearchUse {
        SearchUse { over, from: from.map(SearchEnd::Load), to: to.map(SearchEnd::Load), resolution, interval, probes, confirm, steady }
    }
}

fn ramp_up() -> impl Strategy<Value = RampUp> {
    let rate = (1_u32..100_000, any::<bool>()).prop_map(|(thousandths, per_guest)| StartRate {
        users_per_s: f64::from(thousandths) / 1000.0,
        per_guest,
    });
    prop_oneof![
        time(0, MINUTE).prop_map(RampUp::Over),
        rate.prop_map(RampUp::Rate)
    ]
}

/// A wish for something, whose budget carries any study.
fn wish() -> impl Strategy<Value = Wish> {
    let percentiles = subsequence(vec![50.0, 75.0, 90.0, 95.0, 99.0, 99.9], 0..=6);
    let open = (any::<bool>(), any::<bool>());
    let within = option::of(Just(Duration::from_secs(7 * 24 * 3600)));
    (0.001..0.5, percentiles, within, open).prop_map(|(share, percentiles, within, open)| Wish {
        throughput: (percentiles.len() != 2).then_some(share),
        percentiles: percentiles
            .into_iter()
            .map(|percentile| PercentileWish { percentile, share })
            .collect(),
        within,
        open: OpenTimes {
            settle: open.0,
            steady: open.1,
        },
    })
}

fn goal() -> impl Strategy<Value = Option<RepeatGoal>> {
    prop_oneof![
        Just(None),
        (0.001..0.5).prop_map(|share| Some(RepeatGoal::HalfWidth(share))),
        wish().prop_map(|wish| Some(RepeatGoal::Wish(wish))),
    ]
}

/// What a wish decides, and the defaults of what it leaves open.
fn keep_to_wish(mut load: Load) -> Load {
    if let Some(wish) = load.wish().cloned() {
        (load.repeats, load.max_repeats, load.search) = (3, 1000, None);
        if wish.open.settle {
            load.settle = Duration::from_secs(10);
        }
        if wish.open.steady {
            load.steady = Duration::from_secs(60);
        }
    }
    load
}

prop_compose! {
    fn load()(
        users in users(), goal in goal(), search in option::of(search()).boxed(), ramp_up in ramp_up(), retry_void in 0_u32..10, rest in time(0, MINUTE), settle in time(0, MINUTE), steady in time(1_000_000, MINUTE),
        ramp_down in time(0, MINUTE), drain in time(0, MINUTE), timeout in time(1_000, MINUTE), repeats in 1_u32..6,
        order in select(vec![Order::Random, Order::Interleaved]),
    ) -> Load {
        let goal = goal.filter(|_| repeats >= 3);
        keep_to_wish(Load {
            loop_type: LoopType::Closed { users }, ramp_up, settle, steady, ramp_down, drain, timeout, repeats, goal, max_repeats: 2 * repeats, retry_void, rest, order, search,
        })
    }
}

/// Shares in whole percents, so that they come back as they were.
fn course() -> impl Strategy<Value = Course> {
    let share = || (1_u32..500).prop_map(|percent| f64::from(percent) / 100.0);
    let step = (time(1, MINUTE), share(), any::<bool>());
    let steps = vec(step, 1..5).prop_map(|steps| {
        let named = steps.into_iter().enumerate();
        Course::Steps(
            named
                .map(|(index, (length, share, linear))| CourseStep {
                    length,
                    share,
                    linear: linear && index > 0,
                })
                .collect(),
        )
    });
    prop_oneof![
        Just(Course::Level),
        steps,
        (share(), share()).prop_map(|(from, to)| Course::Ramp { from, to }),
        (0_u32..=100, time(1, MINUTE)).prop_map(|(percent, period)| Course::Swing {
            amplitude: f64::from(percent) / 100.0,
            period
        }),
    ]
}

prop_compose! {
    fn open()(
        rate in users(), course in course(), arrivals in select(vec![Arrivals::Poisson, Arrivals::Uniform]), max_in_flight in 1_u32..5_000,
        precision in select(vec![Precision::Exact, Precision::Batched]),
        visit in prop_oneof![Just(Visit::Single), (0.0..0.999).prop_map(Visit::GoOn), (1_u32..9).prop_map(Visit::Acts)],
    ) -> OpenLoad {
        OpenLoad { rate, course, arrivals, max_in_flight, precision, visit }
    }
}

/// The same study with visitors in place of users.
fn opened(mut study: Study, open: Option<OpenLoad>) -> Study {
    let Some(open) = open else { return study };
    study.load.loop_type = LoopType::Open(open);
    if let Some(search) = study
        .load
        .search
        .as_mut()
        .filter(|search| search.over == Over::Users)
    {
        search.over = Over::Rate;
    }
    study.layouts.iter_mut().for_each(|layout| {
        layout.users = None;
        layout
            .groups
            .iter_mut()
            .for_each(|group| group.users = None);
    });
    study
}

/// Limits that rise with the percentile, in the order of the grammar.
fn limits(operation: Option<&'static str>) -> impl Strategy<Value = Vec<PercentileLimit>> {
    vec(option::of(1_u64..1_000_000), 6).prop_map(move |steps| {
        let mut limit_us = 0;
        let percentiles = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9];
        let given = steps
            .into_iter()
            .zip(percentiles)
            .filter_map(|(step, percentile)| Some((step?, percentile)));
        let rising = given.map(|(step, percentile)| {
            limit_us += step;
            PercentileLimit {
                operation: operation.map(str::to_owned),
                percentile,
                limit_us,
            }
        });
        rising.collect()
    })
}

fn qos() -> impl Strategy<Value = Qos> {
    (
        limits(None),
        limits(Some("new-customer")),
        limits(Some("order")),
        0.0..=1.0,
        1_u64..10_000,
    )
        .prop_map(|(every, new_customer, order, errors, min_operations)| Qos {
            percentiles: [every, new_customer, order].concat(),
            error_ratio: Some(errors),
            min_operations,
        })
}

fn layouts(kind: GuestKind) -> impl Strategy<Value = Vec<Layout>> {
    let vcpus = (10_u32..2500).prop_map(move |n| {
        if kind == GuestKind::Bare {
            Vcpus(n.div_ceil(1000) * 1000)
        } else {
            Vcpus(n)
        }
    });
    let said = |key: &str, value: &str| Override {
        key: key.to_owned(),
        value: value.to_owned(),
    };
    let overrides = select(vec![
        vec![],
        vec![said("guest.pids", "77")],
        vec![
            said("guest.memory", "\"900MiB\""),
            said("load.settle", "\"7s\""),
            said("qos.min_operations", "5"),
        ],
    ]);
    let layout = (
        vec(1_u32..9, 1..4),
        vec(vcpus, 1..4),
        option::of(users()),
        (any::<bool>(), overrides),
    );
    (vec(layout, 1..4), option::of(tile(kind))).prop_map(|(layouts, tile)| {
        let named = layouts.into_iter().enumerate().map(
            |(index, (guests, vcpus, users, (compared, overrides)))| Layout {
                name: format!("layout \"{index}\" \\ größe"),
                guests: distinct(guests, |n| *n),
                vcpus: distinct(vcpus, |n| *n),
                users,
                baseline: (compared && index > 0).then(|| "layout \"0\" \\ größe".to_owned()),
                // The sections are those of the first.
                overrides: if index > 0 { overrides } else { Vec::new() },
                groups: Vec::new(),
                tiles: Vec::new(),
                hosts: Vec::new(),
            },
        );
        named.chain(tile).collect()
    })
}

/// A layout with groups, of which the last may be a tier.
fn tile(kind: GuestKind) -> impl Strategy<Value = Layout> {
    let vcpus = if kind == GuestKind::Bare { 1000 } else { 250 };
    let said = |key: &str, value: &str| Override {
        key: key.to_owned(),
        value: value.to_owned(),
    };
    let overrides = select(vec![
        vec![],
        vec![
            said("guest.memory", "\"700MiB\""),
            said("load.timeout", "\"3s\""),
            said("qos.min_operations", "7"),
        ],
    ]);
    let group = (1_u32..4, 1_u32..4, option::of(users()), overrides);
    (vec(group, 1..4), any::<bool>(), vec(1_u32..5, 0..3)).prop_map(move |(groups, tier, tiles)| {
        let last = groups.len() - 1;
        let named =
            groups
                .into_iter()
                .enumerate()
                .map(|(index, (guests, parts, users, overrides))| {
                    let is_tier = tier && index == last && index > 0;
                    LayoutGroup {
                        name: format!("group {index}"),
                        guests,
                        vcpus: Vcpus(vcpus * parts),
                        users: users
                            .and_then(|users| users.first().cloned())
                            .filter(|_| !is_tier),
                        tier_of: is_tier.then(|| "group 0".to_owned()),
                        host: tier.then(|| "b".to_owned()),
                        overrides,
                    }
                });
        Layout {
            name: "tile".to_owned(),
            guests: Vec::new(),
            vcpus: Vec::new(),
            users: None,
            baseline: None,
            overrides: Vec::new(),
            groups: named.collect(),
            hosts: match tiles.as_slice() {
                [_] => ["b", "host \"größe\""].map(str::to_owned).to_vec(),
                _ => Vec::new(),
            },
            tiles: distinct(tiles, |n| *n),
        }
    })
}

prop_compose! {
    fn machine()(
        size_mib in 256_u64..9999, clone in select(vec![DiskClone::Overlay, DiskClone::Raw, DiskClone::Preallocated]),
        cache in select(vec![DiskCache::None, DiskCache::Directsync]), io in select(vec![DiskIo::Threads, DiskIo::Native, DiskIo::IoUring]),
        queues in option::of(1_u32..65), iothreads in 0_u32..17, vhost in option::of(any::<bool>()), mtu in 1280_u32..9001, separate in any::<bool>(), disciplines in disciplines(),
        tso in option::of(any::<bool>()), checksum in option::of(any::<bool>()),
        hugepages in any::<bool>(), merged in any::<bool>(),
        cpu in select(vec![CpuModel::Host, CpuModel::Maximum, CpuModel::Named("Westmere".to_owned())]),
    ) -> VmShape {
        VmShape {
            cpu,
            disk: DiskShape { size_mib, clone, cache, io, queues },
            iothreads,
            nic: NetworkShape {
                vhost,
                mtu,
                back_end: back_end(separate),
                offloads: NicOffloads { tso: tso.filter(|on| !on || checksum != Some(false)), checksum },
                rate_limit: disciplines.0,
                impairment: disciplines.1,
                ..NetworkShape::default()
            },
            memory: MemoryShape { hugepages, merged, ..MemoryShape::default() },
            ..VmShape::default()
        }
    }
}

prop_compose! {
    fn disciplines()(
        bits_per_s in option::of(64_000_u64..1_000_000_000_000), packets in option::of(1_u32..1_000_000),
        delay_us in 0_u64..10_000_000, loss_ppm in 0_u32..500_000,
    ) -> (Option<RateLimit>, Impairment) {
        let queue = packets.map_or(RateQueue::Usual, RateQueue::Packets);
        (
            bits_per_s.map(|bits_per_s| RateLimit { bits_per_s, queue }),
            Impairment { delay: Duration::from_micros(delay_us), loss_ppm },
        )
    }
}

fn back_end(separate: bool) -> BackEnd {
    if separate {
        BackEnd::Separate
    } else {
        BackEnd::Shared
    }
}

fn cpu_time() -> impl Strategy<Value = CpuTime> {
    prop_oneof![
        option::of(time(1_000, 1_000_000)).prop_map(|period| CpuTime::Cap { period }),
        Just(CpuTime::Share),
    ]
}

fn pinning() -> impl Strategy<Value = Pinning> {
    let policy = select(vec![
        Pin::Spread,
        Pin::Pack,
        Pin::None,
        Pin::Socket,
        Pin::Node,
        Pin::Diagonal,
    ]);
    let table = vec![vec![0, 2], vec![4], vec![5, 7]];
    prop_oneof![6 => policy.prop_map(Pinning::Policy), 1 => Just(Pinning::Table(table))]
}

fn packet_cpus() -> impl Strategy<Value = PacketCpus> {
    prop_oneof![
        Just(PacketCpus::Policy(PacketPolicy::Spread)),
        Just(PacketCpus::Policy(PacketPolicy::Guest)),
        select(vec![vec![0], vec![1, 2, 5]]).prop_map(PacketCpus::These),
    ]
}

prop_compose! {
    fn link()(
        device in select(vec![
            LinkDevice::Veth,
            LinkDevice::Macvlan,
            LinkDevice::Ipvlan,
            LinkDevice::Vxlan,
            LinkDevice::Routed,
        ]),
        mtu in 1280_u32..65_486, bridge_mtu in 1280_u32..65_536,
        gro in option::of(any::<bool>()), gso in option::of(any::<bool>()), tso in option::of(any::<bool>()), checksum in option::of(any::<bool>()),
        disciplines in disciplines(), coalesce in option::of(0_u32..65), separate in any::<bool>(),
    ) -> LinkShape {
        LinkShape {
            device,
            mtu,
            // No bridge is on the way to a routed guest.
            bridge_mtu: if device == LinkDevice::Routed { mtu } else { bridge_mtu },
            offloads: Offloads { gro, gso, tso: tso.filter(|on| !on || checksum != Some(false)), checksum },
            coalesce,
            rate_limit: disciplines.0,
            impairment: disciplines.1,
            back_end: back_end(separate && device != LinkDevice::Ipvlan),
        }
    }
}

fn swap() -> impl Strategy<Value = Swap> {
    let device = (any::<bool>(), option::of(1_u64..4096)).prop_map(|(file, size_mib)| {
        let kind = if file { SwapKind::File } else { SwapKind::Zram };
        Swap::Device { kind, size_mib }
    });
    prop_oneof![Just(Swap::None), device]
}

prop_compose! {
    fn guest(kind: GuestKind)(
        memory in amount(300.0, 900.0, "MiB"), cpu in cpu_time(), pin in pinning(), pids in 16_u32..9999,
        ready_within in time(100_000, MINUTE), vm in machine(), link in link(), packet_cpus in option::of(packet_cpus()),
        cpu_weight in option::of(1_u32..10_001), swap in swap(),
    ) -> GuestShape {
        let lab = match kind {
            GuestKind::Vm => LabShape::Vm(Box::new(vm)),
            GuestKind::Container => LabShape::Container(link),
            other => other.into(),
        };
        let packet_cpus = packet_cpus.filter(|_| matches!(kind, GuestKind::Container | GuestKind::Vm));
        let swap = match (kind, swap) {
            (GuestKind::Container, swap) | (GuestKind::Vm, swap @ Swap::Device { kind: SwapKind::File, .. }) => swap,
            _ => Swap::None,
        };
        GuestShape { lab, cpu, cpu_weight, packet_cpus, memory, swap, pin, pids, ready_within }
    }
}

prop_compose! {
    fn host_use()(cpus in option::of(select(vec![vec![0], vec![1, 2, 3], vec![0, 2, 4, 6]])), driver in any::<bool>(), elsewhere in any::<bool>(),
        overcommit in 1.0..40.0, reserve_mib in 0_u64..4096, settings in option::of("[a-m][a-z0-9-]{0,20}"), other_work in 0.0..1.0,
    ) -> HostUse {
        HostUse { guest_cpus: cpus, driver_cpus: driver.then(|| vec![5, 7]), driver: if elsewhere && !driver { DriverPlace::Elsewhere } else { DriverPlace::Here }, overcommit, reserve_mib, settings, other_work }
    }
}

fn setting() -> impl Strategy<Value = (String, SettingValue)> {
    let name = "(mariadb|apache|php|pages)\\.[A-Za-z][A-Za-z0-9_.-]{0,20}";
    let text = prop_oneof![
        "[A-Za-z_/:,&~\"'\\\\]{1,20}",
        select(vec![
            "8MiB",
            "80% * memory",
            "64",
            "-1.5",
            "O_DIRECT",
            "128M"
        ])
        .prop_map(str::to_owned),
    ];
    let value = prop_oneof![
        any::<bool>().prop_map(SettingValue::Boolean),
        text.prop_map(|text| SettingValue::parse(&text).expect("a word or an expression")),
    ];
    (name, value)
}

prop_compose! {
    fn lamp()(
        server in select(vec![WebServer::Prefork, WebServer::Event]),
        tuning in select(vec![TuningProfile::Stock, TuningProfile::Pureflex, TuningProfile::Modern]),
        buffer_pool in select(vec![BufferPool::Cold, BufferPool::Warm]), settings in vec(setting(), 0..5),
    ) -> LampUse {
        LampUse { site: LampSite::Own, pages: Pages::Corrected, server, tuning, buffer_pool, settings: settings.into_iter().collect() }
    }
}

/// Settings of one database server.
fn settings_of(component: &'static str) -> impl Strategy<Value = BTreeMap<String, SettingValue>> {
    vec(("[A-Za-z][A-Za-z0-9_]{0,20}", any::<bool>()), 0..4).prop_map(move |settings| {
        let named = settings
            .into_iter()
            .map(|(name, value)| (format!("{component}.{name}"), SettingValue::Boolean(value)));
        named.collect()
    })
}

prop_compose! {
    fn order_entry()(
        profile in select(Profile::ALL.to_vec()), warehouses in amount(1.0, 50.0, ""), mib in option::of(amount(100.0, 900.0, "MiB")),
        divisor in select(vec![1, 2, 10, 100]), binding in select(vec![Binding::Fixed, Binding::Uniform, Binding::Slice]),
        weights in option::of([0_u32..9, 1..9, 0..9, 0..9, 0..9]), scale in option::of(0.01..100.0_f64), spec in any::<bool>(),
        statements in select(vec![Style::Plain, Style::Batched, Style::Pipelined]), isolation in select(vec![Isolation::Default, Isolation::Serializable]),
        deferred in any::<bool>(), foreign_keys in any::<bool>(), history_pk in any::<bool>(), max_retries in 0_u32..1000,
        hit in option::of(0.01..0.99_f64), verify in any::<bool>(), scattered in distribution(),
        postgresql in any::<bool>(), tuning in select(vec![TuningProfile::Stock, TuningProfile::Rhev, TuningProfile::Modern]),
        buffer_pool in select(vec![BufferPool::Cold, BufferPool::Warm]), ours in settings_of("mariadb"), theirs in settings_of("postgresql"),
    ) -> (OrderentryUse, StackUse) {
        let wanted = OrderentryUse {
            profile,
            size: mib.map_or(DatabaseSize::Warehouses(warehouses), DatabaseSize::Mib),
            divisor,
            binding,
            mix: weights.map_or(Mix::Deck, Mix::Weighted),
            pacing: match scale {
                Some(scale) => TerminalPacing::Scaled(scale),
                None if spec => TerminalPacing::Spec,
                None => TerminalPacing::None,
            },
            think_distribution: if scale.is_none() && !spec { SPECIFIED } else { scattered },
            statements,
            isolation,
            delivery: if deferred { DeliveryMode::Deferred } else { DeliveryMode::Inline },
            foreign_keys,
            history_pk,
            max_retries,
            // The profile presets one, and nothing takes it away.
            hit_target: hit.map(|hit| HitTarget::try_from(hit).expect("a share")).or(profile.settings().hit_target),
            verify,
        };
        let (engine, settings) = if postgresql { (Engine::Postgresql, theirs) } else { (Engine::Mariadb, ours) };
        (wanted, StackUse::Database(DatabaseUse { engine, tuning, buffer_pool, settings }))
    }
}

/// The same study with order entry in place of the shop.
fn ordering(mut study: Study, mut wanted: OrderentryUse, stack: StackUse) -> Study {
    if let LoopType::Open(open) = &mut study.load.loop_type {
        open.visit = Visit::Single;
        wanted.pacing = TerminalPacing::None;
        wanted.think_distribution = SPECIFIED;
    }
    for limit in &mut study.qos.percentiles {
        limit.operation = limit.operation.take().map(|name| {
            if name == "order" {
                "new-order"
            } else {
                "payment"
            }
            .to_owned()
        });
    }
    let place = |limit: &PercentileLimit| limit.operation.as_deref().map(|name| name == "payment");
    study.qos.percentiles.sort_by_key(place);
    if study.qos.percentiles.is_empty() {
        let limit_us = 1_000_000;
        study.qos.percentiles.push(PercentileLimit {
            operation: None,
            percentile: 99.0,
            limit_us,
        });
    }
    study.workload = Workload::Orderentry(wanted);
    study.stack = stack;
    study
}

prop_compose! {
    fn simulated()(
        host_cpus in 2_u32..=1024, cpu_us in 1_u64..10_000_000, disk_us in 0_u64..10_000_000, lock_us in 0_u64..10_000_000,
        guest_overhead in 0.0..10.0_f64, noise in 0.0..0.5_f64, freeze_ms in 0_u64..60_000, after_ms in 1_u64..3_000_000,
    ) -> SimulatedUse {
        SimulatedUse {
            pages: Pages::Corrected,
            host_cpus,
            cpu_demand: Duration::from_micros(cpu_us),
            disk_demand: Duration::from_micros(disk_us),
            lock_demand: Duration::from_micros(lock_us),
            guest_overhead,
            noise,
            freeze: Duration::from_millis(freeze_ms),
            freeze_every: Duration::from_millis(freeze_ms + after_ms),
        }
    }
}

fn stack() -> impl Strategy<Value = StackUse> {
    let pages = select(vec![Pages::Faithful, Pages::Corrected]);
    (
        pages,
        option::of(lamp()),
        0..=1_000_000_u64,
        option::of(simulated()),
    )
        .prop_map(
            |(pages, lamp, extra_us, simulated)| match (lamp, simulated) {
                (Some(lamp), _) => StackUse::Lamp(LampUse { pages, ..lamp }),
                (None, Some(system)) => StackUse::Simulated(SimulatedUse { pages, ..system }),
                (None, None) => StackUse::Embedded {
                    pages,
                    extra_cpu: Duration::from_micros(extra_us),
                    extra_wait: Duration::ZERO,
                    serial_share: 0.0,
                    processors_per_vcpu: 1,
                },
            },
        )
}

fn study() -> impl Strategy<Value = Study> {
    let text = "[^\\p{C}]{0,30}[a-z]";
    select(vec![
        GuestKind::Bare,
        GuestKind::Container,
        GuestKind::Vm,
        GuestKind::Fake,
    ])
    .prop_flat_map(move |kind| {
        let first = (
            text,
            option::of("[a-z\n\"'\\\\]{0,40}[a-z]"),
            0..=i64::MAX as u64,
            workload(),
            (load(), option::of(open())),
            qos(),
        );
        (
            first,
            stack(),
            // On the heap: all together are more than a thread's stack.
            guest(kind).boxed(),
            storage(kind, amount(900.0, 2000.0, "MiB").boxed()).boxed(),
            host_use().boxed(),
            layouts(kind),
        )
            .prop_map(|(first, stack, guest, storage, host, layouts)| {
                let (title, question, seed, workload, (load, open), qos) = first;
                let study = Study {
                    title,
                    question,
                    seed,
                    workload,
                    measure: Measure::Users,
                    load,
                    qos,
                    stack,
                    guest,
                    storage,
                    host,
                    layouts,
                };
                with_server_or_without_roles(one_load(opened(study, open)))
            })
    })
}

/// Groups have several loads: nothing is searched, or repeated for an interval, beside them.
fn one_load(mut study: Study) -> Study {
    if study.layouts.iter().any(|layout| !layout.groups.is_empty()) {
        study.load.search = None;
        study.load.goal = None;
    }
    study
}

/// Such a study, or one of order entry in its place.
fn any_study() -> impl Strategy<Value = Study> {
    (study().boxed(), option::of(order_entry().boxed())).prop_map(|(study, wanted)| match wanted {
        Some((wanted, stack)) if study.guest.kind() != GuestKind::Fake => {
            ordering(study, wanted, stack)
        }
        _ => study,
    })
}

fn document(study: &Study) -> Document {
    Document::parse("s.toml", &study.to_toml())
        .unwrap_or_else(|problems| panic!("{problems}\n{}", study.to_toml()))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_again(study in any_study()) {
        let document = document(&study);
        prop_assert_eq!(document.study(), &study);
    }

    #[test]
    fn plans_hold_their_laws_and_are_repeatable(study in any_study()) {
        let document = document(&study);
        match Plan::of(&document, &host()) {
            Ok(plan) => {
                assert_plan(&study, &plan);
                prop_assert_eq!(Plan::of(&document, &host()).ok(), Some(plan));
            }
            Err(problems) => assert_useful(&problems),
        }
    }
}

/// The laws above would hold of an empty set too: most random studies must be possible to plan.
#[test]
fn random_studies_are_mostly_possible() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let planned = (0..100).filter(|_| {
        let study = study().new_tree(&mut runner).expect("a study").current();
        Plan::of(&document(&study), &host()).is_ok()
    });
    let planned = planned.count();
    assert!(planned >= 30, "{planned} of 100");
}
