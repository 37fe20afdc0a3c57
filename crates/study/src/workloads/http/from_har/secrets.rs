//! Values of an archive that must not be written down.

use rookery_workload::{data_driven::Encoding, http::is_secret};
use serde_json::Value as Json;

use super::{
    decode::{form, unescaped},
    exchange::Exchange,
};

/// Shortest secret that is looked for in other texts.
const SHORTEST: usize = 6;
/// Shortest value of a cookie that counts as a secret.
const SHORTEST_COOKIE: usize = 8;
/// Most secrets that are looked for.
const MOST: usize = 500;

/// The secrets, as they are and as addresses have them; the longest first.
#[derive(Debug, Default)]
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    /// Those of requests and their answers.
    pub(super) fn new<'e>(exchanges: impl Iterator<Item = &'e Exchange>) -> Self {
        let mut all = Self::default();
        for exchange in exchanges {
            all.learn(exchange);
        }
        // One may hold another.
        all.0.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        all
    }

    /// Whether one stands in a text.
    pub(super) fn holds(&self, text: &str) -> bool {
        self.0.iter().any(|secret| text.contains(secret.as_str()))
    }

    /// A text with `mark` where one stood.
    pub(super) fn replaced(&self, text: &str, mark: &str) -> String {
        let all = self.0.iter();
        all.fold(text.to_owned(), |text, secret| {
            match text.contains(secret.as_str()) {
                true => text.replace(secret.as_str(), mark),
                false => text,
            }
        })
    }

    fn learn(&mut self, exchange: &Exchange) {
        let set = exchange.set_cookies();
        for (_, value) in exchange.cookies.iter().chain(&set) {
            self.add(value, SHORTEST_COOKIE);
        }
        for (name, value) in &exchange.headers {
            self.learn_header(name, value);
        }
        let query = exchange
            .target
            .split_once('?')
            .map_or("", |(_, query)| query);
        let sent = &exchange.sent;
        let fields = sent.fields.iter();
        let fields = fields.map(|(name, value, _)| (name.clone(), value.clone()));
        for (name, value) in form(query)
            .into_iter()
            .chain(fields)
            .chain(form(&sent.text))
        {
            if is_secret(&name) {
                self.add(&value, SHORTEST);
            }
        }
        if let Ok(document) = serde_json::from_str(&sent.text) {
            self.learn_leaves(&document, "");
        }
    }

    fn learn_header(&mut self, name: &str, value: &str) {
        if name == "cookie" {
            for pair in value.split(';') {
                let value = pair.split_once('=').map_or("", |(_, value)| value);
                self.add(value.trim(), SHORTEST_COOKIE);
            }
        } else if is_secret(name) && !name.starts_with("sec-") {
            self.add(value, SHORTEST);
            // `Bearer TOKEN`
            self.add(value.rsplit(' ').next().unwrap_or_default(), SHORTEST);
        }
    }

    /// The values in a document whose keys say that they are secrets.
    fn learn_leaves(&mut self, document: &Json, key: &str) {
        match document {
            Json::String(text) if is_secret(key) => self.add(text, SHORTEST),
            Json::Number(number) if is_secret(key) => self.add(&number.to_string(), SHORTEST),
            Json::Array(list) => list.iter().for_each(|one| self.learn_leaves(one, key)),
            Json::Object(map) => map
                .iter()
                .for_each(|(key, one)| self.learn_leaves(one, key)),
            _ => {}
        }
    }

    fn add(&mut self, value: &str, shortest: usize) {
        if value.len() < shortest || self.0.len() >= MOST {
            return;
        }
        let encoded = |encoding: Encoding| {
            let mut out = Vec::new();
            encoding.append(&mut out, value.as_bytes());
            String::from_utf8_lossy(&out).into_owned()
        };
        let forms = [
            value.to_owned(),
            encoded(Encoding::Percent),
            encoded(Encoding::Form),
            unescaped(value, false),
        ];
        for form in forms {
            if form.len() >= SHORTEST && !self.0.contains(&form) {
                self.0.push(form);
            }
        }
    }
}
