//! Page types and walk of `banking`.

use super::{ChainState, PageKind, PageType, file, page, secure, state};

/// Page types, in the order of the published tables. A check image is one request and no more.
pub(in crate::web2005) static PAGES: [PageType; 16] = [
    secure(page("login", [35_258, 35_235, 35_242])),
    secure(page("account_summary", [28_656, 28_650, 28_652])),
    secure(page("check_detail_html", [25_570, 25_575, 25_577])),
    secure(page("bill_pay", [26_781, 26_784, 26_781])),
    secure(page("add_payee", [27_567, 27_557, 27_559])),
    secure(page("payee_info", [45_246, 45_240, 45_251])),
    secure(page("quick_pay", [34_785, 34_787, 34_787])),
    secure(page("billpay_status", [34_319, 34_332, 34_331])),
    secure(page("chg_profile", [44_431, 44_444, 44_444])),
    secure(page("post_profile", [37_741, 37_770, 37_761])),
    secure(page("req_checks", [89_773, 89_759, 89_771])),
    secure(page("post_chk_order", [34_343, 34_349, 34_352])),
    secure(page("req_xfer_form", [23_371, 23_347, 23_356])),
    secure(page("post_fund_xfer", [25_716, 25_721, 25_718])),
    secure(page("logout", [75_757, 75_791, 75_757])),
    secure(file(
        page("check_image", [10_701, 10_702, 10_698]),
        PageKind::Image,
    )),
];

/// The walk (fixed property of the benchmark of 2005). What is missing of 1 is a timeout; the
/// states 15 and 16 are the two sides of a check, of one page type.
pub(in crate::web2005) static STATES: [ChainState; 17] = [
    state(0, &[(1, 0.32), (3, 0.32), (12, 0.08), (14, 0.08)]),
    state(1, &[(2, 0.56), (10, 0.08), (8, 0.08), (14, 0.08)]),
    state(2, &[(15, 1.0)]),
    state(3, &[(4, 0.08), (6, 0.48), (7, 0.16), (14, 0.08)]),
    state(4, &[(5, 0.72), (14, 0.08)]),
    state(5, &[(3, 0.72), (14, 0.08)]),
    state(6, &[(3, 0.72), (14, 0.08)]),
    state(7, &[(3, 0.72), (14, 0.08)]),
    state(8, &[(9, 0.72), (14, 0.08)]),
    state(9, &[(1, 0.72), (14, 0.08)]),
    state(10, &[(11, 0.72), (14, 0.08)]),
    state(11, &[(1, 0.72), (14, 0.08)]),
    state(12, &[(13, 0.72), (14, 0.08)]),
    state(13, &[(1, 0.72), (14, 0.08)]),
    state(14, &[]),
    state(15, &[(16, 1.0)]),
    state(15, &[(1, 0.72), (14, 0.08)]),
];

/// The state in which the back of a check is loaded; the front is the one before.
pub(in crate::web2005) const BACK_OF_CHECK: usize = 16;
