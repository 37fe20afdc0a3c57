//! Queries and replies as they go over HTTP.
//!
//! A query is `/besim?W&C&ARG&...`: workload, command, positional arguments, percent-encoded. A
//! reply is a small HTML page; what counts stands between `<pre>` and `</pre>`: a line with the
//! status (0 or 1), then one line per row with fields separated by `&`.

use std::borrow::Cow;

use crate::web2005::Model;

/// Path of the back-end.
pub const BESIM_PATH: &str = "/besim";
/// Most arguments of a query.
pub const MAX_ARGUMENTS: usize = 16;
/// Most bytes of an argument, decoded.
pub const MAX_ARGUMENT_BYTES: usize = 256;

/// A query, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query<'a> {
    /// Workload.
    pub model: Model,
    /// Command of the workload.
    pub command: u8,
    /// Arguments in order.
    pub arguments: Vec<Cow<'a, str>>,
}

/// Why a query cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryFault {
    /// The first field is not 1, 2 or 3.
    #[error("the workload is 1, 2 or 3")]
    Workload,
    /// The second field is no number of a command.
    #[error("the command is a number from 0 to 12")]
    Command,
    /// Too many arguments.
    #[error("a query has at most {MAX_ARGUMENTS} arguments")]
    TooMany,
    /// An argument that is too long or has other bytes than printable ASCII.
    #[error("an argument has at most {MAX_ARGUMENT_BYTES} printable ASCII characters")]
    Argument,
}

/// The highest command of any workload.
const LAST_COMMAND: u8 = 12;

impl<'a> Query<'a> {
    /// The query behind the `?` of a URL.
    ///
    /// # Errors
    /// When it is no query.
    pub fn parse(raw: &'a str) -> Result<Self, QueryFault> {
        let mut fields = raw.split('&');
        let model = fields
            .next()
            .and_then(short_number)
            .and_then(Model::of_number)
            .ok_or(QueryFault::Workload)?;
        let command = fields
            .next()
            .and_then(short_number)
            .filter(|command| *command <= LAST_COMMAND)
            .ok_or(QueryFault::Command)?;
        let mut arguments = Vec::new();
        for field in fields {
            if arguments.len() == MAX_ARGUMENTS {
                return Err(QueryFault::TooMany);
            }
            arguments.push(percent_decode(field, MAX_ARGUMENT_BYTES).ok_or(QueryFault::Argument)?);
        }
        Ok(Self {
            model,
            command,
            arguments,
        })
    }

    /// Appends the target of a query: path, `?`, and the query.
    pub fn print(out: &mut String, model: Model, command: u8, arguments: &[&str]) {
        out.push_str(BESIM_PATH);
        out.push('?');
        out.push_str(&format!("{}&{command}", model.number()));
        for argument in arguments {
            out.push('&');
            percent_encode(out, argument, |byte| b"-._~".contains(&byte));
        }
    }
}

/// One or two digits.
fn short_number(text: &str) -> Option<u8> {
    let right = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    right.then(|| text.parse().ok())?
}

/// Appends a text with everything but letters, digits and what is `plain` as `%XX`.
pub(super) fn percent_encode(out: &mut String, text: &str, plain: impl Fn(u8) -> bool) {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F',
    ];
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || plain(byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(DIGITS[usize::from(byte >> 4)]);
            out.push(DIGITS[usize::from(byte & 15)]);
        }
    }
}

/// A text with its `%XX` decoded; nothing where it is longer than `most` bytes, has a `%` without
/// two digits, or anything but printable ASCII.
#[must_use]
pub fn percent_decode(text: &str, most: usize) -> Option<Cow<'_, str>> {
    let printable = |byte: &u8| (0x20..0x7f).contains(byte);
    if !text.contains('%') {
        let right = text.len() <= most && text.as_bytes().iter().all(printable);
        return right.then_some(Cow::Borrowed(text));
    }
    if text.len() > most.saturating_mul(3) {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let byte = match byte {
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                let value = digit()? << 4 | digit()?;
                u8::try_from(value).ok()?
            }
            byte => byte,
        };
        if !printable(&byte) || out.len() == most {
            return None;
        }
        out.push(char::from(byte));
    }
    Some(Cow::Owned(out))
}

/// Rows of a reply, as text: one line each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows(String);

impl Rows {
    /// Adds a row.
    pub fn push(&mut self, fields: &[&dyn std::fmt::Display]) {
        use std::fmt::Write as _;

        for (index, field) in fields.iter().enumerate() {
            if index > 0 {
                self.0.push('&');
            }
            // Writing to a string does not fail.
            let _ = write!(self.0, "{field}");
        }
        self.0.push('\n');
    }

    /// Adds a row whose fields are joined already.
    pub fn push_line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    /// Every row.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> + Clone {
        self.0.lines().map(Row)
    }
}

/// A row of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a>(&'a str);

impl<'a> Row<'a> {
    /// Its fields.
    pub fn fields(self) -> impl Iterator<Item = &'a str> {
        self.0.split('&')
    }

    /// Exactly so many fields.
    #[must_use]
    pub fn exactly<const N: usize>(self) -> Option<[&'a str; N]> {
        let fields: Vec<&str> = self.0.splitn(N + 1, '&').collect();
        fields.try_into().ok()
    }
}

/// What the back-end answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Status 0 instead of 1.
    pub ok: bool,
    /// Rows; none where it is not.
    pub rows: Rows,
}

