//! The pages: how long their HTML is, and what they embed.

use super::images::{self, Folder, ImageUse};
use crate::web2005::Model;

/// A page as far as its bytes go.
#[derive(Clone, Copy, Debug)]
pub struct PageFiles {
    /// Its name in URLs, titles and reports.
    pub name: &'static str,
    /// Length of its HTML, bytes; 0 for the pages that are a file. The padding file of the page is
    /// as long.
    pub html_bytes: u32,
    /// Numbers of what it embeds, in the order of fetching.
    numbers: &'static [u8],
    folder: Folder,
}

impl PageFiles {
    /// The fixed files that it embeds, in the order of fetching.
    pub fn images(&self) -> impl Iterator<Item = ImageUse> + '_ {
        self.numbers
            .iter()
            .filter_map(|number| self.folder.image(*number))
    }
}

/// The pages of a workload, in the order of the tables that they are reported in.
#[must_use]
pub fn pages(model: Model) -> &'static [PageFiles] {
    match model {
        Model::Banking => &BANKING,
        Model::Ecommerce => &ECOMMERCE,
        Model::Support => &SUPPORT,
    }
}

/// The page of a name.
#[must_use]
pub fn page(model: Model, name: &str) -> Option<&'static PageFiles> {
    pages(model).iter().find(|page| page.name == name)
}

/// Every folder of fixed files of a workload, and its place, which decides the bytes.
pub(super) fn folders(model: Model) -> &'static [Folder] {
    match model {
        Model::Banking => &[BANK_FOLDER],
        Model::Ecommerce => &ECOMMERCE_FOLDERS,
        Model::Support => &[SUPPORT_FOLDER],
    }
}

const BANK_FOLDER: Folder = Folder {
    name: "",
    files: &images::BANKING,
};

const SUPPORT_FOLDER: Folder = Folder {
    name: "",
    files: &images::SUPPORT,
};

const fn bank(name: &'static str, html_bytes: u32, numbers: &'static [u8]) -> PageFiles {
    PageFiles {
        name,
        html_bytes,
        numbers,
        folder: BANK_FOLDER,
    }
}

const WELCOME: &[u8] = &[5, 1, 2, 3, 4, 6, 7, 8];
const FORM: &[u8] = &[1, 2, 3, 4, 7, 8, 9, 10, 11, 14, 15, 16, 17];

