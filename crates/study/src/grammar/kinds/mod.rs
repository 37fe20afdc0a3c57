//! The kinds of values that keys can have.

mod choice;
mod command;
mod course;
mod cpus;
mod list;
mod matrix;
mod memory;
pub(crate) mod number;
mod or_section;
mod packet_cpus;
mod path;
mod per_second;
mod percent;
mod pinning;
mod profile;
mod quantity;
mod ramp;
mod range_end;
mod read;
mod rule;
mod scaled;
mod swap;
mod tables;
mod target;
mod text;
mod time;
mod truth;
mod values;
mod vcpus;
mod worded;

pub(crate) use choice::Choice;
pub(crate) use command::CommandLine;
pub(crate) use course::CourseText;
pub(crate) use cpus::{Cpus, plain as cpu_list};
pub(crate) use list::ListOf;
pub(crate) use matrix::Matrix;
pub(crate) use memory::{Memory, WholeMemory};
pub(crate) use number::{Factor, Whole};
pub(crate) use or_section::OrSection;
pub(crate) use packet_cpus::{PacketCpusKind, is_cpu_list};
pub(crate) use path::{PathFromRoot, ProcessKind, ProcessName};
pub(crate) use per_second::PerSecond;
pub(crate) use percent::Percent;
pub(crate) use pinning::{PinKind, is_pin_table};
pub(crate) use profile::ProfileName;
pub(crate) use ramp::Ramp;
pub(crate) use range_end::RangeEnd;
pub(crate) use read::{LONGEST_TEXT, Read};
pub(crate) use scaled::{Count, Database, MOST_RATE, MOST_USERS};
pub(crate) use swap::SwapUse;
pub(crate) use tables::Tables;
pub(crate) use target::Target;
pub(crate) use text::Text;
pub(crate) use time::Time;
pub use time::{ParseDurationError, parse_duration};
pub(crate) use truth::Truth;
pub(crate) use values::{Named, Values};
pub(crate) use vcpus::VcpuCount;
pub(crate) use worded::Worded;

#[cfg(test)]
pub(crate) mod testing {
    //! Reads single values, for the tests of the kinds.

    use toml::de::DeValue;

    use crate::{
        grammar::{At, Context, Kind},
        problem::Code,
    };

    /// Reads one TOML value; on a refusal gives code and message.
    pub(crate) fn read<K: Kind>(kind: &K, toml: &str) -> Result<K::Value, (Code, String)> {
        let mut context = Context::default();
        let at = At {
            path: "s.key".into(),
            key: "key",
        };
        let value = DeValue::parse(toml).expect("the test gives TOML");
        match kind.read(&value, &at, &mut context) {
            Some(value) => {
                assert_eq!(context.findings, [], "a value and a problem");
                Ok(value)
            }
            None => {
                let finding = context.findings.first().expect("a refusal has a reason");
                assert!(!finding.help.is_empty());
                Err((finding.code, finding.message.clone()))
            }
        }
    }

    /// Code and message of the refusal.
    pub(crate) fn refusal<K: Kind>(kind: &K, toml: &str) -> (Code, String) {
        match read(kind, toml) {
            Ok(_) => panic!("{toml} was accepted"),
            Err(refusal) => refusal,
        }
    }

    /// Code of the refusal.
    pub(crate) fn code<K: Kind>(kind: &K, toml: &str) -> Code {
        refusal(kind, toml).0
    }
}