/// Why a reply cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplyFault {
    /// It is no text.
    #[error("the back-end's reply is no text")]
    Text,
    /// It has no `<pre>` part that ends.
    #[error("the back-end's reply has no `<pre>` part")]
    NoPart,
    /// Its status is neither 0 nor 1.
    #[error("the back-end's reply has no status")]
    Status,
}

impl Reply {
    /// Status 1.
    #[must_use]
    pub fn refused() -> Self {
        Self {
            ok: false,
            rows: Rows::default(),
        }
    }

    /// Status 0 with rows.
    #[must_use]
    pub fn with(rows: Rows) -> Self {
        Self { ok: true, rows }
    }

    /// Appends the reply to the query `raw` as a page.
    pub fn print(&self, raw: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(
            b"<html>\n<head><title>BeSim</title></head>\n<body>\n<p>SERVER_SOFTWARE = rookery</p>\n\
              <p>SCRIPT_NAME = /besim</p>\n<p>QUERY_STRING = ",
        );
        // Nothing of a query may look like a part of the page.
        for byte in raw.bytes().take(1024) {
            match byte {
                b'<' => out.extend_from_slice(b"&lt;"),
                b'>' => out.extend_from_slice(b"&gt;"),
                0x20..0x7f => out.push(byte),
                _ => out.push(b'?'),
            }
        }
        out.extend_from_slice(b"</p>\n<pre>\n");
        out.extend_from_slice(if self.ok { b"0\n" } else { b"1\n" });
        out.extend_from_slice(self.rows.0.as_bytes());
        out.extend_from_slice(b"</pre>\n</body>\n</html>\n");
    }

    /// The reply of a page.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(page: &[u8]) -> Result<Self, ReplyFault> {
        let text = std::str::from_utf8(page).map_err(|_| ReplyFault::Text)?;
        let (_, rest) = text.split_once("<pre>\n").ok_or(ReplyFault::NoPart)?;
        let (part, _) = rest.split_once("</pre>").ok_or(ReplyFault::NoPart)?;
        let (status, rows) = part.split_once('\n').ok_or(ReplyFault::Status)?;
        let ok = match status {
            "0" => true,
            "1" => false,
            _ => return Err(ReplyFault::Status),
        };
        Ok(Self {
            ok,
            rows: Rows(rows.to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_documented_queries_are_read() {
        let query = Query::parse("1&4&58&3").expect("a query");
        assert_eq!((query.model, query.command), (Model::Banking, 4));
        assert_eq!(query.arguments, ["58", "3"]);
        let reset = "1&0&1097157010&1&2000&200&/www/bank/images&0";
        assert_eq!(Query::parse(reset).expect("a query").arguments.len(), 6);
    }

    #[test]
    fn what_is_no_query_is_refused() {
        for (raw, fault) in [
            ("", QueryFault::Workload),
            ("0&1", QueryFault::Workload),
            ("4&1", QueryFault::Workload),
            ("1", QueryFault::Command),
            ("1&13", QueryFault::Command),
            ("1&-1", QueryFault::Command),
            ("1&001", QueryFault::Command),
            ("1&1&%", QueryFault::Argument),
            ("1&1&%4", QueryFault::Argument),
            ("1&1&%0A", QueryFault::Argument),
            ("1&1&%ff", QueryFault::Argument),
            ("1&1&\u{e9}", QueryFault::Argument),
        ] {
            assert_eq!(Query::parse(raw), Err(fault), "{raw}");
        }
        let long = format!("1&1&{}", "x".repeat(MAX_ARGUMENT_BYTES + 1));
        assert_eq!(Query::parse(&long), Err(QueryFault::Argument));
        let many = format!("1&1{}", "&x".repeat(MAX_ARGUMENTS + 1));
        assert_eq!(Query::parse(&many), Err(QueryFault::TooMany));
    }

    #[test]
    fn a_reply_leads_back_to_itself() {
        let mut rows = Rows::default();
        rows.push(&[&"0000002058", &12, &"a b"]);
        rows.push_line("x&y");
        for reply in [
            Reply::with(rows),
            Reply::refused(),
            Reply::with(Rows::default()),
        ] {
            let mut page = Vec::new();
            reply.print("1&4&<pre>\n0\nforged</pre>", &mut page);
            assert_eq!(Reply::parse(&page), Ok(reply));
        }
        let mut rows = Rows::default();
        rows.push(&[&1, &2]);
        let row = rows.iter().next().expect("a row");
        assert_eq!(row.exactly::<2>(), Some(["1", "2"]));
        assert_eq!(row.exactly::<1>(), None);
        assert_eq!(row.exactly::<3>(), None);
        assert_eq!(row.fields().collect::<Vec<_>>(), ["1", "2"]);
    }

    proptest! {
        #[test]
        fn queries_lead_back_to_themselves(
            number in 1u8..=3,
            command in 0u8..=12,
            arguments in proptest::collection::vec("[ -~]{0,40}", 0..8),
        ) {
            let model = Model::of_number(number).expect("a workload");
            let texts: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let mut target = String::new();
            Query::print(&mut target, model, command, &texts);
            let raw = target.strip_prefix("/besim?").expect("the path");
            let query = Query::parse(raw).expect("a query");
            prop_assert_eq!(query.model, model);
            prop_assert_eq!(query.command, command);
            prop_assert_eq!(query.arguments, arguments);
        }

        #[test]
        fn any_bytes_are_answered(raw in ".{0,200}", page in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Query::parse(&raw);
            let _ = Reply::parse(&page);
            let mut out = Vec::new();
            Reply::refused().print(&raw, &mut out);
            prop_assert_eq!(Reply::parse(&out), Ok(Reply::refused()));
        }
    }
}
