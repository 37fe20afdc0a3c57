//! Requests and answers of an archive, each in a form that is the same whichever browser wrote it.

use rookery_workload::http::Method;

use super::{
    archive::{Archive, Content, Entry, Pair, Record},
    decode::{base64, form, milliseconds},
};

/// Longest path and query.
const LONGEST_TARGET: usize = 2 * 1024;
/// Longest host and port.
const LONGEST_AUTHORITY: usize = 200;

/// A site: protocol, host and port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SiteOf {
    pub(super) https: bool,
    pub(super) authority: String,
}

/// What a request was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A page that the user looks at.
    Page,
    /// A request of a script for data.
    Call,
    /// A part of a page.
    Object,
    /// Nothing that a user of ours does.
    Other,
}

/// A name and a value.
pub(super) type Named = (String, String);

/// What was sent behind the head.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sent {
    pub(super) mime: String,
    pub(super) text: String,
    /// Name, value, and whether it was a file.
    pub(super) fields: Vec<(String, String, bool)>,
}

/// One request and its answer.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    pub(super) kind: Kind,
    /// When it began and ended, ms; nothing where the archive does not say.
    pub(super) times: Option<(f64, f64)>,
    pub(super) site: SiteOf,
    pub(super) method: Method,
    /// Path and query, visible ASCII.
    pub(super) target: String,
    /// Name in small letters.
    pub(super) headers: Vec<Named>,
    pub(super) cookies: Vec<Named>,
    pub(super) sent: Sent,
    pub(super) status: u16,
    pub(super) location: String,
    pub(super) answer_headers: Vec<Named>,
    pub(super) mime: String,
    pub(super) body: String,
}

/// All requests of an archive in the order of their begin, and how many could not be used.
pub(super) fn exchanges(archive: Archive) -> (Vec<Exchange>, usize) {
    let entries = archive.log.0.entries;
    let mut unused = entries.beyond;
    let mut all = Vec::new();
    for entry in entries.kept {
        match exchange(entry.0) {
            Some(exchange) => all.push(exchange),
            None => unused += 1,
        }
    }
    let begin = |exchange: &Exchange| exchange.times.map(|(begin, _)| begin);
    if all.iter().all(|exchange| begin(exchange).is_some()) {
        all.sort_by(|a, b| {
            let (a, b) = (begin(a).unwrap_or_default(), begin(b).unwrap_or_default());
            a.total_cmp(&b)
        });
    }
    (all, unused)
}

fn exchange(entry: Entry) -> Option<Exchange> {
    let (request, response) = (entry.request.0, entry.response.0);
    let name = request.method.text().to_ascii_uppercase();
    let method = Method::ALL.into_iter().find(|one| one.name() == name)?;
    let (site, target) = site_and_target(request.url.text())?;
    let status = response
        .status
        .number()
        .filter(|status| (100.0..600.0).contains(status))?;
    let begin = milliseconds(entry.started_date_time.text());
    let length = entry.time.number().unwrap_or_default().clamp(0.0, 3.6e6);
    let mime = plain_mime(response.content.0.mime_type.text());
    let posted = request.post_data.0;
    let sent = Sent {
        mime: posted.mime_type.text().to_owned(),
        text: posted.text.text().to_owned(),
        fields: posted.params.kept.iter().map(field).collect(),
    };
    let kind = kind_of(entry.resource_type.text(), method, &mime, &target);
    let cookies = request.cookies.kept.iter().chain(&response.cookies.kept);
    Some(Exchange {
        kind,
        times: begin.map(|begin| (begin, begin + length)),
        site,
        method,
        target,
        headers: named(&request.headers.kept),
        cookies: cookies.map(|pair| pair_of(&pair.0)).collect(),
        sent,
        status: rookery_cast::count_u16(rookery_cast::truncate_usize(status)),
        location: response.redirect.text().to_owned(),
        answer_headers: named(&response.headers.kept),
        body: body_of(&response.content.0, kind),
        mime,
    })
}

fn named(pairs: &[Record<Pair>]) -> Vec<Named> {
    pairs
        .iter()
        .map(|pair| pair_of(&pair.0))
        .map(|(name, value)| (name.to_ascii_lowercase(), value))
        .collect()
}

fn pair_of(pair: &Pair) -> Named {
    (pair.name.text().to_owned(), pair.value.text().to_owned())
}

fn field(pair: &Record<Pair>) -> (String, String, bool) {
    let (name, value) = pair_of(&pair.0);
    (name, value, !pair.0.file_name.text().is_empty())
}

/// The text of an answer, where values may be found in it.
fn body_of(content: &Content, kind: Kind) -> String {
    if !matches!(kind, Kind::Page | Kind::Call) {
        return String::new();
    }
    let text = content.text.text();
    if content.encoding.text().eq_ignore_ascii_case("base64") {
        let bytes = base64(text).unwrap_or_default();
        return String::from_utf8(bytes).unwrap_or_default();
    }
    text.to_owned()
}

/// A type without its parameters, in small letters.
pub(super) fn plain_mime(mime: &str) -> String {
    let plain = mime.split(';').next().unwrap_or_default();
    plain.trim().to_ascii_lowercase()
}

