//! A connection with all its prepared statements.

use std::time::Duration;

use tokio::time::timeout;

use super::TrialConfig;
use crate::{ClientError, DbSession, OltpError};

/// Longest wait for a connection with all its prepared statements.
const OPEN_PATIENCE: Duration = Duration::from_secs(30);

/// Connects and prepares, within a deadline.
pub(super) async fn open(config: &TrialConfig, guest: usize) -> Result<DbSession, OltpError> {
    let target = &config.guests[guest].target;
    match timeout(OPEN_PATIENCE, DbSession::open(target, config.session)).await {
        Ok(opened) => opened,
        Err(_) => Err(OltpError::Connect {
            target: target.to_string(),
            why: ClientError::Timeout(OPEN_PATIENCE.as_secs()),
        }),
    }
}
