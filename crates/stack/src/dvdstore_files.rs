//! The load files of DVD Store on disk: [`write_all`] streams the generators of the workload into a
//! directory.
//!
//! Files are made in parallel over a queue of jobs, each with a few fixed buffers, so memory does
//! not grow with the size. One more thread waits for the disk, so that generators need not. A file
//! is written as `<name>.part` and renamed when it is complete and on disk: a file under its own
//! name is whole.

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize},
        mpsc::sync_channel,
    },
    time::Instant,
};

use rookery_host::free_space;
use rookery_workload::dvdstore::{
    CustomerHalf, CustomerRandom, LineEnd, Rows, Size, WordLists, data::MONTHS,
};

mod error;
mod part_file;
mod writer;

pub use error::FilesError;
use writer::Writer;

/// Files that may wait for the disk; a slower disk then slows the generators.
const QUEUE: usize = 16;

/// A kind of load file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// `us_cust.csv` and `row_cust.csv`.
    Customers,
    /// Twelve `<month>_orders.csv`.
    Orders,
    /// Twelve `<month>_orderlines.csv`.
    OrderLines,
    /// Twelve `<month>_cust_hist.csv`.
    History,
    /// `prod.csv`.
    Products,
    /// `inv.csv`.
    Inventory,
}

impl FileKind {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::Customers,
        Self::Orders,
        Self::OrderLines,
        Self::History,
        Self::Products,
        Self::Inventory,
    ];

    /// The names of the files of this kind.
    #[must_use]
    pub fn file_names(self) -> Vec<String> {
        let monthly = |suffix: &str| {
            MONTHS
                .iter()
                .map(|month| format!("{month}_{suffix}.csv"))
                .collect()
        };
        match self {
            Self::Customers => CustomerHalf::ALL
                .map(|half| customer_file(half).to_owned())
                .to_vec(),
            Self::Orders => monthly("orders"),
            Self::OrderLines => monthly("orderlines"),
            Self::History => monthly("cust_hist"),
            Self::Products => vec!["prod.csv".to_owned()],
            Self::Inventory => vec!["inv.csv".to_owned()],
        }
    }

    /// Rows of this kind in a database of `rows`; exact but for order lines and history, which are
    /// five per order on average.
    fn expected_rows(self, rows: Rows) -> u64 {
        match self {
            Self::Customers => rows.customers,
            Self::Orders => rows.orders(),
            Self::OrderLines | Self::History => 5 * rows.orders(),
            Self::Products | Self::Inventory => rows.products,
        }
    }

    /// About how long a row is in bytes, rounded up: fixed columns and the digits of the largest
    /// ids.
    fn row_length(self, rows: Rows) -> u64 {
        let digits = |largest: u64| u64::from(largest.max(1).ilog10()) + 1;
        let (customer, order, product) = (
            digits(rows.customers),
            digits(rows.orders()),
            digits(rows.products),
        );
        match self {
            Self::Customers => 147 + 2 * customer,
            Self::Orders => 33 + order + customer,
            Self::OrderLines => 17 + order + product,
            Self::History => 3 + customer + order + product,
            Self::Products => 42 + 2 * product,
            Self::Inventory => 9 + product,
        }
    }
}

fn customer_file(half: CustomerHalf) -> &'static str {
    match half {
        CustomerHalf::Us => "us_cust.csv",
        CustomerHalf::RestOfWorld => "row_cust.csv",
    }
}

/// What to write, and how.
#[derive(Clone, Debug)]
pub struct FileOptions<'a> {
    /// The words of titles and actors.
    pub words: &'a WordLists,
    /// Whose `rand` draws the customers.
    pub customers: CustomerRandom,
    /// How lines end.
    pub line_end: LineEnd,
    /// Threads that write at the same time; 0 counts as 1.
    pub threads: usize,
    /// The kinds of files to write.
    pub only: BTreeSet<FileKind>,
    /// Whether files that exist are replaced; otherwise they are an error before anything is
    /// written.
    pub overwrite: bool,
    /// Set it from elsewhere, such as from a signal handler, to stop soon and leave no partial
    /// file.
    pub stop: &'a AtomicBool,
}

