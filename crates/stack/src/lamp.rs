//! The LAMP stack: Linux, Apache, MariaDB and PHP from distribution packages, in every guest.

mod audit;
pub mod cms;
pub(crate) mod config;
mod effective;
mod load;
pub mod pages;
pub mod schema;
pub(crate) mod software;
pub mod sql;
pub(crate) mod warm;
pub mod web2005;

pub use audit::{AuditError, audit};
pub use cms::drupal::SiteError;
pub(crate) use config::EncryptedPort;
pub use config::{
    DIRECTORY, HEALTH_PATH, Options, PORT, Servers, WebServer, builder, guest, initialise, loading,
};
pub use effective::{PATHS as READ_BACK_PATHS, ReadBack};
pub use load::{LoadError, load, settle};
pub use schema::SETTINGS as SCHEMA_SETTINGS;
pub use software::{LampError, PhpVersion, Software};
pub use warm::{Warmed, warm};

use crate::tuning::{Component, Setting, Tuned};
