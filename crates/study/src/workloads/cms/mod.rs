//! Content management, as a study uses it.

mod keys;

use std::time::Duration;

use rookery_cast::truncate_u32;
use rookery_stats::{Pacing, qos::PercentileLimit};
use rookery_workload::{
    MixShare,
    cms::{
        CmsData, CmsMatrix, CmsOperation, CmsPace, CmsScatter, Contract, LoadMode, OnError,
        RandomPage,
    },
};
use serde::{Deserialize, Serialize};

use super::{DataRequest, OtherSections, Pace, PointData, WorkloadUse, web_pace};
use crate::{
    Amount, GuestKind, GuestShape, LampSite, StackKind, StackUse, expression::NO_UNITS,
    grammar::Context, names::Named as _, problem::Code, time_text::plain_time,
};

pub(super) use keys::CmsKeys;

/// The stacks that serve it.
pub(super) const STACKS: [StackKind; 3] = [StackKind::Embedded, StackKind::Lamp, StackKind::Image];

/// What a reader must know of limits on its operations.
pub(super) const LIMITS: &str = "Content management: `operation` is any of the eight operations, \
                                 with all of its requests.";

/// Loading a template, MiB/s.
pub(super) const LOAD_MIB_PER_S: f64 = 20.0;

/// MiB on disk per MiB of nodes under load: a database with its index and its log.
pub(super) const USED_MIB_PER_MIB: f64 = 3.0;

/// Most nodes or accounts of a guest.
const MOST_NODES: f64 = 10_000_000.0;

/// The percentile that limits hold for where the file says none.
const LIMITED_PERCENTILE: f64 = 90.0;
/// Limits on pages that are read, and on all else, us.
const READING_LIMIT_US: u64 = 2_000_000;
const WRITING_LIMIT_US: u64 = 4_000_000;
/// Largest share of operations that may fail where the file says none.
const ERROR_RATIO: f64 = 0.001;

/// Keys of content management.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CmsUse {
    /// Which pages the site has.
    pub contract: Contract,
    /// Nodes that each site holds before the load.
    pub nodes: Amount,
    /// Users who can log in, beside the administrator.
    pub accounts: Amount,
    /// Nodes are by the first so many of them.
    pub authors: u32,
    /// The id of the first node.
    pub first_node: u32,
    /// Share of nodes that are stories, millionths.
    pub story_ppm: u32,
    /// Share of nodes that are promoted, millionths.
    pub promoted_ppm: u32,
    /// How rows reach the database where the load itself is measured.
    #[serde(default)]
    pub load_mode: LoadMode,
    /// Think or cycle pacing.
    pub pacing: Pacing,
    /// How long users wait.
    pub pace: CmsPace,
    /// Which operation follows which.
    pub matrix: Box<CmsMatrix>,
    /// What becomes of a user whose operation failed.
    pub on_error: OnError,
    /// What a random page is.
    pub random_page: RandomPage,
    /// Users go to the first so many pages of the list; none = all.
    pub random_page_max: Option<u32>,
    /// Share of the logins of users that begin with a wrong password, millionths.
    #[serde(default)]
    pub wrong_login_ppm: u32,
    /// Users take compressed pages.
    pub gzip: bool,
    /// Users keep their cookies when they have logged out.
    pub keep_cookies: bool,
}

/// The pace as the study file has it.
pub(super) fn pace(wanted: &CmsUse) -> Pace {
    web_pace(wanted.pacing)
}

impl CmsUse {
    /// Refuses a stack that does not keep the contract.
    fn check_contract(&self, sections: &OtherSections<'_>, context: &mut Context) {
        let Some(stack) = sections.stack else { return };
        let site = stack.lamp().map(|lamp| &lamp.site);
        let help = match (self.contract, stack, site) {
            (_, StackUse::Image(_), _) => return,
            (Contract::Smallcms, _, Some(LampSite::Tree(_))) => {
                "write `contract = \"drupal7\"` or \"drupal10\" in [workload], as the tree of \
                 `stack.site` is"
            }
            (Contract::Smallcms, ..) => return,
            (Contract::Drupal7 | Contract::Drupal10, _, Some(LampSite::Tree(_))) => {
                return self.check_guests(sections, context);
            }
            (Contract::Drupal7 | Contract::Drupal10, ..) => {
                "write `kind = \"lamp\"` in [stack], and `site` with the path of a tree"
            }
            (Contract::Wordpress | Contract::WordpressForms, ..) => {
                "write `kind = \"image\"` in [stack], as studies/cms-wordpress.toml does"
            }
        };
        let span = context.spans.nearest("workload.contract");
        let name = self.contract.name();
        let message = format!("`contract` is \"{name}\", which this stack does not keep");
        context.refuse::<()>(Code::Contradiction, span, message, help);
    }

    /// Refuses guests that have no root in which the tree of a site could lie.
    fn check_guests(&self, sections: &OtherSections<'_>, context: &mut Context) {
        let kind = sections.guest.map(GuestShape::kind);
        if !matches!(kind, Some(GuestKind::Bare | GuestKind::Fake)) {
            return;
        }
        let span = context.spans.nearest("stack.site");
        let message = "`stack.site` is a tree, which only guests with a root of their own can have";
        let help = "write `kind = \"container\"` or \"vm\" in [guest]";
        context.refuse::<()>(Code::Contradiction, span, message, help);
    }

