//! The workloads: the one place of this crate that names all of them.
//!
//! A new workload has its room beside the others and a variant in each of
//! [`WorkloadKind`] and [`Counters`].

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    MetricValue, Proof, UnitRates, WorkloadInfo, WorkloadKind,
    cms::{self, CmsCounters},
    dvdstore::{self, ShopCounters},
    http::{self, HttpCounters},
    netstream::{self, NetstreamCounters},
    orderentry::{self, OrderEntryCounters},
    sample::{self, SampleCounters},
    sql::{self, SqlCounters},
    web2005::{self, Model, Web2005Counters},
};

impl WorkloadKind {
    /// Every workload.
    pub const ALL: [Self; 10] = [
        Self::Dvdstore,
        Self::Orderentry,
        Self::Http,
        Self::Sql,
        Self::WebBanking,
        Self::WebEcommerce,
        Self::WebSupport,
        Self::Cms,
        Self::Netstream,
        Self::Sample,
    ];

    /// What generic code needs to know of it.
    #[must_use]
    pub fn info(self) -> &'static WorkloadInfo {
        match self {
            Self::Dvdstore => &dvdstore::INFO,
            Self::Orderentry => &orderentry::INFO,
            Self::Http => &http::INFO,
            Self::Sql => &sql::INFO,
            Self::WebBanking => &web2005::BANKING,
            Self::WebEcommerce => &web2005::ECOMMERCE,
            Self::WebSupport => &web2005::SUPPORT,
            Self::Cms => &cms::INFO,
            Self::Netstream => &netstream::INFO,
            Self::Sample => &sample::INFO,
        }
    }

    /// The name in study files and stored runs.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.info().name
    }
}

/// What a workload counts beside the times of its operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "workload", rename_all = "kebab-case")]
pub enum Counters {
    /// Those of DVD Store.
    Dvdstore(ShopCounters),
    /// Those of order entry.
    Orderentry(OrderEntryCounters),
    /// Those of a web workload as data.
    Http(HttpCounters),
    /// Those of a database workload as data.
    Sql(SqlCounters),
    /// Those of a bank on line.
    WebBanking(Web2005Counters),
    /// Those of a shop on line.
    WebEcommerce(Web2005Counters),
    /// Those of downloads.
    WebSupport(Web2005Counters),
    /// Those of content management.
    Cms(CmsCounters),
    /// Those of bytes back and forth.
    Netstream(NetstreamCounters),
    /// Those of the sample workload.
    Sample(SampleCounters),
}

/// Counters of different workloads cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("counters of {} and {} cannot be added", .0.name(), .1.name())]
pub struct DifferentWorkloads(pub WorkloadKind, pub WorkloadKind);

impl Counters {
    /// Those of a workload that counted nothing.
    #[must_use]
    pub fn empty(kind: WorkloadKind) -> Self {
        match kind {
            WorkloadKind::Dvdstore => Self::Dvdstore(ShopCounters::default()),
            WorkloadKind::Orderentry => Self::Orderentry(OrderEntryCounters::default()),
            WorkloadKind::Http => Self::Http(HttpCounters::default()),
            WorkloadKind::Sql => Self::Sql(SqlCounters::default()),
            WorkloadKind::WebBanking => Web2005Counters::new(Model::Banking).into(),
            WorkloadKind::WebEcommerce => Web2005Counters::new(Model::Ecommerce).into(),
            WorkloadKind::WebSupport => Web2005Counters::new(Model::Support).into(),
            WorkloadKind::Cms => Self::Cms(CmsCounters::default()),
            WorkloadKind::Netstream => Self::Netstream(NetstreamCounters::default()),
            WorkloadKind::Sample => Self::Sample(SampleCounters::default()),
        }
    }

    /// Whose counters they are.
    #[must_use]
    pub fn kind(&self) -> WorkloadKind {
        match self {
            Self::Dvdstore(_) => WorkloadKind::Dvdstore,
            Self::Orderentry(_) => WorkloadKind::Orderentry,
            Self::Http(_) => WorkloadKind::Http,
            Self::Sql(_) => WorkloadKind::Sql,
            Self::WebBanking(_) => WorkloadKind::WebBanking,
            Self::WebEcommerce(_) => WorkloadKind::WebEcommerce,
            Self::WebSupport(_) => WorkloadKind::WebSupport,
            Self::Cms(_) => WorkloadKind::Cms,
            Self::Netstream(_) => WorkloadKind::Netstream,
            Self::Sample(_) => WorkloadKind::Sample,
        }
    }

