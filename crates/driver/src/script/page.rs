//! One page again and again.

use crate::{
    http::{connection::Ask, decode::Keep},
    record::Operation,
    user::{Failed, User},
};

pub(super) async fn view(user: &mut User, path: &str) -> Result<(), Failed> {
    let ask = Ask {
        target: |out: &mut Vec<u8>| out.extend_from_slice(path.as_bytes()),
        repeatable: true,
        keep: Keep::Length,
    };
    user.request(Operation::Page, ask, |_| Ok(()))
        .await
        .map(|_| ())
}
