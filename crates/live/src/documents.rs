//! Reports and comparisons, made from the stores when they are asked for. The last few are kept
//! until their stores change.

use std::{
    collections::{HashMap, VecDeque},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use rookery_analysis::{
    Run,
    compare::{Options, compare},
    trend::{MOST_RUNS as MOST_OF_STUDY, RunLevels, Trend, trends},
};
use rookery_diagnosis::outside_text;
use rookery_export::JsonDocument;
use rookery_store::Store;
use rookery_text::Zone;
use serde::Serialize;

use crate::{answers::Download, library::Library, summary::Reading};

/// Documents that are kept.
const MOST_KEPT: usize = 4;
/// Most runs of one side of a comparison.
const MOST_RUNS: usize = 16;
/// Bytes of an export that the page makes.
const MOST_EXPORT_BYTES: usize = 64 << 20;

/// Why there is no document.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DocumentError {
    /// A key that was not listed.
    #[error("there is no such run")]
    NoRun,
    /// A comparison of nothing, of too much, or of a run with itself.
    #[error("a comparison needs one to 16 different runs on each side")]
    Sides,
    /// A run cannot be read, or not be compared.
    #[error("{0}")]
    Run(String),
}

/// Makes documents.
#[derive(Debug)]
pub(crate) struct Documents {
    library: Arc<Library>,
    kept: Mutex<VecDeque<Kept>>,
    /// What trends need of runs that were read.
    levels: Mutex<HashMap<PathBuf, (Reading, RunLevels)>>,
}

/// The runs of a study over time.
#[derive(Debug, Serialize)]
pub(crate) struct StudyTrend {
    trends: Vec<Trend>,
    /// What they say, in words.
    sentences: Vec<String>,
    /// The keys of the runs, by their ids.
    keys: HashMap<String, String>,
}

#[derive(Debug)]
struct Kept {
    runs: [Vec<PathBuf>; 2],
    readings: Vec<Reading>,
    html: Bytes,
}

impl Documents {
    pub(crate) fn new(library: Arc<Library>) -> Self {
        Self {
            library,
            kept: Mutex::default(),
            levels: Mutex::default(),
        }
    }

    /// The report of a run, of what is stored by now.
    ///
    /// # Errors
    /// When the run is not listed, or cannot be read.
    pub(crate) fn report(&self, key: &str) -> Result<Bytes, DocumentError> {
        let directory = self.library.directory(key).ok_or(DocumentError::NoRun)?;
        self.kept_or_made([vec![directory.clone()], Vec::new()], || {
            let store = Store::open_read_only(rookery_lab::store_in(&directory)).map_err(said)?;
            let ceilings = rookery_lab::ceilings(&directory).unwrap_or_default();
            rookery_report::html(&store, &ceilings, &Zone::system()).map_err(said)
        })
    }

    /// All tables of a run, as `rookery export --format json` writes them.
    ///
    /// # Errors
    /// When the run is not listed, cannot be read, or is too large to be made in memory.
    pub(crate) fn export(&self, key: &str) -> Result<Download, DocumentError> {
        let directory = self.library.directory(key).ok_or(DocumentError::NoRun)?;
        let store = Store::open_read_only(rookery_lab::store_in(&directory)).map_err(said)?;
        let run = store.header().map_err(said)?.run_id;
        let tables = rookery_export::chosen(&[]).map_err(said)?;
        let path = Path::new("the export");
        let mut document = JsonDocument::begin(BoundedBytes::default(), path).map_err(said)?;
        rookery_export::write(&store, &mut document, &tables).map_err(said)?;
        let bytes = document.finish().map_err(said)?.0;
        // The id comes from a store, which may come from anywhere.
        let safe = |c: &char| c.is_ascii_alphanumeric();
        let run: String = run.chars().filter(safe).take(20).collect();
        Ok(Download {
            name: format!("rookery-{run}.json"),
            bytes: bytes.into(),
        })
    }

