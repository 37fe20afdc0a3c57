//! The cookies of one user: names and values only, bounded; a user without cookies owns no heap
//! memory.

/// Most cookies of one user.
const MAX_COOKIES: usize = 16;
/// Most bytes of all names and values of one user.
const MAX_BYTES: usize = 4096;

/// The cookie jar of one user, kept as the text of its `Cookie` header (`a=1; b=2`).
///
/// A user talks to one guest only, so that paths and domains are not distinguished; a cookie that
/// has expired is removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cookies {
    header: Vec<u8>,
}

impl Cookies {
    /// The value of the `Cookie` header; empty without cookies.
    pub(crate) fn header(&self) -> &[u8] {
        &self.header
    }

    /// The value of a cookie.
    pub(crate) fn value(&self, name: &str) -> Option<&[u8]> {
        self.pairs().find_map(|pair| {
            let rest = pair.strip_prefix(name.as_bytes())?;
            rest.strip_prefix(b"=")
        })
    }

    /// Take in one `Set-Cookie` header. A malformed or oversized one is ignored, as browsers do.
    pub(crate) fn set(&mut self, set_cookie: &[u8]) {
        let mut parts = set_cookie
            .split(|&byte| byte == b';')
            .map(<[u8]>::trim_ascii);
        let Some(pair) = parts.next() else { return };
        let Some(equals) = pair.iter().position(|&byte| byte == b'=') else {
            return;
        };
        let name = &pair[..equals];
        if name.is_empty() || pair.iter().any(|byte| byte.is_ascii_control()) {
            return;
        }
        self.remove(name);
        if parts.any(expired) || self.is_full(pair) {
            return;
        }
        if !self.header.is_empty() {
            self.header.extend_from_slice(b"; ");
        }
        self.header.extend_from_slice(pair);
    }

    fn is_full(&self, pair: &[u8]) -> bool {
        self.pairs().count() >= MAX_COOKIES || self.header.len() + pair.len() + 2 > MAX_BYTES
    }

    fn pairs(&self) -> impl Iterator<Item = &[u8]> {
        self.header
            .split(|&byte| byte == b';')
            .map(<[u8]>::trim_ascii)
            .filter(|pair| !pair.is_empty())
    }

    fn remove(&mut self, name: &[u8]) {
        let named = |pair: &[u8]| {
            pair.strip_prefix(name)
                .is_some_and(|rest| rest.first() == Some(&b'='))
        };
        if !self.pairs().any(named) {
            return;
        }
        let kept: Vec<&[u8]> = self.pairs().filter(|pair| !named(pair)).collect();
        self.header = kept.join(&b"; "[..]);
    }
}

/// Whether an attribute says that the cookie is gone: `Max-Age` of zero or less, or the `Expires`
/// of 1970 that servers send to delete one.
fn expired(attribute: &[u8]) -> bool {
    let Some(equals) = attribute.iter().position(|&byte| byte == b'=') else {
        return false;
    };
    let (name, value) = (
        attribute[..equals].trim_ascii(),
        attribute[equals + 1..].trim_ascii(),
    );
    if name.eq_ignore_ascii_case(b"max-age") {
        return value == b"0" || value.starts_with(b"-");
    }
    name.eq_ignore_ascii_case(b"expires") && value.windows(4).any(|year| year == b"1970")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jar(headers: &[&str]) -> String {
        let mut cookies = Cookies::default();
        headers
            .iter()
            .for_each(|header| cookies.set(header.as_bytes()));
        String::from_utf8(cookies.header().to_vec()).expect("ASCII in, ASCII out")
    }

    #[test]
    fn cookies_are_kept_replaced_and_deleted() {
        assert_eq!(jar(&["a=1; Path=/", "b=2"]), "a=1; b=2");
        assert_eq!(jar(&["a=1", "b=2", "a=3"]), "b=2; a=3");
        assert_eq!(jar(&["ab=1", "a=2"]), "ab=1; a=2");
        assert_eq!(jar(&["a=1", "b=2", "a=; Max-Age=0"]), "b=2");
        assert_eq!(
            jar(&["a=1", "a=x; expires=Thu, 01-Jan-1970 00:00:00 GMT"]),
            ""
        );
        assert_eq!(jar(&["a=1; Max-Age=60"]), "a=1");
    }

    #[test]
    fn malformed_cookies_are_ignored() {
        assert_eq!(jar(&["", "=x", "novalue", ";;", "a=\x01", "k=v"]), "k=v");
    }

    #[test]
    fn a_jar_is_bounded() {
        let mut cookies = Cookies::default();
        for n in 0..1_000 {
            cookies.set(format!("name{n}={}", "v".repeat(100)).as_bytes());
        }
        assert_eq!(cookies.pairs().count(), MAX_COOKIES);
        cookies.set(&[b"huge=".as_slice(), &[b'x'; MAX_BYTES]].concat());
        assert!(cookies.header().len() <= MAX_BYTES);
    }

    #[test]
    fn an_empty_jar_owns_no_heap() {
        assert_eq!(Cookies::default().header.capacity(), 0);
    }
}
