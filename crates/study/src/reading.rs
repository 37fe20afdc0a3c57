//! From the tables of a parsed file to one [`Study`].

use toml::de::DeTable;

mod external;
mod image;

use crate::{
    design::Design,
    grammar::{Context, Reader},
    model::{Measure, Study},
    problem::Code,
    sections::{
        self, HostKeys, LayoutKeys, LoadKeys, MOST_LAYOUTS, MeasureKeys, NetworkKeys,
        PrecisionKeys, QosSection, RootKeys, SearchKeys, Sections, StackSection, StorageKeys,
        WorkloadSection, check_operations, read_guest,
    },
    source::Source,
    stack_use::{StackKind, StackUse},
    storage_use::StorageRole,
    values::{GuestKind, GuestShape, Layout, Load, LoadModel, LoopType, Over},
    vm_shape::Pool,
    workloads::{Workload, WorkloadKind, stacks},
};

/// Most trials of a study.
const MOST_TRIALS: u64 = 10_000;

/// Most guests of all points together; bounds the plan in memory.
const MOST_GUESTS_IN_ALL: u64 = 50_000;

/// Reads a study without factors; every problem is told to the context.
pub(crate) fn read_study(
    root: &DeTable<'_>,
    source: &Source,
    context: &mut Context,
) -> Option<(Study, Design)> {
    let mut reader = Reader::new(Some(root), "", source.end(), sections::home_of, context);
    let mut sections = read_sections(&mut reader);
    reader.knows(crate::scale::SECTION);
    reader.finish();
    external::check(&mut sections, context);
    image::check(&sections, context);
    if let Some(mut workload) = sections.workload.take() {
        check_workload(&workload, &sections, context);
        check_planted(&workload, &sections, context);
        let mut others = sections.others();
        workload.keys().check(&others, context);
        workload.keys_mut().fill_in(&mut others, context);
        sections.workload = Some(workload);
    }
    let layouts = build_layouts(&sections, source, context);
    check_search(&sections, context);
    check_storage(&sections, context);
    check_roles(&sections, context);
    check_load_time(&sections, context);
    let study = Study {
        title: sections.root.title?,
        question: sections.root.question,
        seed: sections.root.seed?,
        workload: sections.workload?,
        measure: sections.measure?,
        load: sections.load?,
        qos: sections.qos?,
        stack: sections.stack?,
        guest: sections.guest?,
        storage: sections.storage?,
        host: sections.host?,
        layouts: layouts?,
    };
    Some((study, sections.root.design?))
}

fn read_sections(reader: &mut Reader<'_, '_, '_>) -> Sections {
    let root = RootKeys::read(reader);
    /// Reads the keys of one section, refuses all others.
    macro_rules! section {
        ($name:expr, $keys:ident) => {{
            let mut section = reader.section($name);
            let keys = $keys::read(&mut section);
            section.finish();
            keys
        }};
    }
    let workload = section!(sections::WORKLOAD, WorkloadSection);
    let operations = workload.operation_names();
    let workload = workload.build(reader.context);
    let measure = section!(sections::MEASURE, MeasureKeys).build();
    let (model, load) = read_load(reader.section(sections::LOAD));
    let qos = QosSection::read(reader.section(sections::QOS), &operations).build();
    let stack = StackSection::read(reader.section(sections::STACK)).build(reader.context);
    let mut guest = read_guest(reader.section(sections::GUEST));
    let storage = StorageKeys::read_storage(reader.section(sections::STORAGE));
    let network = section!(sections::NETWORK, NetworkKeys);
    if let Some(guest) = &mut guest {
        network.apply(guest, reader.context);
    }
    let host = section!(sections::HOST, HostKeys).build(reader.context);
    let mut layouts = Vec::new();
    reader.each(sections::LAYOUT, MOST_LAYOUTS, |mut layout| {
        layouts.push(LayoutKeys::read(&mut layout));
        layout.finish();
    });
    Sections {
        root,
        workload,
        measure,
        model,
        load,
        qos,
        stack,
        guest,
        storage,
        host,
        layouts,
    }
}

