//! Pages as text: title, content, embedded files, padding, and the values at the end.

use std::{fs::File, io, os::unix::fs::FileExt as _, path::Path};

use rookery_workload::web2005::{
    Model,
    besim::{Mark, Row, Rows, encode_field},
    files::PageFiles,
};

/// What stands before the padding.
const BEGIN_PADDING: &str = "<pre class=\"pad\">\n";

/// What stands behind it, before the values.
const END_PADDING: &str = "\n</pre>\n</body>\n</html>\n";

/// The values of a page: rows of fields.
#[derive(Clone, Debug, Default)]
pub(super) struct Values(String);

impl Values {
    /// One row.
    pub(super) fn of(fields: &[&str]) -> Self {
        let mut values = Self::default();
        values.push(fields.iter().copied());
        values
    }

    /// Adds a row.
    pub(super) fn push<'a>(&mut self, fields: impl Iterator<Item = &'a str>) {
        if !self.0.is_empty() {
            self.0.push(';');
        }
        for (index, field) in fields.enumerate() {
            if index > 0 {
                self.0.push(',');
            }
            encode_field(&mut self.0, field);
        }
    }

    /// Adds every row of a reply.
    pub(super) fn push_rows(&mut self, rows: &Rows) {
        for row in rows.iter() {
            self.push(row.fields());
        }
    }

    /// As the page says them.
    fn text(&self) -> &str {
        match self.0.as_str() {
            "" => "none",
            text => text,
        }
    }
}

/// A page before its padding.
pub(super) struct Html {
    text: String,
    /// Paths of product images.
    products: Vec<String>,
}

impl Html {
    /// A page of this title.
    pub(super) fn new(title: &str) -> Self {
        let mut html = Self {
            text: String::with_capacity(4 * 1024),
            products: Vec::new(),
        };
        html.text
            .push_str("<!DOCTYPE html>\n<html>\n<head>\n<title>");
        html.escaped(title);
        html.text.push_str("</title>\n</head>\n<body>\n");
        html
    }

    /// Text of our own.
    pub(super) fn raw(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    /// Text that came from elsewhere.
    pub(super) fn escaped(&mut self, text: &str) -> &mut Self {
        for letter in text.chars() {
            match letter {
                '<' => self.text.push_str("&lt;"),
                '>' => self.text.push_str("&gt;"),
                '&' => self.text.push_str("&amp;"),
                '"' => self.text.push_str("&quot;"),
                other => self.text.push(other),
            }
        }
        self
    }

    /// A table with these rows.
    pub(super) fn table<'a>(&mut self, rows: impl Iterator<Item = Row<'a>>) -> &mut Self {
        self.raw("<table>\n");
        for row in rows {
            self.raw("<tr>");
            for field in row.fields() {
                self.raw("<td>").escaped(field).raw("</td>");
            }
            self.raw("</tr>\n");
        }
        self.raw("</table>\n")
    }

    /// A form that posts these fields.
    pub(super) fn form(&mut self, action: &str, fields: &[&str]) -> &mut Self {
        self.raw("<form method=\"post\" action=\"").escaped(action);
        self.raw("\">\n");
        for field in fields {
            self.raw("<input name=\"").escaped(field).raw("\">\n");
        }
        self.raw("<input type=\"submit\">\n</form>\n")
    }

    /// An image of a product, behind the fixed files of the page.
    pub(super) fn product_image(&mut self, path: &str) {
        self.products.push(path.to_owned());
    }

    /// An embedded file.
    fn image(&mut self, path: &str) {
        self.raw("<img src=\"").escaped(path).raw("\" alt=\"\">\n");
    }

    /// The whole page: with its fixed files, as much of its padding file as its length leaves room
    /// for, and its values.
    pub(super) fn finish(
        mut self,
        root: &Path,
        model: Model,
        page: &PageFiles,
        id: &str,
        values: &Values,
    ) -> io::Result<Vec<u8>> {
        let directory = model.directory();
        for image in page.images() {
            self.image(&format!(
                "/{directory}/images/{}{}",
                image.folder, image.number
            ));
        }
        for path in std::mem::take(&mut self.products) {
            self.image(&path);
        }
        self.raw(BEGIN_PADDING);
        let mark = Mark {
            page: page.name,
            id,
            values: values.text(),
        };
        let mut body = self.text.into_bytes();
        let rest = END_PADDING.len() + mark.bytes();
        let wanted = page.html_bytes as usize;
        let padding = wanted.saturating_sub(body.len() + rest);
        let begin = body.len();
        body.reserve_exact(padding + rest);
        body.resize(begin + padding, 0);
        // For every request: results must not be kept between them.
        let path = root.join(directory).join("dynamic_padding").join(page.name);
        File::open(path)?.read_exact_at(&mut body[begin..], 0)?;
        body.extend_from_slice(END_PADDING.as_bytes());
        mark.print(&mut body);
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use rookery_workload::web2005::files::page;

    use super::*;

    #[test]
    fn values_are_rows_of_encoded_fields() {
        let mut values = Values::default();
        assert_eq!(values.text(), "none");
        values.push(["a b", "1.00"].into_iter());
        values.push(["x,y;z-->"].into_iter());
        assert_eq!(values.text(), "a%20b,1.00;x%2Cy%3Bz%2D%2D%3E");
    }

    #[test]
    fn a_page_has_its_length_and_shows_nothing_that_was_slipped_in() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let pads = dir.path().join("bank/dynamic_padding");
        std::fs::create_dir_all(&pads).expect("a directory");
        let page = page(Model::Banking, "login").expect("a page");
        std::fs::write(pads.join("login"), vec![b'x'; page.html_bytes as usize]).expect("a file");
        let mut html = Html::new("Bank: login");
        html.escaped("<script>\"&").raw("\n");
        let body = html
            .finish(dir.path(), Model::Banking, page, "58", &Values::of(&["ok"]))
            .expect("a page");
        assert_eq!(body.len(), page.html_bytes as usize);
        let text = String::from_utf8(body.clone()).expect("text");
        assert!(text.contains("&lt;script&gt;&quot;&amp;\n<img src=\"/bank/images/5\" alt=\"\">"));
        assert!(text.ends_with("x\n</pre>\n</body>\n</html>\n<!--rk page=login id=58 v=ok-->\n"));
        let mark = Mark::parse(&body).expect("values");
        assert_eq!((mark.page, mark.id, mark.values), ("login", "58", "ok"));
    }
}
