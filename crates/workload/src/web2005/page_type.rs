//! What a page of a workload is, and what a state of its walk.

/// One page type of a workload: a dynamic request, and the files that are loaded behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageType {
    /// Its name in tables, limits and stored runs: that of the published tables.
    pub name: &'static str,
    /// Product images that it embeds behind its fixed files, which are never cached: how many, and
    /// of which class.
    pub products: ProductImages,
    /// Mean bytes of the page in the published result, heads of answers and embedded files
    /// included: the mean of its three iterations.
    pub published_bytes: f64,
    /// The original loads it over TLS.
    pub secure: bool,
    /// What its answer is.
    pub kind: PageKind,
}

/// Product images of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProductImages {
    /// How many.
    pub count: u8,
    /// Which of the three images of each product, 0 to 2.
    pub class: u8,
}

/// What the dynamic request of a page is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// A page that ends with the values that it shows.
    Page,
    /// An image that the browser loads by itself: no think time comes before it.
    Image,
    /// A large file, which is judged by its byte rate instead of its time.
    Download,
}

impl PageType {
    /// Whether users think before it, where it is not the first of a session.
    #[must_use]
    pub fn thinks(&self) -> bool {
        self.kind != PageKind::Image
    }

    /// Whether it is judged by its byte rate.
    #[must_use]
    pub fn is_download(&self) -> bool {
        self.kind == PageKind::Download
    }
}

/// One state of the walk: a page, and what comes after it.
///
/// What is missing of probability 1 leaves the session: in `banking` without a logout, so that the
/// server has to let it expire. A state without a next one ends the session as it should end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChainState {
    /// Index of its page type in `Model::pages`.
    pub page: usize,
    /// States that may follow, with their probabilities.
    pub next: &'static [(usize, f64)],
}
