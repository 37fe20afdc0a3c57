//! What one user draws, and what it believes of itself.

use std::time::Duration;

use rand_pcg::Pcg32;
use serde::{Deserialize, Serialize};

use super::{
    CmsData, CmsMatrix, CmsOperation, CmsPace, CmsWork, NodeKind,
    data::{ADMIN, created_body},
};
use crate::{
    random::RandomSource as _,
    streams::{UserDelays, UserStreams, uniform},
};

/// Draws after which a node of the wanted kind counts as not to be found.
const MOST_DRAWS: u32 = 1_000;

/// What a random page is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RandomPage {
    /// A page of the list of promoted nodes.
    #[default]
    Listing,
    /// A node of the kind page.
    PageNode,
}

/// What becomes of a user whose operation failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnError {
    /// It forgets its cookies and begins anew, at the front page.
    #[default]
    Restart,
    /// It goes on as if nothing had happened: what follows may fail because of it.
    Continue,
}

/// What users of a site know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CmsPlaces {
    data: CmsData,
    random_page: RandomPage,
    /// Pages of the list that users go to.
    pages: u32,
    /// Share of the logins of users that are tried with a wrong password first, millionths.
    wrong_login_ppm: u32,
}

impl CmsPlaces {
    /// Of a site with these data; users go to the first `most_pages` of the list.
    #[must_use]
    pub fn new(data: CmsData, random_page: RandomPage, most_pages: Option<u32>) -> Self {
        Self {
            data,
            random_page,
            pages: data.pages().min(most_pages.unwrap_or(u32::MAX)).max(1),
            wrong_login_ppm: 0,
        }
    }

    /// The same, where this share of the logins of users, in millionths, is tried with a wrong
    /// password first.
    #[must_use]
    pub fn with_wrong_logins(self, wrong_login_ppm: u32) -> Self {
        Self {
            wrong_login_ppm,
            ..self
        }
    }

    /// Pages of the list that users go to.
    #[must_use]
    pub fn pages(&self) -> u32 {
        self.pages
    }
}

/// One user.
#[derive(Clone, Debug)]
pub struct CmsUser {
    choice: Pcg32,
    delays: UserDelays,
    data: Pcg32,
    seed: u64,
    guest: u32,
    number: u32,
    /// Nodes that it has set out to create.
    created: u32,
    /// The operation that was last; none at the begin.
    last: Option<CmsOperation>,
    logged_in: bool,
    /// Where it logs out, where the site has said so.
    logout_link: Option<String>,
}

impl CmsUser {
    /// The user `user` (from 0) of `guest` (from 0) in the trial of `trial_seed`.
    #[must_use]
    pub fn new(trial_seed: u64, guest: u32, user: u32) -> Self {
        let streams = UserStreams::new(trial_seed, guest, user);
        Self {
            choice: streams.choice(),
            delays: streams.delays(),
            data: streams.data(),
            seed: trial_seed,
            guest,
            number: user,
            created: 0,
            last: None,
            logged_in: false,
            logout_link: None,
        }
    }

    /// What the user does next; the operation before it, and the new one.
    pub fn step(&mut self, matrix: &CmsMatrix) -> (Option<CmsOperation>, CmsOperation) {
        let next = match self.last {
            Some(last) => matrix.next(last, self.choice.fraction()),
            None => CmsMatrix::START,
        };
        (self.last.replace(next), next)
    }

    /// Whether the user believes that it is in the state which an operation needs. Where it does
    /// not, an earlier failure is the reason.
    #[must_use]
    pub fn is_ready_for(&self, operation: CmsOperation) -> bool {
        operation
            .needs_login()
            .is_none_or(|needs| needs == self.logged_in)
    }

