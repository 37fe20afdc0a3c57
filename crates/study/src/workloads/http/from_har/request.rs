//! The request of one operation, as keys of a workload file.

use rookery_workload::{
    data_driven::Template,
    http::{Method, is_secret},
};
use serde_json::Value as Json;

use super::{
    decode::{multipart, unescaped},
    exchange::{Exchange, Kind, plain_mime},
    steps::Recorded,
    values::{Replaced, Values},
    varied::Slot,
};
use crate::{
    grammar::{written, written_key},
    workloads::data_driven::{
        keys::MOST,
        kinds::{LONGEST_TEXT, is_token},
    },
    workloads::http::keys::is_field,
};

/// Bytes of files, which archives do not hold.
const FILE_BYTES: u32 = 1_000;
/// Stands for a value in a JSON document until all else is escaped.
const MARK: char = '\u{e001}';

/// The keys of a request.
#[derive(Debug, Default)]
pub(super) struct RequestKeys {
    /// `key = value`, each with a remark.
    pub(super) lines: Vec<(String, String)>,
    /// Tables below the operation: name, lines.
    pub(super) tables: Vec<(&'static str, Vec<(String, String)>)>,
    /// What is said in front of the operation.
    pub(super) remarks: Vec<String>,
}

/// What fills one request.
struct Filling<'f, 'r> {
    place: usize,
    recorded: &'r Recorded,
    values: &'f mut Values<'r>,
    keys: RequestKeys,
    /// The request holds a password: whose it is, is nobody else's business.
    logs_in: bool,
}

/// The keys of the request of an operation.
pub(super) fn keys<'r>(
    recorded: &'r Recorded,
    place: usize,
    values: &mut Values<'r>,
) -> RequestKeys {
    let request = &recorded.operations[place].request;
    let mut filling = Filling {
        place,
        recorded,
        values,
        keys: RequestKeys::default(),
        logs_in: request.logs_in(),
    };
    if request.method != Method::Get {
        filling.line("method", request.method.name(), "");
    }
    filling.path(request);
    filling.headers(request);
    if !matches!(request.method, Method::Get | Method::Head) {
        filling.body(request);
    }
    filling.keys
}

/// Whether a field says who logs in.
fn names_a_user(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["user", "mail", "login", "account"]
        .iter()
        .any(|part| name.contains(part))
}

impl Filling<'_, '_> {
    fn line(&mut self, key: &str, text: &str, remark: &str) {
        let line = format!("{key} = {}", written(text));
        self.keys.lines.push((line, remark.to_owned()));
    }

    /// What a value becomes in a template, and a remark on it.
    fn filled(&mut self, name: &str, value: &str) -> (String, String) {
        let private = self.logs_in && names_a_user(name);
        match self.values.replaced(self.place, name, value, private) {
            Some(replaced) => (format!("${{{}}}", replaced.name), self.remark(&replaced)),
            None => (self.values.literal(value), String::new()),
        }
    }

    fn remark(&self, replaced: &Replaced) -> String {
        match replaced.captured_by {
            Some(place) => format!("captured by {}", self.recorded.operations[place].name),
            None => "removed: see the feeder".to_owned(),
        }
    }

    /// The value that a feeder gives, if it stands here.
    fn varied(&mut self, slot: &Slot) -> Option<String> {
        let varied = self.recorded.operations[self.place].varied.as_ref()?;
        if varied.slot != *slot || varied.values.len() < 2 {
            return None;
        }
        Some(format!("${{{}}}", self.values.seen(self.place, varied)))
    }

    /// The segments of a path.
    fn segments(&mut self, path: &str) -> String {
        let segments: Vec<&str> = path.split('/').collect();
        let varied =
            (0..segments.len()).find_map(|index| Some((index, self.varied(&Slot::Path(index))?)));
        let Some((index, value)) = varied else {
            return self.values.literal(path);
        };
        let (before, after) = segments.split_at(index);
        let before: String = before.iter().flat_map(|one| [one, "/"]).collect();
        let after: String = after.iter().skip(1).flat_map(|one| ["/", one]).collect();
        let before = self.values.literal(&before);
        before + &value + &self.values.literal(&after)
    }

