//! The three workloads as data: operations, unit of work, metrics.

use crate::{Clients, DriverRole, Metric, OperationInfo, OperationRole, UnitOfWork, WorkloadInfo};

/// Any page, with all that is loaded behind it.
pub const PAGE: &str = "page";

const WHOLE: OperationInfo = OperationInfo {
    name: PAGE,
    role: OperationRole::Whole,
};

/// `banking`.
pub static BANKING: WorkloadInfo = WorkloadInfo {
    name: "web-banking",
    title: "Web banking",
    operations: &BANKING_OPERATIONS,
    ..COMMON
};

/// `ecommerce`.
pub static ECOMMERCE: WorkloadInfo = WorkloadInfo {
    name: "web-ecommerce",
    title: "Web e-commerce",
    operations: &ECOMMERCE_OPERATIONS,
    ..COMMON
};

/// `support`.
pub static SUPPORT: WorkloadInfo = WorkloadInfo {
    name: "web-support",
    title: "Web support",
    operations: &SUPPORT_OPERATIONS,
    ..COMMON
};

const COMMON: WorkloadInfo = WorkloadInfo {
    name: "",
    title: "",
    operations: &[],
    unit: UnitOfWork {
        singular: "page",
        plural: "pages",
        rate: "pages/min",
    },
    times: "The time of a page runs from its dynamic request to the last byte of its last embedded \
            file, connecting included.",
    clients: Clients {
        singular: "user",
        plural: "users",
    },
    metrics: &METRICS,
    headline: "pages_per_minute",
    driver: DriverRole::Observer,
    own_checks: Some(
        "which page followed which against the chain of the workload (chi-square at 0.1 %, two \
         percentage points)",
    ),
};

/// The whole page, then one operation for each page type.
const fn operations<const N: usize>(names: [&'static str; N]) -> [OperationInfo; N] {
    let mut out = [WHOLE; N];
    let mut place = 1;
    while place < N {
        out[place] = OperationInfo::part(names[place]);
        place += 1;
    }
    out
}

static BANKING_OPERATIONS: [OperationInfo; 17] = operations([
    PAGE,
    "login",
    "account_summary",
    "check_detail_html",
    "bill_pay",
    "add_payee",
    "payee_info",
    "quick_pay",
    "billpay_status",
    "chg_profile",
    "post_profile",
    "req_checks",
    "post_chk_order",
    "req_xfer_form",
    "post_fund_xfer",
    "logout",
    "check_image",
]);

static ECOMMERCE_OPERATIONS: [OperationInfo; 14] = operations([
    PAGE,
    "index",
    "search",
    "browse",
    "browse_productline",
    "productdetail",
    "customize1",
    "customize2",
    "customize3",
    "cart",
    "login",
    "shipping",
    "billing",
    "confirm",
]);

static SUPPORT_OPERATIONS: [OperationInfo; 8] = operations([
    PAGE,
    "home",
    "search",
    "catalog",
    "product",
    "fileCatalog",
    "file",
    "download",
]);

/// What the counters yield, in this order.
pub(super) static METRICS: [Metric; 18] = [
    Metric::higher(
        "pages_per_minute",
        "pages/min",
        "Pages that were answered as they should be, per minute of the window.",
    ),
    Metric::higher(
        "good_pct",
        "%",
        "Pages of the window within the time of a good page, of all.",
    ),
    Metric::higher(
        "tolerable_pct",
        "%",
        "Pages of the window within the time of a tolerable page, good ones included, of all.",
    ),
    Metric::lower(
        "fail_pct",
        "%",
        "Pages of the window that were later than that, or without a whole answer, of all.",
    ),
    Metric::lower(
        "validation_error_pct",
        "%",
        "Pages of the window whose answer was not what it must be, of all.",
    ),
    Metric::lower(
        "mean_response_ms",
        "ms",
        "Mean time of a page of the window.",
    ),
    Metric::neither(
        "bytes_per_page",
        "bytes",
        "Mean bytes of a page of the window, embedded files and heads of answers included.",
    ),
    Metric::higher(
        "weighted_abr",
        "bytes/s",
        "Bytes of all pages of the window by the time of all of them.",
    ),
    Metric::higher(
        "received_mib_per_s",
        "MiB/s",
        "What all users received in the window.",
    ),
    Metric::neither(
        "objects",
        "",
        "Embedded files that were loaded in the window, those that had not changed included.",
    ),
    Metric::neither(
        "not_modified_pct",
        "%",
        "Embedded files that had not changed, of all.",
    ),
    Metric::neither(
        "cached_objects",
        "",
        "Embedded files of the window that users had in their cache and did not ask for (profile \
         `modern`).",
    ),
    Metric::neither(
        "content_bytes_per_page",
        "bytes",
        "Mean content of a page of the window after decompression, embedded files included, \
         without heads (profile `modern`).",
    ),
    Metric::lower(
        "mean_first_byte_ms",
        "ms",
        "Mean time to the first byte of a page of the window (profile `modern`).",
    ),
    Metric::lower(
        "late_first_byte_pct",
        "%",
        "Pages of the window whose first byte came after more than 500 ms, of those that were \
         answered as they should be (profile `modern`).",
    ),
    Metric::neither("sessions", "", "Sessions that ended in the window."),
    Metric::neither(
        "sessions_left",
        "",
        "Of them, those whose user left without an end: the server has to let them expire.",
    ),
    Metric::higher(
        "offered_pct",
        "%",
        "Pages of the window, of those that so many sessions ask for at this response time.",
    ),
];

#[cfg(test)]
mod tests {
    use crate::web2005::Model;

    #[test]
    fn every_page_type_is_an_operation_behind_the_whole_page() {
        for model in Model::ALL {
            let info = model.kind().info();
            let pages = model.pages().iter().map(|page| page.name);
            let names: Vec<&str> = std::iter::once(super::PAGE).chain(pages).collect();
            let operations = info.operations.iter().map(|operation| operation.name);
            assert_eq!(operations.collect::<Vec<_>>(), names);
            assert_eq!(info.main_operation(), super::PAGE);
        }
    }
}
