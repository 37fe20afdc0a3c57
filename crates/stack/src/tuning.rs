//! Tunings of servers as data: named sets of settings, each with its reason.
//!
//! The sets are the files of `stacks/lamp/tunings` and `stacks/database`, a [`Family`] for each
//! stack. [`Tuned::evaluate`] evaluates one for the shape of a guest and lays single settings of a
//! study over it.

mod family;
mod file;
mod in_force;
mod known;
mod requested;
mod retired;
mod value;

use rookery_diagnosis::Diagnosis;
use std::fmt;

use rookery_study::Variables;
use serde::{Deserialize, Serialize};

use self::{
    file::{Entry, TuningFile},
    retired::retired,
    value::{Value, render},
};
use crate::lamp::WebServer;

pub use family::Family;
pub use in_force::Effective;
pub(crate) use in_force::{is_on, row};
pub(crate) use known::KnownSettings;
pub(crate) use requested::RequestedSettings;

/// What a setting belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Component {
    /// The database server of LAMP, and of order entry.
    Mariadb,
    /// The database server of order entry.
    Postgresql,
    /// The web server.
    Apache,
    /// PHP, and with names that begin with `pm` its FastCGI server.
    Php,
    /// The pages themselves.
    Pages,
}

/// What pages can be told; which of them, depends on the pages.
const SWITCHES: [&str; 7] = [
    "persistent",
    "anonymous_sessions",
    "page_cache",
    "block_cache",
    "compression",
    "aggregation",
    "login_limits",
];

impl Component {
    const ALL: [Self; 5] = [
        Self::Mariadb,
        Self::Postgresql,
        Self::Apache,
        Self::Php,
        Self::Pages,
    ];

    /// As it is written in keys.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mariadb => "mariadb",
            Self::Postgresql => "postgresql",
            Self::Apache => "apache",
            Self::Php => "php",
            Self::Pages => "pages",
        }
    }

    /// Whether `name` may be the name of a setting.
    fn takes(self, name: &str) -> bool {
        let all = |allowed: &dyn Fn(char) -> bool| {
            !name.is_empty() && name.len() <= 64 && name.chars().all(allowed)
        };
        match self {
            Self::Mariadb => all(&|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'),
            Self::Apache => all(&|c| c.is_ascii_alphanumeric()),
            Self::Php | Self::Postgresql => {
                all(&|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '.'))
            }
            Self::Pages => SWITCHES.contains(&name),
        }
    }

    /// Settings that Rookery itself makes, because guests could not live side by side otherwise.
    fn reserved(self) -> &'static [&'static str] {
        match self {
            Self::Mariadb => &[
                "basedir",
                "bind_address",
                "datadir",
                "init_file",
                "innodb_data_home_dir",
                "innodb_ft_enable_stopword",
                "innodb_ft_min_token_size",
                "innodb_log_group_home_dir",
                "lc_messages_dir",
                "log_error",
                "pid_file",
                "plugin_dir",
                "port",
                "skip_grant_tables",
                "skip_networking",
                "socket",
                "tmpdir",
                "user",
            ],
            Self::Postgresql => &[
                "config_file",
                "data_directory",
                "dynamic_shared_memory_type",
                "external_pid_file",
                "hba_file",
                "ident_file",
                "listen_addresses",
                "log_destination",
                "log_directory",
                "logging_collector",
                "port",
                "ssl",
                "unix_socket_directories",
                "unix_socket_permissions",
            ],
            Self::Apache => &[
                "defaultruntimedir",
                "documentroot",
                "errorlog",
                "group",
                "include",
                "includeoptional",
                "listen",
                "loadmodule",
                "pidfile",
                "scoreboardfile",
                "serverroot",
                "user",
            ],
            Self::Php => &[
                "auto_append_file",
                "auto_prepend_file",
                "error_log",
                "extension",
                "extension_dir",
                "opcache.lockfile_path",
                "zend_extension",
            ],
            Self::Pages => &[],
        }
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One setting that is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// What it belongs to.
    pub component: Component,
    /// Its name there.
    pub name: String,
    /// Its value as the component reads it.
    pub value: String,
    /// The formula that gave the value, if one did.
    pub formula: Option<String>,
    /// The web server for which alone it is meant.
    pub server: Option<WebServer>,
    /// The knob whose successor it is.
    pub former: Option<String>,
    /// Why this value.
    pub reason: String,
}

