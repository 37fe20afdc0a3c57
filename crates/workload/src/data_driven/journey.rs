//! One user on its way: sessions one after the other, the values that it has, what comes next.

use serde::{Deserialize, Serialize};

use super::{DescribedUser, Dry, Feeder, FeederPlaces, Walk};
use crate::RandomDelay;

/// What a failure does to the session of its user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// It ends, and another begins.
    #[default]
    Restart,
    /// It goes on as if nothing had been.
    Continue,
}

/// What decides how the users of a workload go through it.
#[derive(Clone, Copy, Debug)]
pub struct Course<'w> {
    /// Which operation follows which.
    pub walk: &'w Walk,
    /// The operation that every session begins with, once.
    pub login: Option<usize>,
    /// What a failure does to the session.
    pub on_failure: OnFailure,
    /// The pause between two sessions; `None` = as after any operation.
    pub session_pause: Option<RandomDelay>,
    /// Where values come from.
    pub feeders: &'w [Feeder],
    /// The feeders that a session draws from once.
    pub of_session: &'w FeederPlaces,
}

/// What a user does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// A new session.
    Session,
    /// The login of the session.
    Login(usize),
    /// An operation of the walk.
    Operation(usize),
}

/// The operation that is to be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Its place in the list.
    pub operation: usize,
    /// A new session began before it.
    pub is_first: bool,
    /// Whether the values of the session could be drawn.
    pub drawn: Result<(), Dry>,
}

/// One user.
#[derive(Clone, Debug)]
pub struct Journey {
    user: DescribedUser,
    /// By place; nothing where no value was given yet.
    values: Vec<Option<Vec<u8>>>,
    sessions: u64,
    /// The operation that was done last in the session.
    last: Option<usize>,
    next: Next,
}

/// Puts a value into its place, into the memory of the one before where there is one.
pub fn set_value(place: &mut Option<Vec<u8>>, value: &[u8]) {
    let kept = place.get_or_insert_default();
    kept.clear();
    kept.extend_from_slice(value);
}

impl Journey {
    /// A user with places for so many values.
    #[must_use]
    pub fn new(user: DescribedUser, values: usize) -> Self {
        Self {
            user,
            values: vec![None; values],
            sessions: 0,
            last: None,
            next: Next::Session,
        }
    }

    /// Another user takes its place.
    pub fn renew(&mut self, user: DescribedUser) {
        self.user = user;
        (self.sessions, self.next) = (0, Next::Session);
    }

    /// What the user draws by itself.
    pub fn user(&mut self) -> &mut DescribedUser {
        &mut self.user
    }

    /// Its values, by place.
    #[must_use]
    pub fn values(&self) -> &[Option<Vec<u8>>] {
        &self.values
    }

    /// Its draws and its values.
    pub fn parts(&mut self) -> (&mut DescribedUser, &mut [Option<Vec<u8>>]) {
        (&mut self.user, &mut self.values)
    }

    /// The operation that is to be done now, a new session begun before it where it needs one.
    /// `step` hears of each step of the walk: from where (none at the begin of a session) to where
    /// (none at its end).
    pub fn take(
        &mut self,
        course: &Course<'_>,
        mut step: impl FnMut(Option<usize>, Option<usize>),
    ) -> Taken {
        let is_first = self.next == Next::Session;
        let mut drawn = Ok(());
        if is_first {
            drawn = self.begin_session(course);
            self.next = match course.login {
                Some(login) => Next::Login(login),
                None => self.step(course, &mut step),
            };
        }
        let operation = match self.next {
            Next::Login(operation) => operation,
            Next::Operation(operation) => {
                self.last = Some(operation);
                operation
            }
            // A walk has at least one operation.
            Next::Session => 0,
        };
        Taken {
            operation,
            is_first,
            drawn,
        }
    }

    /// Draws new values.
    ///
    /// # Errors
    /// [`Dry`] when a feeder has no more.
    pub fn draw(&mut self, feeders: &[Feeder], from: &FeederPlaces) -> Result<(), Dry> {
        for (index, first) in from.iter() {
            let mut place = first;
            let values = &mut self.values;
            self.user.draw(index, &feeders[index], |value| {
                set_value(&mut values[place], value);
                place += 1;
            })?;
        }
        Ok(())
    }

    /// An operation ended: what comes next. Whether a session ended as the walk says.
    pub fn advance(
        &mut self,
        course: &Course<'_>,
        failed: bool,
        mut step: impl FnMut(Option<usize>, Option<usize>),
    ) -> bool {
        let restarts = course.on_failure == OnFailure::Restart;
        let lost = failed && (restarts || matches!(self.next, Next::Login(_)));
        self.next = if lost {
            Next::Session
        } else {
            self.step(course, &mut step)
        };
        !failed && self.next == Next::Session
    }

    /// The pause that follows, given those of the operations: between sessions as the workload
    /// says, else as the operation that was last does.
    #[must_use]
    pub fn pause(
        &self,
        course: &Course<'_>,
        of_operation: impl FnOnce(usize) -> RandomDelay,
    ) -> RandomDelay {
        match course.session_pause {
            Some(pause) if self.next == Next::Session => pause,
            _ => of_operation(self.last.or(course.login).unwrap_or_default()),
        }
    }

    /// A session begins: nothing of the one before is left.
    fn begin_session(&mut self, course: &Course<'_>) -> Result<(), Dry> {
        self.sessions += 1;
        self.user.leave();
        self.last = None;
        self.values.iter_mut().for_each(|value| *value = None);
        let own = [
            u64::from(self.user.number()),
            self.sessions,
            u64::from(self.user.guest()),
        ];
        for (value, own) in self.values.iter_mut().zip(own) {
            *value = Some(own.to_string().into_bytes());
        }
        self.draw(course.feeders, course.of_session)
    }

    fn step(
        &mut self,
        course: &Course<'_>,
        step: &mut impl FnMut(Option<usize>, Option<usize>),
    ) -> Next {
        let next = self.user.step(course.walk);
        step(self.last, next);
        match next {
            Some(operation) => Next::Operation(operation),
            None => Next::Session,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_driven::Population;

    #[test]
    fn sessions_begin_with_the_login_and_end_with_the_script() {
        let walk = Walk::Script(vec![1, 2]);
        let of_session = FeederPlaces::default();
        let course = Course {
            walk: &walk,
            login: Some(0),
            on_failure: OnFailure::Restart,
            session_pause: None,
            feeders: &[],
            of_session: &of_session,
        };
        let user = DescribedUser::new(0, 1, 0, 4, Population::Users(8));
        let mut journey = Journey::new(user, 3);
        let mut done = Vec::new();
        for failed in [false, false, false, true, false, false] {
            let taken = journey.take(&course, |_, _| {});
            let ended = journey.advance(&course, failed, |_, _| {});
            done.push((taken.operation, taken.is_first, ended));
        }
        assert_eq!(
            done,
            [
                (0, true, false),
                (1, false, false),
                (2, false, true),
                // A login that failed: a new session.
                (0, true, false),
                (0, true, false),
                (1, false, false),
            ]
        );
        let own: Vec<_> = journey.values().iter().flatten().cloned().collect();
        assert_eq!(own, [b"4".to_vec(), b"3".to_vec(), b"0".to_vec()]);
    }
}