impl<'a> FileOptions<'a> {
    /// All files with Rookery's own words, two threads, Unix lines, nothing replaced.
    #[must_use]
    pub fn new(stop: &'a AtomicBool) -> Self {
        Self {
            words: WordLists::own(),
            customers: CustomerRandom::Newlib,
            line_end: LineEnd::Unix,
            threads: 2,
            only: FileKind::ALL.into(),
            overwrite: false,
            stop,
        }
    }
}

/// How far the writing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Files complete.
    pub files: usize,
    /// Files in all.
    pub total_files: usize,
    /// Bytes written.
    pub bytes: u64,
    /// Bytes expected in all, a few per cent too high.
    pub expected_bytes: u64,
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Written {
    /// Files.
    pub files: usize,
    /// Bytes.
    pub bytes: u64,
    /// Rows.
    pub rows: u64,
    /// Time from the first to the last step, with everything on disk.
    pub seconds: f64,
}

/// About how many bytes the files of `size` take, a few per cent too high.
#[must_use]
pub fn expected_bytes(size: Size, options: &FileOptions<'_>) -> u64 {
    let rows = size.rows();
    let end = if options.line_end == LineEnd::Windows {
        1
    } else {
        0
    };
    options
        .only
        .iter()
        .map(|kind| kind.expected_rows(rows) * (kind.row_length(rows) + end))
        .sum()
}

/// Writes the load files of a database of `size` into `dir`, which is made when it does not exist.
///
/// `progress` is called from the writing threads, about once per megabyte and after every file. The
/// same size and options give the same bytes, whatever the number of threads.
///
/// # Errors
/// Before anything is written: a file exists already, or the disk has too little room. Later: the
/// disk is full, a write fails, or `options.stop` was set. Complete files then stay, no `.part`
/// file does.
pub fn write_all(
    dir: &Path,
    size: Size,
    options: &FileOptions<'_>,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Written, FilesError> {
    let start = Instant::now();
    let names: Vec<String> = options
        .only
        .iter()
        .flat_map(|kind| kind.file_names())
        .collect();
    let expected_bytes = expected_bytes(size, options);
    prepare(dir, &names, options.overwrite, expected_bytes)?;
    let rows = size.rows();
    let count_sales = options.only.contains(&FileKind::Inventory);
    let (to_disk, waiting) = sync_channel(QUEUE);
    let writer = Writer {
        dir,
        rows,
        options,
        progress,
        sold: (0..if count_sales { rows.products } else { 0 })
            .map(|_| AtomicU32::new(0))
            .collect(),
        failed: AtomicBool::new(false),
        failure: Mutex::new(None),
        files: AtomicUsize::new(0),
        bytes: AtomicU64::new(0),
        rows_written: AtomicU64::new(0),
        total_files: names.len(),
        expected_bytes,
    };
    std::thread::scope(|scope| {
        scope.spawn(|| writer.complete(waiting));
        writer.run_jobs(&to_disk);
        if count_sales {
            writer.note(writer.inventory(&to_disk));
        }
        // Without a sender the thread that completes files ends.
        drop(to_disk);
    });
    if let Some(error) = writer
        .failure
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
    {
        return Err(error);
    }
    part_file::sync_directory(dir)?;
    Ok(Written {
        files: writer.files.into_inner(),
        bytes: writer.bytes.into_inner(),
        rows: writer.rows_written.into_inner(),
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// Makes the directory and refuses what cannot end well.
fn prepare(dir: &Path, names: &[String], overwrite: bool, needed: u64) -> Result<(), FilesError> {
    std::fs::create_dir_all(dir).map_err(|source| FilesError::Directory {
        path: dir.to_owned(),
        source,
    })?;
    if !overwrite {
        for path in names.iter().map(|name| dir.join(name)) {
            if path.symlink_metadata().is_ok() {
                return Err(FilesError::Exists { path });
            }
        }
    }
    match free_space::free_bytes(dir) {
        Ok(free) if free < needed && !overwrite => Err(FilesError::NoRoom {
            path: dir.to_owned(),
            needed,
            free,
        }),
        // A file system that cannot say how much room it has is found full only by writing.
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
