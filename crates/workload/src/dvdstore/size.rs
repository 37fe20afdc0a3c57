//! Nominal database sizes and the row counts that follow from them.

use std::{fmt, str::FromStr};

use rookery_diagnosis::Diagnosis;
use serde::{Deserialize, Serialize};

/// A nominal database size. `S`, `M` and `L` are 10 MB, 1 GB and 100 GB.
///
/// The name is nominal: 100 MB is about 70 MB of load files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Size {
    /// 1 to 1023 megabytes.
    Mb(u32),
    /// 1 to 1023 gigabytes.
    Gb(u32),
}

/// Row counts of one database size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rows {
    /// Customers; ids are `1..=customers`.
    pub customers: u64,
    /// Orders of each of the twelve months.
    pub orders_per_month: u64,
    /// Products; also the rows of the inventory.
    pub products: u64,
}

impl Size {
    /// The row counts of this size.
    ///
    /// Source: the size table of the DVD Store 2.1 kit; products of a ratio are truncated to
    /// integers.
    ///
    /// ```
    /// use rookery_workload::dvdstore::Size;
    /// let rows = Size::Mb(10).rows();
    /// assert_eq!((rows.customers, rows.orders_per_month, rows.products), (20_000, 1_000, 10_000));
    /// ```
    #[must_use]
    pub fn rows(self) -> Rows {
        let scaled = |base: u64, by: u32, divisor: u64| base * u64::from(by) / divisor;
        match self {
            Self::Mb(mb) => Rows {
                customers: scaled(20_000, mb, 10),
                orders_per_month: scaled(1_000, mb, 10),
                products: scaled(10_000, mb, 10),
            },
            Self::Gb(1) => Rows {
                customers: 2_000_000,
                orders_per_month: 100_000,
                products: 100_000,
            },
            Self::Gb(gb) => Rows {
                customers: scaled(200_000_000, gb, 100),
                orders_per_month: scaled(10_000_000, gb, 100),
                products: scaled(1_000_000, gb, 100),
            },
        }
    }

    /// The nominal size in megabytes (1 GB = 1024 MB).
    #[must_use]
    pub fn megabytes(self) -> u64 {
        match self {
            Self::Mb(mb) => u64::from(mb),
            Self::Gb(gb) => u64::from(gb) * 1024,
        }
    }
}

impl Rows {
    /// Orders of the whole year.
    #[must_use]
    pub fn orders(self) -> u64 {
        12 * self.orders_per_month
    }
}

/// A size that is not one of `S`, `M`, `L`, `<1..1023>MB` or `<1..1023>GB`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a database size")]
pub struct ParseSizeError(pub String);

impl Diagnosis for ParseSizeError {
    fn code(&self) -> &'static str {
        "workload::size"
    }

    fn help(&self) -> Option<String> {
        Some(
            "write S, M, L, or a whole number from 1 to 1023 with MB or GB, such as 10MB"
                .to_owned(),
        )
    }
}

impl FromStr for Size {
    type Err = ParseSizeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let upper = text.trim().to_ascii_uppercase();
        let error = || ParseSizeError(text.to_owned());
        let number = |digits: &str| match digits.trim().parse::<u32>() {
            Ok(n @ 1..=1023) => Ok(n),
            _ => Err(error()),
        };
        match upper.as_str() {
            "S" => Ok(Self::Mb(10)),
            "M" => Ok(Self::Gb(1)),
            "L" => Ok(Self::Gb(100)),
            other => match (other.strip_suffix("MB"), other.strip_suffix("GB")) {
                (Some(digits), _) => number(digits).map(Self::Mb),
                (_, Some(digits)) => number(digits).map(Self::Gb),
                _ => Err(error()),
            },
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mb(mb) => write!(f, "{mb}MB"),
            Self::Gb(gb) => write!(f, "{gb}GB"),
        }
    }
}

impl TryFrom<String> for Size {
    type Error = ParseSizeError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Size> for String {
    fn from(size: Size) -> Self {
        size.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_the_table_of_the_kit() {
        let rows = |text: &str| text.parse::<Size>().expect("a valid size").rows();
        assert_eq!(rows("999MB").products, 999_000);
        assert_eq!(rows("1GB").products, 100_000);
        assert_eq!(rows("2GB").products, 20_000);
        assert_eq!(rows("10GB").customers, 20_000_000);
        assert_eq!(rows("10GB").orders(), 12_000_000);
        assert_eq!(rows("S"), rows("10mb"));
    }

    #[test]
    fn impossible_sizes_are_refused() {
        for text in ["", "0MB", "1024MB", "10", "10TB", "-1GB", "1.5GB", "MB"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }
}