/// What a request was for: as the browser says, or by what came back.
fn kind_of(said: &str, method: Method, mime: &str, target: &str) -> Kind {
    let object = if method == Method::Get {
        Kind::Object
    } else {
        Kind::Call
    };
    match said.to_ascii_lowercase().as_str() {
        "document" => return Kind::Page,
        "xhr" | "fetch" => return Kind::Call,
        "stylesheet" | "script" | "image" | "font" | "media" | "manifest" | "texttrack" => {
            return object;
        }
        "websocket" | "ping" | "preflight" | "cspviolationreport" | "eventsource" => {
            return Kind::Other;
        }
        _ => {}
    }
    if method == Method::Options {
        return Kind::Other;
    }
    let embedded = ["image/", "font/", "audio/", "video/", "text/css"]
        .iter()
        .any(|part| mime.starts_with(part))
        || mime.contains("javascript")
        || mime.contains("font");
    let path = target.split('?').next().unwrap_or_default();
    let by_name = [
        ".css", ".js", ".png", ".jpg", ".gif", ".svg", ".ico", ".woff2", ".webp",
    ]
    .iter()
    .any(|ending| path.ends_with(ending));
    if embedded || (by_name && !mime.contains("html")) {
        object
    } else if mime.contains("html") || mime.is_empty() || mime == "x-unknown" {
        Kind::Page
    } else {
        Kind::Call
    }
}

/// The site of an address, and path and query in it; nothing where it is no address of a site, or
/// too long.
pub(super) fn site_and_target(url: &str) -> Option<(SiteOf, String)> {
    let scheme = url.split_once("://")?.0.to_ascii_lowercase();
    let https = match scheme.as_str() {
        "http" => false,
        "https" => true,
        _ => return None,
    };
    let rest = &url[scheme.len() + 3..];
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    // What stands before the host may be a password.
    let authority = rest[..end].rsplit('@').next()?.to_ascii_lowercase();
    let port = if https { ":443" } else { ":80" };
    let authority = authority
        .strip_suffix(port)
        .unwrap_or(&authority)
        .to_owned();
    let good = (1..=LONGEST_AUTHORITY).contains(&authority.len())
        && authority
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]%~".contains(&byte));
    let target = target_of(&rest[end..]);
    (good && target.len() <= LONGEST_TARGET).then_some((SiteOf { https, authority }, target))
}

/// Path and query as they are sent: without the fragment, percent-encoded.
fn target_of(text: &str) -> String {
    let text = text.split('#').next().unwrap_or_default();
    let mut out = String::from(if text.starts_with('/') { "" } else { "/" });
    for byte in text.bytes() {
        if byte.is_ascii_graphic() {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

impl Sent {
    /// The fields of a form; none where no form is sent.
    pub(super) fn form_fields(&self) -> Vec<Named> {
        if plain_mime(&self.mime) != "application/x-www-form-urlencoded" {
            return Vec::new();
        }
        match self.text.as_str() {
            "" => self
                .fields
                .iter()
                .map(|(name, value, _)| (name.clone(), value.clone()))
                .collect(),
            text => form(text),
        }
    }
}

impl Exchange {
    /// Whether it holds a password: whose it is, is nobody else's business.
    pub(super) fn logs_in(&self) -> bool {
        let sent = &self.sent;
        let is_password = |name: &str| name.to_ascii_lowercase().contains("pass");
        sent.fields.iter().any(|(name, ..)| is_password(name))
            || form(&sent.text).iter().any(|(name, _)| is_password(name))
            || plain_mime(&sent.mime).contains("json") && is_password(&sent.text)
    }

    /// The cookies that the answer sets.
    pub(super) fn set_cookies(&self) -> Vec<Named> {
        let headers = self.answer_headers.iter();
        let lines = headers
            .filter(|(name, _)| name == "set-cookie")
            .flat_map(|(_, value)| value.lines());
        lines
            .filter_map(|line| {
                let (name, value) = line.split(';').next()?.split_once('=')?;
                Some((name.trim().to_owned(), value.trim().to_owned()))
            })
            .collect()
    }

    /// Whether the answer sends the user on.
    pub(super) fn redirects(&self) -> bool {
        matches!(self.status, 301 | 302 | 303 | 307 | 308)
    }

    /// Where to: nothing where it is no address.
    pub(super) fn leads_to(&self) -> Option<(SiteOf, String)> {
        let header = self
            .answer_headers
            .iter()
            .find(|(name, _)| name == "location");
        let location = match (self.location.as_str(), header) {
            ("", Some((_, value))) => value.as_str(),
            (location, _) => location,
        };
        if location.contains("://") {
            return site_and_target(location);
        }
        let target = if location.starts_with('/') {
            target_of(location)
        } else {
            let path = self.target.split('?').next().unwrap_or_default();
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            target_of(&format!("{folder}/{location}"))
        };
        (!location.is_empty()).then(|| (self.site.clone(), target))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let read = |url: &str| {
            site_and_target(url).map(|(site, target)| (site.https, site.authority, target))
        };
        let shop =
            |https, target: &str| Some((https, "shop.example".to_owned(), target.to_owned()));
        assert_eq!(
            read("https://ann:pw@Shop.example:443/a b?x=\u{e9}#y"),
            shop(true, "/a%20b?x=%C3%A9")
        );
        assert_eq!(read("HTTP://shop.example?q=1"), shop(false, "/?q=1"));
        for none in [
            "",
            "ftp://x/",
            "data:text/plain,x",
            "http:///x",
            "http://a b/",
            "://",
        ] {
            assert_eq!(read(none), None, "{none}");
        }
    }
}
