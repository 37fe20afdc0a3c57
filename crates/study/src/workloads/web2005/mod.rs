//! Banking, e-commerce and support, as a study uses them.

mod keys;

use rookery_cast::truncate_u32;
use rookery_stats::{Pacing, qos::PercentileLimit};
use rookery_workload::{
    MixShare,
    http::Tls,
    web2005::{Bands, Model, PAGE, Profile, Rules, Scope, WebDataset, WebThink},
};
use serde::{Deserialize, Serialize};

use super::{DataRequest, OtherSections, Pace, PointData, WorkloadUse};
use crate::{
    Amount, StackKind, StackUse, expression::NO_UNITS, grammar::Context, problem::Code,
    time_text::plain_time,
};

pub(super) use keys::Web2005Keys;

/// The stacks that serve them.
pub(super) const STACKS: [StackKind; 3] =
    [StackKind::Embedded, StackKind::Lamp, StackKind::External];

/// What a reader must know of limits on their operations.
pub(super) const LIMITS: &str = "Banking, e-commerce, support: `page` is any page, with its \
                                 embedded files; the others are its page types.";

/// Making a file set, MiB/s: a conservative sequential rate of a disk.
pub(super) const LOAD_MIB_PER_S: f64 = 100.0;

/// MiB on disk per MiB of files: small files fill whole blocks.
pub(super) const USED_MIB_PER_MIB: f64 = 1.2;

/// Most sessions that a file set is for.
const MOST_SESSIONS: f64 = 1_000_000.0;

/// Keys of one of the three.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Web2005Use {
    /// Which of the three.
    pub model: Model,
    /// Simultaneous sessions that the file set of each guest is for.
    pub sessions: Amount,
    /// Share of a full file set's users, product lines or directories, millionths.
    pub fileset_scale_ppm: u32,
    /// How browsers behave, and what is asked of pages.
    #[serde(default, skip_serializing_if = "is_classic")]
    pub profile: Profile,
    /// How long users think.
    pub think: WebThink,
    /// Connections of one user.
    pub connections: u8,
    /// The most that one user receives, bytes/s; none = no limit.
    pub receive_rate: Option<u64>,
    /// Which pages are good, and which tolerable.
    pub bands: Bands,
    /// What a window must keep.
    pub rules: Rules,
    /// Whether page types are encrypted that the profile encrypts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub encrypted: bool,
    /// How users encrypt, where the target wants it.
    pub tls: Tls,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_classic(profile: &Profile) -> bool {
    *profile == Profile::Classic2005
}

/// The pace as the study file has it.
pub(super) const PACE: Pace = Pace::Think;

impl Web2005Use {
    /// The limits of a search that keep the shares of good and tolerable pages. All page types
    /// together are one limit on the page; downloads have other times than pages, so that with
    /// them every other page type is limited by itself.
    fn limits(&self) -> Vec<PercentileLimit> {
        let pages = self.model.pages();
        let by_page =
            self.rules.scope == Scope::Page || pages.iter().any(|page| page.is_download());
        let names: Vec<&str> = if by_page {
            let judged = pages.iter().filter(|page| !page.is_download());
            judged.map(|page| page.name).collect()
        } else {
            vec![PAGE]
        };
        let rules = [
            (self.rules.good_pct, self.bands.good_us),
            (self.rules.tolerable_pct, self.bands.tolerable_us),
        ];
        let limit = |name: &str, (percentile, limit_us)| PercentileLimit {
            operation: Some(name.to_owned()),
            percentile,
            limit_us,
        };
        let possible = rules
            .into_iter()
            .filter(|(percentile, _)| *percentile > 0.0 && *percentile < 100.0);
        names
            .into_iter()
            .flat_map(|name| possible.clone().map(move |rule| limit(name, rule)))
            .collect()
    }
}

impl WorkloadUse for Web2005Use {
    /// Its back-end is a program that keeps its state itself.
    fn has_lamp_database(&self) -> bool {
        false
    }

