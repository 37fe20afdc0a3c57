//! A study file as a whole: from text to [`Study`] and back.

use rookery_stats::qos::Qos;
use toml::de::{DeTable, Error as TomlError};

use crate::{
    grammar::{
        Context, Reader, Spans,
        sections::{self, GuestKeys, HostKeys, LayoutKeys, LoadKeys, MOST_LAYOUTS, QosSection, RootKeys, StackSection, WorkloadKeys},
    },
    model::{GuestShape, HostUse, Layout, Load, Study, Workload},
    plan::{Factor, Variant},
    problem::{Code, Finding, Problems},
    source::Source,
    stack_use::StackUse,
};

/// Larger files are no studies.
pub(crate) const MOST_BYTES: usize = 256 * 1024;

/// Most trials of a study.
pub(crate) const MOST_TRIALS: usize = 10_000;

/// Most guests of all points together; bounds the plan in memory.
pub(crate) const MOST_GUESTS_IN_ALL: u64 = 50_000;

/// A valid study together with the file that it came from, so that later problems can point at its lines.
#[derive(Clone, Debug)]
pub struct Document {
    /// At least one; the first has the first level of every factor.
    variants: Vec<Variant>,
    /// Where the keys of each variant stand.
    spans: Vec<Spans>,
    factors: Vec<Factor>,
    source: Source,
}

impl Document {
    /// Reads a study file. `file_name` is only used in messages.
    ///
    /// # Errors
    ///
    /// All problems of the file at once, each with its line and its mend.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, Problems> {
        let source = Source::new(file_name, text);
        if text.len() > MOST_BYTES {
            return Err(too_large(&source, text.len()));
        }
        let (root, errors) = DeTable::parse_recoverable(text);
        let syntax: Vec<Finding> = errors.iter().map(|error| syntax_finding(&source, error)).collect();
        let mut context = Context::default();
        let study = read_study(root.get_ref(), &source, &mut context);
        let findings = merge(&source, syntax, context.findings);
        match study {
            Some(study) if findings.is_empty() => Ok(Self {
                variants: vec![Variant {
                    id: 1,
                    levels: Vec::new(),
                    study,
                }],
                spans: vec![context.spans],
                factors: Vec::new(),
                source,
            }),
            _ => Err(Problems::new(&source, findings)),
        }
    }

    /// Reads a study file from bytes, which need not even be text.
    ///
    /// # Errors
    ///
    /// As [`Document::parse`], and when the bytes are not UTF-8.
    pub fn parse_bytes(file_name: &str, bytes: &[u8]) -> Result<Self, Problems> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::parse(file_name, text),
            Err(error) => {
                let bytes = &bytes[..bytes.len().min(MOST_BYTES)];
                let source = Source::new(file_name, &String::from_utf8_lossy(bytes));
                // Everything before the first bad byte is text, so its place is the same in the replaced text.
                let start = error.valid_up_to().min(source.text().len());
                let finding = Finding {
                    code: Code::Syntax,
                    span: start..start + 1,
                    message: "the file is not UTF-8 text".to_owned(),
                    mend: "save the file as UTF-8".to_owned(),
                };
                Err(Problems::new(&source, vec![finding]))
            }
        }
    }

    /// The study with the first level of every factor; the whole study where there are none.
    #[must_use]
    pub fn study(&self) -> &Study {
        &self.variants[0].study
    }

    /// The study with every combination of levels that its design asks for; one without levels where there are no factors.
    #[must_use]
    pub fn variants(&self) -> &[Variant] {
        &self.variants
    }

    /// The keys that have several levels, in the order of the file.
    #[must_use]
    pub fn factors(&self) -> &[Factor] {
        &self.factors
    }

    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> &str {
        self.source.text()
    }

    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// Where the keys of the `variant`-th variant, from zero, stand.
    pub(crate) fn spans(&self, variant: usize) -> &Spans {
        &self.spans[variant]
    }
}

impl Study {
    /// Reads a study file; see [`Document::parse`], which also keeps what [`crate::Plan::of`] needs.
    ///
    /// # Errors
    ///
    /// All problems of the file at once, each with its line and its mend.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, Problems> {
        Document::parse(file_name, text).map(|document| document.study().clone())
    }

    /// The study as a file, defaults written out. Reading it again gives the same study, provided that it came from a file:
    /// times in whole microseconds, limits on the percentiles that the grammar knows.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        RootKeys::of(self).write(&mut out);
        let mut section = |name: &str, write: &dyn Fn(&mut String)| {
            out.push_str(&format!("\n[{name}]\n"));
            write(&mut out);
        };
        section(sections::WORKLOAD, &|out| WorkloadKeys::of(&self.workload).write(out));
        section(sections::LOAD, &|out| LoadKeys::of(&self.load).write(out));
        section(sections::QOS, &|out| QosSection::of(&self.qos).write(out));
        section(sections::STACK, &|out| StackSection::of(&self.stack).write(out));
        section(sections::GUEST, &|out| GuestKeys::of(&self.guest).write(out));
        section(sections::HOST, &|out| HostKeys::of(&self.host).write(out));
        for layout in &self.layouts {
            out.push_str(&format!("\n[[{}]]\n", sections::LAYOUT));
            LayoutKeys::of(layout).write(&mut out);
        }
        out
    }
}

/// What the sections say; nothing where one has a problem.
struct Sections {
    root: RootKeys,
    workload: Option<Workload>,
    load: Option<Load>,
    qos: Option<Qos>,
    stack: Option<StackUse>,
    guest: Option<GuestShape>,
    host: Option<HostUse>,
    layouts: Vec<LayoutKeys>,
}