static BANKING: [PageFiles; 16] = [
    bank("login", 5_888, WELCOME),
    bank(
        "account_summary",
        19_357,
        &[1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
    ),
    bank(
        "check_detail_html",
        12_673,
        &[
            1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 19, 20, 32,
        ],
    ),
    bank(
        "bill_pay",
        18_045,
        &[1, 2, 3, 4, 7, 8, 9, 15, 17, 21, 22, 27, 28, 33],
    ),
    bank(
        "add_payee",
        20_035,
        &[1, 2, 3, 4, 7, 8, 9, 14, 15, 17, 21, 22, 27],
    ),
    bank(
        "payee_info",
        35_325,
        &[1, 2, 3, 4, 7, 8, 9, 14, 15, 17, 21, 22, 23, 27, 34],
    ),
    bank(
        "quick_pay",
        23_804,
        &[1, 2, 3, 4, 7, 8, 9, 14, 15, 17, 21, 22, 24, 25, 26, 27, 33],
    ),
    bank(
        "billpay_status",
        25_944,
        &[1, 2, 4, 7, 8, 9, 11, 15, 17, 21, 22, 26, 33],
    ),
    bank(
        "chg_profile",
        34_203,
        &[1, 2, 3, 4, 7, 8, 9, 10, 14, 15, 16, 17, 28, 29],
    ),
    bank(
        "post_profile",
        30_242,
        &[1, 2, 3, 4, 7, 8, 9, 10, 14, 15, 16, 17],
    ),
    bank(
        "req_checks",
        24_880,
        &[
            1, 2, 3, 4, 7, 8, 9, 10, 14, 15, 16, 17, 30, 31, 35, 36, 37, 38, 39,
        ],
    ),
    bank("post_chk_order", 26_298, FORM),
    bank("req_xfer_form", 15_308, FORM),
    bank("post_fund_xfer", 17_668, FORM),
    bank("logout", 46_412, WELCOME),
    bank("check_image", 0, &[]),
];

/// The numbers from 1 to 40.
const ALL_NUMBERS: &[u8] = &[
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
    27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
];

/// A page that embeds all files of its folder.
const fn ecommerce(name: &'static str, html_bytes: u32, folder: usize) -> PageFiles {
    let folder = ECOMMERCE_FOLDERS[folder];
    PageFiles {
        name,
        html_bytes,
        numbers: ALL_NUMBERS.split_at(folder.files.len()).0,
        folder,
    }
}

const fn folder(name: &'static str, files: &'static [(u32, u8)]) -> Folder {
    Folder { name, files }
}

const ECOMMERCE_FOLDERS: [Folder; 11] = [
    folder("index/", &images::INDEX),
    folder("search/", &images::SEARCH),
    folder("browse/", &images::BROWSE),
    folder("browse_productline/", &images::BROWSE_PRODUCTLINE),
    folder("productdetail/", &images::PRODUCTDETAIL),
    folder("customize/", &images::CUSTOMIZE),
    folder("cart/", &images::CART),
    folder("login/", &images::LOGIN),
    folder("shipping/", &images::SHIPPING),
    folder("billing/", &images::BILLING),
    folder("confirm/", &images::CONFIRM),
];

static ECOMMERCE: [PageFiles; 13] = [
    ecommerce("index", 57_829, 0),
    ecommerce("search", 183_360, 1),
    ecommerce("browse", 72_742, 2),
    // Without the three product images of 10,658 bytes on average, and 250 bytes of head for each.
    ecommerce("browse_productline", 108_347, 3),
    // Without the one product image of 22,865 bytes on average, and 250 bytes of head.
    ecommerce("productdetail", 22_926, 4),
    ecommerce("customize1", 158_401, 5),
    ecommerce("customize2", 157_572, 5),
    ecommerce("customize3", 172_180, 5),
    ecommerce("cart", 4_994, 6),
    ecommerce("login", 37_997, 7),
    ecommerce("shipping", 39_094, 8),
    ecommerce("billing", 30_560, 9),
    ecommerce("confirm", 27_150, 10),
];

const fn support(name: &'static str, html_bytes: u32, numbers: &'static [u8]) -> PageFiles {
    PageFiles {
        name,
        html_bytes,
        numbers,
        folder: SUPPORT_FOLDER,
    }
}

const FILES_OF_PRODUCTS: &[u8] = ALL_NUMBERS.split_at(25).0;

static SUPPORT: [PageFiles; 7] = [
    support("home", 52_685, &[4, 6, 7, 8, 14, 17, 23, 24, 26, 27]),
    support("search", 19_513, &[4, 6, 8, 14, 17, 23, 24, 26, 31]),
    support("catalog", 29_031, &[4, 6, 7, 8, 14, 17, 23, 24]),
    support(
        "product",
        55_710,
        &[
            1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
            25, 28, 29, 30,
        ],
    ),
    support("fileCatalog", 96_010, FILES_OF_PRODUCTS),
    support("file", 114_136, FILES_OF_PRODUCTS),
    support("download", 0, &[]),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Images, expected 304s in hundredths, and expected image bytes of each page, as the
    /// specification has them.
    const EXPECTED: [(Model, &str, usize, u32, f64); 34] = [
        (Model::Banking, "login", 8, 376, 27_107.0),
        (Model::Banking, "account_summary", 14, 440, 5_546.0),
        (Model::Banking, "check_detail_html", 18, 490, 8_151.0),
        (Model::Banking, "bill_pay", 14, 450, 4_987.0),
        (Model::Banking, "add_payee", 13, 450, 4_026.0),
        (Model::Banking, "payee_info", 15, 450, 5_921.0),
        (Model::Banking, "quick_pay", 17, 460, 6_483.0),
        (Model::Banking, "billpay_status", 13, 420, 4_884.0),
        (Model::Banking, "chg_profile", 14, 460, 6_487.0),
        (Model::Banking, "post_profile", 12, 460, 4_266.0),
        (Model::Banking, "req_checks", 19, 460, 59_888.0),
        (Model::Banking, "post_chk_order", 13, 470, 4_550.0),
        (Model::Banking, "req_xfer_form", 13, 470, 4_550.0),
        (Model::Banking, "post_fund_xfer", 13, 470, 4_550.0),
        (Model::Banking, "logout", 8, 376, 27_107.0),
        (Model::Ecommerce, "index", 25, 700, 75_852.0),
        (Model::Ecommerce, "search", 7, 210, 2_187.0),
        (Model::Ecommerce, "browse", 25, 680, 77_643.0),
        (Model::Ecommerce, "browse_productline", 12, 220, 56_814.0),
        (Model::Ecommerce, "productdetail", 10, 260, 5_701.0),
        (Model::Ecommerce, "customize1", 9, 210, 5_272.0),
        (Model::Ecommerce, "customize2", 9, 210, 5_272.0),
        (Model::Ecommerce, "customize3", 9, 210, 5_272.0),
        (Model::Ecommerce, "cart", 40, 0, 60_493.0),
        (Model::Ecommerce, "login", 21, 0, 6_065.0),
        (Model::Ecommerce, "shipping", 5, 0, 2_394.0),
        (Model::Ecommerce, "billing", 5, 0, 2_694.0),
        (Model::Ecommerce, "confirm", 13, 0, 2_918.0),
        (Model::Support, "home", 10, 685, 4_806.0),
        (Model::Support, "search", 9, 610, 4_988.0),
        (Model::Support, "catalog", 8, 635, 2_395.0),
        (Model::Support, "product", 28, 1757, 4_801.0),
        (Model::Support, "fileCatalog", 25, 1757, 4_041.0),
        (Model::Support, "file", 25, 1757, 4_041.0),
    ];

    #[test]
    fn pages_embed_what_the_tables_of_bytes_say() {
        for (model, name, images, p304, bytes) in EXPECTED {
            let page = page(model, name).expect("a page");
            assert_eq!(page.images().count(), images, "{name}");
            let cached: u32 = page
                .images()
                .map(|image| u32::from(image.p304_percent))
                .sum();
            assert_eq!(cached, p304, "{name}");
            let fetched: f64 = page
                .images()
                .map(|image| f64::from(image.size) * (1.0 - f64::from(image.p304_percent) / 100.0))
                .sum();
            assert!((fetched - bytes).abs() < 0.51, "{name}: {fetched}");
        }
    }

    #[test]
    fn every_page_has_one_row() {
        let rows: usize = Model::ALL.map(|model| pages(model).len()).iter().sum();
        assert_eq!(rows, EXPECTED.len() + 2, "and the two that are files");
    }

    #[test]
    fn fixed_files_have_the_bytes_of_the_tables() {
        let total = |model| {
            let images = folders(model).iter().flat_map(|folder| folder.images());
            images.fold((0, 0), |(count, bytes), image| {
                (count + 1, bytes + image.size)
            })
        };
        assert_eq!(total(Model::Banking), (44, 157_098));
        assert_eq!(total(Model::Ecommerce), (172, 349_557));
        assert_eq!(total(Model::Support), (31, 22_580));
    }
}
