//! One page again and again: the benchmarks' workload.

use std::{rc::Rc, time::Duration};

use rookery_driver::{Nanos, OperationEntry, OperationId, OperationTable};
use rookery_workload::{OperationInfo, OperationRole, RandomDelay, UserDelays};
use serde::{Deserialize, Serialize};

use super::problem::ScriptProblem;
use crate::{
    client::{Ask, Client, Failed},
    http::decode::Keep,
    user::UserScript,
};

/// Its only operation.
pub const PAGE: OperationId = OperationId::new(0);

/// The operations of the users of a page.
pub(crate) const OPERATIONS: OperationTable =
    OperationTable::new(&[OperationEntry::listed(OperationInfo {
        name: "page",
        role: OperationRole::Main,
    })]);

/// What the users of a page are configured with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageScript {
    /// Path and query of the page, beginning with `/`, visible ASCII only.
    pub path: String,
}

impl PageScript {
    pub(crate) fn check(&self) -> Result<(), ScriptProblem> {
        if self.path.starts_with('/') {
            ScriptProblem::unless_plain(&self.path)
        } else {
            Err(ScriptProblem::in_request_line(&self.path))
        }
    }
}

/// One user.
pub(crate) struct Viewer {
    page: Rc<PageScript>,
    seed: u64,
    guest: u32,
    delays: UserDelays,
}

impl Viewer {
    pub(crate) fn new(page: Rc<PageScript>, seed: u64, guest: u32, number: u32) -> Self {
        Self {
            page,
            seed,
            guest,
            delays: UserDelays::new(seed, guest, number),
        }
    }
}

impl UserScript for Viewer {
    const ACT: Option<OperationId> = None;

    fn renew(&mut self, number: u32) {
        self.delays = UserDelays::new(self.seed, self.guest, number);
    }

    fn initial_delay(&mut self, longest: Duration) -> Nanos {
        self.delays.initial_us(longest) * 1_000
    }

    fn think_time(&mut self, delay: RandomDelay) -> Nanos {
        self.delays.think_us(delay) * 1_000
    }

    async fn arrive(&mut self, client: &mut Client) -> Result<(), Failed> {
        self.act(client).await
    }

    async fn act(&mut self, client: &mut Client) -> Result<(), Failed> {
        let ask = Ask {
            target: |out: &mut Vec<u8>| out.extend_from_slice(self.page.path.as_bytes()),
            repeatable: true,
            keep: Keep::Length,
        };
        client.request(PAGE, ask, |_| Ok(())).await.map(|_| ())
    }
}