impl Setting {
    /// `component.name`, as studies write it.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}.{}", self.component, self.name)
    }

    fn is(&self, component: Component, name: &str) -> bool {
        self.component == component && self.name.eq_ignore_ascii_case(name)
    }
}

/// A knob of old that exists no more and has no successor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gone {
    /// What it belonged to.
    pub component: Component,
    /// Its name.
    pub former: String,
    /// What became of it.
    pub reason: String,
}

/// A tuning, evaluated for one guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tuned {
    /// Name of the tuning.
    pub name: String,
    /// What it is, in one line.
    pub title: String,
    /// The settings asked for, in order; those of the study last unless they replace one.
    pub settings: Vec<Setting>,
    /// Knobs that exist no more.
    pub gone: Vec<Gone>,
}

/// Why there is no such tuning.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TuningError {
    /// No tuning of this name.
    #[error("there is no tuning `{name}`")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<&'static str>,
    },
    /// A setting cannot be made.
    #[error("setting `{key}`: {what}")]
    Setting {
        /// Its key.
        key: String,
        /// What is wrong.
        what: String,
        /// What to write instead.
        help: String,
    },
    /// A file of tunings is wrong; those that come with Rookery never are.
    #[error("tuning `{name}` cannot be read: {what}")]
    File {
        /// Its name.
        name: String,
        /// What is wrong.
        what: String,
    },
}

impl Diagnosis for TuningError {
    fn code(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "tuning::unknown",
            Self::Setting { .. } => "tuning::setting",
            Self::File { .. } => "tuning::file",
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::Unknown { known, .. } => format!("use one of {}", known.join(", ")),
            Self::Setting { help, .. } => (*help).to_owned(),
            Self::File { .. } => "see the other files of stacks/lamp/tunings and stacks/database \
                                  for the form"
                .to_owned(),
        };
        Some(help)
    }
}

impl Tuned {
    /// The tuning `name` of a family for a guest, with the single settings of a study
    /// (`mariadb.innodb_buffer_pool_size`, `8MiB`) laid over it.
    ///
    /// A value is a formula where it reads as one; a single word otherwise; or any text between
    /// single quotes.
    ///
    /// # Errors
    /// When the tuning does not exist, or a setting of the study is malformed, reserved or no value
    /// for this guest.
    pub fn evaluate(
        family: Family,
        name: &str,
        overrides: &[(String, String)],
        variables: &Variables,
    ) -> Result<Self, TuningError> {
        let file = TuningFile::named(family, name)?;
        let (mut settings, mut gone) = (Vec::new(), Vec::new());
        for entry in file.settings {
            match entry.evaluated(family, variables)? {
                Entry::Setting(setting) => settings.push(setting),
                Entry::Gone(knob) => gone.push(knob),
            }
        }
        let mut tuned = Self {
            name: file.name,
            title: file.title,
            settings,
            gone,
        };
        for (key, value) in overrides {
            tuned.lay_over(own_setting(family, key, value, variables)?);
        }
        Ok(tuned)
    }

    /// Settings of one component, where there is no web server.
    pub fn component(&self, component: Component) -> impl Iterator<Item = &Setting> {
        self.settings
            .iter()
            .filter(move |setting| setting.component == component)
    }

    /// Settings of one component for one web server.
    pub fn of_component(
        &self,
        component: Component,
        server: WebServer,
    ) -> impl Iterator<Item = &Setting> {
        let fits = move |setting: &&Setting| {
            setting.component == component && setting.server.is_none_or(|only| only == server)
        };
        self.settings.iter().filter(fits)
    }

    /// Replace the settings of the same name, where the first of them stood.
    fn lay_over(&mut self, setting: Setting) {
        let same = |other: &Setting| other.is(setting.component, &setting.name);
        let place = self
            .settings
            .iter()
            .position(same)
            .unwrap_or(self.settings.len());
        self.settings.retain(|other| !same(other));
        self.settings.insert(place, setting);
    }
}

