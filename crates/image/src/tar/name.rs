//! Paths of entries: bytes, relative to the root of the image.

use rookery_diagnosis::outside_text;

use crate::{
    limits::Limits,
    problem::{Exceeded, LayerProblem, LimitKind},
};

/// Longest name in a directory that Linux has, bytes.
const NAME_BYTES: usize = 255;

/// `path` without slashes at its ends, double ones and `.`; empty for the root. A path that
/// begins with a slash begins at the root of the image.
///
/// # Errors
/// When it has `..`, a zero byte, or more than is allowed.
pub(crate) fn image_path(path: &[u8], limits: &Limits) -> Result<Vec<u8>, LayerProblem> {
    let mut clean: Vec<u8> = Vec::with_capacity(path.len().min(limits.path_bytes));
    let mut depth = 0;
    for name in components(path) {
        if name == b".." {
            return Err(LayerProblem::Outside);
        }
        if name.contains(&0) {
            return Err(LayerProblem::Name);
        }
        if name.len() > NAME_BYTES {
            return Err(Exceeded::new(LimitKind::NameBytes, NAME_BYTES).into());
        }
        if !clean.is_empty() {
            clean.push(b'/');
        }
        clean.extend_from_slice(name);
        depth += 1;
        if clean.len() > limits.path_bytes {
            return Err(Exceeded::new(LimitKind::PathBytes, limits.path_bytes).into());
        }
        if depth > limits.depth {
            return Err(Exceeded::new(LimitKind::Depth, limits.depth).into());
        }
    }
    Ok(clean)
}

/// The names in a path that are no `.`.
pub(crate) fn components(path: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    path.split(|&byte| byte == b'/')
        .filter(|name| !matches!(*name, b"" | b"."))
}

/// A path for people.
pub(crate) fn shown(path: &[u8]) -> String {
    outside_text(&String::from_utf8_lossy(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_root() {
        let limits = Limits::default();
        let cases: [(&[u8], &[u8]); 5] = [
            (b"./usr//bin/./app/", b"usr/bin/app"),
            (b"/etc/passwd", b"etc/passwd"),
            (b"./", b""),
            (b"...", b"..."),
            (b"caf\xc3\xa9/\xff\n", b"caf\xc3\xa9/\xff\n"),
        ];
        for (path, expected) in cases {
            let clean = image_path(path, &limits).expect("inside");
            assert_eq!(clean, expected);
        }
    }

    #[test]
    fn no_path_leads_out_or_is_too_long() {
        let limits = Limits::default();
        for path in [&b".."[..], b"a/../../b", b"/..", b"a/.."] {
            let refused = image_path(path, &limits);
            assert!(matches!(refused, Err(LayerProblem::Outside)), "{path:?}");
        }
        assert!(image_path(b"a\0b", &limits).is_err());
        assert!(image_path(&[b'a'; 256], &limits).is_err());
        assert!(image_path(&b"a/".repeat(129), &limits).is_err());
        assert!(image_path(&[&[b'a'; 99][..], b"/"].concat().repeat(41), &limits).is_err());
    }
}
