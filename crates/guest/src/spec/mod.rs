//! What a guest is to be.

mod check;

use std::fmt;

use rookery_study::Swap;
use serde::{Deserialize, Serialize};

use crate::health::Health;

pub(crate) use check::check_spec;
#[cfg(test)]
pub(crate) use check::tests::spec;

/// A file that is written for a guest before each of its starts.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestFile {
    /// Where, below the guest's directory of such files (`{conf}`): plain components, as in
    /// `htdocs/index.php`.
    pub path: String,
    /// Content; placeholders as in [`GuestSpec::args`], but not in one that the guest's user alone
    /// reads.
    pub text: String,
    /// Who may read it.
    #[serde(default)]
    pub readers: FileReaders,
}

impl fmt::Debug for GuestFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.readers {
            FileReaders::All => self.text.as_str(),
            // It may be a secret.
            FileReaders::GuestUser => "...",
        };
        f.debug_struct("GuestFile")
            .field("path", &self.path)
            .field("text", &text)
            .field("readers", &self.readers)
            .finish()
    }
}

/// Who may read a file of a guest, on its host as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileReaders {
    /// Every user.
    #[default]
    All,
    /// The user of the guest's first process, and root. Containers and machines hold to it.
    GuestUser,
}

/// The CPU time of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CpuTime {
    /// As much as it asks for.
    Unlimited,
    /// At most that of so many cores, 0.01 or more, in every period.
    Cap {
        /// Cores.
        cores: f64,
        /// The period, us, 1000 to 1,000,000; `None` = chosen.
        period_us: Option<u64>,
    },
    /// As much as it asks for where nobody else wants it; beside others, in proportion to so many
    /// cores, 0.01 or more.
    Share {
        /// Cores.
        cores: f64,
    },
}

impl CpuTime {
    /// At most that of so many cores, in periods that are chosen.
    #[must_use]
    pub fn cap(cores: f64) -> Self {
        Self::Cap {
            cores,
            period_us: None,
        }
    }

    /// Its cores; `None` where it has no bound and no proportion.
    #[must_use]
    pub fn cores(self) -> Option<f64> {
        match self {
            Self::Unlimited => None,
            Self::Cap { cores, .. } | Self::Share { cores } => Some(cores),
        }
    }
}

/// Who calls the service of a guest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CalledBy {
    /// Users.
    #[default]
    Users,
    /// Other guests of the trial.
    Guests,
}

