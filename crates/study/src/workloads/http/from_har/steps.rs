//! What a user did at the main site: operations, and which followed which.

use std::collections::BTreeMap;

use rookery_workload::{
    data_driven::MOST_OPERATIONS,
    http::{Method, PAGE},
};

use super::{
    decode::looks_like_a_number,
    exchange::{Exchange, Kind, SiteOf},
    secrets::Secrets,
    similar::{self, Asked},
    varied::{Slot, Varied},
};
use crate::workloads::data_driven::is_reserved;

/// Most steps of the session.
const MOST_STEPS: usize = 300;
/// Most bytes of all requests; the draft has to fit into a workload file.
const MOST_BYTES: usize = 80 * 1024;
/// Most bytes of one request.
const MOST_OF_ONE: usize = 16 * 1024;
/// Most objects of a page, and most bytes of their addresses.
const MOST_OBJECTS: usize = 64;
const MOST_OBJECT_BYTES: usize = 6 * 1024;
/// Most answers that are kept of one operation.
const MOST_ANSWERS: usize = 20;
/// Longest name of an operation.
const LONGEST_NAME: usize = 30;

/// One operation.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) name: String,
    pub(super) request: Exchange,
    /// The answer behind redirects, where there were any.
    followed: Option<Exchange>,
    /// What differs where it stands for several requests.
    pub(super) varied: Option<Varied>,
    /// What further requests of it were answered.
    further: Vec<Exchange>,
    /// Targets of embedded objects.
    pub(super) objects: Vec<String>,
    /// Further objects, which the draft has no room for.
    pub(super) more_objects: usize,
    /// Pauses after it, ms.
    pub(super) pauses: Vec<f64>,
    /// When its last answer had come, ms.
    end: Option<f64>,
}

/// What a user did.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) site: SiteOf,
    pub(super) operations: Vec<Operation>,
    /// Places of operations, in turn.
    pub(super) script: Vec<usize>,
    /// Requests to other sites.
    pub(super) elsewhere: BTreeMap<String, usize>,
    /// Requests at the site that are no operation.
    pub(super) unused: usize,
    /// Operations and steps that the draft has no room for.
    pub(super) too_many: usize,
    /// Values that must not be written down.
    pub(super) secrets: Secrets,
}

impl Operation {
    fn new(request: Exchange) -> Self {
        Self {
            name: String::new(),
            end: request.times.map(|(_, end)| end),
            request,
            followed: None,
            varied: None,
            further: Vec::new(),
            objects: Vec::new(),
            more_objects: 0,
            pauses: Vec::new(),
        }
    }

    /// The answer that the user got in the end.
    pub(super) fn answer(&self) -> &Exchange {
        self.followed.as_ref().unwrap_or(&self.request)
    }

    /// The answers that users got in the end, the first one first.
    pub(super) fn answers(&self) -> impl Iterator<Item = &Exchange> {
        std::iter::once(self.answer()).chain(&self.further)
    }

    /// Whether a request is the one that a browser makes at this operation's redirect.
    fn leads_to(&self, next: &Exchange) -> bool {
        let answer = self.answer();
        answer.redirects()
            && answer.leads_to() == Some((next.site.clone(), next.target.clone()))
            && matches!(next.method, Method::Get | Method::Head)
    }

    fn ends(&mut self, exchange: &Exchange) {
        if let Some((_, end)) = exchange.times {
            self.end = Some(self.end.map_or(end, |known| known.max(end)));
        }
    }

    fn embed(&mut self, exchange: &Exchange) {
        self.ends(exchange);
        if self.objects.contains(&exchange.target) {
            return;
        }
        let bytes: usize = self.objects.iter().map(String::len).sum();
        if self.objects.len() < MOST_OBJECTS && bytes + exchange.target.len() <= MOST_OBJECT_BYTES {
            self.objects.push(exchange.target.clone());
        } else {
            self.more_objects += 1;
        }
    }

    /// Takes what another step of the same operation shows beyond this one: its value, where values
    /// differ, its answer, its pauses. Its objects are those of the first: later ones came from the
    /// browser's cache.
    fn absorb(&mut self, other: Self) {
        self.pauses.extend(&other.pauses);
        let (Some(own), Some(of_other)) = (&mut self.varied, &other.varied) else {
            return;
        };
        for value in &of_other.values {
            if !own.values.contains(value) {
                own.values.push(value.clone());
            }
        }
        if self.further.len() < MOST_ANSWERS {
            self.further.push(other.followed.unwrap_or(other.request));
        }
    }

    /// Whether both ask for the same, or differ in one value that a feeder gives.
    fn is_same(&self, other: &Self) -> bool {
        if let (Some(own), Some(of_other)) = (&self.varied, &other.varied) {
            return own.group == of_other.group;
        }
        let (one, other) = (&self.request, &other.request);
        (one.method, &one.target, &one.sent) == (other.method, &other.target, &other.sent)
    }

    /// Bytes of its request as the draft writes it, roughly.
    fn weight(&self) -> usize {
        let Exchange { target, sent, .. } = &self.request;
        let fields = sent
            .fields
            .iter()
            .map(|(name, value, _)| name.len() + value.len() + 20);
        // What has to be escaped takes more.
        500 + 2 * target.len() + 2 * fields.sum::<usize>().max(sent.text.len())
    }
}

