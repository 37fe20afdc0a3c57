//! Page types and walk of `support`.

use super::{ChainState, PageKind, PageType, file, page, state};

/// Page types, in the order of the published tables.
pub(in crate::web2005) static PAGES: [PageType; 7] = [
    page("home", [60_229, 60_245, 60_248]),
    page("search", [27_000, 27_003, 26_999]),
    page("catalog", [33_680, 33_675, 33_673]),
    page("product", [67_753, 67_765, 67_766]),
    page("fileCatalog", [106_544, 106_557, 106_551]),
    page("file", [124_674, 124_678, 124_679]),
    file(
        page("download", [6_856_296, 6_920_941, 6_911_827]),
        PageKind::Download,
    ),
];

/// The walk (fixed property of the benchmark of 2005). Every session ends with one download.
pub(in crate::web2005) static STATES: [ChainState; 7] = [
    state(0, &[(1, 0.25), (2, 0.75)]),
    state(1, &[(3, 0.5), (1, 0.5)]),
    state(2, &[(3, 0.75), (1, 0.25)]),
    state(3, &[(4, 0.8), (2, 0.2)]),
    state(4, &[(5, 0.6), (3, 0.4)]),
    state(
        5,
        &[(6, 0.5), (4, 0.2), (3, 0.05), (2, 0.05), (1, 0.1), (0, 0.1)],
    ),
    state(6, &[]),
];