    /// The comparison of runs: as `rookery compare BASE NEW` judges.
    ///
    /// # Errors
    /// When a run is not listed or cannot be read, or the sides are none.
    pub(crate) fn comparison(
        &self,
        base: &[String],
        new: &[String],
    ) -> Result<Bytes, DocumentError> {
        let all: Vec<&String> = base.iter().chain(new).collect();
        let twice = (1..all.len()).any(|at| all[..at].contains(&all[at]));
        let sizes = [base.len(), new.len()];
        if twice || sizes.iter().any(|size| !(1..=MOST_RUNS).contains(size)) {
            return Err(DocumentError::Sides);
        }
        let directories = |keys: &[String]| -> Result<Vec<PathBuf>, DocumentError> {
            let found = keys.iter().map(|key| self.library.directory(key));
            found.collect::<Option<_>>().ok_or(DocumentError::NoRun)
        };
        let sides = [directories(base)?, directories(new)?];
        self.kept_or_made(sides.clone(), || {
            let [base, new] = &sides;
            let comparison =
                compare(&read(base)?, &read(new)?, &Options::default()).map_err(said)?;
            rookery_report::compare_html(&comparison, &Zone::system()).map_err(said)
        })
    }

    /// The trend of the runs from study files of this name: as `rookery trend` has it.
    ///
    /// # Errors
    /// When there is no such run that can be read.
    pub(crate) fn trend(&self, study: &str) -> Result<StudyTrend, DocumentError> {
        let directories = self.library.of_study(study);
        let newest = &directories[directories.len().saturating_sub(MOST_OF_STUDY)..];
        let (mut levels, mut keys) = (Vec::new(), HashMap::new());
        for directory in newest {
            // One run that cannot be read does not hide the others.
            if let Ok(own) = self.levels_of(directory) {
                keys.insert(own.run_id().to_owned(), Library::key(directory));
                levels.push(own);
            }
        }
        if levels.is_empty() {
            return Err(DocumentError::NoRun);
        }
        let trends = trends(&levels);
        Ok(StudyTrend {
            sentences: rookery_report::trend_sentences(&trends, &Zone::system()),
            trends,
            keys,
        })
    }

    fn levels_of(&self, directory: &PathBuf) -> Result<RunLevels, DocumentError> {
        let lock = || self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        let reading = Reading::begin(directory);
        if let Some((known, levels)) = lock().get(directory)
            && !known.is_outdated(&reading)
        {
            return Ok(levels.clone());
        }
        let run = read(std::slice::from_ref(directory))?;
        let levels = run
            .first()
            .map(RunLevels::from_run)
            .ok_or(DocumentError::NoRun)?;
        let mut all = lock();
        if all.len() >= 4 * MOST_OF_STUDY {
            all.clear();
        }
        all.insert(directory.clone(), (reading, levels.clone()));
        Ok(levels)
    }

    fn kept_or_made(
        &self,
        runs: [Vec<PathBuf>; 2],
        make: impl FnOnce() -> Result<String, DocumentError>,
    ) -> Result<Bytes, DocumentError> {
        let lock = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let directories = runs.iter().flatten();
        let readings: Vec<Reading> = directories.map(|run| Reading::begin(run)).collect();
        let same = |kept: &&Kept| {
            let mut pairs = kept.readings.iter().zip(&readings);
            kept.runs == runs && !pairs.any(|(kept, now)| kept.is_outdated(now))
        };
        if let Some(kept) = lock().iter().find(same) {
            return Ok(kept.html.clone());
        }
        let html = Bytes::from(make()?);
        let mut all = lock();
        all.retain(|kept| kept.runs != runs);
        all.truncate(MOST_KEPT - 1);
        all.push_front(Kept {
            runs,
            readings,
            html: html.clone(),
        });
        Ok(html)
    }
}

/// Bytes in memory, up to a bound.
#[derive(Debug, Default)]
struct BoundedBytes(Vec<u8>);

impl io::Write for BoundedBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MOST_EXPORT_BYTES {
            let help = "it is too large for the page; use `rookery export`";
            return Err(io::Error::other(help));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn read(directories: &[PathBuf]) -> Result<Vec<Run>, DocumentError> {
    let read = |directory: &PathBuf| {
        let store = Store::open_read_only(rookery_lab::store_in(directory)).map_err(said)?;
        Run::read(&store).map_err(said)
    };
    directories.iter().map(read).collect()
}

fn said(error: impl std::fmt::Display) -> DocumentError {
    DocumentError::Run(outside_text(&error.to_string()))
}
