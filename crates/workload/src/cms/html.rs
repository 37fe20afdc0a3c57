//! What users read out of pages: forms with their hidden fields, and links.

use crate::http::attribute;

/// Most fields of one form.
const MOST_FIELDS: usize = 256;

/// A form as it stands in a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Form {
    /// Where it is sent; nothing = to the page it stands in.
    pub(super) action: Option<String>,
    /// Its hidden fields, in the order of the page.
    pub(super) hidden: Vec<(String, String)>,
}

/// The form whose `id`, `name` or one of whose classes is this; other forms of the page, with
/// fields of the same names, are left alone.
pub(super) fn form(page: &[u8], id: &str) -> Option<Form> {
    let mut tags = Tags(page);
    let mut found = loop {
        let tag = tags.next()?;
        if let Some(attributes) = named(tag, b"form")
            && is_called(attributes, id)
        {
            break Form {
                action: text(attributes, b"action").filter(|action| !action.is_empty()),
                hidden: Vec::new(),
            };
        }
    };
    for tag in tags {
        if named(tag, b"/form").is_some() || found.hidden.len() == MOST_FIELDS {
            break;
        }
        let Some(attributes) = named(tag, b"input") else {
            continue;
        };
        let is_hidden =
            attribute(attributes, b"type").is_some_and(|kind| kind.eq_ignore_ascii_case(b"hidden"));
        if let (true, Some(name)) = (is_hidden, text(attributes, b"name")) {
            let value = text(attributes, b"value").unwrap_or_default();
            found.hidden.push((name, value));
        }
    }
    Some(found)
}

/// Where the first link of a page leads that has this text in it.
pub(super) fn link(page: &[u8], part: &str) -> Option<String> {
    Tags(page).find_map(|tag| {
        let target = text(named(tag, b"a")?, b"href")?;
        target.contains(part).then_some(target)
    })
}

/// Whether a text stands in a page.
pub(super) fn shows(page: &[u8], text: &str) -> bool {
    memchr::memmem::find(page, text.as_bytes()).is_some()
}

fn is_called(attributes: &[u8], id: &str) -> bool {
    let is = |name: &[u8]| attribute(attributes, name).is_some_and(|value| value == id.as_bytes());
    let classes = attribute(attributes, b"class").unwrap_or_default();
    let has_class = classes
        .split(u8::is_ascii_whitespace)
        .any(|class| class == id.as_bytes());
    is(b"id") || is(b"name") || has_class
}

/// The attributes of a tag of this name.
fn named<'t>(tag: &'t [u8], name: &[u8]) -> Option<&'t [u8]> {
    let (found, attributes) = tag.split_at_checked(name.len())?;
    let ends = attributes
        .first()
        .is_none_or(|byte| byte.is_ascii_whitespace() || *byte == b'/');
    (ends && found.eq_ignore_ascii_case(name)).then_some(attributes)
}

/// The value of an attribute with its character references replaced.
fn text(attributes: &[u8], name: &[u8]) -> Option<String> {
    let value = String::from_utf8_lossy(attribute(attributes, name)?).into_owned();
    Some(unescaped(&value))
}

/// Character references of HTML that servers write into attributes.
fn unescaped(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.find(';').filter(|end| *end <= 8);
        match end.and_then(|end| Some((character(&rest[1..end])?, end))) {
            Some((character, end)) => {
                out.push(character);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn character(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?
        }
    })
}

/// The tags of a page without their brackets; comments are skipped, and a `>` within quotes does
/// not end a tag.
struct Tags<'p>(&'p [u8]);

impl<'p> Iterator for Tags<'p> {
    type Item = &'p [u8];

    fn next(&mut self) -> Option<&'p [u8]> {
        loop {
            let at = memchr::memchr(b'<', self.0)?;
            self.0 = &self.0[at + 1..];
            if let Some(comment) = self.0.strip_prefix(b"!--") {
                let end = memchr::memmem::find(comment, b"-->");
                self.0 = end.map_or(&[], |end| &comment[end..]);
                continue;
            }
            let end = end_of_tag(self.0);
            let tag = &self.0[..end];
            self.0 = &self.0[end..];
            return Some(tag);
        }
    }
}

fn end_of_tag(text: &[u8]) -> usize {
    let mut quote = None;
    for (place, byte) in text.iter().enumerate() {
        match (quote, byte) {
            (None, b'>') => return place,
            (None, b'"' | b'\'') => quote = Some(*byte),
            (Some(open), byte) if open == *byte => quote = None,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PAGE: &[u8] = br#"<html><!-- <form id="login"><input type="hidden" name="no"></form> -->
        <form id="search" action="/search"><input type="hidden" name="token" value="wrong"></form>
        <form action="/user?a=1&amp;b=2" method="post" class="box" id="login">
        <input type="text" name="name" value="x>y"><INPUT TYPE=hidden NAME=token value='a&#038;b'>
        <input type="hidden" name="form_id" value="user_login"/><input type="hidden" value="n">
        </form><form id="other"><input type="hidden" name="token" value="late"></form>
        <a class="x" href="/wp-login.php?action=logout&#038;_wpnonce=0a1b">out</a></html>"#;

    #[test]
    fn the_hidden_fields_of_the_one_form_are_read() {
        let found = form(PAGE, "login").expect("the form");
        assert_eq!(found.action.as_deref(), Some("/user?a=1&b=2"));
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            found.hidden,
            [pair("token", "a&b"), pair("form_id", "user_login")]
        );
        assert_eq!(form(PAGE, "box"), form(PAGE, "login"), "by its class");
        assert_eq!(form(PAGE, "none"), None);
        assert_eq!(form(PAGE, "other").expect("a form").action, None);
    }

    #[test]
    fn what_is_no_reference_stays() {
        assert_eq!(
            unescaped("a & b &x; &#x41;&#66; &#xD800;"),
            "a & b &x; AB &#xD800;"
        );
    }

    proptest! {
        #[test]
        fn any_page_is_read_without_a_panic(page in "[<>\"'=&;#a-z /!-]{0,200}") {
            let _ = form(page.as_bytes(), "a");
        }
    }
}