    fn check(&self, sections: &OtherSections<'_>, context: &mut Context) {
        let stack = sections.stack.map(StackUse::kind);
        let encrypts = |kind| matches!(kind, StackKind::Embedded | StackKind::Lamp);
        if self.encrypted && stack.is_some_and(|kind| !encrypts(kind)) {
            let span = context.spans.nearest("workload.encrypted");
            let message = "`workload.encrypted` belongs to the embedded stack and to LAMP: no \
                           other one encrypts some of its pages";
            let help = "write `encrypted = false`; a target with `https://` encrypts all of its \
                        pages";
            context.refuse::<()>(Code::Contradiction, span, message, help);
        }
    }

    fn has_serial_section(&self) -> bool {
        true
    }

    fn fill_in(&mut self, sections: &mut OtherSections<'_>, _context: &mut Context) {
        if let Some(qos) = &mut sections.qos
            && qos.percentiles.is_empty()
        {
            qos.percentiles = self.limits();
        }
    }

    fn data(&self, request: &DataRequest<'_>, context: &mut Context) -> Option<PointData> {
        let why = match self.sessions.each(request.guest, &NO_UNITS) {
            Ok(sessions) if sessions > 0.0 && sessions <= MOST_SESSIONS => {
                let dataset = WebDataset {
                    model: self.model,
                    sessions: truncate_u32(sessions.ceil()),
                    scale_ppm: self.fileset_scale_ppm,
                    seed: request.seed,
                };
                match dataset.shape() {
                    Ok(_) => return Some(PointData::Web2005(dataset)),
                    Err(error) => error.to_string(),
                }
            }
            Ok(sessions) => {
                format!("a set for {sessions} sessions, where 1 to {MOST_SESSIONS} are possible")
            }
            Err(error) => error.to_string(),
        };
        let span = context.spans.nearest(self.size_key());
        let message = format!("the file set of {}: {why}", request.guests);
        context.refuse(
            Code::Database,
            span,
            message,
            "change the number of sessions",
        )
    }

    fn size_key(&self) -> &'static str {
        "workload.sessions"
    }

    fn pace(&self) -> String {
        format!(
            "think time {}, exponential, at most {}",
            plain_time(self.think.mean),
            plain_time(self.think.max)
        )
    }

    fn describe(&self) -> String {
        let rate = match self.receive_rate {
            Some(rate) => format!("{rate} bytes/s for each user"),
            None => "no limit on what a user receives".to_owned(),
        };
        let scope = match self.rules.scope {
            Scope::Aggregate => "all pages together",
            Scope::Page => "each page type",
        };
        let encrypted = match (self.encrypted, self.profile.modern(), self.model) {
            (true, Some(_), _) | (true, None, Model::Banking) => ", encrypted",
            (true, None, Model::Ecommerce) => ", encrypted from the cart on",
            _ => "",
        };
        let browsers = match self.profile.modern() {
            None => String::new(),
            Some(browser) => format!(
                "browsers of today with a cache, which {} % of the sessions begin with, and \
                 compressed pages; ",
                browser.returning_percent
            ),
        };
        format!(
            "{browsers}{} connections{encrypted}, {rate}; of {scope} at least {} % within {} and {} % within {}",
            self.connections,
            self.rules.good_pct,
            plain_time(std::time::Duration::from_micros(self.bands.good_us)),
            self.rules.tolerable_pct,
            plain_time(std::time::Duration::from_micros(self.bands.tolerable_us)),
        )
    }

    fn pauses(&self) -> String {
        format!(
            "{} s before each page but the first of a session ({:?}, at most {} s)",
            self.think.mean.as_secs_f64(),
            Pacing::Think,
            self.think.max.as_secs_f64()
        )
    }

    fn unit_of_work(&self) -> String {
        format!(
            "{}{}, {} connections, {:?} bytes/s",
            self.model.kind().name(),
            match self.profile {
                Profile::Classic2005 => String::new(),
                modern => format!(" {modern:?}"),
            },
            self.connections,
            self.receive_rate
        )
    }

    fn copy_s(&self, megabytes: f64) -> f64 {
        megabytes / super::COPY_MIB_PER_S
    }

    /// Pages follow each other: the chain is checked step by step.
    fn mix(&self) -> Vec<MixShare> {
        Vec::new()
    }
}