/// One guest to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuestSpec {
    /// 1-based number within the trial; gives the address.
    pub number: u16,
    /// Name, such as `g1`: 1 to 40 characters of `a-z`, `0-9` and `-`. A guest of the same name
    /// overwrites the log of the one before.
    pub name: String,
    /// CPUs it may run on.
    pub cpus: Vec<u32>,
    /// How much CPU time it gets on them.
    pub cpu_time: CpuTime,
    /// Its weight beside others that want CPU time, 1 to 10,000, as version 2 of control groups
    /// counts it; `None` = as its CPU time says, or the kernel.
    pub cpu_weight: Option<u32>,
    /// CPUs on which packets of its link are handled, ascending; none = as the kernel has it.
    /// Containers alone have such links.
    pub packet_cpus: Vec<u32>,
    /// Who calls its service. A container that other guests call has its address on their network
    /// where the lab has one for that.
    #[serde(default)]
    pub called_by: CalledBy,
    /// Memory limit, MiB; `None` = no limit.
    pub memory_mib: Option<u64>,
    /// Where its memory goes that does not fit into the limit: of a container to a device that the
    /// lab has, of a machine to a disk of its own. Bare guests have none.
    pub swap: Swap,
    /// Limit on processes and threads.
    pub pids: Option<u32>,
    /// Arguments of the program. These words, wherever they stand in it, are replaced by what holds
    /// as the guest sees it; every other brace stays as it is:
    ///
    /// | word | stands for | in a container |
    /// |---|---|---|
    /// | `{data}` | the data directory | `/data` |
    /// | `{conf}` | directory of [`GuestSpec::files`]; to be read only | `/conf` |
    /// | `{run}` | directory for sockets and process numbers; empty at the first start | `/run` |
    /// | `{program}` | the program | `/program` |
    /// | `{address}` | IP address of the service | |
    /// | `{port}` | port of the service | |
    /// | `{listen}` | `address:port` | |
    /// | `{log}`, `{temporary}` | directory of this role, where it has a volume of its own | `/volumes/log` |
    ///
    /// A container's program is started by the loader of its own in `/program.d`, so that it runs
    /// in the root of any release. What it starts itself inherits nothing of that: no variable is
    /// set, and the libraries of the root are in force.
    pub args: Vec<String>,
    /// Port of the service.
    pub port: u16,
    /// How the service is seen to be healthy.
    pub health: Health,
    /// Files that are written before each start, in place of those of the start before.
    pub files: Vec<GuestFile>,
    /// User and group of the first process of a container or machine, which then has no capability;
    /// `None` = root, with the least set. `/tmp`, `/run` and `/dev/shm` are open to every user.
    /// Bare guests ignore it: they are whoever made them.
    pub user: Option<GuestUser>,
    /// Unix sockets of the service below its data directory (plain components, as in `mysql.sock`)
    /// by which the host talks to it, see
    /// [`Guest::sockets_dir`](crate::Guest::sockets_dir).
    pub sockets: Vec<String>,
}

/// As whom a guest's processes run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestUser {
    /// Number of the user.
    pub user: u32,
    /// Number of the only group.
    pub group: u32,
}

impl GuestUser {
    /// A user whose group has the same number.
    #[must_use]
    pub const fn same(number: u32) -> Self {
        Self {
            user: number,
            group: number,
        }
    }
}

#[cfg(test)]
mod tests {
    use rookery_host::RunId;
    use serde::{Serialize, de::DeserializeOwned};

    use super::*;
    use crate::{kind::LabShape, paths::RunDirs};

    fn round_trip<T: Serialize + DeserializeOwned>(value: &T) -> T {
        let text = serde_json::to_string(value).expect("JSON");
        serde_json::from_str(&text).expect("the same type")
    }

    /// A lab and its guests may be on another machine: what they are asked for travels as text.
    #[test]
    fn what_a_lab_is_asked_for_travels_as_json() {
        let spec = GuestSpec {
            cpus: vec![0, 2],
            cpu_time: CpuTime::cap(0.25),
            memory_mib: Some(160),
            files: vec![GuestFile {
                path: "htdocs/index.php".into(),
                text: "{port}".into(),
                readers: FileReaders::GuestUser,
            }],
            user: Some(GuestUser::same(33)),
            sockets: vec!["mysql.sock".into()],
            health: Health::Postgresql {
                user: "oe".into(),
                database: "shop".into(),
            },
            ..check::tests::spec("g1")
        };
        assert_eq!(round_trip(&spec), spec);
        let shown = format!("{spec:?}");
        assert!(!shown.contains("{port}"), "a secret is not shown: {shown}");
        let page = Health::Page {
            path: "/".into(),
            status: 302,
        };
        for health in [Health::Mysql, Health::Http("/health".into()), page] {
            assert_eq!(round_trip(&health), health);
        }
        for shape in [
            LabShape::Bare,
            LabShape::from(crate::kind::Kind::Container),
            LabShape::Fake,
            LabShape::External,
            LabShape::Vm(Box::default()),
        ] {
            assert_eq!(round_trip(&shape), shape);
        }
        let dirs = RunDirs {
            run: RunId::try_from("ab12".to_owned()).expect("valid"),
            dir: "/runs/ab12/guests".into(),
            templates: "/templates".into(),
        };
        assert_eq!(round_trip(&dirs), dirs);
    }
}
