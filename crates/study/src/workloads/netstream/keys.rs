//! The keys of `[workload]` that only the netstream workload has.

use std::time::Duration;

use rookery_workload::{
    DelayDistribution,
    netstream::{ConnectionUse, ExchangeSize, StreamProgram},
};

use super::{
    super::{Pace, WorkloadKind, web_distribution, web_pacing},
    NetstreamUse, iperf3,
};
use crate::{
    grammar::{
        Context, keys,
        kinds::{Choice, Time, Whole},
    },
    names::Named,
};

impl Named for ConnectionUse {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "kept",
            Self::Kept,
            "it is kept for the next: request and response",
        ),
        (
            "new",
            Self::New,
            "each exchange opens one: connect, request and response, in the time of the exchange",
        ),
    ];
}

impl Named for StreamProgram {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "rookery",
            Self::Rookery,
            "the server of the workload and this driver: response times of every exchange",
        ),
        (
            "iperf3",
            Self::Iperf3,
            "iperf3 at both ends, its JSON kept: streams without response times; `answer_bytes` is \
             its block, at most 1 MiB, and each connection one of its streams",
        ),
    ];
}

keys! {
    /// Keys of the netstream workload.
    NetstreamKeys {
        /// What sends and receives the content.
        program: Choice<StreamProgram> = Choice::NEW, Default("\"rookery\"");
        /// Bytes by which a request is longer than it must be.
        request_bytes: Whole<u32> = Whole { min: 0, max: ExchangeSize::MOST_PAD }, Default("0");
        /// Bytes of the content of an answer: few for requests and responses, a MiB or more for a
        /// stream.
        answer_bytes: Whole<u32> = Whole { min: 1, max: ExchangeSize::MOST_ANSWER }, Default("1048576");
        /// What becomes of a connection after an exchange.
        connection: Choice<ConnectionUse> = Choice::NEW, Default("\"kept\"");
        /// Mean think time between the exchanges of a connection; with cycle pacing the cycle
        /// time.
        think_time: Time = Time { min: Duration::ZERO, max: Duration::from_secs(3600), example: "250ms" }, Default("\"0s\"");
        /// How think times scatter about their mean.
        think_distribution: Choice<DelayDistribution> = Choice::NEW, Optional("\"uniform\"");
    }
}

impl NetstreamKeys {
    pub(crate) fn build(self, pace: Option<Pace>, context: &mut Context) -> Option<NetstreamUse> {
        let pacing = web_pacing(WorkloadKind::Netstream, pace, self.think_time, context)?;
        let wanted = NetstreamUse {
            program: self.program?,
            size: ExchangeSize {
                pad_bytes: self.request_bytes?,
                answer_bytes: self.answer_bytes?,
            },
            connection: self.connection?,
            think_time: self.think_time?,
            think_distribution: web_distribution(pacing, self.think_distribution, context)?,
            pacing,
        };
        match wanted.program {
            StreamProgram::Rookery => Some(wanted),
            StreamProgram::Iperf3 => iperf3::check_keys(wanted, context),
        }
    }

    pub(crate) fn from_use(wanted: &NetstreamUse) -> Self {
        Self {
            program: Some(wanted.program),
            request_bytes: Some(wanted.size.pad_bytes),
            answer_bytes: Some(wanted.size.answer_bytes),
            connection: Some(wanted.connection),
            think_time: Some(wanted.think_time),
            think_distribution: Some(wanted.think_distribution)
                .filter(|distribution| *distribution != DelayDistribution::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Study, Workload, sections::testing::*};

    const NETSTREAM: &str = "[stack]\nkind = \"bundled\"\n[workload]\nkind = \"netstream\"\n";

    #[test]
    fn sizes_are_read_and_written_back() {
        let study = with(&format!(
            "{NETSTREAM}request_bytes = 100\nanswer_bytes = 1\nconnection = \"new\"\n"
        ));
        let study = study.expect("valid");
        let Workload::Netstream(workload) = &study.workload else {
            panic!("another workload");
        };
        assert_eq!(
            workload.size,
            ExchangeSize {
                pad_bytes: 100,
                answer_bytes: 1
            }
        );
        assert_eq!(workload.connection, ConnectionUse::New);
        let again = Study::parse("again", &study.to_toml());
        assert_eq!(again.unwrap_or_else(|problems| panic!("{problems}")), study);
    }

    #[test]
    fn answers_of_nothing_and_other_stacks_are_refused() {
        assert!(refusal(&format!("{NETSTREAM}answer_bytes = 0\n")).contains("less than 1"));
        assert!(
            refusal("[workload]\nkind = \"netstream\"\n").contains("netstream"),
            "the embedded stack serves pages"
        );
    }
}
