//! Whether the servers know what they are asked: names of settings, which they tell themselves, and
//! buffers that fit the memory of their guests.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use rookery_host::bound_command;
use rookery_study::{GuestShape, Point, SettingValue};

use super::{Component, Tuned, TuningError};

/// Names and buffers of one database server.
pub(crate) struct KnownSettings {
    component: Component,
    /// The server of this host; it may be missing.
    server: PathBuf,
    /// Whether guests run that very server, so that a name which it does not know is wrong.
    is_theirs: bool,
    /// Whether guests have no more memory than their shape says.
    memory_is_held: bool,
}

impl KnownSettings {
    /// Of the server at `server`, which guests of this shape run, or one like it.
    pub(crate) fn new(component: Component, server: &Path, guest: &GuestShape) -> Self {
        let kind = guest.kind();
        let bare = kind == rookery_study::GuestKind::Bare;
        Self {
            component,
            server: server.to_owned(),
            is_theirs: bare,
            memory_is_held: !bare && kind != rookery_study::GuestKind::Fake,
        }
    }

    /// Whether the server knows the settings that a study asks for, and its buffers fit into the
    /// guests of `point`.
    ///
    /// # Errors
    /// The first that is wrong, with the nearest name.
    pub(crate) fn check(
        &self,
        asked: &BTreeMap<String, SettingValue>,
        tuned: &Tuned,
        point: &Point,
        index: usize,
    ) -> Result<(), TuningError> {
        let names: Vec<&str> = asked
            .keys()
            .filter_map(|key| key.strip_prefix(self.component.name())?.strip_prefix('.'))
            .collect();
        if !names.is_empty() {
            let known = names_of(self.component, &self.server);
            for name in names {
                self.check_name(name, &known)?;
            }
        }
        let guest = point.guest_at(index);
        let group = guest.map_or_else(|| point.only_group(), |guest| guest.group);
        self.check_memory(tuned, group.memory_mib)
    }

    fn check_name(&self, name: &str, known: &BTreeSet<String>) -> Result<(), TuningError> {
        // Extensions have names of their own, and a server that is not there knows none.
        if known.is_empty() || known.contains(name) || name.contains('.') {
            return Ok(());
        }
        let all: Vec<&str> = known.iter().map(String::as_str).collect();
        let near = rookery_study::nearest_name(name, &all);
        let component = self.component.name();
        let help = match near {
            Some(near) => format!("write \"{component}.{near}\""),
            None if self.is_theirs => format!("`{} --help` lists them", self.server.display()),
            // The server in the guests may be another version.
            None => return Ok(()),
        };
        Err(TuningError::Setting {
            key: format!("{component}.{name}"),
            what: format!("the {component} server of this host has no such setting"),
            help,
        })
    }

    fn check_memory(&self, tuned: &Tuned, memory_mib: u64) -> Result<(), TuningError> {
        const BUFFERS: [&str; 2] = ["innodb_buffer_pool_size", "shared_buffers"];
        let buffers = tuned
            .component(self.component)
            .find(|setting| BUFFERS.contains(&setting.name.as_str()));
        let Some((setting, mib)) = buffers.and_then(|setting| {
            let bytes = bytes(&setting.value)?;
            Some((setting, bytes / 1_048_576.0))
        }) else {
            return Ok(());
        };
        if !self.memory_is_held || mib < memory_mib as f64 {
            return Ok(());
        }
        Err(TuningError::Setting {
            key: setting.key(),
            what: format!(
                "{mib:.0} MiB do not fit into a guest of {memory_mib} MiB, which the server itself \
                 shares"
            ),
            help: format!("raise `memory` in [guest], or ask for fewer than {memory_mib}MiB"),
        })
    }
}

/// A size as servers write it: `67108864`, `64M`, `16384kB`.
fn bytes(value: &str) -> Option<f64> {
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: f64 = digits.trim().parse().ok()?;
    let unit = value[digits.len()..].to_ascii_lowercase();
    let factor = match unit.trim_end_matches('b') {
        "" => 1.0,
        "k" => 1024.0,
        "m" => 1_048_576.0,
        "g" => 1_073_741_824.0,
        _ => return None,
    };
    Some(number * factor)
}

/// What each server said, which takes it a tenth of a second.
static SAID: Mutex<Option<HashMap<PathBuf, BTreeSet<String>>>> = Mutex::new(None);

/// The names of all settings of a server; empty where it is not there, or says none.
fn names_of(component: Component, server: &Path) -> BTreeSet<String> {
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    let said = said.get_or_insert_with(HashMap::new);
    said.entry(server.to_owned())
        .or_insert_with(|| ask(component, server))
        .clone()
}

fn ask(component: Component, server: &Path) -> BTreeSet<String> {
    let arguments: &[&str] = match component {
        Component::Mariadb => &["--no-defaults", "--verbose", "--help"],
        Component::Postgresql => &["--describe-config"],
        Component::Apache | Component::Php | Component::Pages => return BTreeSet::new(),
    };
    let output = bound_command(server).args(arguments).output();
    let text = output.map_or_else(
        |_| String::new(),
        |output| String::from_utf8_lossy(&output.stdout).into_owned(),
    );
    match component {
        Component::Mariadb => mariadb_names(&text),
        _ => text
            .lines()
            .filter_map(|line| line.split('\t').next())
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect(),
    }
}

/// The variables at the end of `mariadbd --verbose --help`, with underscores.
fn mariadb_names(text: &str) -> BTreeSet<String> {
    let lines = text.lines().skip_while(|line| !line.starts_with("----"));
    lines
        .skip(1)
        .take_while(|line| !line.trim().is_empty())
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split_whitespace().next())
        .map(|name| name.replace('-', "_"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(is_theirs: bool) -> KnownSettings {
        KnownSettings {
            component: Component::Mariadb,
            server: "/usr/sbin/mariadbd".into(),
            is_theirs,
            memory_is_held: true,
        }
    }

    #[test]
    fn a_misspelt_name_is_refused_with_the_nearest() {
        let help = "Variables (--variable-name=value)\nand boolean options\n\
                    -------- ------\ninnodb-buffer-pool-size   134217728\nmax-connections  151\n\n\
                    To see what values a running server uses\n";
        let names = mariadb_names(help);
        assert_eq!(names.len(), 2);
        let said = |is_theirs, name| {
            let refused = known(is_theirs).check_name(name, &names);
            refused.map_err(|error| match error {
                TuningError::Setting { key, help, .. } => format!("{key}: {help}"),
                other => other.to_string(),
            })
        };
        assert_eq!(said(true, "max_connections"), Ok(()));
        assert_eq!(
            said(false, "innodb_buffer_pool_siz"),
            Err(
                "mariadb.innodb_buffer_pool_siz: write \"mariadb.innodb_buffer_pool_size\""
                    .to_owned()
            )
        );
        assert!(said(true, "something_else_altogether").is_err());
        assert_eq!(said(false, "something_else_altogether"), Ok(()));
        assert_eq!(known(true).check_name("x", &BTreeSet::new()), Ok(()));
    }

    #[test]
    fn sizes_are_read_as_servers_write_them() {
        let sizes = ["67108864", "64M", "65536kB", "64MB", "1G", "ON"].map(bytes);
        let mib = |mib: u32| Some(f64::from(mib) * 1_048_576.0);
        assert_eq!(sizes, [mib(64), mib(64), mib(64), mib(64), mib(1024), None]);
    }
}
