//! A bus within this process.

use std::{
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    time::Duration,
};

use super::{Bus, BusError, Frame, MOST_WAITING};

/// Both ends of a connection within this process.
#[must_use]
pub fn in_process() -> (impl Bus, impl Bus) {
    let (to_second, at_second) = sync_channel(MOST_WAITING);
    let (to_first, at_first) = sync_channel(MOST_WAITING);
    let end = |sender, receiver| ChannelBus {
        sender,
        receiver: Mutex::new(receiver),
    };
    (end(to_second, at_first), end(to_first, at_second))
}

struct ChannelBus {
    sender: SyncSender<Frame>,
    receiver: Mutex<Receiver<Frame>>,
}

impl Bus for ChannelBus {
    fn send(&self, frame: Frame) -> Result<(), BusError> {
        if !frame.fits() {
            return Err(BusError::too_long(&frame));
        }
        self.sender.send(frame).map_err(|_| BusError::Closed)
    }

    fn receive(&self, within: Duration) -> Result<Option<Frame>, BusError> {
        let receiver = self.receiver.lock().unwrap_or_else(PoisonError::into_inner);
        match receiver.recv_timeout(within) {
            Ok(frame) => Ok(Some(frame)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(BusError::Closed),
        }
    }
}