/// Refuses what is planted in pages that cannot have it.
fn check_planted(workload: &Workload, sections: &Sections, context: &mut Context) {
    let Some(StackUse::Embedded {
        extra_wait,
        serial_share,
        processors_per_vcpu,
        ..
    }) = sections.stack
    else {
        return;
    };
    let planted = [
        ("extra_wait", !extra_wait.is_zero()),
        ("serial_share", serial_share > 0.0),
        ("processors_per_vcpu", processors_per_vcpu > 1),
    ];
    if workload.keys().has_serial_section() {
        return;
    }
    for (key, _) in planted.into_iter().filter(|(_, given)| *given) {
        let message = format!(
            "`stack.{key}` has no meaning for the workload {}, whose pages have no serial section",
            workload.kind().name()
        );
        let span = context.spans.nearest(&format!("stack.{key}"));
        let help = "remove it, or write a workload of web pages, such as \"web-support\"";
        context.refuse::<()>(Code::Contradiction, span, message, help);
    }
}

/// Workload, limits and stack must go together.
fn check_workload(workload: &Workload, sections: &Sections, context: &mut Context) {
    if let Some(qos) = &sections.qos {
        check_operations(qos, workload, context);
    }
    if let Some(stack) = &sections.stack {
        check_stack(workload.kind(), stack.kind(), context);
        check_site(workload, stack, context);
    }
}

/// Refuses a site of the user before a workload that has pages of its own.
fn check_site(workload: &Workload, stack: &StackUse, context: &mut Context) {
    let own = stack.lamp().is_none_or(|lamp| lamp.site.is_own());
    if own || workload.keys().takes_sites() {
        return;
    }
    let message = format!(
        "`stack.site` has no meaning for the workload {}, whose pages come with Rookery",
        workload.kind().name()
    );
    let span = context.spans.nearest("stack.site");
    context.refuse::<()>(Code::Contradiction, span, message, "remove it");
}

/// Refuses a stack that does not serve the workload.
fn check_stack(workload: WorkloadKind, stack: StackKind, context: &mut Context) {
    let serving = stacks(workload);
    if serving.contains(&stack) {
        return;
    }
    let key = if context.spans.has("stack.kind") {
        "stack.kind"
    } else {
        "workload.kind"
    };
    let span = context.spans.nearest(key);
    let message = format!(
        "`workload.kind` is \"{}\", which the stack \"{}\" does not carry",
        workload.name(),
        stack.name()
    );
    let others = WorkloadKind::ALL
        .into_iter()
        .filter(|other| stacks(*other).contains(&stack))
        .map(|other| format!("`kind = \"{}\"`", other.name()));
    let stacks: Vec<String> = serving
        .iter()
        .map(|stack| format!("`kind = \"{}\"`", stack.name()))
        .collect();
    let help = format!(
        "write {} in [stack], or {} in [workload]",
        stacks.join(" or "),
        others.collect::<Vec<_>>().join(" or ")
    );
    context.refuse::<()>(Code::Contradiction, span, message, help);
}

/// A search ends where limits are broken: there must be one that load breaks.
fn check_search(sections: &Sections, context: &mut Context) {
    let (Some(load), Some(qos)) = (&sections.load, &sections.qos) else {
        return;
    };
    if load.search.is_some() && qos.percentiles.is_empty() {
        let span = context.spans.nearest("load.search");
        let help = "add a limit on response times to [qos], for instance `p95 = \"500ms\"`";
        context.refuse::<()>(
            Code::Contradiction,
            span,
            "a search needs a limit that more load breaks",
            help,
        );
    }
    let kind = sections.guest.as_ref().map(GuestShape::kind);
    let over = load.search.as_ref().map(|search| search.over);
    let (Some(kind), Some(Over::Memory)) = (kind, over) else {
        return;
    };
    if !matches!(kind, GuestKind::Container | GuestKind::Vm) {
        let span = context.spans.nearest("load.search.over");
        let message = format!(
            "the memory of guests is searched, and guests of kind \"{}\" are not held to theirs",
            kind.name()
        );
        let help = "write `kind = \"container\"` or `kind = \"vm\"` in [guest]";
        context.refuse::<()>(Code::Contradiction, span, message, help);
    }
}

