//! A study file as a whole: from text to [`Study`] and back.

use std::ops::Range;

use toml::de::{DeTable, Error as TomlError};

use crate::{
    GuestKind,
    choices::{self, Choices},
    companions::Companions,
    design::{Aliases, Design},
    grammar::{Context, Spans},
    model::{Measure, Study},
    plan::{Factor, Variant},
    problem::{Code, Finding, Problems},
    scale,
    sections::{
        self, GroupKeys, GuestKeys, HostKeys, LayoutKeys, LoadKeys, MachineKeys, MeasureKeys,
        NetworkKeys, PrecisionKeys, QosSection, RootKeys, SearchKeys, StackSection, StorageKeys,
        WorkloadSection,
    },
    source::Source,
    values::{LayoutGroup, host_by_host},
    variants::{self, Expansion},
};

/// Larger files are no studies.
pub(crate) const MOST_BYTES: usize = 256 * 1024;

/// A valid study together with the file that it came from, so that later problems can point at its
/// lines.
#[derive(Clone, Debug)]
pub struct Document {
    expansion: Expansion,
    scale: Option<String>,
    source: Source,
    companions: Companions,
}

impl Document {
    /// Reads a study file. `file_name` is only used in messages.
    ///
    /// # Errors
    ///
    /// All problems of the file at once, each with its line and its help.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, Problems> {
        Self::parse_scaled(file_name, text, None)
    }

    /// As [`Document::parse`], with the parts of the study that `[scale.NAME]` replaces. The other
    /// scales are checked too.
    ///
    /// # Errors
    ///
    /// As [`Document::parse`], and when the file has no such scale.
    pub fn parse_scaled(
        file_name: &str,
        text: &str,
        scale: Option<&str>,
    ) -> Result<Self, Problems> {
        let choices = Choices {
            scale,
            ..Choices::default()
        };
        Self::parse_with(file_name, text, choices)
    }

    /// As [`Document::parse_scaled`], with all that can be chosen beside the file.
    ///
    /// # Errors
    ///
    /// As [`Document::parse_scaled`], and when the study does not go with what is chosen.
    pub fn parse_with(file_name: &str, text: &str, choices: Choices<'_>) -> Result<Self, Problems> {
        let (source, companions) = Companions::load(file_name, text, choices.files);
        if text.len() > MOST_BYTES {
            return Err(too_large(&source, text.len()));
        }
        let (root, errors) = DeTable::parse_recoverable(text);
        let syntax: Vec<Finding> = errors
            .iter()
            .map(|error| syntax_finding(&source, error))
            .collect();
        let mut context = Context {
            companions: companions.clone(),
            ..Context::default()
        };
        let expansion = read_scales(root.into_inner(), choices, &source, &mut context);
        let findings = merge(&source, syntax, context.findings);
        match expansion {
            Some(expansion) if findings.is_empty() => Ok(Self {
                expansion,
                scale: choices.scale.map(str::to_owned),
                source,
                companions,
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
        Self::parse_bytes_with(file_name, bytes, Choices::default())
    }

    /// As [`Document::parse_bytes`] and [`Document::parse_with`] together.
    ///
    /// # Errors
    ///
    /// As both.
    pub fn parse_bytes_with(
        file_name: &str,
        bytes: &[u8],
        choices: Choices<'_>,
    ) -> Result<Self, Problems> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::parse_with(file_name, text, choices),
            Err(error) => {
                let bytes = &bytes[..bytes.len().min(MOST_BYTES)];
                let source = Source::new(file_name, &String::from_utf8_lossy(bytes));
                // Everything before the first bad byte is text, so its place is the same in the
                // replaced text.
                let start = error.valid_up_to().min(source.text().len());
                let finding = Finding {
                    code: Code::Syntax,
                    span: start..start + 1,
                    message: "the file is not UTF-8 text".to_owned(),
                    help: "save the file as UTF-8".to_owned(),
                };
                Err(Problems::new(&source, vec![finding]))
            }
        }
    }

    /// Name and text of every file that the study names, as they were read with it.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.companions.texts()
    }

    /// The study with the first level of every factor and all its layouts; its sections are those
    /// of layouts that say nothing else, or of the first one where all do.
    #[must_use]
    pub fn study(&self) -> &Study {
        &self.expansion.study
    }

    /// The study with every combination of levels that its design asks for; one without levels
    /// where there are no factors.
    #[must_use]
    pub fn variants(&self) -> &[Variant] {
        &self.expansion.variants
    }

    /// The keys that have several levels, in the order of the file.
    #[must_use]
    pub fn factors(&self) -> &[Factor] {
        &self.expansion.factors
    }

    /// How the levels of the factors are combined.
    #[must_use]
    pub fn design(&self) -> Design {
        self.expansion.design
    }

    /// The scale that was asked for.
    #[must_use]
    pub fn scale(&self) -> Option<&str> {
        self.scale.as_deref()
    }

    /// What the design cannot tell apart.
    pub(crate) fn aliases(&self) -> Aliases {
        variants::aliases(&self.expansion)
    }

    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> &str {
        self.source.text()
    }

    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// Where the keys of the `variant`-th variant, from zero, stand; of a layout with groups, those
    /// of its first group.
    pub(crate) fn spans(&self, variant: usize) -> &Spans {
        &self.expansion.spans[variant][0]
    }

    /// The same for each of its groups.
    pub(crate) fn group_spans(&self, variant: usize) -> &[Spans] {
        &self.expansion.spans[variant]
    }

    /// The same document with the groups of these layouts where they were placed.
    pub(crate) fn with_placed(&self, placed: Vec<PlacedLayout>) -> Self {
        let mut document = self.clone();
        let expansion = &mut document.expansion;
        for PlacedLayout { place, groups } in placed {
            let Some(layout) = expansion.study.layouts.get_mut(place) else {
                continue;
            };
            let order = host_by_host(&groups);
            layout.groups = in_order(&groups, &order);
            let variants = expansion.variants.iter_mut().zip(&mut expansion.spans);
            for (variant, spans) in variants {
                let own = variant.study.layouts.first();
                if own.is_none_or(|own| own.name != layout.name) {
                    continue;
                }
                let studies: Vec<Study> = variant.studies().cloned().collect();
                let mut studies = in_order(&studies, &order).into_iter();
                if let Some(first) = studies.next() {
                    variant.study = first;
                    variant.further = studies.collect();
                }
                *spans = in_order(spans, &order);
            }
        }
        document
    }
}