/// What was done at the site that most pages are of; nothing where there is none.
pub(super) fn recorded(exchanges: Vec<Exchange>) -> Option<Recorded> {
    let site = main_site(&exchanges)?;
    let mut all = Recorded {
        site: site.clone(),
        operations: Vec::new(),
        script: Vec::new(),
        elsewhere: BTreeMap::new(),
        unused: 0,
        too_many: 0,
        secrets: Secrets::default(),
    };
    let mut steps: Vec<Operation> = Vec::new();
    for exchange in exchanges {
        if exchange.site != site {
            *all.elsewhere.entry(exchange.site.authority).or_default() += 1;
            continue;
        }
        match (exchange.kind, steps.last_mut()) {
            (Kind::Object, Some(step)) => step.embed(&exchange),
            (Kind::Page | Kind::Call, Some(step)) if step.leads_to(&exchange) => {
                step.ends(&exchange);
                step.followed = Some(exchange);
            }
            (Kind::Page | Kind::Call, _) => steps.push(Operation::new(exchange)),
            (Kind::Object | Kind::Other, _) => all.unused += 1,
        }
    }
    pause(&mut steps);
    all.secrets = Secrets::new(steps.iter().flat_map(|step| [&step.request, step.answer()]));
    let asked = steps.iter().map(|step| Asked {
        request: &step.request,
        answer: step.answer(),
    });
    let varied = similar::varied(&asked.collect::<Vec<_>>(), &all.secrets);
    for (step, varied) in steps.iter_mut().zip(varied) {
        step.varied = varied;
    }
    all.take(steps);
    all.name();
    (!all.script.is_empty()).then_some(all)
}

/// The site of most pages; of equal ones that which came first.
fn main_site(exchanges: &[Exchange]) -> Option<SiteOf> {
    let mut counts: Vec<(&SiteOf, usize, usize)> = Vec::new();
    for exchange in exchanges {
        if matches!(exchange.kind, Kind::Other) {
            continue;
        }
        let page = usize::from(exchange.kind == Kind::Page);
        match counts.iter_mut().find(|(site, ..)| **site == exchange.site) {
            Some((_, pages, requests)) => {
                *pages += page;
                *requests += 1;
            }
            None => counts.push((&exchange.site, page, 1)),
        }
    }
    let most = counts
        .iter()
        .map(|(_, pages, requests)| (*pages, *requests))
        .max()?;
    let best = counts
        .iter()
        .find(|(_, pages, requests)| (*pages, *requests) == most)?;
    Some(best.0.clone())
}

/// The pauses between steps.
fn pause(steps: &mut [Operation]) {
    for index in 1..steps.len() {
        let begin = steps[index].request.times.map(|(begin, _)| begin);
        if let (Some(end), Some(begin)) = (steps[index - 1].end, begin) {
            steps[index - 1].pauses.push((begin - end).max(0.0));
        }
    }
}

impl Recorded {
    /// Keeps the first operations alone.
    pub(super) fn truncate(&mut self, operations: usize) {
        self.too_many += self.operations.len().saturating_sub(operations);
        self.operations.truncate(operations);
        self.script.retain(|place| *place < operations);
    }

    /// Equal steps are one operation.
    fn take(&mut self, steps: Vec<Operation>) {
        let mut bytes = 0;
        for step in steps {
            let weight = step.weight();
            let known = self
                .operations
                .iter()
                .position(|known| known.is_same(&step));
            if self.script.len() >= MOST_STEPS {
                self.too_many += 1;
            } else if let Some(place) = known {
                // Its value has to fit as well.
                let own = step.varied.as_ref().map_or(0, Varied::weight);
                if own > 0 && bytes + own > MOST_BYTES {
                    self.too_many += 1;
                    continue;
                }
                bytes += own;
                self.operations[place].absorb(step);
                self.script.push(place);
            } else if self.operations.len() >= MOST_OPERATIONS
                || weight > MOST_OF_ONE
                || bytes + weight > MOST_BYTES
            {
                self.too_many += 1;
            } else {
                bytes += weight
                    + step
                        .objects
                        .iter()
                        .map(|object| object.len() + 4)
                        .sum::<usize>();
                self.script.push(self.operations.len());
                self.operations.push(step);
            }
        }
    }

    /// Names by what is asked for.
    fn name(&mut self) {
        let mut known: Vec<String> = Vec::new();
        for operation in &mut self.operations {
            let mut first = name_of(&operation.request, operation.varied.as_ref());
            if self.secrets.holds(&first) {
                "operation".clone_into(&mut first);
            }
            let mut name = first.clone();
            let mut number = 2;
            while known.contains(&name) || name == PAGE || is_reserved(&name) {
                name = format!("{first}-{number}");
                number += 1;
            }
            operation.name.clone_from(&name);
            known.push(name);
        }
    }
}

/// A name from the last word of a path that is no number, and is the same for all its requests.
fn name_of(request: &Exchange, varied: Option<&Varied>) -> String {
    let path = request.target.split('?').next().unwrap_or_default();
    let path = path.strip_prefix('/').unwrap_or(path);
    let differs = |index: usize| {
        varied.is_some_and(|varied| varied.slot == Slot::Path(index) && varied.values.len() > 1)
    };
    let same = path.split('/').enumerate();
    let same: Vec<&str> = same
        .filter(|(index, _)| !differs(*index))
        .map(|(_, segment)| segment)
        .collect();
    let name = same
        .into_iter()
        .rev()
        .map(word_of)
        .find(|word| !word.is_empty() && !looks_like_a_number(word))
        .unwrap_or_else(|| "home".to_owned());
    match request.method {
        Method::Get => name,
        method => format!("{}-{name}", method.name().to_ascii_lowercase()),
    }
}

fn word_of(segment: &str) -> String {
    let stem = segment.split('.').next().unwrap_or_default();
    let plain: String = stem
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .take(LONGEST_NAME)
        .collect();
    plain.trim_matches('-').to_owned()
}
