//! The comment at the end of every page: which page it is, of whom, and what it shows.
//!
//! `<!--rk page=bill_pay id=58 v=P00000001,12.00,20041001;P00000002,1.00,20041002-->`

use super::wire::{percent_decode, percent_encode};

const BEGIN: &str = "<!--rk page=";
const END: &str = "-->";

/// What a page says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark<'a> {
    /// Name of the page.
    pub page: &'a str,
    /// The user or customer, or `-`.
    pub id: &'a str,
    /// Rows separated by `;`, fields by `,`, each field encoded; `none` for no row.
    pub values: &'a str,
}

/// Why a page has no comment that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the page does not end with its values")]
pub struct MarkFault;

impl<'a> Mark<'a> {
    /// Appends the comment and a line feed.
    pub fn print(&self, out: &mut Vec<u8>) {
        for part in [
            BEGIN,
            self.page,
            " id=",
            self.id,
            " v=",
            self.values,
            END,
            "\n",
        ] {
            out.extend_from_slice(part.as_bytes());
        }
    }

    /// Bytes of the comment and the line feed.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let fixed = BEGIN.len() + " id=".len() + " v=".len() + END.len() + 1;
        fixed + self.page.len() + self.id.len() + self.values.len()
    }

    /// The comment at the end of a page.
    ///
    /// # Errors
    /// When the page ends otherwise.
    pub fn parse(page: &'a [u8]) -> Result<Self, MarkFault> {
        let end = page.strip_suffix(b"-->\n").ok_or(MarkFault)?;
        let begin = memchr::memmem::rfind(end, BEGIN.as_bytes()).ok_or(MarkFault)?;
        let text = std::str::from_utf8(&end[begin + BEGIN.len()..]).map_err(|_| MarkFault)?;
        let (page, rest) = text.split_once(" id=").ok_or(MarkFault)?;
        let (id, values) = rest.split_once(" v=").ok_or(MarkFault)?;
        Ok(Self { page, id, values })
    }

    /// Its rows as decoded fields; nothing where a field cannot be decoded.
    #[must_use]
    pub fn rows(&self) -> Option<Vec<Vec<String>>> {
        if self.values == "none" {
            return Some(Vec::new());
        }
        let field = |text| percent_decode(text, usize::MAX / 4).map(std::borrow::Cow::into_owned);
        self.values
            .split(';')
            .map(|row| row.split(',').map(field).collect())
            .collect()
    }
}

/// Appends a field of a row.
pub fn encode_field(out: &mut String, text: &str) {
    percent_encode(out, text, |byte| b"._/:".contains(&byte));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_last_comment_counts() {
        let page = b"<!--rk page=a id=1 v=2-->\n<p><!--rk page=login id=- v=ok;0000002058,01-->\n";
        let mark = Mark::parse(page).expect("a comment");
        assert_eq!((mark.page, mark.id), ("login", "-"));
        assert_eq!(
            mark.rows(),
            Some(vec![
                vec!["ok".to_owned()],
                vec!["0000002058".to_owned(), "01".to_owned()]
            ])
        );
        let none = Mark {
            values: "none",
            ..mark
        };
        assert_eq!(none.rows(), Some(Vec::new()));
    }

    #[test]
    fn a_page_without_it_is_none() {
        for page in [
            &b""[..],
            b"<html></html>",
            b"<!--rk page=login id=- v=ok-->",
            b"<!--rk page=login v=ok-->\n",
            b"<!--rk page=login id=- ok-->\n",
            b"-->\n",
            b"<!--rk page=\xff id=- v=ok-->\n",
        ] {
            assert_eq!(Mark::parse(page), Err(MarkFault));
        }
    }

    proptest! {
        #[test]
        fn fields_lead_back_to_themselves(
            rows in proptest::collection::vec(proptest::collection::vec("[ -~]{1,20}", 1..4), 1..4),
        ) {
            let encoded: Vec<String> = rows
                .iter()
                .map(|row| {
                    let fields = row.iter().map(|field| {
                        let mut out = String::new();
                        encode_field(&mut out, field);
                        out
                    });
                    fields.collect::<Vec<_>>().join(",")
                })
                .collect();
            let values = encoded.join(";");
            let mark = Mark { page: "index", id: "-", values: &values };
            let mut page = b"<p>".to_vec();
            mark.print(&mut page);
            prop_assert_eq!(page.len(), 3 + mark.bytes());
            let read = Mark::parse(&page).expect("a comment");
            prop_assert_eq!(read, mark);
            if values != "none" {
                prop_assert_eq!(read.rows(), Some(rows));
            }
        }
    }
}