/// What `rookery plan` shows of a tuning: key, value, and the formula and reason.
#[must_use]
pub fn describe(tuned: &Tuned) -> Vec<[String; 3]> {
    let setting = |setting: &Setting| {
        let formula = setting
            .formula
            .as_ref()
            .map(|formula| format!("= {formula}; "))
            .unwrap_or_default();
        let former = setting
            .former
            .as_ref()
            .map(|former| format!(" (was {former})"))
            .unwrap_or_default();
        let server = setting
            .server
            .map(|server| format!(" [{server}]"))
            .unwrap_or_default();
        [
            format!("{}{server}", setting.key()),
            setting.value.clone(),
            format!("{formula}{}{former}", setting.reason),
        ]
    };
    let gone = |knob: &Gone| {
        [
            format!("{}.{}", knob.component, knob.former),
            "gone".to_owned(),
            knob.reason.clone(),
        ]
    };
    tuned
        .settings
        .iter()
        .map(setting)
        .chain(tuned.gone.iter().map(gone))
        .collect()
}

/// A single setting of a study.
fn own_setting(
    family: Family,
    key: &str,
    text: &str,
    variables: &Variables,
) -> Result<Setting, TuningError> {
    let (component, asked) = parse_key(family, key)?;
    let old = retired(component, &asked);
    let (name, former) = match old.map(|old| (old.successor, old.story)) {
        None => (asked, None),
        Some((Some(successor), _)) => (successor.to_owned(), Some(asked)),
        Some((None, story)) => {
            return Err(malformed(
                key,
                "does not exist any more",
                format!("leave it out; {story}"),
            ));
        }
    };
    let value = Value::of_study(text).map_err(|(what, help)| malformed(key, what, help))?;
    let formula = matches!(value, Value::Formula(_)).then(|| text.trim().to_owned());
    let value = render(component, &name, &value, variables)
        .map_err(|(what, help)| malformed(key, what, help))?;
    Ok(Setting {
        server: only_for(&name),
        component,
        name,
        formula: formula.filter(|formula| *formula != value),
        value,
        former,
        reason: old.map_or_else(
            || "set by the study".to_owned(),
            |old| format!("set by the study; {}", old.story),
        ),
    })
}

fn malformed(key: &str, what: impl Into<String>, help: impl Into<String>) -> TuningError {
    TuningError::Setting {
        key: key.to_owned(),
        what: what.into(),
        help: help.into(),
    }
}

/// Component and name of a key such as `mariadb.innodb_buffer_pool_size`.
fn parse_key(family: Family, key: &str) -> Result<(Component, String), TuningError> {
    let known = || {
        family
            .components()
            .iter()
            .map(|component| component.name())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let Some((component, name)) = key.split_once('.') else {
        return Err(malformed(
            key,
            "has no component",
            format!("write COMPONENT.NAME, with a component of {}", known()),
        ));
    };
    let Some(component) = family
        .components()
        .iter()
        .copied()
        .find(|known| known.name() == component)
    else {
        let elsewhere = Component::ALL.iter().any(|known| known.name() == component);
        return Err(malformed(
            key,
            format!(
                "{} no component `{component}`",
                if elsewhere {
                    "this stack has"
                } else {
                    "there is"
                }
            ),
            format!("use one of {}", known()),
        ));
    };
    let name = match component {
        Component::Mariadb => name.to_ascii_lowercase().replace('-', "_"),
        _ => name.to_owned(),
    };
    if !component.takes(&name) {
        let example = match component {
            Component::Mariadb => "a system variable, such as mariadb.innodb_buffer_pool_size",
            Component::Postgresql => "a parameter, such as postgresql.shared_buffers",
            Component::Apache => "a directive, such as apache.MaxRequestWorkers",
            Component::Php => "a directive, such as php.opcache.enable or php.pm.max_children",
            Component::Pages => {
                "a switch: pages.persistent, pages.anonymous_sessions, pages.page_cache, \
                 pages.compression or pages.login_limits"
            }
        };
        return Err(malformed(
            key,
            format!("`{name}` is no name of a setting of {component}"),
            format!("name {example}"),
        ));
    }
    if component
        .reserved()
        .contains(&name.to_ascii_lowercase().as_str())
    {
        let what =
            "Rookery sets this itself, so that guests live side by side and trials begin alike";
        return Err(malformed(key, what, "leave it out"));
    }
    Ok((component, name))
}

/// Directives that only one of Apache's process models knows.
fn only_for(name: &str) -> Option<WebServer> {
    let is = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    if is(&["MinSpareServers", "MaxSpareServers"]) {
        Some(WebServer::Prefork)
    } else if is(&[
        "MinSpareThreads",
        "MaxSpareThreads",
        "ThreadsPerChild",
        "ThreadLimit",
        "AsyncRequestWorkerFactor",
    ]) || name.starts_with("pm")
    {
        Some(WebServer::Event)
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