/// A layout whose groups have hosts by the choice of the plan.
pub(crate) struct PlacedLayout {
    /// Its place among the layouts of the study.
    pub(crate) place: usize,
    /// Its groups in the order of the document.
    pub(crate) groups: Vec<LayoutGroup>,
}

fn in_order<T: Clone>(all: &[T], order: &[usize]) -> Vec<T> {
    let in_order = order.iter().filter_map(|place| all.get(*place));
    in_order.cloned().collect()
}

impl Study {
    /// Reads a study file; see [`Document::parse`], which also keeps what [`crate::Plan::of`]
    /// needs.
    ///
    /// # Errors
    ///
    /// All problems of the file at once, each with its line and its help.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, Problems> {
        Document::parse(file_name, text).map(|document| document.study().clone())
    }

    /// The study as a file, defaults written out. Reading it again gives the same study, provided
    /// that it came from a file: times in whole microseconds, limits on the percentiles that the
    /// grammar knows.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        RootKeys::of(self).write(&mut out);
        let mut section = |name: &str, write: &dyn Fn(&mut String)| {
            out.push_str(&format!("\n[{name}]\n"));
            write(&mut out);
        };
        section(sections::WORKLOAD, &|out| {
            WorkloadSection::from_workload(&self.workload).write(out)
        });
        if self.measure != Measure::Users {
            section(sections::MEASURE, &|out| {
                MeasureKeys::of(self.measure).write(out);
            });
        }
        section(sections::LOAD, &|out| {
            LoadKeys::from_load(&self.load).write(out);
            SearchKeys::write_below(self.load.search.as_ref(), out);
            PrecisionKeys::write_below(&self.load, out);
        });
        section(sections::QOS, &|out| QosSection::of(&self.qos).write(out));
        section(sections::STACK, &|out| {
            StackSection::from_use(&self.stack).write(out)
        });
        // What shapes guests that are made is not said of one that runs already.
        let made = self.guest.kind() != GuestKind::External;
        section(sections::GUEST, &|out| {
            let keys = GuestKeys::from_shape(&self.guest);
            if made { keys } else { keys.of_found() }.write(out);
            if let Some(machine) = self.guest.vm() {
                MachineKeys::write_below(machine, out);
            }
        });
        if made {
            section(sections::STORAGE, &|out| {
                StorageKeys::write_storage(&self.storage, out)
            });
            let mut network = String::new();
            NetworkKeys::of(&self.guest).write(&mut network);
            if !network.is_empty() {
                section(sections::NETWORK, &|out| out.push_str(&network));
            }
        }
        section(sections::HOST, &|out| HostKeys::of(&self.host).write(out));
        for layout in &self.layouts {
            out.push_str(&format!("\n[[{}]]\n", sections::LAYOUT));
            let keys = LayoutKeys::of(layout);
            if made { keys } else { keys.of_found() }.write(&mut out);
            for said in &layout.overrides {
                out.push_str(&format!("{} = {}\n", said.key, said.value));
            }
            for group in &layout.groups {
                out.push_str(&format!("\n[[{}.{}]]\n", sections::LAYOUT, sections::GROUP));
                GroupKeys::of(group).write(&mut out);
                for said in &group.overrides {
                    out.push_str(&format!("{} = {}\n", said.key, said.value));
                }
            }
        }
        out
    }
}