    /// An operation with its arguments.
    pub fn work(&mut self, operation: CmsOperation, places: &CmsPlaces) -> CmsWork {
        match operation {
            CmsOperation::FrontPage => CmsWork::Front,
            CmsOperation::RandomPage => match places.random_page {
                RandomPage::Listing => {
                    CmsWork::Listing(uniform(&mut self.data, 0, places.pages - 1))
                }
                RandomPage::PageNode => self.node(places, Some(NodeKind::Page)),
            },
            CmsOperation::RandomNode => self.node(places, None),
            CmsOperation::UserLogin => {
                let number = uniform(&mut self.data, 1, places.data.users.max(1));
                CmsWork::Login {
                    name: CmsData::user_name(number),
                    wrong_first: self.mistypes(places.wrong_login_ppm),
                }
            }
            CmsOperation::AdminLogin => CmsWork::Login {
                name: ADMIN.to_owned(),
                wrong_first: false,
            },
            CmsOperation::CreatePage => self.creation(NodeKind::Page),
            CmsOperation::CreateStory => self.creation(NodeKind::Story),
            CmsOperation::Logout => CmsWork::Logout {
                link: self.logout_link.clone(),
            },
        }
    }

    /// Whether the password is wrong at first; draws nothing where it never is.
    fn mistypes(&mut self, ppm: u32) -> bool {
        ppm > 0 && uniform(&mut self.data, 1, 1_000_000) <= ppm
    }

    /// One of the loaded nodes.
    fn node(&mut self, places: &CmsPlaces, kind: Option<NodeKind>) -> CmsWork {
        let data = &places.data;
        let mut place = 0;
        for _ in 0..MOST_DRAWS {
            place = uniform(&mut self.data, 0, data.nodes.saturating_sub(1));
            if kind.is_none_or(|kind| data.node(place).kind == kind) {
                break;
            }
        }
        CmsWork::Node {
            id: data.first_node.saturating_add(place),
            title: Some(data.title(place)),
        }
    }

    /// A node whose title no other has: of the trial, the guest, the user, and counted.
    fn creation(&mut self, kind: NodeKind) -> CmsWork {
        self.created = self.created.saturating_add(1);
        CmsWork::Create {
            kind,
            title: format!(
                "r{:x}-{}-{}-{}",
                self.seed, self.guest, self.number, self.created
            ),
            body: created_body(self.data.bits()),
        }
    }

    /// The site has said where the user logs out.
    pub fn logs_out_at(&mut self, link: Option<String>) {
        self.logout_link = link;
    }

    /// An operation went well.
    pub fn succeeded(&mut self, operation: CmsOperation) {
        match operation {
            CmsOperation::UserLogin | CmsOperation::AdminLogin => self.logged_in = true,
            CmsOperation::Logout => self.logged_in = false,
            _ => {}
        }
    }

    /// An operation failed; `lost` says that the site does not know the user any more. The user
    /// forgets its cookies where this says so.
    pub fn failed(&mut self, lost: bool, on_error: OnError) -> bool {
        match on_error {
            OnError::Restart => {
                (self.last, self.logged_in) = (None, false);
                true
            }
            OnError::Continue => {
                self.logged_in &= !lost;
                false
            }
        }
    }

    /// The delay behind an operation, us.
    pub fn delay_us(&mut self, pace: &CmsPace) -> u64 {
        let operation = self.last.unwrap_or(CmsMatrix::START);
        pace.draw_us(&mut self.delays, operation)
    }

