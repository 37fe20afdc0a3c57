//! Sessions of users on the server: made at their first page, forgotten some time after their last.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// Locks that sessions are divided over.
const SHARDS: usize = 64;

/// Most sessions at a time; a server of users that never leave would otherwise fill its memory.
const MOST_SESSIONS: usize = 4_000_000;

/// More sessions than the server keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

/// What a session is called in its cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SessionId(u128);

impl SessionId {
    /// The session of a cookie's value; nothing for what no session is called.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let right = text.len() == 32
            && text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        right.then(|| u128::from_str_radix(text, 16).ok().map(Self))?
    }

    /// The session of a `Cookie` header.
    pub(crate) fn of_header(header: &str) -> Option<Self> {
        let mut cookies = header.split(';').map(str::trim);
        cookies
            .find_map(|cookie| Self::parse(cookie.strip_prefix(SESSION_COOKIE)?.strip_prefix('=')?))
    }
}

impl std::fmt::Display for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Name of the cookie.
pub(crate) const SESSION_COOKIE: &str = "RKSID";

/// Every session of a server.
pub(crate) struct Sessions<T> {
    shards: Vec<Mutex<Shard<T>>>,
    expiry: Duration,
    count: AtomicUsize,
    made: AtomicU64,
    hashers: [RandomState; 2],
}

struct Shard<T> {
    sessions: HashMap<SessionId, Session<T>>,
    swept: Instant,
}

struct Session<T> {
    data: T,
    used: Instant,
}

impl<T: Clone> Sessions<T> {
    /// No sessions yet; each is forgotten so long after its last request.
    pub(crate) fn new(expiry: Duration) -> Self {
        let shard = |_| {
            Mutex::new(Shard {
                sessions: HashMap::new(),
                swept: Instant::now(),
            })
        };
        Self {
            shards: (0..SHARDS).map(shard).collect(),
            expiry,
            count: AtomicUsize::new(0),
            made: AtomicU64::new(0),
            hashers: [RandomState::new(), RandomState::new()],
        }
    }

    /// How many there are, forgotten ones included that were not looked for since.
    #[cfg(test)]
    fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// Begins a session.
    pub(crate) fn begin(&self, data: T) -> Result<SessionId, TooMany> {
        if self.count.load(Relaxed) >= MOST_SESSIONS {
            return Err(TooMany);
        }
        let number = self.made.fetch_add(1, Relaxed);
        // Hashes with keys that the standard library takes from the system: no one guesses another.
        let [high, low] = [0, 1].map(|half| u128::from(self.hashers[half].hash_one(number)));
        let id = SessionId(high << 64 | low);
        let now = Instant::now();
        let mut shard = self.shard(id);
        self.sweep(&mut shard, now);
        shard.sessions.insert(id, Session { data, used: now });
        self.count.fetch_add(1, Relaxed);
        Ok(id)
    }

    /// What a session holds; it counts as used.
    pub(crate) fn get(&self, id: SessionId) -> Option<T> {
        let now = Instant::now();
        let mut shard = self.shard(id);
        let session = shard.sessions.get_mut(&id)?;
        if now.duration_since(session.used) > self.expiry {
            shard.sessions.remove(&id);
            self.count.fetch_sub(1, Relaxed);
            return None;
        }
        session.used = now;
        Some(session.data.clone())
    }

    /// Keeps other data in a session that is not forgotten.
    pub(crate) fn set(&self, id: SessionId, data: T) {
        if let Some(session) = self.shard(id).sessions.get_mut(&id) {
            session.data = data;
        }
    }

    /// Ends a session.
    pub(crate) fn end(&self, id: SessionId) {
        if self.shard(id).sessions.remove(&id).is_some() {
            self.count.fetch_sub(1, Relaxed);
        }
    }

    fn shard(&self, id: SessionId) -> std::sync::MutexGuard<'_, Shard<T>> {
        // The low bits of a hash are as even as any.
        let place = rookery_cast::index(low_bits(id)) % SHARDS;
        self.shards[place]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes out what is forgotten, at most eight times within the time of a session.
    fn sweep(&self, shard: &mut Shard<T>, now: Instant) {
        if now.duration_since(shard.swept) < self.expiry / 8 {
            return;
        }
        shard.swept = now;
        let before = shard.sessions.len();
        let expiry = self.expiry;
        shard
            .sessions
            .retain(|_, session| now.duration_since(session.used) <= expiry);
        self.count.fetch_sub(before - shard.sessions.len(), Relaxed);
    }
}

fn low_bits(id: SessionId) -> u64 {
    rookery_cast::low_u64(id.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_lives_until_it_ends() {
        let sessions = Sessions::new(Duration::from_secs(600));
        let id = sessions.begin(7).expect("a session");
        let other = sessions.begin(8).expect("a session");
        assert_ne!(id, other);
        assert_eq!((sessions.get(id), sessions.get(other)), (Some(7), Some(8)));
        sessions.set(id, 9);
        assert_eq!((sessions.get(id), sessions.count()), (Some(9), 2));
        sessions.end(id);
        sessions.end(id);
        assert_eq!((sessions.get(id), sessions.count()), (None, 1));
        sessions.set(id, 1);
        assert_eq!(sessions.get(id), None);
    }

    #[test]
    fn sessions_are_forgotten_and_leave_no_memory() {
        let sessions = Sessions::new(Duration::ZERO);
        let id = sessions.begin(7).expect("a session");
        // The clock has moved on since, by a nanosecond at least.
        while Instant::now().elapsed().is_zero() {}
        assert_eq!(sessions.get(id), None);
        for number in 0..10_000 {
            let _ = sessions.begin(number).expect("a session");
        }
        assert!(sessions.count() <= 10 * SHARDS, "{}", sessions.count());
    }

    #[test]
    fn cookies_lead_back_to_their_session() {
        let id = SessionId(0xabc << 100 | 7);
        let header = format!("a=b; {SESSION_COOKIE}={id}; c");
        assert_eq!(SessionId::of_header(&header), Some(id));
        for header in [
            "",
            "RKSID",
            "RKSID=",
            "RKSID=zz",
            "XRKSID=00000000000000000000000000000007",
            "RKSID=+0000000000000000000000000000007",
            "RKSID=000000000000000000000000000000071",
        ] {
            assert_eq!(SessionId::of_header(header), None, "{header}");
        }
    }
}
