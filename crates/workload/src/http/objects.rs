//! Objects that a page embeds, found as a browser's first look at its text finds them.

/// Most objects of one page.
const MOST: usize = 256;
/// Longest address of one.
const LONGEST: usize = 2048;

/// The addresses of images, scripts, style sheets, frames and media in a page, each once, in the
/// order of the text; at most 256.
///
/// It is a look at tags and their attributes, not a reading of HTML: comments are skipped, scripts
/// are not run.
#[must_use]
pub fn embedded_objects(page: &[u8]) -> Vec<&[u8]> {
    let mut found: Vec<&[u8]> = Vec::new();
    let mut rest = page;
    while let Some(at) = memchr::memchr(b'<', rest) {
        rest = &rest[at + 1..];
        if let Some(comment) = rest.strip_prefix(b"!--") {
            rest = memchr::memmem::find(comment, b"-->").map_or(&[], |end| &comment[end..]);
            continue;
        }
        let end = memchr::memchr(b'>', rest).unwrap_or(rest.len());
        if let Some(address) = object_of(&rest[..end])
            && !found.contains(&address)
        {
            found.push(address);
            if found.len() == MOST {
                break;
            }
        }
        rest = &rest[end..];
    }
    found
}

/// The address of the object of one tag.
fn object_of(tag: &[u8]) -> Option<&[u8]> {
    let name_end = tag
        .iter()
        .position(|byte| byte.is_ascii_whitespace() || *byte == b'/')
        .unwrap_or(tag.len());
    let (name, attributes) = tag.split_at(name_end);
    let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
    let address = if is(b"link") {
        let relation = attribute(attributes, b"rel")?;
        let wanted = relation.split(u8::is_ascii_whitespace).any(|word| {
            word.eq_ignore_ascii_case(b"stylesheet") || word.eq_ignore_ascii_case(b"icon")
        });
        wanted.then(|| attribute(attributes, b"href")).flatten()?
    } else if [
        b"img".as_slice(),
        b"script",
        b"iframe",
        b"source",
        b"audio",
        b"video",
        b"embed",
    ]
    .into_iter()
    .any(is)
        || (is(b"input") && attribute(attributes, b"type").is_some_and(|kind| kind == b"image"))
    {
        attribute(attributes, b"src")?
    } else {
        return None;
    };
    let plain = (1..=LONGEST).contains(&address.len())
        && address.iter().all(u8::is_ascii_graphic)
        && !address.starts_with(b"data:")
        && !address.starts_with(b"#");
    plain.then_some(address)
}

/// The value of an attribute.
pub(crate) fn attribute<'t>(attributes: &'t [u8], wanted: &[u8]) -> Option<&'t [u8]> {
    let mut rest = attributes;
    loop {
        let start = rest
            .iter()
            .position(|byte| !byte.is_ascii_whitespace() && *byte != b'/')?;
        rest = &rest[start..];
        let end = rest
            .iter()
            .position(|byte| byte.is_ascii_whitespace() || *byte == b'=')
            .unwrap_or(rest.len());
        let name = &rest[..end];
        rest = rest[end..].trim_ascii_start();
        let value = if let Some(after) = rest.strip_prefix(b"=") {
            let (value, left) = value_of(after.trim_ascii_start());
            rest = left;
            value
        } else {
            &[]
        };
        if name.eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
        // A lone `=` has no name: go on behind it.
        if name.is_empty() && value.is_empty() {
            rest = rest.get(1..)?;
        }
    }
}

/// A value and what is left behind it.
fn value_of(text: &[u8]) -> (&[u8], &[u8]) {
    match text.first() {
        Some(quote @ (b'"' | b'\'')) => {
            let inner = &text[1..];
            let end = memchr::memchr(*quote, inner).unwrap_or(inner.len());
            (&inner[..end], inner.get(end + 1..).unwrap_or(&[]))
        }
        _ => {
            let end = text
                .iter()
                .position(u8::is_ascii_whitespace)
                .unwrap_or(text.len());
            text.split_at(end)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_browser_would_load_is_found_once() {
        let page =
            br#"<html><head><link rel="stylesheet" href="/a.css"><link rel=canonical href=/x>
            <script src='b.js'></script><!-- <img src="/no.png"> --></head>
            <body><IMG alt="<" SRC=/c.png><img src="/c.png"/><input type=image src=d.gif>
            <img src="data:image/png;base64,xx"><a href="/page">x</a></body>"#;
        let found: Vec<_> = embedded_objects(page)
            .into_iter()
            .map(|address| String::from_utf8_lossy(address).into_owned())
            .collect();
        assert_eq!(found, ["/a.css", "b.js", "/c.png", "d.gif"]);
    }

    #[test]
    fn a_page_of_a_thousand_images_is_bounded() {
        let page: String = (0..1000).map(|n| format!("<img src=/{n}.png>")).collect();
        assert_eq!(embedded_objects(page.as_bytes()).len(), MOST);
    }

    proptest! {
        #[test]
        fn no_page_makes_it_panic(page in "[<>=\"' a-z!/-]{0,200}") {
            let _ = embedded_objects(page.as_bytes());
        }
    }
}
