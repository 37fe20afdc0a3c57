//! A knob: one host setting that Rookery knows, where it lives and what it may hold.

use serde::Serialize;

/// A host setting that Rookery knows.
#[derive(Debug)]
pub struct Knob {
    /// Its name: that of sysctl where there is one.
    pub key: &'static str,
    /// Where it lives.
    pub(crate) place: Place,
    /// What it may hold.
    pub(crate) domain: Domain,
    /// Whose setting it is.
    pub scope: Scope,
    /// What else the kernel changes when it is changed.
    pub(crate) coupling: Coupling,
    /// The damage that a change can do; such a knob is turned only with consent.
    pub danger: Option<&'static str>,
    /// What it does.
    pub what: &'static str,
}

/// Where a knob lives; paths are relative to the root of the file system.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// One file.
    File(&'static str),
    /// A file of every real disk, relative to its directory in `/sys/block`.
    EachDisk(&'static str),
    /// A file of every CPU frequency policy.
    EachPolicy(&'static str),
    /// A file of every idle state of every CPU but the shallowest, in which a CPU polls; a state of
    /// a CPU is named `state2/cpu0`.
    EachIdleState(&'static str),
    /// A limit of each process, by its name in `/proc/self/limits`; that of this process is shown.
    /// Nothing outside of a process can change it for its children.
    ProcessLimit(&'static str),
    /// Services of the system that run, by their names without `.service`. Without names in a
    /// profile there are none: which are needed is for their users to say.
    EachService,
    /// The devices and files to which memory is swapped.
    Swaps,
}

impl Place {
    /// What changes such a setting, where Rookery does not.
    pub(crate) fn changed_by(self) -> Option<&'static str> {
        match self {
            Self::ProcessLimit(_) => {
                Some("set it where the servers are started: `ulimit`, or Limit...= of a service")
            }
            Self::EachService => Some("stop it with `systemctl disable --now`"),
            Self::Swaps => Some("use `swapon` and `swapoff`, and /etc/fstab"),
            Self::File(_) | Self::EachDisk(_) | Self::EachPolicy(_) | Self::EachIdleState(_) => {
                None
            }
        }
    }
}

/// What a knob may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Domain {
    /// Whole numbers, one range each.
    Numbers(&'static [(u64, u64)]),
    /// One of these; the kernel may show all that it offers, with brackets around the present one.
    Words(&'static [&'static str]),
}

/// Whose setting a knob is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// The whole host's.
    Host,
    /// The network namespace's: guests with a namespace of their own have their own.
    Network,
    /// The IPC namespace's.
    Ipc,
    /// Each process's.
    Process,
}

/// What else the kernel changes when a knob is changed; all of it is saved with the knob.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Coupling {
    /// Nothing.
    None,
    /// Setting the one makes the other 0.
    Exclusive(&'static str),
    /// It computes this anew.
    Recomputes(&'static str),
    /// These, and all files of these directories, relative to the disk, fall back to defaults.
    Resets(&'static [&'static str]),
}

/// A value that a knob cannot hold.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ValueError {
    /// The kernel knows other words.
    #[error("`{value}` is none of: {}", words.join(", "))]
    NotOffered {
        value: String,
        words: &'static [&'static str],
    },
    /// It is not as many numbers as the file has.
    #[error("`{value}` is not {}", whole_numbers(*count))]
    NotNumbers { value: String, count: usize },
    /// A number is too small or too large.
    #[error("{number} is not within {min} to {max}")]
    OutOfRange { number: u64, min: u64, max: u64 },
    /// A range of ports that is empty.
    #[error("the first port is not below the last")]
    Ports,
}

fn whole_numbers(count: usize) -> String {
    match count {
        1 => "one whole number".to_owned(),
        count => format!("{count} whole numbers"),
    }
}

impl Knob {
    /// The present value in the text of its file.
    pub(crate) fn present(&self, text: &str) -> String {
        value_in(text, self.offers_words())
    }

    /// Whether its file shows what is offered, with brackets around the present one.
    pub(crate) fn offers_words(&self) -> bool {
        matches!(self.domain, Domain::Words(_))
    }

