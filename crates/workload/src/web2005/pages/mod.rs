//! The page types and walks of the three workloads, as data.
//!
//! Sources, as the specification of these workloads marks them: transitions are fixed properties of
//! the published benchmark of 2005, mean bytes and the page types over TLS those of its published
//! result. What pages embed, and how long they are, is in [`files`](super::files).

pub(super) mod banking;
pub(super) mod ecommerce;
pub(super) mod support;

use super::page_type::{ChainState, PageKind, PageType, ProductImages};

/// A dynamic page: its name, and its bytes in the three iterations of the published result.
const fn page(name: &'static str, published: [u32; 3]) -> PageType {
    PageType {
        name,
        products: ProductImages { count: 0, class: 0 },
        published_bytes: (published[0] + published[1] + published[2]) as f64 / 3.0,
        secure: false,
        kind: PageKind::Page,
    }
}

/// The same over TLS.
const fn secure(mut page: PageType) -> PageType {
    page.secure = true;
    page
}

/// The same with product images; their bytes and heads are no part of the body.
const fn with_products(mut page: PageType, count: u8, class: u8) -> PageType {
    page.products = ProductImages { count, class };
    page
}

/// The same, but answered with a file.
const fn file(mut page: PageType, kind: PageKind) -> PageType {
    page.kind = kind;
    page
}

/// A state at this page type, and what may follow.
const fn state(page: usize, next: &'static [(usize, f64)]) -> ChainState {
    ChainState { page, next }
}
