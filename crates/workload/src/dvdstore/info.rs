//! DVD Store as data: operations, unit of work, metrics.

use crate::{
    Clients, DriverRole, Metric, MixShare, OperationInfo, OperationRole, UnitOfWork, WorkloadInfo,
};

/// Name of the operation that stands for the whole order; it consists of the pages of the order and
/// is no request of its own.
pub const ORDER: &str = "order";

/// DVD Store.
pub static INFO: WorkloadInfo = WorkloadInfo {
    name: "dvdstore",
    title: "DVD Store",
    operations: &OPERATIONS,
    unit: UnitOfWork {
        singular: "order",
        plural: "orders",
        rate: "orders/min",
    },
    times: "An order is the sum of its requests, without think time.",
    clients: Clients {
        singular: "user",
        plural: "users",
    },
    metrics: &METRICS,
    headline: "opm",
    driver: DriverRole::Observer,
    own_checks: None,
};

const OPERATIONS: [OperationInfo; 5] = [
    OperationInfo::part("login"),
    OperationInfo::part("new-customer"),
    OperationInfo::part("browse"),
    OperationInfo::part("purchase"),
    OperationInfo {
        name: ORDER,
        role: OperationRole::Whole,
    },
];

/// How often orders are meant to begin with a login and with a new customer, which are a share of
/// all, 0 to 1. Searches are in no mix: a login that fails has none.
#[must_use]
pub fn opening_shares(new_customers: f64) -> Vec<MixShare> {
    vec![
        MixShare::new("login", 1.0 - new_customers),
        MixShare::new("new-customer", new_customers),
    ]
}

/// What its counters yield, under the original driver's names.
pub(super) static METRICS: [Metric; 17] = [
    Metric::higher("opm", "orders/min", "Orders per minute over the window."),
    Metric::neither(
        "n_overall",
        "orders",
        "Orders completed in the window, including rolled-back ones.",
    ),
    Metric::lower(
        "rt_tot_avg_msec",
        "ms",
        "Mean time of an order without think time.",
    ),
    Metric::lower(
        "rt_tot_lastn_max_msec",
        "ms",
        "Largest order time of the last 100 orders.",
    ),
    Metric::neither(
        "n_rollbacks_overall",
        "orders",
        "Purchases answered \"insufficient stock\" in the window.",
    ),
    Metric::neither(
        "rollback_rate",
        "%",
        "Share of the orders of the window that were rolled back.",
    ),
    Metric::neither("n_login_overall", "logins", "Logins in the window."),
    Metric::neither(
        "n_newcust_overall",
        "customers",
        "New customers in the window.",
    ),
    Metric::neither("n_browse_overall", "searches", "Searches in the window."),
    Metric::neither(
        "n_purchase_overall",
        "purchases",
        "Purchases in the window.",
    ),
    Metric::lower("rt_login_avg_msec", "ms", "Mean time of a login."),
    Metric::lower(
        "rt_newcust_avg_msec",
        "ms",
        "Mean time of the registration of a new customer.",
    ),
    Metric::lower("rt_browse_avg_msec", "ms", "Mean time of a search."),
    Metric::lower("rt_purchase_avg_msec", "ms", "Mean time of a purchase."),
    Metric::neither(
        "n_purchase_from_start",
        "purchases",
        "Purchases acknowledged over the whole trial.",
    ),
    Metric::neither(
        "n_rollbacks_from_start",
        "purchases",
        "Of the purchases of the whole trial, those that were rolled back.",
    ),
    Metric::lower(
        "n_purchase_unanswered",
        "purchases",
        "Purchases that were sent, but whose outcome no answer told.",
    ),
];