    /// The value as it would be written.
    ///
    /// # Errors
    /// When the knob cannot hold it.
    pub(crate) fn checked(&self, value: &str) -> Result<String, ValueError> {
        match self.domain {
            Domain::Words(words) if words.contains(&value) => Ok(value.to_owned()),
            Domain::Words(words) => Err(ValueError::NotOffered {
                value: value.to_owned(),
                words,
            }),
            Domain::Numbers(ranges) => self.checked_numbers(value, ranges),
        }
    }

    fn checked_numbers(&self, value: &str, ranges: &[(u64, u64)]) -> Result<String, ValueError> {
        let numbers = numbers(value)
            .filter(|numbers| numbers.len() == ranges.len())
            .ok_or_else(|| ValueError::NotNumbers {
                value: value.to_owned(),
                count: ranges.len(),
            })?;
        for (&number, &(min, max)) in numbers.iter().zip(ranges) {
            if number < min || number > max {
                return Err(ValueError::OutOfRange { number, min, max });
            }
        }
        if self.key == "net.ipv4.ip_local_port_range" && numbers[0] >= numbers[1] {
            return Err(ValueError::Ports);
        }
        Ok(join(&numbers))
    }
}

/// The value in the text of a file of the kernel: the bracketed word where words are offered, else
/// the text without the newline.
pub(crate) fn value_in(text: &str, offers_words: bool) -> String {
    let bracketed = || Some(text.split_once('[')?.1.split_once(']')?.0.trim());
    let value = if offers_words { bracketed() } else { None };
    value.unwrap_or_else(|| text.trim()).to_owned()
}

/// Whether two values are the same but for the blanks between numbers.
pub(crate) fn same(a: &str, b: &str) -> bool {
    a.split_whitespace().eq(b.split_whitespace())
}

/// The whole numbers of a text; `None` when there is anything else in it, or nothing.
pub(crate) fn numbers(text: &str) -> Option<Vec<u64>> {
    let numbers: Option<Vec<u64>> = text
        .split_whitespace()
        .map(|word| word.parse().ok())
        .collect();
    numbers.filter(|numbers| !numbers.is_empty())
}

/// Numbers as the kernel reads them.
pub(crate) fn join(numbers: &[u64]) -> String {
    numbers
        .iter()
        .map(u64::to_string)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::{super::catalogue::knob, *};

    #[test]
    fn the_bracketed_word_is_the_present_one() {
        assert_eq!(value_in("always [madvise] never\n", true), "madvise");
        assert_eq!(value_in("none\n", true), "none");
        assert_eq!(value_in("write back\n", true), "write back");
        assert_eq!(value_in("32768\t60999\n", false), "32768\t60999");
    }

    #[test]
    fn values_are_checked_against_the_domain() {
        let check = |key: &str, value: &str| {
            let checked = knob(key).expect("known").checked(value);
            checked.map_err(|error| error.to_string())
        };
        assert_eq!(check("vm.swappiness", "10").as_deref(), Ok("10"));
        assert_eq!(
            check("net.ipv4.ip_local_port_range", "1024\t 65000").as_deref(),
            Ok("1024 65000")
        );
        assert_eq!(
            check("vm.swappiness", "201"),
            Err("201 is not within 0 to 200".to_owned())
        );
        assert_eq!(
            check("vm.swappiness", "-1"),
            Err("`-1` is not one whole number".to_owned())
        );
        assert_eq!(
            check("kernel.sem", "1 2 3"),
            Err("`1 2 3` is not 4 whole numbers".to_owned())
        );
        assert!(check("net.ipv4.ip_local_port_range", "60000 1024").is_err());
        assert!(
            check("thp.enabled", "sometimes")
                .is_err_and(|why| why.contains("always, madvise, never"))
        );
    }

    #[test]
    fn blanks_between_numbers_do_not_count() {
        assert!(same("1024\t65000", "1024 65000"));
        assert!(!same("1024 65000", "1024 65001"));
    }
}
