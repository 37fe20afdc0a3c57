//! The keys of `[workload]` that only content management has.

use std::time::Duration;

use rookery_cast::truncate_u32;
use rookery_stats::Pacing;
use rookery_workload::cms::{
    CmsMatrix, CmsOperation, CmsPace, CmsScatter, Contract, LoadMode, OPERATION_COUNT, OnError,
    RandomPage,
};

use super::{
    super::{Pace, WorkloadKind, data_driven::keys::THINK, web_pacing},
    CmsUse, MOST_NODES,
};
use crate::{
    grammar::{
        Context, keys,
        kinds::{Choice, Count, Factor, Matrix, Named as NamedValues, Time, Truth, Whole},
    },
    names::Named,
    problem::Code,
};

impl Named for Contract {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "smallcms",
            Self::Smallcms,
            "the sites that come with Rookery",
        ),
        (
            "wordpress",
            Self::Wordpress,
            "WordPress; users create by its REST interface",
        ),
        (
            "wordpress-forms",
            Self::WordpressForms,
            "WordPress; users create by the forms of its administration",
        ),
        ("drupal7", Self::Drupal7, "Drupal 7"),
        ("drupal10", Self::Drupal10, "Drupal 10 and 11"),
    ];
}

impl Named for CmsScatter {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "exponential",
            Self::Exponential,
            "negative exponential, cut at the longest",
        ),
        ("fixed", Self::Fixed, "always the mean"),
    ];
}

impl Named for LoadMode {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("fast", Self::Fast, "by the server's own bulk load"),
        (
            "sql-script",
            Self::SqlScript,
            "by the statements of a dump: `CREATE TABLE`, and `INSERT` of a MiB each",
        ),
    ];
}

impl Named for OnError {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "restart",
            Self::Restart,
            "forget the cookies and begin anew at the front page",
        ),
        (
            "continue",
            Self::Continue,
            "go on as the matrix says: what follows may fail because of it",
        ),
    ];
}

impl Named for RandomPage {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        (
            "listing",
            Self::Listing,
            "a page of the list of promoted nodes",
        ),
        ("page-node", Self::PageNode, "a node of the kind page"),
    ];
}

/// Nodes of each guest.
const NODES: Count = Count {
    noun: "nodes",
    what: "number of nodes",
    most: MOST_NODES,
    example: "\"1000 per guest\"",
};

/// Accounts of each guest.
const ACCOUNTS: Count = Count {
    noun: "accounts",
    what: "number of accounts",
    most: MOST_NODES,
    example: "\"100 per guest\"",
};

/// Times of single operations.
const OPERATION_TIMES: NamedValues<Time> = NamedValues {
    kind: THINK,
    what: "operation",
    key: "create-story",
    good: is_operation,
    most: CmsOperation::ALL.len(),
};

/// Millionths of a whole.
const PPM: f64 = 1e6;

keys! {
    /// Keys of content management.
    CmsKeys {
        /// Which pages the site has.
        contract: Choice<Contract> = Choice::NEW, Default("\"smallcms\"");
        /// Nodes that each site holds before the load.
        nodes: Count = NODES, Default("\"1000 per guest\"");
        /// Users who can log in, beside the administrator.
        accounts: Count = ACCOUNTS, Default("\"100 per guest\"");
        /// Nodes are by the first so many of them.
        authors: Whole<u32> = Whole { min: 1, max: 1_000_000 }, Default("50");
        /// The id of the first node, where the site is not made by Rookery.
        first_node: Whole<u32> = Whole { min: 1, max: 1_000_000_000 }, Default("1");
        /// Share of nodes that are stories.
        story_share: Factor = Factor::SHARE, Default("0.5");
        /// Share of nodes that are promoted to the front page.
        promoted_share: Factor = Factor::SHARE, Default("0.5");
        /// How the rows reach the database of a LAMP guest where the load itself is measured
        /// (`load_time`); templates are always loaded fast.
        load_mode: Choice<LoadMode> = Choice::NEW, Default("\"fast\"");
        /// Mean length of the cycle of an operation, or with think pacing mean think time.
        think_time: Time = THINK, Default("\"1s\"");
        /// The longest of them.
        think_max: Time = THINK, Optional("5 times the mean");
        /// How they scatter about their mean.
        think_distribution: Choice<CmsScatter> = Choice::NEW, Default("\"exponential\"");
        /// Means of single operations, in place of `think_time`.
        operation_times: NamedValues<Time> = OPERATION_TIMES, Optional("`think_time` for all");
        /// Which operation follows which: eight rows of probabilities, in the order front-page,
        /// random-page, random-node, user-login, admin-login, create-page, create-story, logout;
        /// every row sums to 1.
        matrix: Matrix<CmsMatrix, OPERATION_COUNT> = Matrix::new(), Optional("that of the study on Drupal");
        /// What becomes of a user whose operation failed.
        on_error: Choice<OnError> = Choice::NEW, Default("\"restart\"");
        /// What a random page is.
        random_page: Choice<RandomPage> = Choice::NEW, Default("\"listing\"");
        /// Users go to the first so many pages of the list.
        random_page_max: Whole<u32> = Whole { min: 1, max: 100_000_000 }, Optional("all of them");
        /// Share of the logins of users that begin with a wrong password, which the site must
        /// reject.
        wrong_logins: Factor = Factor::SHARE, Default("0");
        /// Whether users take compressed pages.
        gzip: Truth = Truth, Default("true");
        /// Whether users keep their cookies when they have logged out.
        keep_cookies: Truth = Truth, Default("true");
    }
}

