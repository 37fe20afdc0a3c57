//! What a user keeps of embedded objects: no content, only whether it has to ask, and how.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    rc::Rc,
};

use rookery_driver::Nanos;

/// Most objects of one user; the oldest goes.
const MOST: usize = 256;
/// Longest validator.
const LONGEST: usize = 128;
/// Objects for which a cache grows at a time: twice as many would be memory of every user.
const GROWTH: usize = 16;
/// Most validators that users share.
const MOST_SHARED: usize = 16_384;

/// What a server said of the version of an object. A copy costs no memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Validator(Rc<Stated>);

#[derive(Debug, PartialEq, Eq, Hash)]
enum Stated {
    /// `ETag`
    Tag(Box<[u8]>),
    /// `Last-Modified`
    Modified(Box<[u8]>),
}

impl Validator {
    /// A tag, when it is short and plain.
    pub(crate) fn tag(value: &[u8]) -> Option<Self> {
        plain(value).then(|| Self(Rc::new(Stated::Tag(value.into()))))
    }

    /// A time, when it is short and plain.
    pub(crate) fn modified(value: &[u8]) -> Option<Self> {
        plain(value).then(|| Self(Rc::new(Stated::Modified(value.into()))))
    }

    /// Appends the header that makes a request conditional.
    pub(crate) fn append(&self, out: &mut Vec<u8>) {
        let (name, value): (&[u8], _) = match &*self.0 {
            Stated::Tag(value) => (b"If-None-Match: ", value),
            Stated::Modified(value) => (b"If-Modified-Since: ", value),
        };
        out.extend_from_slice(name);
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    }
}

/// Validators that were seen: users of one site keep the same ones, each once in memory.
#[derive(Debug, Default)]
pub(crate) struct SharedValidators(HashSet<Validator>);

impl SharedValidators {
    /// The validator as others have it. Of a site with too many, those that come late are not
    /// shared.
    pub(crate) fn share(&mut self, validator: Validator) -> Validator {
        if let Some(known) = self.0.get(&validator) {
            return known.clone();
        }
        if self.0.len() < MOST_SHARED {
            self.0.insert(validator.clone());
        }
        validator
    }
}

fn plain(value: &[u8]) -> bool {
    (1..=LONGEST).contains(&value.len()) && !value.iter().any(u8::is_ascii_control)
}

/// How a user asks for an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Not at all: it has it.
    Nothing,
    /// Whether it has changed.
    Changes(Validator),
    /// For all of it.
    Everything,
}

#[derive(Debug)]
struct Entry {
    key: u64,
    validator: Option<Validator>,
    /// Until then it need not be asked for.
    fresh_until: Nanos,
}

/// The cache of one user; without objects it owns no heap memory.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    entries: Vec<Entry>,
}

impl Cache {
    /// How to ask for an object at `now`.
    pub(crate) fn need(&self, target: &[u8], now: Nanos) -> Need {
        let key = key(target);
        match self.entries.iter().find(|entry| entry.key == key) {
            Some(entry) if now < entry.fresh_until => Need::Nothing,
            Some(Entry {
                validator: Some(validator),
                ..
            }) => Need::Changes(validator.clone()),
            _ => Need::Everything,
        }
    }

    /// The object has come, or has not changed.
    pub(crate) fn keep(&mut self, target: &[u8], validator: Option<Validator>, fresh_until: Nanos) {
        let key = key(target);
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.key == key) {
            if validator.is_some() {
                entry.validator = validator;
            }
            entry.fresh_until = fresh_until;
            return;
        }
        if validator.is_none() && fresh_until == 0 {
            return;
        }
        if self.entries.len() == MOST {
            self.entries.remove(0);
        }
        if self.entries.len() == self.entries.capacity() {
            self.entries.reserve_exact(GROWTH);
        }
        self.entries.push(Entry {
            key,
            validator,
            fresh_until,
        });
    }
}

#[cfg(test)]
impl Cache {
    /// Bytes that it owns beside itself; validators are shared.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
    }
}

fn key(target: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    target.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_asked_for_as_a_browser_would() {
        let mut cache = Cache::default();
        assert_eq!(cache.need(b"/a", 0), Need::Everything);
        let tag = Validator::tag(b"\"v1\"");
        cache.keep(b"/a", tag.clone(), 100);
        assert_eq!(cache.need(b"/a", 99), Need::Nothing);
        assert_eq!(
            cache.need(b"/a", 100),
            Need::Changes(tag.expect("a short one"))
        );
        cache.keep(b"/b", None, 0);
        assert_eq!(cache.need(b"/b", 0), Need::Everything);
        assert_eq!(Validator::tag(&[b'x'; 1000]), None);
        assert_eq!(Validator::modified(b"a\r\nb"), None);
    }

    #[test]
    fn users_share_what_servers_say() {
        let tag = |value: &[u8]| Validator::tag(value).expect("a short one");
        let mut shared = SharedValidators::default();
        let first = shared.share(tag(b"\"v1\""));
        assert!(Rc::ptr_eq(&first.0, &shared.share(tag(b"\"v1\"")).0));
        let modified = Validator::modified(b"\"v1\"").expect("a short one");
        assert_ne!(shared.share(modified), first);
        for number in 0..2 * MOST_SHARED {
            let another = tag(number.to_string().as_bytes());
            assert_eq!(shared.share(another.clone()), another);
        }
        assert_eq!(shared.0.len(), MOST_SHARED);
    }

    #[test]
    fn a_cache_is_bounded() {
        let mut cache = Cache::default();
        for n in 0..1_000 {
            cache.keep(format!("/{n}").as_bytes(), None, 1);
        }
        assert_eq!(cache.entries.len(), MOST);
        assert_eq!(cache.need(b"/0", 0), Need::Everything);
        assert_eq!(cache.need(b"/999", 0), Need::Nothing);
    }
}
