//! Limits on logins that fail, as Drupal 7 has them: so many from one address, and so many of one
//! account, within some hours. The server does not ask who its clients are: all have one address.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// So many failed logins from one address within so many seconds. A success forgets none of them.
const OF_ADDRESS: Limit = Limit {
    most: 50,
    window_s: 3_600,
};
/// So many of one account within so many seconds. A success forgets them.
const OF_ACCOUNT: Limit = Limit {
    most: 5,
    window_s: 21_600,
};
/// Accounts of which failures are kept at most: those of all others are forgotten together.
const MOST_ACCOUNTS: usize = 100_000;

struct Limit {
    most: usize,
    window_s: i64,
}

/// What is said of a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoginVerdict {
    /// This account is logged in.
    LoggedIn(i64),
    /// Name and password do not fit together.
    Rejected,
    /// Whatever the password: too many logins from this address have failed.
    AddressBlocked,
    /// Whatever the password: too many logins of this account have failed.
    AccountBlocked,
}

/// Times of failed logins, s.
#[derive(Debug, Default)]
struct Failures {
    of_address: VecDeque<i64>,
    of_accounts: HashMap<i64, VecDeque<i64>>,
}

/// The failed logins of a site, where it counts them.
#[derive(Debug)]
pub(super) struct LoginLimits(Option<Mutex<Failures>>);

impl LoginLimits {
    /// None failed yet; `enforced` = they are counted.
    pub(super) fn new(enforced: bool) -> Self {
        Self(enforced.then(Mutex::default))
    }

    /// What comes of a login of this account, if there is one, whose password fits or does not.
    pub(super) fn judge(&self, account: Option<i64>, fits: bool, now_s: i64) -> LoginVerdict {
        let plain = match (account, fits) {
            (Some(account), true) => LoginVerdict::LoggedIn(account),
            _ => LoginVerdict::Rejected,
        };
        let Some(mut failures) = self.failures() else {
            return plain;
        };
        let verdict = if OF_ADDRESS.is_reached(&mut failures.of_address, now_s) {
            LoginVerdict::AddressBlocked
        } else if account.is_some_and(|account| failures.is_blocked(account, now_s)) {
            LoginVerdict::AccountBlocked
        } else {
            plain
        };
        match verdict {
            LoginVerdict::LoggedIn(account) => {
                failures.of_accounts.remove(&account);
            }
            // What is blocked has failed, too.
            _ => failures.add(account, now_s),
        }
        verdict
    }

    fn failures(&self) -> Option<MutexGuard<'_, Failures>> {
        let failures = self.0.as_ref()?;
        Some(failures.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Failures {
    fn is_blocked(&mut self, account: i64, now_s: i64) -> bool {
        let own = self.of_accounts.get_mut(&account);
        own.is_some_and(|own| OF_ACCOUNT.is_reached(own, now_s))
    }

    fn add(&mut self, account: Option<i64>, now_s: i64) {
        OF_ADDRESS.keep(&mut self.of_address, now_s);
        let Some(account) = account else { return };
        if self.of_accounts.len() >= MOST_ACCOUNTS {
            self.of_accounts.clear();
        }
        OF_ACCOUNT.keep(self.of_accounts.entry(account).or_default(), now_s);
    }
}

impl Limit {
    fn is_reached(&self, times: &mut VecDeque<i64>, now_s: i64) -> bool {
        while times
            .front()
            .is_some_and(|time| *time <= now_s - self.window_s)
        {
            times.pop_front();
        }
        times.len() >= self.most
    }

    /// More than the limit need not be remembered.
    fn keep(&self, times: &mut VecDeque<i64>, now_s: i64) {
        if times.len() >= self.most {
            times.pop_front();
        }
        times.push_back(now_s);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRONG: bool = false;
    const RIGHT: bool = true;

    #[test]
    fn five_failures_block_an_account_for_six_hours() {
        let limits = LoginLimits::new(true);
        for second in 0..5 {
            let verdict = limits.judge(Some(7), WRONG, second);
            assert_eq!(verdict, LoginVerdict::Rejected);
        }
        let blocked = LoginVerdict::AccountBlocked;
        assert_eq!(limits.judge(Some(7), RIGHT, 5), blocked);
        assert_eq!(limits.judge(Some(8), RIGHT, 5), LoginVerdict::LoggedIn(8));
        // The attempt that was blocked is the last of those that count.
        assert_eq!(limits.judge(Some(7), RIGHT, 21_600), blocked);
        assert_eq!(
            limits.judge(Some(7), RIGHT, 43_200),
            LoginVerdict::LoggedIn(7)
        );
    }

    #[test]
    fn a_success_forgets_the_failures_of_its_account_and_not_those_of_the_address() {
        let limits = LoginLimits::new(true);
        for round in 0..12 {
            for _ in 0..4 {
                limits.judge(Some(7), WRONG, round);
            }
            assert_eq!(
                limits.judge(Some(7), RIGHT, round),
                LoginVerdict::LoggedIn(7)
            );
        }
        for _ in 0..2 {
            assert_eq!(limits.judge(None, WRONG, 20), LoginVerdict::Rejected);
        }
        let blocked = LoginVerdict::AddressBlocked;
        assert_eq!(
            limits.judge(Some(9), RIGHT, 20),
            blocked,
            "fifty have failed"
        );
        assert_eq!(
            limits.judge(Some(9), RIGHT, 3_621),
            LoginVerdict::LoggedIn(9)
        );
    }

    #[test]
    fn a_site_without_limits_counts_nothing() {
        let limits = LoginLimits::new(false);
        for _ in 0..100 {
            assert_eq!(limits.judge(Some(7), WRONG, 0), LoginVerdict::Rejected);
        }
        assert_eq!(limits.judge(Some(7), RIGHT, 0), LoginVerdict::LoggedIn(7));
    }
}