fn is_operation(name: &str) -> bool {
    CmsOperation::of_name(name).is_some()
}

impl CmsKeys {
    pub(crate) fn build(self, pace: Option<Pace>, context: &mut Context) -> Option<CmsUse> {
        // The original paces by cycles.
        let asked = pace.or_else(|| (!context.spans.has("workload.pacing")).then_some(Pace::Cycle));
        let pacing = web_pacing(WorkloadKind::Cms, asked, self.think_time, context)?;
        let ppm = |share: f64| truncate_u32((PPM * share).round());
        let pace = self.pace(pacing, context)?;
        Some(CmsUse {
            contract: self.contract?,
            nodes: self.nodes?,
            accounts: self.accounts?,
            authors: self.authors?,
            first_node: self.first_node?,
            story_ppm: ppm(self.story_share?),
            promoted_ppm: ppm(self.promoted_share?),
            load_mode: self.load_mode?,
            pacing,
            pace,
            matrix: match self.matrix {
                None if context.spans.has("workload.matrix") => return None,
                matrix => Box::new(matrix.unwrap_or_default()),
            },
            on_error: self.on_error?,
            random_page: self.random_page?,
            random_page_max: self.random_page_max,
            wrong_login_ppm: ppm(self.wrong_logins?),
            gzip: self.gzip?,
            keep_cookies: self.keep_cookies?,
        })
    }

    fn pace(&self, pacing: Pacing, context: &mut Context) -> Option<CmsPace> {
        let mean = self.think_time?;
        let mut pace = CmsPace {
            scatter: self.think_distribution?,
            means: [mean; CmsOperation::ALL.len()],
            ..CmsPace::default()
        };
        if let Some(longest) = self.think_max {
            if longest < mean {
                let span = context.spans.nearest("workload.think_max");
                let message = "`workload.think_max` is shorter than the mean";
                let help = "leave it out: times are then cut at 5 times the mean";
                return context.refuse(Code::Contradiction, span, message, help);
            }
            if !mean.is_zero() {
                pace.longest = longest.as_secs_f64() / mean.as_secs_f64();
            }
        }
        for (name, mean) in self.operation_times.iter().flatten() {
            let operation = CmsOperation::of_name(name)?;
            if pacing == Pacing::Cycle && *mean == Duration::ZERO {
                let span = context
                    .spans
                    .nearest(&format!("workload.operation_times.{name}"));
                let message = format!("the cycle time of `{name}` is zero");
                let help = "write a time, or remove it: `think_time` then counts";
                return context.refuse(Code::Contradiction, span, message, help);
            }
            pace.means[operation.index()] = *mean;
        }
        Some(pace)
    }