    /// Those of the DVD Store, where they are that.
    #[must_use]
    pub fn dvdstore(&self) -> Option<&ShopCounters> {
        match self {
            Self::Dvdstore(counters) => Some(counters),
            _ => None,
        }
    }

    /// Those of order entry, where they are that.
    #[must_use]
    pub fn orderentry(&self) -> Option<&OrderEntryCounters> {
        match self {
            Self::Orderentry(counters) => Some(counters),
            _ => None,
        }
    }

    /// See [`Counters::orderentry`].
    #[must_use]
    pub fn orderentry_mut(&mut self) -> Option<&mut OrderEntryCounters> {
        match self {
            Self::Orderentry(counters) => Some(counters),
            _ => None,
        }
    }

    /// Those of bytes back and forth, where they are that.
    #[must_use]
    pub fn netstream(&self) -> Option<&NetstreamCounters> {
        match self {
            Self::Netstream(counters) => Some(counters),
            _ => None,
        }
    }

    /// The same, to be added to.
    #[must_use]
    pub fn netstream_mut(&mut self) -> Option<&mut NetstreamCounters> {
        match self {
            Self::Netstream(counters) => Some(counters),
            _ => None,
        }
    }

    /// Those of the sample workload, where they are that.
    #[must_use]
    pub fn sample(&self) -> Option<&SampleCounters> {
        match self {
            Self::Sample(counters) => Some(counters),
            _ => None,
        }
    }

    /// Every metric that has a value, in the order of [`WorkloadInfo::metrics`].
    #[must_use]
    pub fn metrics(&self) -> Vec<MetricValue> {
        match self {
            Self::Dvdstore(counters) => counters.metrics(),
            Self::Orderentry(counters) => counters.metrics(),
            Self::Http(counters) => counters.metrics(),
            Self::Sql(counters) => counters.metrics(),
            Self::WebBanking(counters)
            | Self::WebEcommerce(counters)
            | Self::WebSupport(counters) => counters.metrics(),
            Self::Cms(counters) => counters.metrics(),
            Self::Netstream(counters) => counters.metrics(),
            Self::Sample(counters) => counters.metrics(),
        }
    }

    /// What the server must hold after the load.
    #[must_use]
    pub fn proof(&self) -> Proof {
        match self {
            Self::Dvdstore(counters) => counters.proof(),
            Self::Orderentry(counters) => counters.proof(),
            Self::Http(counters) => counters.proof(),
            Self::Sql(counters) => counters.proof(),
            Self::WebBanking(counters)
            | Self::WebEcommerce(counters)
            | Self::WebSupport(counters) => counters.proof(),
            Self::Cms(counters) => counters.proof(),
            Self::Netstream(counters) => counters.proof(),
            Self::Sample(counters) => counters.proof(),
        }
    }

    /// Units of work and requests per minute of the window by the workload's own count; `None`
    /// where completions of the main operation are that count.
    #[must_use]
    pub fn unit_rates(&self) -> Option<UnitRates> {
        match self {
            Self::Dvdstore(_)
            | Self::Http(_)
            | Self::Sql(_)
            | Self::WebBanking(_)
            | Self::WebEcommerce(_)
            | Self::WebSupport(_)
            | Self::Cms(_) => None,
            Self::Orderentry(counters) => Some(counters.unit_rates()),
            Self::Netstream(counters) => Some(counters.unit_rates()),
            Self::Sample(counters) => Some(counters.unit_rates()),
        }
    }

    /// Units of work of the window that were rolled back, and all of them; `None` where that never
    /// happens.
    #[must_use]
    pub fn rollbacks(&self) -> Option<(u64, u64)> {
        match self {
            Self::Dvdstore(counters) => Some(counters.rollbacks()),
            Self::Orderentry(counters) => Some(counters.rollbacks()),
            Self::Http(_)
            | Self::Sql(_)
            | Self::WebBanking(_)
            | Self::WebEcommerce(_)
            | Self::WebSupport(_)
            | Self::Cms(_)
            | Self::Netstream(_)
            | Self::Sample(_) => None,
        }
    }

