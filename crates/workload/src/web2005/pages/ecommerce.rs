//! Page types and walk of `ecommerce`.

use super::{ChainState, PageType, page, secure, state, with_products};

/// Page types, in the order of the published tables. From the cart on the original encrypts.
pub(in crate::web2005) static PAGES: [PageType; 13] = [
    page("index", [140_138, 140_205, 140_201]),
    page("search", [187_545, 187_548, 187_548]),
    page("browse", [156_916, 156_872, 156_867]),
    with_products(
        page("browse_productline", [201_136, 201_125, 201_144]),
        3,
        0,
    ),
    with_products(page("productdetail", [54_403, 54_551, 54_521]), 1, 1),
    page("customize1", [166_172, 166_176, 166_172]),
    page("customize2", [165_346, 165_343, 165_343]),
    page("customize3", [179_948, 179_959, 179_950]),
    secure(page("cart", [75_862, 75_708, 75_641])),
    secure(page("login", [49_627, 49_481, 49_579])),
    secure(page("shipping", [42_988, 42_988, 42_988])),
    secure(page("billing", [34_754, 34_755, 34_754])),
    secure(page("confirm", [33_568, 33_568, 33_568])),
];

/// The walk. From `customize1` on, the labels of the published table count submissions; this chain
/// counts every request once under its own label, and its two entries of `cart` and `login` are
/// fitted to the published result. What is missing of 1 leaves. ChainState 5 is the first arrival
/// at the page type of state 6.
pub(in crate::web2005) static STATES: [ChainState; 14] = [
    state(0, &[(0, 0.20), (1, 0.15), (2, 0.60)]),
    state(1, &[(0, 0.05), (1, 0.70), (2, 0.20)]),
    state(2, &[(0, 0.10), (2, 0.10), (3, 0.75)]),
    state(3, &[(0, 0.05), (2, 0.10), (4, 0.80)]),
    state(4, &[(0, 0.05), (2, 0.05), (3, 0.15), (5, 0.70)]),
    state(5, &[(6, 0.95)]),
    state(5, &[(6, 0.45), (7, 0.50)]),
    state(6, &[(6, 0.10), (7, 0.30), (8, 0.55)]),
    state(7, &[(7, 0.10), (8, 0.20), (9, 0.65)]),
    state(8, &[(9, 0.243), (10, 0.714)]),
    state(9, &[(11, 0.942)]),
    state(10, &[(12, 0.95)]),
    state(11, &[(13, 0.75)]),
    state(12, &[]),
];
