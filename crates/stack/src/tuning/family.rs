//! The stacks that have tunings of their own.

use super::Component;

/// A stack whose guests are tuned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Apache, PHP and MariaDB.
    Lamp,
    /// MariaDB alone.
    Mariadb,
    /// PostgreSQL alone.
    Postgresql,
}

/// Name and text of every file of a family.
type Files = &'static [(&'static str, &'static str)];

const LAMP: Files = &[
    (
        "stock",
        include_str!("../../../../stacks/lamp/tunings/stock.toml"),
    ),
    (
        "pureflex",
        include_str!("../../../../stacks/lamp/tunings/pureflex.toml"),
    ),
    (
        "sun2009",
        include_str!("../../../../stacks/lamp/tunings/sun2009.toml"),
    ),
    (
        "modern",
        include_str!("../../../../stacks/lamp/tunings/modern.toml"),
    ),
];
const MARIADB: Files = &[
    (
        "stock",
        include_str!("../../../../stacks/database/mariadb/stock.toml"),
    ),
    (
        "rhev",
        include_str!("../../../../stacks/database/mariadb/rhev.toml"),
    ),
    (
        "modern",
        include_str!("../../../../stacks/database/mariadb/modern.toml"),
    ),
];
const POSTGRESQL: Files = &[
    (
        "stock",
        include_str!("../../../../stacks/database/postgresql/stock.toml"),
    ),
    (
        "rhev",
        include_str!("../../../../stacks/database/postgresql/rhev.toml"),
    ),
    (
        "modern",
        include_str!("../../../../stacks/database/postgresql/modern.toml"),
    ),
];

impl Family {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Lamp, Self::Mariadb, Self::Postgresql];

    /// Names of the tunings that come with Rookery.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        self.files().iter().map(|(name, _)| *name).collect()
    }

    pub(super) fn files(self) -> Files {
        match self {
            Self::Lamp => LAMP,
            Self::Mariadb => MARIADB,
            Self::Postgresql => POSTGRESQL,
        }
    }

    /// What a study may set.
    pub(super) fn components(self) -> &'static [Component] {
        match self {
            Self::Lamp => &[
                Component::Mariadb,
                Component::Apache,
                Component::Php,
                Component::Pages,
            ],
            Self::Mariadb => &[Component::Mariadb],
            Self::Postgresql => &[Component::Postgresql],
        }
    }
}