    /// The pause before the first operation, us, uniform in `[0, longest)`.
    pub fn initial_us(&mut self, longest: Duration) -> u64 {
        self.delays.initial_us(longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cms::data::tests::DATA;

    fn places() -> CmsPlaces {
        CmsPlaces::new(DATA, RandomPage::Listing, None)
    }

    fn walk(seed: u64, user: u32) -> Vec<CmsWork> {
        let (mut user, places) = (CmsUser::new(seed, 0, user), places());
        let matrix = CmsMatrix::default();
        let mut step = || {
            let (_, operation) = user.step(&matrix);
            let work = user.work(operation, &places);
            user.succeeded(operation);
            work
        };
        (0..60).map(|_| step()).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_user_and_another_another() {
        assert_eq!(walk(1, 0), walk(1, 0));
        assert_ne!(walk(1, 0), walk(2, 0));
        assert_ne!(walk(1, 0), walk(1, 1));
        assert_eq!(walk(1, 0)[0], CmsWork::Front, "every user begins there");
    }

    #[test]
    fn users_go_to_what_the_site_has() {
        let (mut user, places) = (CmsUser::new(3, 0, 0), places());
        let (mut highest_page, mut highest_user) = (0, String::new());
        for _ in 0..20_000 {
            if let CmsWork::Listing(page) = user.work(CmsOperation::RandomPage, &places) {
                highest_page = highest_page.max(page);
            }
            if let CmsWork::Login { name, .. } = user.work(CmsOperation::UserLogin, &places) {
                highest_user = highest_user.max(name);
            }
            let CmsWork::Node { id, title } = user.work(CmsOperation::RandomNode, &places) else {
                panic!("a node");
            };
            assert!((1..=5_000).contains(&id));
            assert_eq!(title, Some(DATA.title(id - 1)));
        }
        assert_eq!(highest_page, DATA.pages() - 1);
        assert_eq!(highest_user, "user01000");
        let few = CmsPlaces::new(DATA, RandomPage::Listing, Some(7));
        assert_eq!(few.pages(), 7);
    }

    #[test]
    fn so_many_logins_begin_with_a_wrong_password_as_is_asked() {
        let wrong = |ppm: u32| {
            let (mut user, places) = (CmsUser::new(3, 0, 0), places().with_wrong_logins(ppm));
            let mistyped = |work| {
                matches!(
                    work,
                    CmsWork::Login {
                        wrong_first: true,
                        ..
                    }
                )
            };
            (0..1_000)
                .filter(|_| mistyped(user.work(CmsOperation::UserLogin, &places)))
                .count()
        };
        assert_eq!((wrong(0), wrong(1_000_000)), (0, 1_000));
        assert!((150..250).contains(&wrong(200_000)));
    }

    #[test]
    fn a_random_page_may_be_a_node_of_that_kind() {
        let places = CmsPlaces::new(DATA, RandomPage::PageNode, None);
        let mut user = CmsUser::new(3, 0, 0);
        for _ in 0..200 {
            let CmsWork::Node { id, title } = user.work(CmsOperation::RandomPage, &places) else {
                panic!("a node");
            };
            assert_eq!(DATA.node(id - 1).kind, NodeKind::Page);
            assert_eq!(title, Some(DATA.title(id - 1)));
        }
    }

    #[test]
    fn titles_are_unique_plain_and_short() {
        let mut user = CmsUser::new(u64::MAX, 99_999, 999_999);
        let places = places();
        let mut title = || match user.work(CmsOperation::CreateStory, &places) {
            CmsWork::Create { title, .. } => title,
            other => panic!("{other:?}"),
        };
        let (first, second) = (title(), title());
        assert_eq!(first, "rffffffffffffffff-99999-999999-1");
        assert_ne!(first, second);
        assert!(second.len() <= 80);
    }

    #[test]
    fn who_begins_anew_is_ready_for_everything_again() {
        let matrix = CmsMatrix::default();
        let mut user = CmsUser::new(3, 0, 0);
        user.step(&matrix);
        user.succeeded(CmsOperation::UserLogin);
        assert!(user.is_ready_for(CmsOperation::Logout));
        assert!(!user.is_ready_for(CmsOperation::UserLogin));
        assert!(user.failed(true, OnError::Restart));
        assert!(!user.is_ready_for(CmsOperation::Logout));
        assert_eq!(user.step(&matrix), (None, CmsOperation::FrontPage));
        let logout = |link| CmsWork::Logout { link };
        assert_eq!(user.work(CmsOperation::Logout, &places()), logout(None));
        let link = Some("/out?token=1".to_owned());
        user.logs_out_at(link.clone());
        assert_eq!(user.work(CmsOperation::Logout, &places()), logout(link));
    }

    #[test]
    fn who_goes_on_knows_which_failures_follow_from_another() {
        let mut user = CmsUser::new(3, 0, 0);
        assert!(!user.failed(false, OnError::Continue));
        assert!(
            !user.is_ready_for(CmsOperation::CreateStory),
            "its login failed"
        );
        user.succeeded(CmsOperation::UserLogin);
        user.failed(false, OnError::Continue);
        assert!(user.is_ready_for(CmsOperation::Logout), "it is still known");
        user.failed(true, OnError::Continue);
        assert!(!user.is_ready_for(CmsOperation::Logout), "it is lost");
        user.succeeded(CmsOperation::UserLogin);
        user.failed(false, OnError::Continue);
        assert!(
            !user.is_ready_for(CmsOperation::UserLogin),
            "it may still be in"
        );
    }
}