/// Where databases are loaded and nothing else, nobody arrives and nothing is searched; and there
/// must be something that is loaded where the guest is.
fn check_load_time(sections: &Sections, context: &mut Context) {
    if sections.measure != Some(Measure::LoadTime) {
        return;
    }
    let mut refuse = |key: &str, message: &str, help: &str| {
        let span = context.spans.nearest(key);
        context.refuse::<()>(Code::Contradiction, span, message, help);
    };
    if let Some(load) = &sections.load {
        let without = "leave it out, or leave `load_time` out of [measure]";
        if load.open().is_some() {
            let message = "`measure.load_time` measures databases, at which nobody arrives";
            refuse("load.model", message, without);
        }
        if load.search.is_some() {
            let message = "`measure.load_time` leaves no load that could be searched";
            refuse("load.search", message, without);
        }
        if load.half_width().is_some() {
            let message = "`load.half_width` is judged by throughput, and `measure.load_time` \
                           leaves none";
            refuse("load.half_width", message, without);
        }
        if load.wish().is_some() {
            let message = "`load.precision` is judged by what users see, and `measure.load_time` \
                           leaves none of them";
            refuse("load.precision", message, without);
        }
    }
    let kind = sections.stack.as_ref().map(StackUse::kind);
    if kind == Some(StackKind::Simulated) {
        let message = "a simulated stack has no database whose load could be measured";
        refuse("stack.kind", message, "write another `kind` in [stack]");
    }
    if kind == Some(StackKind::External) {
        let message = "a system that runs already has its data: there is no load to be measured";
        refuse("stack.kind", message, "write another `kind` in [stack]");
    }
    if kind == Some(StackKind::Image) {
        let message = "what an image holds is its own matter: there is no load to be measured";
        refuse("stack.kind", message, "write another `kind` in [stack]");
    }
    let in_files = matches!(
        kind,
        Some(StackKind::Embedded | StackKind::Sqlite | StackKind::Bundled)
    );
    let machines = sections
        .guest
        .as_ref()
        .is_some_and(|guest| guest.vm().is_some());
    if in_files && machines {
        let message = "this stack's database is a file that is made outside of machines, so that \
                       its load time would not be that of a machine";
        let help = "write `kind = \"container\"` in [guest], or a stack with a server";
        refuse("guest.kind", message, help);
    }
}

/// Not every guest can have every storage.
fn check_storage(sections: &Sections, context: &mut Context) {
    let (Some(storage), Some(guest)) = (&sections.storage, &sections.guest) else {
        return;
    };
    let mut refuse = |key: &str, message: String, help: &str| {
        let span = context.spans.nearest(&format!("storage.{key}"));
        context.refuse::<()>(Code::Contradiction, span, message, help);
    };
    let limits = [
        ("read_iops", storage.limits.read_iops),
        ("write_iops", storage.limits.write_iops),
        ("read_bps", storage.limits.read_bps),
        ("write_bps", storage.limits.write_bps),
    ];
    if !matches!(guest.kind(), GuestKind::Container | GuestKind::Vm)
        && let Some((key, _)) = limits.iter().find(|(_, limit)| limit.is_some())
    {
        let message = format!(
            "`storage.{key}` limits I/O, and only containers and machines can be held to that"
        );
        refuse(
            key,
            message,
            "write `kind = \"container\"` in [guest], or remove the limit",
        );
    }
    if storage.ceiling && guest.kind() == GuestKind::Fake {
        let message = "`storage.ceiling` is \"on\", but fake guests keep no data".to_owned();
        refuse("ceiling", message, "remove it");
    }
    let Some(volume) = &storage.volume else {
        return;
    };
    let help = "write `pool = \"directory\"` in [storage]";
    if let Some(machine) = guest.vm() {
        // The disk of a machine is a file on the volume, or the raw volume itself: whatever its
        // stack keeps.
        if machine.pool != Pool::Directory {
            let message =
                "the disks of machines cannot lie both on volumes and in the pool of [guest.vm]"
                    .to_owned();
            refuse(
                "pool",
                message,
                "write `pool = \"directory\"` in one of the two sections",
            );
        }
        if volume.raw && volume.shared {
            let message =
                "machines cannot share a raw device: each has a file system of its own on it"
                    .to_owned();
            refuse(
                "per",
                message,
                "write `per = \"guest\"`, or `pool = \"volume\"`",
            );
        }
        return;
    }
    if guest.kind() == GuestKind::Fake {
        let pool = if volume.raw { "raw" } else { "volume" };
        return refuse(
            "pool",
            format!("`storage.pool` is \"{pool}\", but fake guests keep no data"),
            help,
        );
    }
    if volume.raw {
        let stack = stack_words(sections);
        let message =
            format!("`storage.pool` is \"raw\", but the {stack} stack keeps its data in files");
        refuse("pool", message, "write `pool = \"volume\"` in [storage]");
    }
}