    fn path(&mut self, request: &Exchange) {
        let (path, query) = match request.target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (request.target.as_str(), None),
        };
        // A path begins with `/`, whatever is replaced in it.
        let path = path.strip_prefix('/').unwrap_or(path);
        let mut text = format!("/{}", self.segments(path));
        let mut remarks = Vec::new();
        for (index, pair) in query
            .into_iter()
            .flat_map(|query| query.split('&'))
            .enumerate()
        {
            text.push(if index == 0 { '?' } else { '&' });
            let Some((name, value)) = pair.split_once('=') else {
                text.push_str(&self.values.literal(pair));
                continue;
            };
            if let Some(value) = self.varied(&Slot::Query(index)) {
                let name = self.values.literal(name);
                text.push_str(&format!("{name}={value}"));
                continue;
            }
            let (plain_name, plain) = (unescaped(name, true), unescaped(value, true));
            let private = self.logs_in && names_a_user(&plain_name);
            let replaced = self
                .values
                .replaced(self.place, &plain_name, &plain, private);
            let name = self.values.literal(name);
            let value = match replaced {
                Some(replaced) => {
                    remarks.push(format!("{}: {}", replaced.name, self.remark(&replaced)));
                    format!("${{{}}}", replaced.name)
                }
                None => self.values.literal(value),
            };
            text.push_str(&format!("{name}={value}"));
        }
        self.line("path", &text, &remarks.join("; "));
    }

    /// Those headers that make a difference: what scripts say of themselves, and secrets.
    fn headers(&mut self, request: &Exchange) {
        let mut lines = Vec::new();
        let mut known: Vec<&str> = Vec::new();
        for (name, value) in &request.headers {
            let of_scripts = match name.as_str() {
                "accept" => request.kind == Kind::Call,
                "x-requested-with" => true,
                _ => false,
            };
            let secret = is_secret(name) && !name.contains("cookie") && !name.starts_with("sec-");
            let plain = is_token(name) && !value.contains(|c: char| c.is_control());
            if !(of_scripts || secret) || !plain || known.contains(&name.as_str()) {
                continue;
            }
            known.push(name);
            // `Bearer TOKEN`: the scheme is no secret.
            let (scheme, secret) = match value.split_once(' ') {
                Some((scheme, rest)) if name == "authorization" => (format!("{scheme} "), rest),
                _ => (String::new(), value.as_str()),
            };
            let (text, remark) = self.filled(name, secret);
            let scheme = self.values.literal(&scheme);
            lines.push((
                format!("{} = {}", written_key(name), written(&(scheme + &text))),
                remark,
            ));
        }
        let kind = plain_mime(&request.sent.mime);
        let usual = [
            "",
            "text/plain",
            "application/json",
            "application/x-www-form-urlencoded",
        ];
        let plain = !kind.contains(|c: char| c.is_control());
        if plain && !usual.contains(&kind.as_str()) && !kind.starts_with("multipart/") {
            let kind = self.values.literal(&kind);
            lines.push((format!("content-type = {}", written(&kind)), String::new()));
        }
        if !lines.is_empty() {
            lines.truncate(MOST);
            self.keys.tables.push(("headers", lines));
        }
    }

    fn body(&mut self, request: &Exchange) {
        let sent = &request.sent;
        let kind = plain_mime(&sent.mime);
        if kind == "application/x-www-form-urlencoded" {
            let fields = sent.form_fields().into_iter();
            let fields = fields.map(|(name, value)| (name, value, false));
            return self.fields("form", fields.collect());
        }
        if kind == "multipart/form-data" {
            let mut fields = sent.fields.clone();
            if fields.is_empty() {
                fields = multipart(&sent.mime, &sent.text);
            }
            return self.fields("multipart", fields);
        }
        if sent.text.is_empty() {
            return;
        }
        let document = serde_json::from_str::<Json>(&sent.text).ok();
        match document.filter(|_| kind.contains("json") || kind.is_empty()) {
            Some(document) => self.json(document),
            None => {
                let text = self.values.literal(&sent.text);
                self.content("body", &text);
            }
        }
    }

    /// A body as text, where it has a place in a workload file.
    fn content(&mut self, key: &str, text: &str) {
        if text.len() <= LONGEST_TEXT && Template::parse(text).is_ok() {
            self.line(key, text, "");
        } else {
            let remark = format!(
                "its body of {} bytes is left out: it is too long",
                text.len()
            );
            self.keys.remarks.push(remark);
        }
    }

    /// Fields of a form. A name that stands twice is kept once.
    fn fields(&mut self, table: &'static str, fields: Vec<(String, String, bool)>) {
        let (mut lines, mut files, mut left) = (Vec::new(), Vec::new(), 0);
        let mut known: Vec<String> = Vec::new();
        for (name, value, is_file) in fields {
            let room = lines.len().max(files.len()) < MOST;
            if known.contains(&name) || !is_field(&name) || self.values.holds_secret(&name) || !room
            {
                left += 1;
                continue;
            }
            if is_file {
                files.push((
                    format!("{} = {FILE_BYTES}", written_key(&name)),
                    "its size is guessed".to_owned(),
                ));
            } else {
                let (text, remark) = match self.varied(&Slot::Field(name.clone())) {
                    Some(text) => (text, String::new()),
                    None => self.filled(&name, &value),
                };
                if text.len() > LONGEST_TEXT {
                    left += 1;
                    continue;
                }
                lines.push((
                    format!("{} = {}", written_key(&name), written(&text)),
                    remark,
                ));
            }
            known.push(name);
        }
        if left > 0 {
            self.keys.remarks.push(format!(
                "{left} fields are left out: their names stand twice or are no names, or there are \
                 too many"
            ));
        }
        if !lines.is_empty() || files.is_empty() {
            self.keys.tables.push((table, lines));
        }
        if !files.is_empty() {
            self.keys.tables.push(("files", files));
        }
    }

    fn json(&mut self, mut document: Json) {
        let mut names = Vec::new();
        self.leaves(&mut document, "", &mut names);
        let text = document.to_string();
        let mut text = self.values.literal(&text);
        for (index, (name, is_number)) in names.iter().enumerate() {
            let mark = format!("{MARK}{index}{MARK}");
            let mark = if *is_number {
                format!("\"{mark}\"")
            } else {
                mark
            };
            text = text.replace(&mark, &format!("${{{name}}}"));
        }
        self.content("body_json", &text);
    }

    /// Replaces values of a document by marks; what each stands for, and whether it was a number.
    fn leaves(&mut self, document: &mut Json, key: &str, names: &mut Vec<(String, bool)>) {
        let (text, is_number) = match document {
            Json::Array(list) => {
                return list.iter_mut().for_each(|one| self.leaves(one, key, names));
            }
            Json::Object(map) => {
                return map
                    .iter_mut()
                    .for_each(|(key, one)| self.leaves(one, key, names));
            }
            Json::String(text) => (text.replace(MARK, "?"), false),
            Json::Number(number) => (number.to_string(), true),
            Json::Null | Json::Bool(_) => return,
        };
        let private = self.logs_in && names_a_user(key);
        match self.values.replaced(self.place, key, &text, private) {
            Some(replaced) => {
                *document = Json::String(format!("{MARK}{}{MARK}", names.len()));
                names.push((replaced.name, is_number));
            }
            None if !is_number => *document = Json::String(text),
            None => {}
        }
    }
}
