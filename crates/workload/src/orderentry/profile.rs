//! The settings of the workload, and the profiles that preset them.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{
    ddl::SchemaOptions,
    dialect::{Dialect, Isolation, ParseNameError},
    figures::{ResponseLimits, SEED_LIMITS_MS, SPEC_LIMITS_MS},
    scale::{MINI_DIVISOR, Scale, ScaleError},
    sql::Style,
    terminal::{Binding, Mix, Pacing},
};

/// A preset of all settings; every setting of a study overrides it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// The rules of the benchmark that the workload follows: ten terminals per warehouse, with
    /// pauses.
    Spec,
    /// No pauses, any number of clients.
    #[default]
    Nothink,
    /// 6.5 GB of data, 8 clients per vCPU, no pauses.
    Seed001,
    /// No pauses, the buffer hit ratio is held.
    Seed003,
    /// A hundredth of a database, for tests. Its figures mean nothing.
    Mini,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 5] = [
        Self::Spec,
        Self::Nothink,
        Self::Seed001,
        Self::Seed003,
        Self::Mini,
    ];

    /// The name in studies.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Spec => "spec",
            Self::Nothink => "nothink",
            Self::Seed001 => "seed001",
            Self::Seed003 => "seed003",
            Self::Mini => "mini",
        }
    }

    /// What it presets.
    #[must_use]
    pub fn settings(self) -> Settings {
        let base = Settings {
            profile: self,
            size: DataSize::Warehouses(1),
            divisor: 1,
            clients: Clients::PerVcpu(8),
            binding: Binding::Uniform,
            mix: Mix::Deck,
            pacing: Pacing::None,
            statements: Style::Plain,
            isolation: Isolation::Default,
            delivery: DeliveryMode::Inline,
            foreign_keys: false,
            history_pk: true,
            max_retries: 10,
            hit_target: None,
            qos_p90_ms: SEED_LIMITS_MS,
            seed: 42,
        };
        match self {
            Self::Spec => Settings {
                clients: Clients::PerWarehouse(10),
                binding: Binding::Fixed,
                pacing: Pacing::Spec,
                qos_p90_ms: SPEC_LIMITS_MS,
                ..base
            },
            Self::Nothink => Settings {
                clients: Clients::Count(8),
                ..base
            },
            Self::Seed001 => Settings {
                size: DataSize::Bytes(6_500_000_000),
                ..base
            },
            Self::Seed003 => Settings {
                hit_target: Some(HitTarget(0.80)),
                ..base
            },
            Self::Mini => Settings {
                divisor: MINI_DIVISOR,
                clients: Clients::Count(4),
                ..base
            },
        }
    }
}

impl FromStr for Profile {
    type Err = ParseNameError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|profile| profile.name() == name)
            .ok_or(ParseNameError {
                what: "profile",
                name: name.to_owned(),
                choices: "spec, nothink, seed001, seed003 or mini",
            })
    }
}

/// How deliveries are executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryMode {
    /// By the client, like every other transaction.
    #[default]
    Inline,
    /// By a worker behind a queue; the client waits for the queue alone.
    Deferred,
}

/// How large the database is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DataSize {
    /// As many warehouses as come closest to so many bytes on the target.
    Bytes(u64),
    /// So many warehouses.
    Warehouses(u32),
}

/// How many clients there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Clients {
    /// So many.
    Count(u32),
    /// So many for each vCPU of a guest.
    PerVcpu(u32),
    /// So many for each warehouse.
    PerWarehouse(u32),
}

/// Not a number of clients.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "clients = \"{0}\": write a whole number above 0, alone or with `per vcpu` or `per warehouse`"
)]
pub struct ParseClientsError(String);

impl Clients {
    /// The number for a guest of `vcpus` and a database of `warehouses`.
    #[must_use]
    pub fn count(self, vcpus: u32, warehouses: u32) -> u32 {
        match self {
            Self::Count(count) => count,
            Self::PerVcpu(each) => each.saturating_mul(vcpus),
            Self::PerWarehouse(each) => each.saturating_mul(warehouses),
        }
    }
}

impl FromStr for Clients {
    type Err = ParseClientsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refuse = || ParseClientsError(text.to_owned());
        let (number, unit) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        let number = number
            .parse()
            .ok()
            .filter(|&number| number > 0)
            .ok_or_else(refuse)?;
        match unit.trim() {
            "" => Ok(Self::Count(number)),
            "per vcpu" => Ok(Self::PerVcpu(number)),
            "per warehouse" => Ok(Self::PerWarehouse(number)),
            _ => Err(refuse()),
        }
    }
}

impl TryFrom<String> for Clients {
    type Error = ParseClientsError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Clients> for String {
    fn from(clients: Clients) -> Self {
        clients.to_string()
    }
}

impl fmt::Display for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::PerVcpu(count) => write!(f, "{count} per vcpu"),
            Self::PerWarehouse(count) => write!(f, "{count} per warehouse"),
        }
    }
}

/// The buffer hit ratio that is to be held, above 0 and below 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64")]
pub struct HitTarget(f64);