    /// Its times, in words: `cycle time 1s, exponential, at most 5s; logout 2s`.
    fn times(&self) -> String {
        let pace = &self.pace;
        let usual = pace.means[0];
        let mut text = format!("{} time {}", self.pacing.name(), plain_time(usual));
        if pace.scatter == CmsScatter::Exponential {
            let longest = Duration::try_from_secs_f64(pace.longest * usual.as_secs_f64());
            let longest = longest.unwrap_or(Duration::MAX);
            text += &format!(", exponential, at most {}", plain_time(longest));
        }
        for (operation, mean) in CmsOperation::ALL.into_iter().zip(pace.means) {
            if mean != usual {
                text += &format!("; {} {}", operation.name(), plain_time(mean));
            }
        }
        text
    }
}

impl WorkloadUse for CmsUse {
    fn check(&self, sections: &OtherSections<'_>, context: &mut Context) {
        let lamp = |stack: &StackUse| matches!(stack, StackUse::Lamp(_));
        if self.load_mode == LoadMode::SqlScript && !sections.stack.is_none_or(lamp) {
            let span = context.spans.nearest("workload.load_mode");
            let message = "`load_mode` is \"sql-script\", which only LAMP guests have";
            let help = "write `kind = \"lamp\"` in [stack], or leave `load_mode` out";
            context.refuse::<()>(Code::Contradiction, span, message, help);
        }
        self.check_contract(sections, context);
    }

    fn takes_sites(&self) -> bool {
        true
    }

    fn fill_in(&mut self, sections: &mut OtherSections<'_>, _context: &mut Context) {
        let Some(qos) = &mut sections.qos else { return };
        if qos.percentiles.is_empty() {
            qos.percentiles = CmsOperation::ALL
                .into_iter()
                .map(|operation| PercentileLimit {
                    operation: Some(operation.name().to_owned()),
                    percentile: LIMITED_PERCENTILE,
                    limit_us: match operation.needs_login() {
                        None => READING_LIMIT_US,
                        Some(_) => WRITING_LIMIT_US,
                    },
                })
                .collect();
        }
        qos.error_ratio.get_or_insert(ERROR_RATIO);
    }

    fn data(&self, request: &DataRequest<'_>, context: &mut Context) -> Option<PointData> {
        let count = |amount: &Amount| match amount.each(request.guest, &NO_UNITS) {
            Ok(count) if count > 0.0 && count <= MOST_NODES => Ok(truncate_u32(count.ceil())),
            Ok(count) => Err(format!("{count}, where 1 to {MOST_NODES} are possible")),
            Err(error) => Err(error.to_string()),
        };
        let why = match (count(&self.nodes), count(&self.accounts)) {
            (Ok(nodes), Ok(users)) => {
                return Some(PointData::Cms(CmsData {
                    nodes,
                    users,
                    authors: self.authors,
                    first_node: self.first_node,
                    story_ppm: self.story_ppm,
                    promoted_ppm: self.promoted_ppm,
                    seed: request.seed,
                }));
            }
            (Err(why), _) | (_, Err(why)) => why,
        };
        let span = context.spans.nearest(self.size_key());
        let message = format!("the nodes and accounts of {}: {why}", request.guests);
        context.refuse(Code::Database, span, message, "change their number")
    }

    fn size_key(&self) -> &'static str {
        "workload.nodes"
    }

    fn pace(&self) -> String {
        self.times()
    }

    fn describe(&self) -> String {
        let failed = match self.on_error {
            OnError::Restart => "who fails begins anew",
            OnError::Continue => "who fails goes on",
        };
        let page = match (self.random_page, self.random_page_max) {
            (RandomPage::PageNode, _) => "nodes of the kind page".to_owned(),
            (RandomPage::Listing, None) => "all pages of the list".to_owned(),
            (RandomPage::Listing, Some(most)) => format!("the first {most} pages of the list"),
        };
        let matrix = if *self.matrix == CmsMatrix::default() {
            "the matrix of the study on Drupal"
        } else {
            "a matrix of its own"
        };
        format!(
            "pages of {}; eight operations by {matrix}; random pages are {page}; {failed}",
            self.contract.name()
        )
    }

    fn pauses(&self) -> String {
        format!(
            "{} s by operation, cut at {} ({:?}, {:?})",
            self.pace
                .means
                .map(|mean| mean.as_secs_f64().to_string())
                .join(" "),
            self.pace.longest,
            self.pacing,
            self.pace.scatter
        )
    }

    fn unit_of_work(&self) -> String {
        let wrong = match self.wrong_login_ppm {
            0 => String::new(),
            ppm => format!(", {ppm} ppm of logins wrong at first"),
        };
        format!(
            "cms, {}, {:?} to {:?}, {:?}, gzip {}, cookies kept {}, matrix {:?}{wrong}",
            self.contract.name(),
            self.random_page,
            self.random_page_max,
            self.on_error,
            self.gzip,
            self.keep_cookies,
            self.matrix.rows()
        )
    }

    fn copy_s(&self, megabytes: f64) -> f64 {
        megabytes / super::COPY_MIB_PER_S
    }

    /// Operations follow each other: the matrix is checked row by row.
    fn mix(&self) -> Vec<MixShare> {
        Vec::new()
    }
}
