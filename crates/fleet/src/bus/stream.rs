//! A bus over two streams of bytes: standard input and output of an agent, and of the ssh that
//! leads to it.

use std::{
    io::{self, Read, Write},
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use super::{Bus, BusError, Frame, MOST_WAITING};

/// One end of a connection over two streams. A thread of its own reads, and ends with its stream.
pub struct StreamBus {
    writer: Mutex<Box<dyn Write + Send>>,
    frames: Mutex<Receiver<io::Result<Frame>>>,
}

/// The end whose streams are the standard input and output of this process. Nothing else may be
/// printed to standard output.
///
/// # Errors
/// When no thread can be started.
pub fn stdio() -> io::Result<StreamBus> {
    StreamBus::new(io::stdin(), io::stdout())
}

impl StreamBus {
    /// The end that reads from one stream and writes to another.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn new(
        mut reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
    ) -> io::Result<Self> {
        let (sender, frames) = sync_channel(MOST_WAITING);
        thread::Builder::new()
            .name("bus".to_owned())
            .spawn(move || read_frames(&mut reader, &sender))?;
        Ok(Self {
            writer: Mutex::new(Box::new(writer)),
            frames: Mutex::new(frames),
        })
    }
}

/// Read until the stream ends, something that is no frame comes, or no one receives any more.
fn read_frames(reader: &mut dyn Read, sender: &SyncSender<io::Result<Frame>>) {
    loop {
        let frame = match Frame::read(reader) {
            Ok(None) => return,
            Ok(Some(frame)) => Ok(frame),
            Err(error) => Err(error),
        };
        let failed = frame.is_err();
        if sender.send(frame).is_err() || failed {
            return;
        }
    }
}

impl Bus for StreamBus {
    fn send(&self, frame: Frame) -> Result<(), BusError> {
        if !frame.fits() {
            return Err(BusError::too_long(&frame));
        }
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        frame.write(&mut *writer).map_err(closed_or_failed)
    }

    fn receive(&self, within: Duration) -> Result<Option<Frame>, BusError> {
        let frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        match frames.recv_timeout(within) {
            Ok(frame) => frame.map(Some).map_err(closed_or_failed),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(BusError::Closed),
        }
    }
}

fn closed_or_failed(error: io::Error) -> BusError {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => BusError::Closed,
        _ => BusError::Failed(error),
    }
}