/// Reads the study in every scale, so that none has a problem that shows only when it is wanted;
/// gives the one that was asked for.
fn read_scales(
    mut root: DeTable<'_>,
    choices: Choices<'_>,
    source: &Source,
    context: &mut Context,
) -> Option<Expansion> {
    let asked = choices.scale;
    let beginning: Range<usize> = 0..0;
    let place = root
        .get_key_value(scale::SECTION)
        .map_or(beginning, |(key, _)| key.span());
    let scales = scale::take(&mut root, context);
    if let Some(asked) = asked
        && !scales.iter().any(|scale| scale.name == asked)
    {
        scale::refuse_unknown(asked, &scales, place, context);
    }
    let mut wanted = None;
    let chosen = |mut table| {
        if let Some(kind) = choices.guest {
            choices::put_guest(&mut table, kind);
        }
        table
    };
    let plain = variants::expand(chosen(root.clone()), source, context);
    if asked.is_none() {
        wanted = plain;
    }
    for scale in &scales {
        if context.findings.len() > variants::ENOUGH {
            break;
        }
        let scaled = variants::expand(chosen(scale::apply(&root, scale)), source, context);
        if asked == Some(scale.name.as_str()) {
            wanted = scaled;
        }
    }
    wanted
}

fn too_large(source: &Source, bytes: usize) -> Problems {
    let finding = Finding {
        code: Code::TooLarge,
        span: 0..0,
        message: format!("the file has {bytes} bytes, a study has at most {MOST_BYTES}"),
        help: "give a study file; is this another kind of file?".to_owned(),
    };
    Problems::new(source, vec![finding])
}

fn syntax_finding(source: &Source, error: &TomlError) -> Finding {
    let text = source.text();
    let span = error.span().unwrap_or(source.end());
    let span = span.start.min(text.len())..span.end.min(text.len());
    let duplicate = error.message().starts_with("duplicate key");
    let line_start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let help = if text[line_start..].trim_start().starts_with("p99.9") {
        "write the key in quotes: `\"p99.9\" = \"4s\"`"
    } else if duplicate {
        "keep one of the two"
    } else {
        "a study is TOML: `key = value` on one line, text in double quotes, sections as `[name]`, \
         layouts as `[[layout]]`"
    };
    Finding {
        code: if duplicate {
            Code::DuplicateKey
        } else {
            Code::Syntax
        },
        span,
        message: error.message().to_owned(),
        help: help.to_owned(),
    }
}

/// After an error of syntax the parser guesses: what it says of the same lines, or misses, is not
/// worth repeating.
fn merge(source: &Source, syntax: Vec<Finding>, mut meaning: Vec<Finding>) -> Vec<Finding> {
    if !syntax.is_empty() {
        let lines: std::collections::BTreeSet<usize> = syntax
            .iter()
            .map(|finding| source.place(finding.span.start))
            .collect();
        meaning.retain(|finding| {
            finding.code != Code::MissingKey && !lines.contains(&source.place(finding.span.start))
        });
    }
    let mut all = syntax;
    all.append(&mut meaning);
    all
}
