//! Requests and answers, without connections.

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

/// What answers requests.
pub(crate) trait HttpSite: Send + Sync + 'static {
    /// Answer one request.
    fn answer(&self, request: Request<'_>) -> impl Future<Output = Answer> + Send;

    /// The answer to a request that could not be read, in one sentence below a heading.
    fn refusal(status: u16, heading: &str, sentence: &str) -> Answer;
}