    pub(crate) fn from_use(wanted: &CmsUse) -> Self {
        let share = |ppm: u32| f64::from(ppm) / PPM;
        let pace = &wanted.pace;
        let usual = pace.means[0];
        let others: Vec<(String, Duration)> = CmsOperation::ALL
            .into_iter()
            .zip(pace.means)
            .filter(|(_, mean)| *mean != usual)
            .map(|(operation, mean)| (operation.name().to_owned(), mean))
            .collect();
        Self {
            contract: Some(wanted.contract),
            nodes: Some(wanted.nodes.clone()),
            accounts: Some(wanted.accounts.clone()),
            authors: Some(wanted.authors),
            first_node: Some(wanted.first_node),
            story_share: Some(share(wanted.story_ppm)),
            promoted_share: Some(share(wanted.promoted_ppm)),
            load_mode: Some(wanted.load_mode),
            think_time: Some(usual),
            think_max: Duration::try_from_secs_f64(pace.longest * usual.as_secs_f64())
                .ok()
                .filter(|_| pace.longest != CmsPace::default().longest),
            think_distribution: Some(pace.scatter),
            operation_times: (!others.is_empty()).then_some(others),
            matrix: Some(*wanted.matrix),
            on_error: Some(wanted.on_error),
            random_page: Some(wanted.random_page),
            random_page_max: wanted.random_page_max,
            wrong_logins: Some(share(wanted.wrong_login_ppm)),
            gzip: Some(wanted.gzip),
            keep_cookies: Some(wanted.keep_cookies),
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::{Study, Workload, sections::testing::*};

    fn text(keys: &str) -> String {
        format!("[stack]\nkind = \"embedded\"\n[workload]\nkind = \"cms\"\n{keys}\n")
    }

    fn study(keys: &str) -> Study {
        with(&text(keys)).unwrap_or_else(|problems| panic!("{problems:?}"))
    }

    fn wanted(study: &Study) -> &CmsUse {
        match &study.workload {
            Workload::Cms(wanted) => wanted,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn defaults_are_those_of_the_original() {
        let study = study("");
        let wanted = wanted(&study);
        assert_eq!(wanted.pacing, Pacing::Cycle);
        assert_eq!(wanted.pace, CmsPace::default());
        assert_eq!(*wanted.matrix, CmsMatrix::default());
        assert_eq!(wanted.contract, Contract::Smallcms);
        let limits = &study.qos.percentiles;
        assert_eq!(limits.len(), 8);
        assert!(limits.iter().all(|limit| limit.percentile == 90.0));
        let of = |name: &str| {
            let mut all = limits.iter();
            all.find(|limit| limit.operation.as_deref() == Some(name))
                .map(|limit| limit.limit_us)
        };
        assert_eq!(of("random-node"), Some(2_000_000));
        assert_eq!(of("create-story"), Some(4_000_000));
    }

    #[test]
    fn keys_come_back_as_they_were_written() {
        for keys in [
            "",
            "pacing = \"think\"\nthink_time = \"200ms\"\nthink_max = \"3s\"\non_error = \
             \"continue\"\nrandom_page = \"page-node\"\ngzip = false",
            "think_distribution = \"fixed\"\noperation_times = {create-story = \"4s\", logout = \
             \"2s\"}\nrandom_page_max = 20\nfirst_node = 1001",
            "wrong_logins = 0.25",
            "nodes = \"5000 per guest\"\naccounts = 7\nstory_share = 0.25\nkeep_cookies = false",
        ] {
            let study = study(keys);
            let again = Study::parse("again.toml", &study.to_toml());
            assert_eq!(again.unwrap_or_else(|problems| panic!("{problems}")), study);
        }
    }

    #[test]
    fn each_operation_may_have_a_time_of_its_own() {
        let study = study("operation_times = {logout = \"2s\"}\nthink_max = \"3s\"");
        let pace = &wanted(&study).pace;
        assert_eq!(pace.longest, 3.0);
        assert_eq!(
            pace.means[CmsOperation::Logout.index()],
            Duration::from_secs(2)
        );
        assert_eq!(
            pace.means[CmsOperation::FrontPage.index()],
            Duration::from_secs(1)
        );
    }

    /// A study of a site on LAMP guests.
    fn site(contract: &str, stack: &str, guest: &str) -> String {
        format!(
            "[stack]\nkind = \"lamp\"\n{stack}\n[guest]\nkind = \"{guest}\"\n[workload]\nkind = \
             \"cms\"\ncontract = \"{contract}\"\n"
        )
    }

    #[test]
    fn a_site_of_the_user_is_a_tree_in_guests_with_a_root() {
        let tree = "site = \"/srv/drupal\"";
        let study = with(&site("drupal7", tree, "container")).expect("valid");
        let lamp = study.stack.lamp().expect("lamp");
        assert_eq!(lamp.site, crate::LampSite::Tree("/srv/drupal".to_owned()));
        let again = Study::parse("again.toml", &study.to_toml());
        assert_eq!(again.expect("valid"), study);
        for (contract, stack, guest, said) in [
            ("drupal10", "", "container", "does not keep"),
            ("smallcms", tree, "container", "does not keep"),
            ("wordpress", tree, "container", "does not keep"),
            ("drupal7", tree, "bare", "root of their own"),
        ] {
            let refused = refusal(&site(contract, stack, guest));
            assert!(
                refused.contains(said),
                "{contract} {stack} {guest}: {refused}"
            );
        }
        let shop = "[stack]\nkind = \"lamp\"\nsite = \"/srv/drupal\"\n[guest]\nkind = \
                    \"container\"\n";
        assert!(refusal(shop).contains("`stack.site`"), "{}", refusal(shop));
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        assert_eq!(
            refusal(&text("think_time = \"2s\"\nthink_max = \"1s\"")),
            "study::contradiction: `workload.think_max` is shorter than the mean"
        );
        assert_eq!(
            refusal(&text("operation_times = {logout = \"0s\"}")),
            "study::contradiction: the cycle time of `logout` is zero"
        );
        assert!(refusal(&text("operation_times = {login = \"1s\"}")).contains("`login`"));
        assert!(refusal(&text("matrix = [[1, 0], [0, 1]]")).contains("list of 8 rows"));
        assert!(refusal(&text("think_time = \"0s\"")).contains("cycle"));
        assert!(refusal(&text("searches = 3")).contains("belongs to"));
        assert!(refusal(&text("contract = \"drupal6\"")).contains("drupal6"));
        assert!(refusal(&text("load_mode = \"sql-script\"")).contains("LAMP"));
    }
}
