//! XML from data: elements, attributes and text, all of it escaped.

use std::fmt::Write as _;

/// An element.
#[derive(Clone, Debug)]
pub(super) struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    text: String,
    children: Vec<Element>,
}

impl Element {
    pub(super) fn new(name: &'static str) -> Self {
        Self {
            name,
            attributes: Vec::new(),
            text: String::new(),
            children: Vec::new(),
        }
    }

    /// With an attribute.
    pub(super) fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.attributes.push((name, value.to_string()));
        self
    }

    /// With an attribute, if there is a value for it.
    pub(super) fn with_some(self, name: &'static str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(super) fn text(mut self, text: impl ToString) -> Self {
        self.text = text.to_string();
        self
    }

    pub(super) fn child(mut self, child: Self) -> Self {
        self.children.push(child);
        self
    }

    pub(super) fn children(mut self, children: impl IntoIterator<Item = Self>) -> Self {
        self.children.extend(children);
        self
    }

    /// The whole document.
    pub(super) fn render(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, 0);
        out
    }

    fn write(&self, out: &mut String, depth: usize) {
        let indent = "  ".repeat(depth);
        let _ = write!(out, "{indent}<{}", self.name);
        for (name, value) in &self.attributes {
            let _ = write!(out, " {name}='{}'", escaped(value));
        }
        if self.children.is_empty() && self.text.is_empty() {
            out.push_str("/>\n");
            return;
        }
        let _ = write!(out, ">{}", escaped(&self.text));
        if !self.children.is_empty() {
            out.push('\n');
            for child in &self.children {
                child.write(out, depth + 1);
            }
            out.push_str(&indent);
        }
        let _ = writeln!(out, "</{}>", self.name);
    }
}

/// Text as it may stand in an attribute or between tags. Characters that XML cannot carry become
/// U+FFFD.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            control if control.is_control() || matches!(control, '\u{fffe}' | '\u{ffff}') => {
                out.push('\u{fffd}')
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_stands_in_it_stays_inside() {
        let evil = "'/><disk type=\"file\"/>&\n\u{0}";
        let document = Element::new("domain")
            .with("id", evil)
            .child(Element::new("name").text(evil));
        insta::assert_snapshot!(document.render(), @r"
        <domain id='&apos;/&gt;&lt;disk type=&quot;file&quot;/&gt;&amp;&#10;�'>
          <name>&apos;/&gt;&lt;disk type=&quot;file&quot;/&gt;&amp;&#10;�</name>
        </domain>
        ");
    }
}