/// Not a hit ratio.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("hit_target = {0}: write a share above 0 and below 1, or \">0.9\"")]
pub struct ParseHitTargetError(String);

impl HitTarget {
    /// The ratio.
    #[must_use]
    pub fn ratio(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for HitTarget {
    type Error = ParseHitTargetError;

    fn try_from(ratio: f64) -> Result<Self, Self::Error> {
        if ratio > 0.0 && ratio < 1.0 {
            Ok(Self(ratio))
        } else {
            Err(ParseHitTargetError(ratio.to_string()))
        }
    }
}

impl FromStr for HitTarget {
    type Err = ParseHitTargetError;

    /// A bound such as `>0.9` means the middle between it and 1.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (bound, number) = match text.trim().strip_prefix('>') {
            Some(number) => (true, number),
            None => (false, text),
        };
        let ratio: f64 = number
            .trim()
            .parse()
            .map_err(|_| ParseHitTargetError(text.to_owned()))?;
        Self::try_from(ratio)?;
        Self::try_from(if bound { (1.0 + ratio) / 2.0 } else { ratio })
    }
}

/// Every setting of the workload, as in force.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The profile behind them.
    pub profile: Profile,
    /// How large the database is.
    pub size: DataSize,
    /// Divisor of a test database, 1 for a whole one.
    pub divisor: u32,
    /// How many clients there are.
    pub clients: Clients,
    /// Which warehouse a client works for.
    pub binding: Binding,
    /// How often each transaction comes.
    pub mix: Mix,
    /// How clients pause.
    pub pacing: Pacing,
    /// How steps become statements.
    pub statements: Style,
    /// The isolation level that is asked for.
    pub isolation: Isolation,
    /// How deliveries are executed.
    pub delivery: DeliveryMode,
    /// Whether references are declared.
    pub foreign_keys: bool,
    /// Whether payments have a key.
    pub history_pk: bool,
    /// Retries of a transaction at most.
    pub max_retries: u32,
    /// The buffer hit ratio to hold.
    pub hit_target: Option<HitTarget>,
    /// Limits of the 90th percentile of response times in milliseconds.
    pub qos_p90_ms: ResponseLimits,
    /// Seed of every random stream.
    pub seed: u64,
}

impl Settings {
    /// The size of the database on `dialect`.
    ///
    /// # Errors
    /// When warehouses or divisor are out of their range.
    pub fn scale(&self, dialect: Dialect) -> Result<Scale, ScaleError> {
        let warehouses = match self.size {
            DataSize::Bytes(bytes) => Scale::for_bytes(bytes, dialect).warehouses(),
            DataSize::Warehouses(warehouses) => warehouses,
        };
        Scale::new(warehouses, self.divisor)
    }

    /// The options of the schema.
    #[must_use]
    pub fn schema(&self) -> SchemaOptions {
        SchemaOptions {
            foreign_keys: self.foreign_keys,
            history_key: self.history_pk,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_read_and_written_alike() {
        for (text, clients) in [
            ("16", Clients::Count(16)),
            ("8 per vcpu", Clients::PerVcpu(8)),
            ("10 per warehouse", Clients::PerWarehouse(10)),
        ] {
            assert_eq!(text.parse(), Ok(clients));
            assert_eq!(clients.to_string(), text);
        }
        for text in ["", "0", "-1", "8 per cpu", "many", "1.5 per vcpu"] {
            assert!(text.parse::<Clients>().is_err(), "{text}");
        }
        assert_eq!(Clients::PerVcpu(8).count(4, 75), 32);
        assert_eq!(Clients::PerWarehouse(10).count(4, 75), 750);
    }

    #[test]
    fn a_bound_of_the_hit_ratio_is_halved() {
        let ratio = |text: &str| {
            text.parse::<HitTarget>()
                .ok()
                .map(|target| (target.ratio() * 1000.0).round())
        };
        assert_eq!(ratio("0.80"), Some(800.0));
        assert_eq!(ratio(">0.9"), Some(950.0));
        for text in ["0", "1", ">1", "80 %", "nan", ">-1"] {
            assert_eq!(ratio(text), None, "{text}");
        }
    }

    #[test]
    fn profiles_leave_the_yardstick_where_they_say() {
        let spec = Profile::Spec.settings();
        assert_eq!(
            (spec.binding, spec.pacing, spec.clients),
            (Binding::Fixed, Pacing::Spec, Clients::PerWarehouse(10))
        );
        let seed = Profile::Seed001.settings();
        assert_eq!(
            (seed.binding, seed.pacing, seed.clients),
            (Binding::Uniform, Pacing::None, Clients::PerVcpu(8))
        );
        assert_eq!(seed.scale(Dialect::Mariadb).map(Scale::warehouses), Ok(77));
        assert_eq!(
            Profile::Seed003.settings().hit_target,
            Some(HitTarget(0.80))
        );
        assert!(
            Profile::Mini
                .settings()
                .scale(Dialect::Sqlite)
                .is_ok_and(Scale::is_mini)
        );
        for profile in Profile::ALL {
            assert_eq!(profile.name().parse(), Ok(profile));
            assert_eq!(profile.settings().mix, Mix::Deck);
        }
    }
}
