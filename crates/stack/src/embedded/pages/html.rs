//! Writing HTML.

use std::io::Write as _;

use super::super::money::Cents;

/// The file suffix of the pages, one of those the original driver knows; links keep the one of the
/// request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Suffix {
    #[default]
    Php,
    Html,
    Jsp,
    Aspx,
}

impl Suffix {
    pub(crate) const ALL: [Self; 4] = [Self::Php, Self::Html, Self::Jsp, Self::Aspx];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Php => "php",
            Self::Html => "html",
            Self::Jsp => "jsp",
            Self::Aspx => "aspx",
        }
    }
}

/// A page in the making: one buffer, sent as it is.
pub(super) struct Html {
    out: Vec<u8>,
    suffix: Suffix,
}

/// Room for a usual page, so that the buffer does not grow.
const USUAL_BYTES: usize = 5_000;

/// From the end of the title to the shop's name. The style is what makes the pages about as long as
/// the original's.
const HEAD: &str = "</TITLE>
<STYLE>
BODY { font: 16px/1.5 Georgia, serif; max-width: 54em; margin: 0 auto; padding: 1em; color: \
                    #2b2724; background: #f7f4ee }
H1 { margin: 0 0 .6em; padding: .3em; color: #fff; background: #7a1f1f; letter-spacing: .12em; \
                    border-radius: 4px }
H2, H3 { color: #7a1f1f; margin: .8em 0 .4em }
FORM { margin: .6em 0 }
TABLE { border-collapse: collapse; background: #fff; border: 1px solid #cbbfae }
TD, TH { padding: .25em .8em; border: 1px solid #e0d8ca; text-align: left }
TH { background: #efe7da }
INPUT, SELECT { font: inherit; margin: .1em .2em; padding: .1em .4em }
INPUT[TYPE=SUBMIT] { color: #fff; background: #7a1f1f; border: 0; border-radius: 4px; padding: \
                    .3em 1em; cursor: pointer }
HR { border: 0; border-top: 1px solid #cbbfae; margin-top: 2em }
</STYLE>
</HEAD>
<BODY>
<H1 ALIGN=CENTER>DVD Store</H1>
";

impl Html {
    /// Begin the frame: head and the shop's name.
    pub(super) fn open(title: &str, suffix: Suffix) -> Self {
        let mut page = Self {
            out: Vec::with_capacity(USUAL_BYTES),
            suffix,
        };
        page.raw("<!DOCTYPE html>\n<HTML>\n<HEAD><META CHARSET=utf-8><TITLE>")
            .raw(title)
            .raw(HEAD);
        page
    }

    /// End the frame.
    pub(super) fn close(mut self) -> Vec<u8> {
        self.raw(
            "<HR>\n<P ALIGN=CENTER><SMALL>An emulated shop. Nothing is sold \
                  here.</SMALL></P>\n</BODY>\n</HTML>\n",
        );
        self.out
    }

    /// Append text of our own, as it is.
    pub(super) fn raw(&mut self, text: &str) -> &mut Self {
        self.out.extend_from_slice(text.as_bytes());
        self
    }

    /// Append text from elsewhere, escaped for content and for quoted attributes.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        for byte in text.bytes() {
            let escaped: &[u8] = match byte {
                b'&' => b"&amp;",
                b'<' => b"&lt;",
                b'>' => b"&gt;",
                b'"' => b"&quot;",
                b'\'' => b"&#39;",
                _ => {
                    self.out.push(byte);
                    continue;
                }
            };
            self.out.extend_from_slice(escaped);
        }
        self
    }

    /// Append a whole number.
    pub(super) fn number(&mut self, number: i64) -> &mut Self {
        // Writing into a vector cannot fail.
        let _ = write!(self.out, "{number}");
        self
    }

    /// Append an amount with two decimals.
    pub(super) fn cents(&mut self, amount: Cents) -> &mut Self {
        amount.write_to(&mut self.out);
        self
    }

    /// Append a heading.
    pub(super) fn heading(&mut self, text: &str) -> &mut Self {
        self.raw("<H2>").raw(text).raw("</H2>\n")
    }

    /// Begin a form that asks for the page `name`.
    pub(super) fn form(&mut self, name: &str) -> &mut Self {
        let suffix = self.suffix.as_str();
        self.raw("<FORM ACTION=\"./")
            .raw(name)
            .raw(".")
            .raw(suffix)
            .raw("\" METHOD=GET>\n")
    }

    /// Append a button that sends the form, and end the form.
    pub(super) fn submit(&mut self, label: &str) -> &mut Self {
        self.raw("<INPUT TYPE=SUBMIT VALUE=\"")
            .raw(label)
            .raw("\">\n</FORM>\n")
    }

    /// Append a hidden field with a number, not quoted, as the original writes it.
    pub(super) fn hidden(&mut self, name: &str, value: i64) -> &mut Self {
        self.raw("<INPUT TYPE=HIDDEN NAME=")
            .raw(name)
            .raw(" VALUE=")
            .number(value)
            .raw(">\n")
    }

    /// Append a labelled text field.
    pub(super) fn field(&mut self, label: &str, kind: &str, name: &str, value: &str) -> &mut Self {
        self.raw(label)
            .raw(" <INPUT TYPE=")
            .raw(kind)
            .raw(" NAME=\"")
            .raw(name)
            .raw("\" VALUE=\"")
            .text(value);
        self.raw("\" MAXLENGTH=50><BR>\n")
    }

    /// Append one option of a list.
    pub(super) fn option(&mut self, value: i64, label: &str, selected: bool) -> &mut Self {
        self.raw("<OPTION VALUE=")
            .number(value)
            .raw(if selected { " SELECTED>" } else { ">" })
            .raw(label)
            .raw("</OPTION>\n")
    }

    /// Append `<TD>text</TD>`.
    pub(super) fn cell(&mut self, text: &str) -> &mut Self {
        self.raw("<TD>").text(text).raw("</TD>")
    }
}
