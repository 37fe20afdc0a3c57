//! Requests and answers, without connections.

use hyper::{
    HeaderMap,
    header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER},
};

use super::body::FileBody;

/// What came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) method: Method,
    /// As sent: pages' names need no decoding.
    pub(crate) path: &'a str,
    /// Without the `?`; empty when there is none.
    pub(crate) query: &'a str,
    /// The body of a POST; empty when there is none.
    pub(crate) form: &'a str,
    /// Every header; nothing for requests that did not come over a connection.
    pub(crate) headers: Option<&'a HeaderMap>,
}

impl<'a> Request<'a> {
    /// The first value of a header, where it is text.
    pub(crate) fn header(&self, name: &HeaderName) -> Option<&'a str> {
        self.headers?.get(name)?.to_str().ok()
    }
}

/// Methods that matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
    Other,
}

/// What goes out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content: Content,
    pub(crate) body: Vec<u8>,
}

/// Type of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Html,
    Json,
    Text,
}

impl Content {
    /// As the header says it.
    pub(crate) fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Html => "text/html; charset=utf-8",
            Self::Json => "application/json",
            Self::Text => "text/plain; charset=utf-8",
        })
    }
}

/// What goes out, with all of its headers.
#[derive(Debug)]
pub(crate) struct FullAnswer {
    pub(crate) status: u16,
    /// Without length and date, which follow.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: AnswerBody,
}

/// The body of an answer.
#[derive(Debug)]
pub(crate) enum AnswerBody {
    /// From memory.
    Bytes(Vec<u8>),
    /// From a file, read while it is sent.
    File(FileBody),
}

impl From<Answer> for FullAnswer {
    fn from(answer: Answer) -> Self {
        let mut headers = vec![(CONTENT_TYPE, answer.content.header())];
        match answer.status {
            405 => headers.push((ALLOW, HeaderValue::from_static("GET, POST"))),
            503 => headers.push((RETRY_AFTER, HeaderValue::from_static("1"))),
            _ => {}
        }
        Self {
            status: answer.status,
            headers,
            body: AnswerBody::Bytes(answer.body),
        }
    }
}

/// What answers requests.
pub(crate) trait HttpSite: Send + Sync + 'static {
    /// What it answers with.
    type Answer: Into<FullAnswer> + Send;

    /// Answer one request.
    fn answer(&self, request: Request<'_>) -> impl Future<Output = Self::Answer> + Send;

    /// The answer to a request that could not be read, in one sentence below a heading.
    fn refusal(status: u16, heading: &str, sentence: &str) -> Answer;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_server_says_when_to_come_again() {
        let header = |status, name| {
            let answer = FullAnswer::from(Answer {
                status,
                content: Content::Text,
                body: Vec::new(),
            });
            let mut headers = answer.headers.into_iter();
            headers
                .find(|(known, _)| *known == name)
                .map(|(_, value)| value)
        };
        assert_eq!(
            header(503, RETRY_AFTER),
            Some(HeaderValue::from_static("1"))
        );
        assert_eq!(
            header(405, ALLOW),
            Some(HeaderValue::from_static("GET, POST"))
        );
        assert_eq!(header(500, RETRY_AFTER), None);
    }
}
