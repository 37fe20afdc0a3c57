//! The pages of the shop on PHP's own web server, with their database.

use std::{fs, ops::ControlFlow};

use rookery_stack::lamp::{load, pages, sql::Database};
use rookery_workload::dvdstore::{LineItem, PageSite, Size, WordLists};

use super::{
    MariaDb,
    php::{Answer, Php, expect_no_complaint},
};

/// The size of every test's shop: 2 000 customers, 1 200 orders, 1 000 products.
pub(crate) const SIZE: Size = Size::Mb(1);

/// The pages as the original driver asks for them.
pub(crate) const SITE: PageSite<'_> = PageSite {
    directory: "ds2",
    page_type: "php",
};

/// A shop with its database.
pub(crate) struct Shop {
    pub(crate) server: MariaDb,
    pub(crate) php: Php,
}

impl Shop {
    /// Load a database and serve the pages with `workers` PHP processes.
    pub(crate) fn start(faithful: bool, workers: u32) -> Self {
        let server = MariaDb::start(&["--innodb-lock-wait-timeout=20"]);
        load(&mut server.root(), SIZE, WordLists::own(), 2, &|_| {
            ControlFlow::Continue(())
        })
        .expect("a loaded database");
        let root = server.dir.path().join("htdocs");
        for (path, text) in pages::FILES {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("below the root")).expect("a directory");
            fs::write(path, text).expect("a page");
        }
        let socket = server.socket().display().to_string();
        let settings = pages::Settings {
            socket: Some(&socket),
            faithful,
            persistent: false,
        };
        fs::write(root.join(pages::SETTINGS_FILE), settings.php()).expect("the settings");
        let php = Php::start(server.dir.path(), workers);
        Self { server, php }
    }

    pub(crate) fn root(&self) -> Database {
        self.server.root()
    }

    /// GET `target`, such as `/ds2/index.html`.
    pub(crate) fn get(&self, target: &str) -> Answer {
        self.php.get(target)
    }

    /// POST a form to `target`.
    pub(crate) fn post(&self, target: &str, form: &str) -> Answer {
        self.php.post(target, form)
    }

    /// The body of a page that must be answered with 200.
    pub(crate) fn page(&self, target: &str) -> String {
        let answer = self.get(target);
        assert_eq!(answer.status, 200, "{target}\n{}", answer.body);
        answer.body
    }

    /// A page without the frame that all pages share.
    pub(crate) fn inner(&self, target: &str) -> String {
        let page = self.page(target);
        let (_, inner) = page
            .split_once("DVD Store</H1>\n")
            .expect("the frame's beginning");
        inner
            .rsplit_once("<HR>")
            .expect("the frame's end")
            .0
            .to_owned()
    }

    /// Fail when PHP has complained of anything.
    pub(crate) fn expect_no_complaint(&self) {
        expect_no_complaint(self.server.dir.path());
    }
}

/// Target of a page whose request `write` writes.
pub(crate) fn target(write: impl Fn(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).expect("targets are ASCII")
}

/// Target of a confirmed purchase of `quantity` units of each product.
pub(crate) fn purchase(customer: u64, products: &[u64], quantity: u32) -> String {
    let items: Vec<LineItem> = products
        .iter()
        .map(|&product| LineItem { product, quantity })
        .collect();
    target(|out| SITE.purchase(out, customer, &items))
}
