//! How users of workloads as data load pages: several connections, encrypted or not, with a cache,
//! compressed bodies and redirects.

pub(crate) mod address;
pub(crate) mod answer;
pub(crate) mod cache;
pub(crate) mod line;
pub(crate) mod rate;
pub(crate) mod tls;
