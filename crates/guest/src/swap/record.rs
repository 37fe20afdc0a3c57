//! What is written down of a device of compressed memory before it is there.
//!
//! The kernel chooses the number of a new device, and a device that is not yet a swap area carries
//! no label. Were we killed in between, nothing would tell whose it is: so the numbers of all
//! devices are written down before one is added, and its own as soon as it is known.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use rookery_host::{
    Host, HostError, RunId,
    swap::zram::{ZramNumber, ZramUse, remove_zram, zram_numbers, zram_use},
};
use serde::{Deserialize, Serialize};

/// What the labels of areas begin with: sixteen characters hold it and the longest run.
const LABEL: &str = "rk-";

/// The label of the areas of a run.
pub(super) fn area_label(run: &RunId) -> String {
    format!("{LABEL}{run}")
}

/// The run in such a label.
pub(super) fn run_of_label(label: &str) -> Option<RunId> {
    RunId::try_from(label.strip_prefix(LABEL)?.to_owned()).ok()
}

/// The record of one device.
#[derive(Debug)]
pub(super) struct Record {
    file: PathBuf,
    told: Told,
}

/// What stands in it.
#[derive(Debug, Serialize, Deserialize)]
struct Told {
    /// The label that its area gets.
    label: String,
    /// Devices that were there before.
    before: BTreeSet<ZramNumber>,
    /// The device, once it is known.
    number: Option<ZramNumber>,
}

impl Record {
    /// Write down which devices there are.
    ///
    /// # Errors
    /// When the directory cannot be written to.
    pub(super) fn begin(
        host: &dyn Host,
        directory: &Path,
        name: &str,
        label: String,
    ) -> io::Result<Self> {
        host.step("swap record")?;
        fs::create_dir_all(directory)?;
        let record = Self {
            file: directory.join(name),
            told: Told {
                label,
                before: zram_numbers(),
                number: None,
            },
        };
        record.write()?;
        Ok(record)
    }

    /// Write down the number of the device.
    ///
    /// # Errors
    /// As above.
    pub(super) fn tell(&mut self, host: &dyn Host, number: ZramNumber) -> io::Result<()> {
        self.told.number = Some(number);
        host.step("number of the swap device")?;
        self.write()
    }

    /// The number of the device, once it is known.
    pub(super) fn number(&self) -> Option<ZramNumber> {
        self.told.number
    }

    /// All records in a directory; one that is half written is as if nothing had been added yet,
    /// and then nothing was.
    pub(super) fn all_in(directory: &Path) -> Vec<Self> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| {
                let file = entry.path();
                let told = serde_json::from_slice(&fs::read(&file).ok()?).ok()?;
                Some(Self { file, told })
            })
            .collect()
    }

    /// Remove the device, if it is there, and the record. What others have made of its number since
    /// then is left alone.
    ///
    /// # Errors
    /// When the device stays in use.
    pub(super) fn remove(&self) -> io::Result<()> {
        for number in self.devices() {
            remove_zram(number)?;
        }
        match fs::remove_file(&self.file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(HostError::at(&self.file, error).into())
            }
            _ => Ok(()),
        }
    }

    /// The devices that are ours: the one of our number, or, where we came to know none, those
    /// without a size that have come since.
    fn devices(&self) -> Vec<ZramNumber> {
        let ours = |number: &ZramNumber| match zram_use(*number) {
            Some(ZramUse::Nothing) => true,
            Some(ZramUse::Empty) => self.told.number.is_some(),
            Some(ZramUse::Swap(label)) => label == self.told.label,
            Some(ZramUse::Other) | None => false,
        };
        let added: BTreeSet<ZramNumber> = match self.told.number {
            Some(number) => [number].into(),
            None => &zram_numbers() - &self.told.before,
        };
        added.into_iter().filter(ours).collect()
    }

    fn write(&self) -> io::Result<()> {
        let part = self.file.with_extension("part");
        fs::write(&part, serde_json::to_vec(&self.told)?)?;
        fs::rename(&part, &self.file)
    }
}

#[cfg(test)]
mod tests {
    use rookery_host::{FaultyHost, RealHost, swap::MOST_LABEL};

    use super::*;

    #[test]
    fn labels_lead_back_to_their_run() {
        let run = RunId::try_from("abcdefghij".to_owned()).expect("the longest");
        let label = area_label(&run);
        assert!(label.len() <= MOST_LABEL, "{label}");
        assert_eq!(run_of_label(&label), Some(run));
        for other in ["", "rk-", "rk-UPPER", "swap", "rookery-ab"] {
            assert_eq!(run_of_label(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_written_is_read_with_and_without_a_number() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let label = || "rk-ab".to_owned();
        let numbers = || {
            let all = Record::all_in(directory.path());
            all.iter().map(Record::number).collect::<Vec<_>>()
        };
        let mut record =
            Record::begin(&RealHost, directory.path(), "one", label()).expect("written");
        assert_eq!(numbers(), [None]);
        record.tell(&RealHost, u32::MAX).expect("written");
        assert_eq!(numbers(), [Some(u32::MAX)]);
        fs::write(directory.path().join("half"), "{").expect("written");
        assert_eq!(numbers(), [Some(u32::MAX)]);
        record.remove().expect("no such device");
        record.remove().expect("again");
        assert!(numbers().is_empty());
        let refused = Record::begin(&FaultyHost::failing_at(1), directory.path(), "two", label());
        assert!(refused.is_err() && numbers().is_empty());
    }

    #[test]
    fn devices_that_were_there_are_not_ours() {
        let record = Record {
            file: PathBuf::from("/nonexistent"),
            told: Told {
                label: String::new(),
                before: zram_numbers(),
                number: None,
            },
        };
        assert!(record.devices().is_empty());
    }
}
