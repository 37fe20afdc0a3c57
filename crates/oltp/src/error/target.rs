//! What can be wrong with the URL of a target.

use std::borrow::Cow;

/// What is wrong with a URL; the URL itself stays out, it may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TargetProblem(Cow<'static, str>);

impl From<&'static str> for TargetProblem {
    fn from(what: &'static str) -> Self {
        Self(Cow::Borrowed(what))
    }
}

impl From<String> for TargetProblem {
    fn from(what: String) -> Self {
        Self(Cow::Owned(what))
    }
}