/// The stack of a study in words.
fn stack_words(sections: &Sections) -> &'static str {
    match sections.stack.as_ref().map(StackUse::kind) {
        Some(StackKind::Embedded) | None => "embedded",
        Some(StackKind::Lamp) => "LAMP",
        Some(StackKind::Simulated) => "simulated",
        Some(StackKind::Mariadb) => "MariaDB",
        Some(StackKind::Postgresql) => "PostgreSQL",
        Some(StackKind::Sqlite) => "SQLite",
        Some(StackKind::Bundled) => "bundled",
        Some(StackKind::External) => "external",
        Some(StackKind::Image) => "image",
    }
}

/// Only servers that keep logs and temporary files apart from their data have volumes for them, and
/// only guests that are made here.
fn check_roles(sections: &Sections, context: &mut Context) {
    let (Some(storage), Some(guest)) = (&sections.storage, &sections.guest) else {
        return;
    };
    let stack = sections.stack.as_ref().map(StackUse::kind);
    for (role, role_use) in &storage.roles {
        let path = format!("storage.{}", role.name());
        let mut refuse = |path: &str, message: String, help: &str| {
            let span = context.spans.nearest(path);
            context.refuse::<()>(Code::Contradiction, span, message, help);
        };
        if !has_server(stack, sections.workload.as_ref()) {
            let what = match role {
                StorageRole::Log => "the log",
                StorageRole::Data | StorageRole::Temporary => "the temporary files",
            };
            let message = format!(
                "`{path}` is a volume for {what} of a database server, and the {} stack has none \
                 of that",
                stack_words(sections)
            );
            let help = "remove the section, or choose a stack with a database server: `kind = \
                        \"mariadb\"`, \"postgresql\", or \"lamp\" where pages have a database";
            refuse(&path, message, help);
            continue;
        }
        let without = match guest.kind() {
            GuestKind::Bare | GuestKind::Container | GuestKind::Vm => None,
            GuestKind::Fake => Some("fake guests keep no data"),
            GuestKind::External => Some("nothing is made for a system that runs already"),
        };
        if let Some(why) = without {
            let message = format!("`{path}` is a volume beside that of the data, and {why}");
            let help = "remove the section, or write `kind = \"container\"` in [guest]";
            refuse(&path, message, help);
            continue;
        }
        let limits = role_use.limits.named();
        if guest.kind() == GuestKind::Bare
            && let Some((key, _)) = limits.iter().find(|(_, limit)| limit.is_some())
        {
            let message = format!(
                "`{path}.{key}` limits I/O, and only containers and machines can be held to that"
            );
            let help = "write `kind = \"container\"` in [guest], or remove the limit";
            refuse(&format!("{path}.{key}"), message, help);
        }
    }
}

/// Whether a stack has a database server that keeps a log and temporary files apart from its data.
fn has_server(stack: Option<StackKind>, workload: Option<&Workload>) -> bool {
    match stack {
        Some(StackKind::Mariadb | StackKind::Postgresql) => true,
        Some(StackKind::Lamp) => {
            workload.is_none_or(|workload| workload.keys().has_lamp_database())
        }
        _ => false,
    }
}

/// The section of the load with what stands below it, and the loop type alone.
fn read_load(mut reader: Reader<'_, '_, '_>) -> (Option<LoadModel>, Option<Load>) {
    let mut keys = LoadKeys::read(&mut reader);
    let search = SearchKeys::read_below(&mut reader);
    let precision = PrecisionKeys::read_below(&mut reader);
    let model = keys.model;
    let before = reader.context.findings.len();
    let search = search.and_then(|search| search.build(model, reader.context));
    let wish = precision
        .as_ref()
        .zip(model)
        .and_then(|(keys, model)| keys.build(model, reader.context));
    // A section that was refused has its problem; what else is wrong is told too.
    let sound = reader.context.findings.len() == before;
    if model.is_some_and(|model| model != LoadModel::Closed) {
        keys.precision = precision.and_then(|keys| keys.arrivals).or(keys.precision);
    }
    let load = keys.build(search, wish, reader.context);
    let load = load.filter(|_| sound);
    reader.finish();
    (model, load)
}