    /// The counters of all guests together; `None` without any, or of different workloads.
    #[must_use]
    pub fn together<'a>(guests: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let mut guests = guests.into_iter();
        let mut all = guests.next()?.clone();
        for counters in guests {
            all.merge(counters).ok()?;
        }
        Some(all)
    }

    /// Add what another guest counted in the same window: counts and rates are summed, means
    /// weighted by their counts, maxima taken.
    ///
    /// # Errors
    /// When the others are of another workload; nothing is added then.
    pub fn merge(&mut self, other: &Self) -> Result<(), DifferentWorkloads> {
        match (self, other) {
            (Self::Dvdstore(counters), Self::Dvdstore(other)) => counters.merge(other),
            (Self::Orderentry(counters), Self::Orderentry(other)) => counters.merge(other),
            (Self::Http(counters), Self::Http(other)) => counters.merge(other),
            (Self::Sql(counters), Self::Sql(other)) => counters.merge(other),
            (Self::WebBanking(counters), Self::WebBanking(other))
            | (Self::WebEcommerce(counters), Self::WebEcommerce(other))
            | (Self::WebSupport(counters), Self::WebSupport(other)) => counters.merge(other),
            (Self::Cms(counters), Self::Cms(other)) => counters.merge(other),
            (Self::Netstream(counters), Self::Netstream(other)) => counters.merge(other),
            (Self::Sample(counters), Self::Sample(other)) => counters.merge(other),
            (counters, other) => return Err(DifferentWorkloads(counters.kind(), other.kind())),
        }
        Ok(())
    }

    /// The value of a metric.
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<f64> {
        self.metrics()
            .into_iter()
            .find(|value| value.metric.name == name)
            .map(|value| value.value)
    }

    /// The metric that the workload is summed up by.
    #[must_use]
    pub fn headline(&self) -> Option<MetricValue> {
        let headline = self.kind().info().headline;
        self.metrics()
            .into_iter()
            .find(|value| value.metric.name == headline)
    }
}

impl HttpCounters {
    /// The counters of a guest, if they are those of this workload.
    #[must_use]
    pub fn from_counters(counters: &Counters) -> Option<&Self> {
        match counters {
            Counters::Http(counters) => Some(counters),
            _ => None,
        }
    }
}

impl SqlCounters {
    /// The counters of a guest, if they are those of this workload.
    #[must_use]
    pub fn from_counters(counters: &Counters) -> Option<&Self> {
        match counters {
            Counters::Sql(counters) => Some(counters),
            _ => None,
        }
    }
}

impl From<Web2005Counters> for Counters {
    fn from(counters: Web2005Counters) -> Self {
        match counters.model {
            Model::Banking => Self::WebBanking(counters),
            Model::Ecommerce => Self::WebEcommerce(counters),
            Model::Support => Self::WebSupport(counters),
        }
    }
}

impl Web2005Counters {
    /// The counters of a guest, if they are those of one of these workloads.
    #[must_use]
    pub fn from_counters(counters: &Counters) -> Option<&Self> {
        match counters {
            Counters::WebBanking(counters)
            | Counters::WebEcommerce(counters)
            | Counters::WebSupport(counters) => Some(counters),
            _ => None,
        }
    }
}

impl CmsCounters {
    /// The counters of a guest, if they are those of this workload.
    #[must_use]
    pub fn from_counters(counters: &Counters) -> Option<&Self> {
        match counters {
            Counters::Cms(counters) => Some(counters),
            _ => None,
        }
    }
}

impl SampleCounters {
    /// The counters of a guest, if they are those of this workload.
    #[must_use]
    pub fn from_counters(counters: &Counters) -> Option<&Self> {
        match counters {
            Counters::Sample(counters) => Some(counters),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OperationRole;

    #[test]
    fn every_workload_says_of_itself_what_generic_code_asks() {
        for kind in WorkloadKind::ALL {
            let info = kind.info();
            assert_eq!(
                serde_json::to_value(kind).expect("a name"),
                serde_json::Value::from(kind.name())
            );
            let same_name = WorkloadKind::ALL.map(|other| other.name() == kind.name());
            assert_eq!(same_name, WorkloadKind::ALL.map(|other| other == kind));
            let units = info
                .operations
                .iter()
                .filter(|operation| operation.role != OperationRole::Part);
            assert_eq!(units.count(), 1, "{}", info.name);
            assert!(info.metric(info.headline).is_some(), "{}", info.name);
            let mut names: Vec<&str> = info.metrics.iter().map(|metric| metric.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), info.metrics.len(), "names are unique");
            let empty = Counters::empty(kind);
            assert_eq!(empty.kind(), kind);
            assert!(empty.headline().is_some());
            let stored = serde_json::to_value(&empty).expect("plain numbers");
            assert_eq!(stored["workload"], kind.name());
            assert_eq!(
                serde_json::from_value::<Counters>(stored).expect("its own"),
                empty
            );
        }
    }

    #[test]
    fn counters_of_different_workloads_are_not_added() {
        let [mut shop, orders, ..] = WorkloadKind::ALL.map(Counters::empty);
        assert_eq!(
            shop.merge(&orders).expect_err("different").to_string(),
            "counters of dvdstore and orderentry cannot be added"
        );
    }
}
