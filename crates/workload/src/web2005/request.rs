//! What a user asks for, what it must be shown, and what the back-end has written when it was.

use super::{
    Model,
    besim::{Mark, encode_field},
};

/// A dynamic request, or that of a file that stands for a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// Path and query.
    pub target: String,
    /// Fields of a form; nothing for a GET.
    pub form: Option<String>,
    /// The answer redirects the form to its place; it is sent there again.
    pub redirects_to: Option<String>,
    /// What the answer must be.
    pub expected: Expected,
    /// Images of products behind the fixed files: path and size.
    pub products: Vec<(String, u64)>,
    /// What the back-end has written when the answer is right: rows of its ledger, and by how much
    /// each grew.
    pub writes: Vec<(&'static str, u64)>,
}

/// What an answer must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// A page.
    Page {
        /// Its title.
        title: String,
        /// The comment that it ends with, and a line feed.
        mark: Vec<u8>,
        /// Length of the body.
        bytes: u64,
    },
    /// A file of this size.
    File {
        /// Bytes.
        bytes: u64,
    },
}

impl PageRequest {
    /// A request by GET.
    pub(super) fn get(target: String, expected: Expected) -> Self {
        Self {
            target,
            form: None,
            redirects_to: None,
            expected,
            products: Vec::new(),
            writes: Vec::new(),
        }
    }

    /// A request by POST with these fields.
    pub(super) fn post(target: String, fields: &[(&str, &str)], expected: Expected) -> Self {
        Self {
            form: Some(form(fields)),
            ..Self::get(target, expected)
        }
    }

    /// The same, which writes this when it is answered.
    pub(super) fn writing(mut self, writes: Vec<(&'static str, u64)>) -> Self {
        self.writes = writes;
        self
    }
}

/// What a page shows, row by row, as the comment at its end says it.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown(Vec<String>);

impl Shown {
    /// Nothing yet.
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// With another row.
    pub(super) fn row<T: AsRef<str>>(mut self, fields: impl IntoIterator<Item = T>) -> Self {
        let mut text = String::new();
        for (index, field) in fields.into_iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            encode_field(&mut text, field.as_ref());
        }
        self.0.push(text);
        self
    }

    /// With more rows.
    pub(super) fn rows<T, R>(self, rows: impl IntoIterator<Item = R>) -> Self
    where
        T: AsRef<str>,
        R: IntoIterator<Item = T>,
    {
        rows.into_iter().fold(self, Self::row)
    }

    /// The page that shows this to `identity`.
    pub(super) fn page(self, model: Model, name: &str, identity: Option<u32>) -> Expected {
        let site = match model {
            Model::Banking => "Bank",
            Model::Ecommerce => "Shop",
            Model::Support => "Support",
        };
        self.titled(model, name, identity, format!("{site}: {name}"))
    }

    /// The same with a title of its own.
    pub(super) fn titled(
        self,
        model: Model,
        name: &str,
        identity: Option<u32>,
        title: String,
    ) -> Expected {
        let id = identity.map_or_else(|| "-".to_owned(), |identity| identity.to_string());
        let values = if self.0.is_empty() {
            "none".to_owned()
        } else {
            self.0.join(";")
        };
        let mark = Mark {
            page: name,
            id: &id,
            values: &values,
        };
        let mut comment = Vec::new();
        mark.print(&mut comment);
        let bytes = super::files::page(model, name).map_or(0, |page| page.html_bytes);
        Expected::Page {
            title,
            mark: comment,
            bytes: bytes.into(),
        }
    }
}

/// The path of a page's URL.
pub(super) fn path(model: Model, page: &str) -> String {
    let file = match (model, page) {
        (Model::Support, "home") => "index",
        (_, page) => page,
    };
    format!("/{}/{file}.php", model.directory())
}

/// Fields as a form sends them.
pub(super) fn form(fields: &[(&str, &str)]) -> String {
    let field = |(name, value): &(&str, &str)| format!("{}={}", encoded(name), encoded(value));
    fields.iter().map(field).collect::<Vec<_>>().join("&")
}

/// A text in a query or a form: all but letters, digits and three marks is percent-encoded.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out += &format!("%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_encoded() {
        assert_eq!(
            form(&[("payee[0]", "P1"), ("name", "A b&c=\u{e9}")]),
            "payee%5B0%5D=P1&name=A%20b%26c%3D%C3%A9"
        );
        assert_eq!(form(&[]), "");
    }

    #[test]
    fn pages_say_what_they_show() {
        let shown = Shown::new().row(["1", "a b"]).rows([["2"], ["3"]]);
        assert_eq!(
            shown.page(Model::Banking, "bill_pay", Some(58)),
            Expected::Page {
                title: "Bank: bill_pay".to_owned(),
                mark: b"<!--rk page=bill_pay id=58 v=1,a%20b;2;3-->\n".to_vec(),
                bytes: 18_045,
            }
        );
        let Expected::Page { mark, .. } = Shown::new().page(Model::Support, "home", None) else {
            panic!("a page");
        };
        assert_eq!(mark, b"<!--rk page=home id=- v=none-->\n");
        assert_eq!(path(Model::Support, "home"), "/support/index.php");
        assert_eq!(path(Model::Banking, "login"), "/bank/login.php");
    }
}
