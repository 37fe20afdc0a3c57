//! A connection with all its prepared statements.

use tokio::time::timeout;

use super::TrialConfig;
use crate::{ClientError, DbSession, OltpError};

/// Connects and prepares, within the target's patience.
pub(super) async fn open(config: &TrialConfig, guest: usize) -> Result<DbSession, OltpError> {
    let target = &config.guests[guest].target;
    let patience = target.patience.answer;
    match timeout(patience, DbSession::open(target, config.session)).await {
        Ok(opened) => opened,
        Err(_) => Err(OltpError::Connect {
            target: target.to_string(),
            why: ClientError::Timeout(patience),
        }),
    }
}
