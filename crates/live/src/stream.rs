//! What happens to a run, as server-sent events.
//!
//! A stream begins with the whole run (`overview`), then sends trials as they change (`trials`) and
//! the events of the journal (`happened`), each with its number as the event's id. A browser that
//! connects again names the last id, and gets the run as it then stands and the events after that
//! one. Nothing is buffered for a reader: the next look is taken when it has read the last.

use std::{collections::VecDeque, convert::Infallible, path::PathBuf, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::stream::unfold;
use http_body_util::{BodyExt as _, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::Frame;
use serde::Serialize;
use tokio::{sync::OwnedSemaphorePermit, sync::watch, time::sleep};

use crate::{journal::JournalReader, library::Library, overview::Overview, summary::RunState};

/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Looks without news after which a line without meaning shows that the server is still there.
const QUIET_LOOKS: u32 = 20;
/// How long a browser waits before it connects again, ms.
const RETRY_MS: u32 = 2_000;

/// The body of an answer.
pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Follows one run for one reader.
pub(crate) struct Follower {
    library: Arc<Library>,
    key: String,
    journal: JournalReader,
    sent: Option<Arc<Overview>>,
    pending: VecDeque<Bytes>,
    quiet: u32,
    done: bool,
    closing: watch::Receiver<bool>,
    /// Held while the stream lives: their number is bounded.
    _slot: OwnedSemaphorePermit,
}

impl Follower {
    /// Of the run of this key, in its directory, after the event `last`.
    pub(crate) fn new(
        library: Arc<Library>,
        (key, directory): (&str, PathBuf),
        last: Option<u64>,
        closing: watch::Receiver<bool>,
        slot: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            library,
            key: key.to_owned(),
            journal: JournalReader::new(&directory, last),
            sent: None,
            pending: VecDeque::from([Bytes::from(format!("retry: {RETRY_MS}\n\n"))]),
            quiet: 0,
            done: false,
            closing,
            _slot: slot,
        }
    }

    /// The stream as the body of an answer.
    pub(crate) fn into_body(self) -> Body {
        let stream = unfold(self, |follower| follower.next());
        StreamBody::new(stream).boxed_unsync()
    }

    async fn next(mut self) -> Option<(Result<Frame<Bytes>, Infallible>, Self)> {
        loop {
            if let Some(bytes) = self.pending.pop_front() {
                return Some((Ok(Frame::data(bytes)), self));
            }
            if self.done {
                return None;
            }
            if self.sent.is_some() {
                tokio::select! {
                    () = sleep(LOOK_EVERY) => {}
                    // An error says that the server is gone.
                    _ = self.closing.changed() => {}
                }
            }
            let closing = *self.closing.borrow() || self.closing.has_changed().is_err();
            let look = move || {
                self.look();
                self
            };
            self = tokio::task::spawn_blocking(look).await.ok()?;
            if closing && !self.done {
                self.send("closing", &serde_json::json!({}));
                self.done = true;
            }
        }
    }

    /// Queue all that is new.
    fn look(&mut self) {
        match self.library.overview(&self.key) {
            Ok(Some(now)) => self.look_at(now),
            Ok(None) => {
                self.send("gone", &serde_json::json!({}));
                self.done = true;
                return;
            }
            Err(error) => {
                let text = rookery_diagnosis::outside_text(&error.to_string());
                self.send("unreadable", &serde_json::json!({ "error": text }));
                self.done = true;
                return;
            }
        }
        // A journal that cannot be read is no reason not to show the store.
        for event in self.journal.read_new().unwrap_or_default() {
            let text = format!(
                "id: {}\nevent: happened\ndata: {}\n\n",
                event.id, event.value
            );
            self.pending.push_back(text.into());
        }
        let running = self
            .sent
            .as_ref()
            .is_some_and(|sent| sent.state == RunState::Running);
        if !running && self.quiet > 1 {
            self.send("end", &serde_json::json!({}));
            self.done = true;
        } else if self.pending.is_empty() {
            self.quiet += 1;
            if self.quiet.is_multiple_of(QUIET_LOOKS) {
                self.pending
                    .push_back(Bytes::from_static(b": still here\n\n"));
            }
        } else {
            self.quiet = 0;
        }
    }

    fn look_at(&mut self, now: Arc<Overview>) {
        let before = self.sent.replace(Arc::clone(&now));
        if before
            .as_ref()
            .is_some_and(|before| Arc::ptr_eq(before, &now))
        {
            return;
        }
        match before.as_ref().and_then(|before| now.changed_since(before)) {
            None => self.send("overview", &*now),
            Some(changes) if changes.is_empty() => {}
            Some(changes) => self.send("trials", &changes),
        }
    }

    /// An event without a number: what it says replaces what was said before.
    fn send(&mut self, event: &str, value: &impl Serialize) {
        // JSON has no line ends of its own, so that no text can begin another event.
        if let Ok(text) = serde_json::to_string(value) {
            let text = format!("event: {event}\ndata: {text}\n\n");
            self.pending.push_back(text.into());
        }
    }
}
