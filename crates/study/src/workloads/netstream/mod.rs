//! The netstream workload, as a study uses it.

mod iperf3;
mod keys;

use std::time::Duration;

use rookery_stats::Pacing;
use rookery_workload::{
    DelayDistribution, MixShare,
    netstream::{ConnectionUse, ExchangeSize, NetstreamOperation, StreamProgram},
};
use serde::{Deserialize, Serialize};

use super::{
    DataRequest, OtherSections, Pace, PointData, WorkloadUse, is_usual, scatter, web_pace,
};
use crate::{StackKind, grammar::Context, names::Named as _, time_text::plain_time};

pub(super) use keys::NetstreamKeys;

/// The stacks that serve it.
pub(super) const STACKS: [StackKind; 1] = [StackKind::Bundled];

/// What a reader must know of limits on its operations.
pub(super) const LIMITS: &str = "Netstream: `exchange`, a request with its whole answer.";

/// Keys of the netstream workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetstreamUse {
    /// What sends and receives the content.
    #[serde(default)]
    pub program: StreamProgram,
    /// How large requests and answers are.
    pub size: ExchangeSize,
    /// What becomes of a connection after an exchange.
    #[serde(default)]
    pub connection: ConnectionUse,
    /// Mean time between exchanges (or cycle time).
    pub think_time: Duration,
    /// How think times scatter about their mean.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub think_distribution: DelayDistribution,
    /// Think or cycle pacing.
    pub pacing: Pacing,
}

/// The pace as the study file has it.
pub(super) fn pace(wanted: &NetstreamUse) -> Pace {
    web_pace(wanted.pacing)
}

impl NetstreamUse {
    /// `requests longer by 100 bytes, answers of 1 byte, each over a connection of its own`
    fn sizes(&self) -> String {
        if self.program == StreamProgram::Iperf3 {
            return format!(
                "streams of iperf3 in blocks of {} bytes",
                self.size.answer_bytes
            );
        }
        let ExchangeSize {
            pad_bytes,
            answer_bytes,
        } = self.size;
        let longer = match pad_bytes {
            0 => String::new(),
            more => format!("requests longer by {more} bytes, "),
        };
        let bytes = if answer_bytes == 1 { "byte" } else { "bytes" };
        let connection = match self.connection {
            ConnectionUse::Kept => "",
            ConnectionUse::New => ", each over a connection of its own",
        };
        format!("{longer}answers of {answer_bytes} {bytes}{connection}")
    }
}

impl WorkloadUse for NetstreamUse {
    fn check(&self, sections: &OtherSections<'_>, context: &mut Context) {
        if self.program == StreamProgram::Iperf3 {
            iperf3::check_sections(sections, context);
        }
    }

    /// The server makes its answers up.
    fn data(&self, _request: &DataRequest<'_>, _context: &mut Context) -> Option<PointData> {
        Some(PointData::Netstream)
    }

    /// A guest receives from another, and the driver asks it to.
    fn has_bundled_tiers(&self) -> bool {
        self.program == StreamProgram::Rookery
    }

    fn size_key(&self) -> &'static str {
        "workload.answer_bytes"
    }

    fn pace(&self) -> String {
        if self.think_time.is_zero() {
            return "no pauses".to_owned();
        }
        let pacing = self.pacing.name();
        format!(
            "{pacing} time {}{} ({pacing} pacing)",
            plain_time(self.think_time),
            scatter(self.think_distribution, DelayDistribution::default())
        )
    }

    fn describe(&self) -> String {
        self.sizes()
    }

    fn describe_in_plan(&self, is_factor: &dyn Fn(&str) -> bool) -> Option<String> {
        let keys = ["program", "answer_bytes", "request_bytes", "connection"];
        (!keys.iter().any(|key| is_factor(key))).then(|| self.sizes())
    }

    fn pauses(&self) -> String {
        format!(
            "{} s after each exchange ({:?}{})",
            self.think_time.as_secs_f64(),
            self.pacing,
            scatter(self.think_distribution, DelayDistribution::default())
        )
    }

    fn unit_of_work(&self) -> String {
        format!("netstream, {}", self.sizes())
    }

    fn unit_bytes(&self) -> Option<u32> {
        Some(self.size.answer_bytes)
    }

    fn copy_s(&self, _megabytes: f64) -> f64 {
        0.0
    }

    fn mix(&self) -> Vec<MixShare> {
        vec![MixShare::new(NetstreamOperation::Exchange.name(), 1.0)]
    }
}
