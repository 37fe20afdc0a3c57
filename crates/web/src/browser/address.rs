//! Addresses within a site: what a redirect or a page refers to.

/// Longest target of a request.
const LONGEST: usize = 8 * 1024;

/// Where a reference leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    /// To this path and query of the same site.
    Here(Vec<u8>),
    /// To another authority, or by another protocol.
    Elsewhere,
    /// Nowhere: it is no address.
    Nowhere,
}

/// Resolves `reference`, which stands in the answer for `target`, on the site `scheme://authority`.
pub(crate) fn resolve(scheme: &str, authority: &str, target: &[u8], reference: &[u8]) -> Reference {
    let reference = reference.trim_ascii();
    let reference = match reference.iter().position(|byte| *byte == b'#') {
        Some(end) => &reference[..end],
        None => reference,
    };
    if reference.len() > LONGEST || !reference.iter().all(u8::is_ascii_graphic) {
        return Reference::Nowhere;
    }
    let rest = match scheme_of(reference) {
        Some((found, rest)) if found.eq_ignore_ascii_case(scheme.as_bytes()) => rest,
        Some(_) => return Reference::Elsewhere,
        None => reference,
    };
    if let Some(rest) = rest.strip_prefix(b"//") {
        let end = rest
            .iter()
            .position(|byte| matches!(byte, b'/' | b'?'))
            .unwrap_or(rest.len());
        let (host, path) = rest.split_at(end);
        let port = if scheme == "https" { ":443" } else { ":80" };
        let plain = |host: &[u8]| {
            let host = host.to_ascii_lowercase();
            host.strip_suffix(port.as_bytes())
                .map_or(host.clone(), <[u8]>::to_vec)
        };
        if plain(host) != plain(authority.as_bytes()) {
            return Reference::Elsewhere;
        }
        return Reference::Here(with_slash(path));
    }
    if rest.len() != reference.len() {
        // A scheme without an authority.
        return Reference::Elsewhere;
    }
    Reference::Here(relative(target, rest))
}

fn scheme_of(reference: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = reference.iter().position(|byte| *byte == b':')?;
    let name = &reference[..colon];
    let is_scheme = name.first().is_some_and(u8::is_ascii_alphabetic)
        && name
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte));
    is_scheme.then(|| (name, &reference[colon + 1..]))
}

fn with_slash(path: &[u8]) -> Vec<u8> {
    if path.starts_with(b"/") {
        path.to_vec()
    } else {
        [b"/", path].concat()
    }
}

fn relative(target: &[u8], reference: &[u8]) -> Vec<u8> {
    let query = |text: &[u8]| {
        text.iter()
            .position(|byte| *byte == b'?')
            .unwrap_or(text.len())
    };
    let path = &target[..query(target)];
    if reference.is_empty() {
        return target.to_vec();
    }
    if reference.starts_with(b"?") {
        return [path, reference].concat();
    }
    let joined = if reference.starts_with(b"/") {
        reference.to_vec()
    } else {
        let directory = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        [&path[..directory], b"/", reference].concat()
    };
    let end = query(&joined);
    let mut out: Vec<&[u8]> = Vec::new();
    let segments: Vec<&[u8]> = joined[..end].split(|byte| *byte == b'/').skip(1).collect();
    for (index, segment) in segments.iter().enumerate() {
        let last = index + 1 == segments.len();
        match *segment {
            b"." if last => out.push(b""),
            b"." => {}
            b".." => {
                out.pop();
                if last {
                    out.push(b"");
                }
            }
            segment => out.push(segment),
        }
    }
    let mut whole = Vec::new();
    for segment in out {
        whole.push(b'/');
        whole.extend_from_slice(segment);
    }
    if whole.is_empty() {
        whole.push(b'/');
    }
    whole.extend_from_slice(&joined[end..]);
    whole
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn to(reference: &str) -> Reference {
        resolve(
            "http",
            "shop.example:80",
            b"/a/b/page?x=1",
            reference.as_bytes(),
        )
    }

    #[test]
    fn references_lead_within_the_site_or_are_refused() {
        let here = |path: &str| Reference::Here(path.as_bytes().to_vec());
        for (reference, expected) in [
            ("/c", here("/c")),
            ("c.png?v=2#top", here("/a/b/c.png?v=2")),
            ("../c", here("/a/c")),
            ("../../../c/./d", here("/c/d")),
            (".", here("/a/b/")),
            ("?y=2", here("/a/b/page?y=2")),
            ("", here("/a/b/page?x=1")),
            ("http://SHOP.example/c", here("/c")),
            ("//shop.example:80", here("/")),
            ("http://shop.example:81/", Reference::Elsewhere),
            ("https://shop.example/", Reference::Elsewhere),
            ("//other.example/", Reference::Elsewhere),
            ("mailto:x", Reference::Elsewhere),
            ("/a b", Reference::Nowhere),
            ("/a\r\nX: y", Reference::Nowhere),
        ] {
            assert_eq!(to(reference), expected, "{reference}");
        }
    }

    proptest! {
        #[test]
        fn what_it_gives_is_a_target(reference in "[ -~]{0,60}") {
            if let Reference::Here(path) = to(&reference) {
                prop_assert!(path.starts_with(b"/"), "{}", path.escape_ascii());
                prop_assert!(path.iter().all(u8::is_ascii_graphic));
            }
        }
    }
}
