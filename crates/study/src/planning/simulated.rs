//! The host of a simulated study: it is computed as well, so that the study runs on every machine
//! alike.

use crate::{
    Document, GuestKind, HostFacts, SimulatedUse, StackKind, grammar::Context, problem::Code,
};

/// Memory and disk of a simulated host, MiB: nothing is stored there.
const PLENTY_MIB: u64 = 1 << 20;

impl SimulatedUse {
    /// The host that it runs on: so many CPUs, and more memory and disk than any study needs.
    #[must_use]
    pub fn host(&self) -> HostFacts {
        HostFacts {
            cpus: (0..self.host_cpus).collect(),
            memory_mib: PLENTY_MIB,
            disk_free_mib: PLENTY_MIB,
            root: true,
            places: Vec::new(),
        }
    }
}

/// The host that a simulated study plans for; `None` where the study runs on this one.
/// Contradictions are refused.
pub(super) fn host(document: &Document, context: &mut Context) -> Option<HostFacts> {
    let simulated =
        |index: usize| document.variants()[index].study.stack.kind() == StackKind::Simulated;
    let all = 0..document.variants().len();
    let first = all.clone().find(|index| simulated(*index))?;
    if let Some(real) = all.clone().find(|index| !simulated(*index)) {
        let span = document.spans(real).nearest("stack.kind");
        let message = "some variants are simulated and others are not: what is computed is not \
                       compared with what is measured";
        context.refuse::<()>(
            Code::Contradiction,
            span,
            message,
            "give `stack.kind` one value, and compare two runs",
        );
    }
    for index in all.filter(|index| simulated(*index)) {
        let (study, spans) = (&document.variants()[index].study, document.spans(index));
        if study.guest.kind() != GuestKind::Fake {
            let message = "`stack.kind` is \"simulated\", so that no guest runs, but `guest.kind` \
                           is not \"fake\"";
            let help = "write `kind = \"fake\"` in [guest]";
            context.refuse::<()>(
                Code::Contradiction,
                spans.nearest("guest.kind"),
                message,
                help,
            );
        }
        if study.host.settings.is_some() {
            let message = "`host.settings` changes this host, but `stack.kind` is \"simulated\"";
            context.refuse::<()>(
                Code::Contradiction,
                spans.nearest("host.settings"),
                message,
                "remove it",
            );
        }
    }
    document.variants()[first]
        .study
        .stack
        .simulated()
        .map(SimulatedUse::host)
}