fn build_layouts(
    sections: &Sections,
    source: &Source,
    context: &mut Context,
) -> Option<Vec<Layout>> {
    if sections.layouts.is_empty() {
        let help = "add `[[layout]]` with `name = \"one\"`, `guests = 1`, `vcpus = 1`";
        return context.refuse(
            Code::MissingKey,
            source.end(),
            "there is no [[layout]], so there is nothing to run",
            help,
        );
    }
    let kind = sections.guest.as_ref().map(GuestShape::kind);
    for (index, layout) in sections.layouts.iter().enumerate() {
        layout.check(index, &sections.layouts[..index], kind, context);
    }
    if sections
        .model
        .is_some_and(|model| model != LoadModel::Closed)
    {
        for index in
            (0..sections.layouts.len()).filter(|index| sections.layouts[*index].users.is_some())
        {
            let span = context.spans.nearest(&format!("layout[{index}].users"));
            let help = "leave it out; `rate` in [load] says how many visitors arrive, for \
                        instance \"20 per vcpu\"";
            context.refuse::<()>(
                Code::Contradiction,
                span,
                "a layout of an open load has no users",
                help,
            );
        }
        return sections
            .layouts
            .iter()
            .map(|layout| layout.clone().build())
            .collect();
    }
    let over = sections
        .load
        .as_ref()
        .and_then(|load| load.search.as_ref())
        .map(|search| search.over);
    let filled_in = sections
        .load
        .as_ref()
        .is_some_and(|load| match &load.loop_type {
            LoopType::Closed { users } => !users.is_empty(),
            LoopType::Open(_) => false,
        });
    // What is in the file but was refused has its problem already.
    let lacks = |index: &usize| !context.spans.has(&format!("layout[{index}].users"));
    if sections.measure != Some(Measure::LoadTime)
        && !context.spans.has("load.users")
        && !filled_in
        && over != Some(Over::Users)
        && (over.is_some() || !context.spans.has("load.search"))
        && let Some(index) = (0..sections.layouts.len()).find(lacks)
    {
        let place = if context.spans.has("load") {
            "load".to_owned()
        } else {
            format!("layout[{index}]")
        };
        let help = "add `users = \"50 per vcpu\"` to [load], or `users` to every [[layout]]";
        return context.refuse(
            Code::MissingKey,
            context.spans.nearest(&place),
            "`load.users` is missing",
            help,
        );
    }
    sections
        .layouts
        .iter()
        .map(|layout| layout.clone().build())
        .collect()
}

/// Bounds the plan before anything is expanded: as many points and guests in each of so many
/// variants.
pub(crate) fn check_size(study: &Study, variants: usize, context: &mut Context) {
    let (mut points, mut guests_in_all) = (0_u64, 0_u64);
    for layout in &study.layouts {
        let users = study.amounts_of(layout).len() as u64;
        let each = layout.vcpus.len() as u64 * users * variants as u64;
        points += layout.guests.len() as u64 * each;
        guests_in_all += layout
            .guests
            .iter()
            .map(|guests| u64::from(*guests))
            .sum::<u64>()
            * each;
    }
    let trials = points * u64::from(study.load.repeats);
    let shorten = if variants > 1 {
        "shorten the lists of factors or layouts"
    } else {
        "shorten the lists of the layouts"
    };
    if trials > MOST_TRIALS {
        let span = context.spans.nearest("load.repeats");
        let message = format!(
            "{points} points repeated {} times are {trials} trials, at most {MOST_TRIALS} are \
             allowed",
            study.load.repeats
        );
        context.refuse::<()>(
            Code::TooMany,
            span,
            message,
            format!("lower `repeats`, or {shorten}"),
        );
    }
    if guests_in_all > MOST_GUESTS_IN_ALL {
        let span = context.spans.nearest("layout");
        let message = format!(
            "all points together have {guests_in_all} guests, at most {MOST_GUESTS_IN_ALL} are \
             allowed"
        );
        let help = format!("{shorten}, or split the study into several files");
        context.refuse::<()>(Code::TooMany, span, message, help);
    }
}
