//! Sessions of `support`: nothing is kept on the server.

use super::Draw;
use crate::web2005::{
    Arrival, Expected, Model, PageRequest,
    besim::support::{self, FILE_CATEGORIES, LANGUAGES, PRODUCTS, SYSTEMS},
    files::Download,
    request::{Shown, path},
};

/// What a user has looked for.
#[derive(Clone, Debug, Default)]
pub(super) struct SupportSession {
    product: u32,
    /// The number of the file that it wants to load.
    file: u32,
}

const MODEL: Model = Model::Support;

impl SupportSession {
    pub(super) fn request(&mut self, draw: &mut Draw<'_>, arrival: Arrival) -> PageRequest {
        match arrival.page {
            0 => home(draw),
            1 => search(draw),
            2 => catalog(draw),
            3 => self.product(draw),
            4 => self.file_catalog(draw),
            5 => self.file(draw),
            _ => self.download(draw),
        }
    }

    fn product(&mut self, draw: &mut Draw<'_>) -> PageRequest {
        self.product = draw.one_of(PRODUCTS);
        let name = support::product_name(&draw.data.state, self.product);
        let shown = Shown::new()
            .row([self.product.to_string(), name])
            .row([LANGUAGES, SYSTEMS, FILE_CATEGORIES].map(|count| count.to_string()));
        get("product", &format!("id={}", self.product), shown)
    }

    /// Files for the product that was last looked at; any where the user came back to no product.
    fn file_catalog(&mut self, draw: &mut Draw<'_>) -> PageRequest {
        if self.product == 0 {
            self.product = draw.one_of(PRODUCTS);
        }
        let product = self.product;
        let category = draw.one_of(FILE_CATEGORIES);
        let (system, language) = (draw.one_of(SYSTEMS), draw.one_of(LANGUAGES));
        let files = support::files(&draw.data.state, product, category, system, language);
        let shown = Shown::new()
            .row([product, category, system, language].map(|number| number.to_string()))
            .rows(files.map(|file| [file.id.to_string(), file.size.to_string()]));
        let query = format!("id={product}&category={category}&os={system}&lang={language}");
        get("fileCatalog", &query, shown)
    }

    /// The file that the session's download will be: by the popularity of its directory, and the
    /// shares of classes and of files in them.
    fn file(&mut self, draw: &mut Draw<'_>) -> PageRequest {
        let directory = draw.data.popularity.draw(draw.source);
        let place = Download::drawn(draw.below(10_000), draw.below(1_000));
        let first = (directory - 1).saturating_mul(support::FILES_PER_DIRECTORY);
        self.file = first.saturating_add(rookery_cast::count_u32(place));
        let rows = support::file(&draw.data.state, self.file)
            .map(|file| [file.id.to_string(), file.size.to_string(), file.path]);
        get(
            "file",
            &format!("id={}", self.file),
            Shown::new().rows(rows),
        )
    }

    fn download(&self, draw: &Draw<'_>) -> PageRequest {
        let (path, bytes) = match support::file(&draw.data.state, self.file) {
            Some(file) => (file.path, file.size),
            None => (String::from("/support/downloads/"), 0),
        };
        PageRequest::get(path, Expected::File { bytes })
    }
}

fn get(page: &str, query: &str, shown: Shown) -> PageRequest {
    let target = format!("{}?{query}", path(MODEL, page));
    PageRequest::get(target, shown.page(MODEL, page, None))
}

fn home(draw: &Draw<'_>) -> PageRequest {
    let row = |category| {
        let name = support::category_name(&draw.data.state, category);
        [category.to_string(), name]
    };
    let shown = Shown::new().rows((1..=support::CATEGORIES).map(row));
    PageRequest::get(path(MODEL, "home"), shown.page(MODEL, "home", None))
}

fn search(draw: &mut Draw<'_>) -> PageRequest {
    let words = [draw.word(5), draw.word(6), draw.word(4)];
    let found = support::search(&draw.data.state, words.iter().map(String::as_str));
    let shown = Shown::new()
        .row(&words)
        .row(found.map(|product| product.to_string()));
    let title = format!("Support: search {}", words.join(" "));
    let target = format!("{}?q={}", path(MODEL, "search"), words.join("+"));
    PageRequest::get(target, shown.titled(MODEL, "search", None, title))
}

fn catalog(draw: &mut Draw<'_>) -> PageRequest {
    let category = draw.one_of(support::CATEGORIES);
    let products = support::category_products(category);
    let shown = Shown::new()
        .row([category.to_string()])
        .row(products.map(|product| product.to_string()));
    get("catalog", &format!("id={category}"), shown)
}
