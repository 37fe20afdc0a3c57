//! What a study may ask for where iperf3 measures.

use rookery_workload::netstream::{ConnectionUse, StreamProgram};

use super::NetstreamUse;
use crate::{
    GuestKind, GuestShape, grammar::Context, problem::Code, values::LoadModel,
    workloads::OtherSections,
};

/// What helps where a key has no meaning.
const LEAVE_PROGRAM: &str = "leave it out, or leave `program` of [workload] out: Rookery's own \
                             driver can";

/// Refuses what iperf3 does not do.
pub(super) fn check_keys(wanted: NetstreamUse, context: &mut Context) -> Option<NetstreamUse> {
    let block = wanted.size.answer_bytes;
    if block > StreamProgram::MOST_BLOCK {
        let span = context.spans.nearest("workload.answer_bytes");
        let message = format!("iperf3 sends blocks of at most 1 MiB, and not of {block} bytes");
        let help = "write `answer_bytes = 1048576` or less";
        return context.refuse(Code::Contradiction, span, message, help);
    }
    let others = [
        ("request_bytes", wanted.size.pad_bytes > 0),
        ("connection", wanted.connection != ConnectionUse::Kept),
        ("think_time", !wanted.think_time.is_zero()),
    ];
    match others.into_iter().find(|(_, is_asked)| *is_asked) {
        None => Some(wanted),
        Some((key, _)) => {
            let span = context.spans.nearest(&format!("workload.{key}"));
            let message =
                format!("`{key}` has no meaning for iperf3, which streams without a pause");
            context.refuse(Code::Contradiction, span, message, LEAVE_PROGRAM)
        }
    }
}

/// Refuses loads and limits that iperf3 cannot have.
pub(super) fn check_sections(sections: &OtherSections<'_>, context: &mut Context) {
    let is_open = sections
        .model
        .is_some_and(|model| model != LoadModel::Closed);
    let qos = sections.qos.as_deref();
    let has_limits = qos.is_some_and(|qos| !qos.percentiles.is_empty());
    let load = sections.load.as_deref();
    let is_searched = load.is_some_and(|load| load.search.is_some());
    let is_computed = sections.guest.map(GuestShape::kind) == Some(GuestKind::Fake);
    let refusals = [
        (is_open, "load.model", "iperf3 has streams, and no arrivals"),
        (
            has_limits,
            "qos",
            "iperf3 tells no response times that could keep a limit",
        ),
        (
            is_searched,
            "load.search",
            "iperf3 tells no response times by which a load is found",
        ),
        (
            is_computed,
            "guest.kind",
            "iperf3 streams between guests that run",
        ),
    ];
    for (_, key, message) in refusals.into_iter().filter(|(is_asked, ..)| *is_asked) {
        let span = context.spans.nearest(key);
        context.refuse::<()>(Code::Contradiction, span, message, LEAVE_PROGRAM);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Study, Workload, sections::testing::*};

    const IPERF3: &str =
        "[stack]\nkind = \"bundled\"\n[workload]\nkind = \"netstream\"\nprogram = \"iperf3\"\n";

    #[test]
    fn streams_of_iperf3_are_read_and_written_back() {
        let study = with(&format!("{IPERF3}answer_bytes = 131072\n")).expect("valid");
        let Workload::Netstream(workload) = &study.workload else {
            panic!("another workload");
        };
        assert_eq!(workload.program, StreamProgram::Iperf3);
        assert_eq!(
            study.workload.describe(),
            "streams of iperf3 in blocks of 131072 bytes"
        );
        let again = Study::parse("again", &study.to_toml());
        assert_eq!(again.unwrap_or_else(|problems| panic!("{problems}")), study);
    }

    #[test]
    fn what_iperf3_does_not_do_is_refused() {
        let cases = [
            ("answer_bytes = 1048577\n", "blocks of at most 1 MiB"),
            ("request_bytes = 1\n", "`request_bytes` has no meaning"),
            ("connection = \"new\"\n", "`connection` has no meaning"),
            ("think_time = \"1ms\"\n", "`think_time` has no meaning"),
            ("[qos.exchange]\np95 = \"1s\"\n", "no response times"),
            ("[load]\nmodel = \"open\"\nrate = 5\n", "no arrivals"),
        ];
        for (more, expected) in cases {
            let told = refusal(&format!("{IPERF3}{more}"));
            assert!(told.contains(expected), "{more}: {told}");
        }
    }
}