fn read_study(root: &DeTable<'_>, source: &Source, context: &mut Context) -> Option<Study> {
    let mut reader = Reader::new(Some(root), "", source.end(), context);
    let sections = read_sections(&mut reader);
    reader.finish();
    let layouts = build_layouts(&sections, source, context);
    let study = Study {
        title: sections.root.title?,
        question: sections.root.question,
        seed: sections.root.seed?,
        workload: sections.workload?,
        load: sections.load?,
        qos: sections.qos?,
        stack: sections.stack?,
        guest: sections.guest?,
        host: sections.host?,
        layouts: layouts?,
    };
    check_size(&study, context);
    Some(study)
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
    let workload = section!(sections::WORKLOAD, WorkloadKeys).build(reader.context);
    let load = section!(sections::LOAD, LoadKeys).build();
    let qos = QosSection::read(reader.section(sections::QOS)).build();
    let stack = StackSection::read(reader.section(sections::STACK)).build(reader.context);
    let guest = section!(sections::GUEST, GuestKeys).build();
    let host = section!(sections::HOST, HostKeys).build(reader.context);
    let mut layouts = Vec::new();
    reader.each(sections::LAYOUT, MOST_LAYOUTS, |mut layout| {
        layouts.push(LayoutKeys::read(&mut layout));
        layout.finish();
    });
    Sections {
        root,
        workload,
        load,
        qos,
        stack,
        guest,
        host,
        layouts,
    }
}

fn build_layouts(sections: &Sections, source: &Source, context: &mut Context) -> Option<Vec<Layout>> {
    if sections.layouts.is_empty() {
        let mend = "add `[[layout]]` with `name = \"one\"`, `guests = 1`, `vcpus = 1`";
        return context.refuse(
            Code::MissingKey,
            source.end(),
            "there is no [[layout]], so there is nothing to run",
            mend,
        );
    }
    let kind = sections.guest.as_ref().map(|guest| guest.kind);
    for (index, layout) in sections.layouts.iter().enumerate() {
        layout.check(index, &sections.layouts[..index], kind, context);
    }
    // What is in the file but was refused has its problem already.
    let lacks = |index: &usize| !context.spans.has(&format!("layout[{index}].users"));
    if !context.spans.has("load.users")
        && let Some(index) = (0..sections.layouts.len()).find(lacks)
    {
        let place = if context.spans.has("load") {
            "load".to_owned()
        } else {
            format!("layout[{index}]")
        };
        let mend = "add `users = \"50 per vcpu\"` to [load], or `users` to every [[layout]]";
        return context.refuse(Code::MissingKey, context.spans.nearest(&place), "`load.users` is missing", mend);
    }
    sections.layouts.iter().map(|layout| layout.clone().build()).collect()
}

/// Bounds the plan before anything is expanded.
fn check_size(study: &Study, context: &mut Context) {
    let (mut points, mut guests_in_all) = (0_u64, 0_u64);
    for layout in &study.layouts {
        let users = layout.users.as_ref().unwrap_or(&study.load.users).len() as u64;
        let each = layout.vcpus.len() as u64 * users;
        points += layout.guests.len() as u64 * each;
        guests_in_all += layout.guests.iter().map(|guests| u64::from(*guests)).sum::<u64>() * each;
    }
    let trials = points * u64::from(study.load.repeats);
    if trials > MOST_TRIALS as u64 {
        let span = context.spans.nearest("load.repeats");
        let message = format!(
            "{points} points repeated {} times are {trials} trials, at most {MOST_TRIALS} are allowed",
            study.load.repeats
        );
        context.refuse::<()>(Code::TooMany, span, message, "lower `repeats`, or shorten the lists of the layouts");
    }
    if guests_in_all > MOST_GUESTS_IN_ALL {
        let span = context.spans.nearest("layout");
        let message = format!("all points together have {guests_in_all} guests, at most {MOST_GUESTS_IN_ALL} are allowed");
        context.refuse::<()>(
            Code::TooMany,
            span,
            message,
            "shorten the lists of the layouts, or split the study into several files",
        );
    }
}

fn too_large(source: &Source, bytes: usize) -> Problems {
    let finding = Finding {
        code: Code::TooLarge,
        span: 0..0,
        message: format!("the file has {bytes} bytes, a study has at most {MOST_BYTES}"),
        mend: "give a study file; is this another kind of file?".to_owned(),
    };
    Problems::new(source, vec![finding])
}

fn syntax_finding(source: &Source, error: &TomlError) -> Finding {
    let text = source.text();
    let span = error.span().unwrap_or(source.end());
    let span = span.start.min(text.len())..span.end.min(text.len());
    let duplicate = error.message().starts_with("duplicate key");
    let line_start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let mend = if text[line_start..].trim_start().starts_with("p99.9") {
        "write the key in quotes: `\"p99.9\" = \"4s\"`"
    } else if duplicate {
        "keep one of the two"
    } else {
        "a study is TOML: `key = value` on one line, text in double quotes, sections as `[name]`, layouts as `[[layout]]`"
    };
    Finding {
        code: if duplicate { Code::DuplicateKey } else { Code::Syntax },
        span,
        message: error.message().to_owned(),
        mend: mend.to_owned(),
    }
}

/// After an error of syntax the parser guesses: what it says of the same lines, or misses, is not worth repeating.
fn merge(source: &Source, syntax: Vec<Finding>, mut meaning: Vec<Finding>) -> Vec<Finding> {
    if !syntax.is_empty() {
        let lines: std::collections::BTreeSet<usize> = syntax.iter().map(|finding| source.line(finding.span.start)).collect();
        meaning.retain(|finding| finding.code != Code::MissingKey && !lines.contains(&source.line(finding.span.start)));
    }
    let mut all = syntax;
    all.append(&mut meaning);
    all
}
