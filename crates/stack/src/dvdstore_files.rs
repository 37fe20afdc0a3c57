//! The load files of DVD Store on disk: [`write_all`] streams the generators of the workload into a directory.
//!
//! Files are made in parallel over a queue of jobs, each with a few fixed buffers, so memory does not grow with the size. One
//! more thread waits for the disk, so that generators need not. A file is written as `<name>.part` and renamed when it is
//! complete and on disk: a file under its own name is whole.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    time::Instant,
};

use rookery_workload::dvdstore::{
    CustomerHalf, CustomerRandom, Customers, Inventory, LineEnd, Order, Orders, Products, Rows, Size, WordLists,
    data::{MONTHS, csv, fill},
};

mod error;
mod part_file;

pub use error::FilesError;
use part_file::{PartFile, UnsyncedFile};

/// Bytes gathered before a write: large enough that system calls do not count, small enough for the cache.
const CHUNK: usize = 512 * 1024;

/// Tasks that may wait for the disk; a slower disk then slows the generators.
const SYNC_QUEUE: usize = 16;

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
        let monthly = |suffix: &str| MONTHS.iter().map(|month| format!("{month}_{suffix}.csv")).collect();
        match self {
            Self::Customers => CustomerHalf::ALL.map(|half| customer_file(half).to_owned()).to_vec(),
            Self::Orders => monthly("orders"),
            Self::OrderLines => monthly("orderlines"),
            Self::History => monthly("cust_hist"),
            Self::Products => vec!["prod.csv".to_owned()],
            Self::Inventory => vec!["inv.csv".to_owned()],
        }
    }

    /// Rows of this kind in a database of `rows`; exact but for order lines and history, which are five per order on average.
    fn expected_rows(self, rows: Rows) -> u64 {
        match self {
            Self::Customers => rows.customers,
            Self::Orders => rows.orders(),
            Self::OrderLines | Self::History => 5 * rows.orders(),
            Self::Products | Self::Inventory => rows.products,
        }
    }

    /// About how long a row is in bytes, rounded up: fixed columns and the digits of the largest ids.
    fn row_length(self, rows: Rows) -> u64 {
        let digits = |largest: u64| u64::from(largest.max(1).ilog10()) + 1;
        let (customer, order, product) = (digits(rows.customers), digits(rows.orders()), digits(rows.products));
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
    /// Whether files that exist are replaced; otherwise they are an error before anything is written.
    pub overwrite: bool,
    /// Set it from elsewhere, such as from a signal handler, to stop soon and leave no partial file.
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
    let end = if options.line_end == LineEnd::Windows { 1 } else { 0 };
    options
        .only
        .iter()
        .map(|kind| kind.expected_rows(rows) * (kind.row_length(rows) + end))
        .sum()
}

/// Writes the load files of a database of `size` into `dir`, which is made when it does not exist.
///
/// `progress` is called from the writing threads, about once per half megabyte and after every file. The same size and
/// options give the same bytes, whatever the number of threads.
///
/// # Errors
/// Before anything is written: a file exists already, or the disk has too little room. Later: the disk is full, a write fails,
/// or `options.stop` was set. Complete files then stay, no `.part` file does.
pub fn write_all(dir: &Path, size: Size, options: &FileOptions<'_>, progress: &(dyn Fn(Progress) + Sync)) -> Result<Written, FilesError> {
    let start = Instant::now();
    let names: Vec<String> = options.only.iter().flat_map(|kind| kind.file_names()).collect();
    let expected_bytes = expected_bytes(size, options);
    prepare(dir, &names, options.overwrite, expected_bytes)?;
    let rows = size.rows();
    let count_sales = options.only.contains(&FileKind::Inventory);
    let (to_disk, waiting) = sync_channel(SYNC_QUEUE);
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
        scope.spawn(|| writer.wait_for_disk(waiting));
        writer.run_jobs(&to_disk);
        if count_sales {
            writer.note(writer.inventory(&to_disk));
        }
        // Without a sender the thread that waits for the disk ends.
        drop(to_disk);
    });
    if let Some(error) = writer.failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
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
    match rustix::fs::statvfs(dir) {
        Ok(disk) if disk.f_bavail.saturating_mul(disk.f_frsize) < needed && !overwrite => Err(FilesError::NoRoom {
            path: dir.to_owned(),
            needed,
            free: disk.f_bavail * disk.f_frsize,
        }),
        // A file system that cannot say how much room it has is found full only by writing.
        _ => Ok(()),
    }
}

/// One unit of work; a job owns its files.
#[derive(Clone, Copy, Debug)]
enum Job {
    Customers(CustomerHalf),
    Month(u8),
    Products,
}

/// Work for the thread that waits for the disk.
enum DiskTask {
    /// Bring what was written so far to the disk.
    Sync(UnsyncedFile),
    /// Complete the file, which has this many rows.
    Finish(PartFile, u64),
}

/// What the jobs share.
struct Writer<'a> {
    dir: &'a Path,
    rows: Rows,
    options: &'a FileOptions<'a>,
    progress: &'a (dyn Fn(Progress) + Sync),
    /// Units sold per product, counted while orders are made; empty when no inventory is wanted.
    sold: Vec<AtomicU32>,
    failed: AtomicBool,
    /// The first failure.
    failure: Mutex<Option<FilesError>>,
    files: AtomicUsize,
    bytes: AtomicU64,
    rows_written: AtomicU64,
    total_files: usize,
    expected_bytes: u64,
}

impl Writer<'_> {
    /// The jobs, largest first so that the threads end together.
    fn jobs(&self) -> Vec<Job> {
        let wants = |kind| self.options.only.contains(&kind);
        let monthly = [FileKind::Orders, FileKind::OrderLines, FileKind::History, FileKind::Inventory];
        let mut jobs = Vec::new();
        if wants(FileKind::Customers) {
            jobs.extend(CustomerHalf::ALL.map(Job::Customers));
        }
        if monthly.into_iter().any(wants) {
            jobs.extend((1..=12).map(Job::Month));
        }
        if wants(FileKind::Products) {
            jobs.push(Job::Products);
        }
        jobs
    }

    /// Runs the jobs; the first failure ends all.
    fn run_jobs(&self, to_disk: &SyncSender<DiskTask>) {
        let jobs = self.jobs();
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(&job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                if !self.note(self.run(job, to_disk)) {
                    return;
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.options.threads.min(jobs.len()) {
                scope.spawn(work);
            }
            work();
        });
    }

    /// Keeps the first failure, of which later ones are echoes. Says whether there was none.
    fn note(&self, result: Result<(), FilesError>) -> bool {
        let Err(error) = result else { return true };
        if !self.failed.swap(true, Ordering::Relaxed) {
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
        false
    }

    /// Does what only waits for the disk. After a failure the queue is emptied, which removes the partial files.
    fn wait_for_disk(&self, tasks: Receiver<DiskTask>) {
        for task in tasks {
            if !self.failed.load(Ordering::Relaxed) {
                self.note(match task {
                    DiskTask::Sync(file) => file.sync(),
                    DiskTask::Finish(file, rows) => self.finish(file, rows),
                });
            }
        }
    }

    fn run(&self, job: Job, to_disk: &SyncSender<DiskTask>) -> Result<(), FilesError> {
        let end = self.options.line_end;
        match job {
            Job::Customers(half) => {
                let rows = Customers::new(self.rows, half, self.options.customers);
                self.table(to_disk, customer_file(half), rows, |row, out| csv::write_customer(row, end, out))
            }
            Job::Products => {
                let rows = Products::new(self.rows, self.options.words);
                self.table(to_disk, "prod.csv", rows, |row, out| csv::write_product(row, end, out))
            }
            Job::Month(month) => self.month(to_disk, month),
        }
    }

    /// Writes one file from one stream of rows.
    fn table<T>(
        &self,
        to_disk: &SyncSender<DiskTask>,
        name: &str,
        rows: impl Iterator<Item = T>,
        write: impl Fn(&T, &mut Vec<u8>),
    ) -> Result<(), FilesError> {
        let mut file = self.create(name)?;
        let mut count = 0;
        let mut rows = rows.inspect(|_| count += 1);
        let mut buffer = Vec::with_capacity(CHUNK + 1024);
        while fill(&mut rows, CHUNK, &mut buffer, &write) {
            self.flush(to_disk, &mut file, &mut buffer)?;
        }
        self.flush(to_disk, &mut file, &mut buffer)?;
        self.send(to_disk, DiskTask::Finish(file, count));
        Ok(())
    }

    /// Writes the files of one month from one stream of orders, and counts the units sold.
    fn month(&self, to_disk: &SyncSender<DiskTask>, month: u8) -> Result<(), FilesError> {
        type Write = fn(&Order, LineEnd, &mut Vec<u8>);
        let outputs: [(FileKind, &str, Write); 3] = [
            (FileKind::Orders, "orders", csv::write_order),
            (FileKind::OrderLines, "orderlines", csv::write_order_lines),
            (FileKind::History, "cust_hist", csv::write_history),
        ];
        let name = MONTHS[usize::from(month) - 1];
        let mut outputs = outputs
            .into_iter()
            .filter(|(kind, ..)| self.options.only.contains(kind))
            .map(|(kind, suffix, write)| {
                Ok((
                    kind,
                    self.create(&format!("{name}_{suffix}.csv"))?,
                    Vec::with_capacity(CHUNK + 1024),
                    write,
                ))
            })
            .collect::<Result<Vec<_>, FilesError>>()?;
        let (mut orders, mut lines) = (0, 0);
        for order in Orders::new(self.rows, month) {
            orders += 1;
            lines += order.lines().len() as u64;
            self.count_sales(&order);
            for (_, file, buffer, write) in &mut outputs {
                write(&order, self.options.line_end, buffer);
                if buffer.len() >= CHUNK {
                    self.flush(to_disk, file, buffer)?;
                }
            }
            if outputs.is_empty() && orders % 10_000 == 0 {
                self.check_stop()?;
            }
        }
        for (kind, mut file, mut buffer, _) in outputs {
            self.flush(to_disk, &mut file, &mut buffer)?;
            self.send(
                to_disk,
                DiskTask::Finish(file, if kind == FileKind::Orders { orders } else { lines }),
            );
        }
        Ok(())
    }

    #[inline]
    fn count_sales(&self, order: &Order) {
        if !self.sold.is_empty() {
            for line in order.lines() {
                self.sold[line.product as usize - 1].fetch_add(u32::from(line.quantity), Ordering::Relaxed);
            }
        }
    }

    /// Writes the inventory; all orders must have been counted.
    fn inventory(&self, to_disk: &SyncSender<DiskTask>) -> Result<(), FilesError> {
        let sold: Vec<u32> = self.sold.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        let end = self.options.line_end;
        self.table(to_disk, "inv.csv", Inventory::new(&sold), |row, out| {
            csv::write_stock(row, end, out)
        })
    }

    fn create(&self, name: &str) -> Result<PartFile, FilesError> {
        PartFile::create(self.dir.join(name))
    }

    /// Writes and empties the buffer.
    fn flush(&self, to_disk: &SyncSender<DiskTask>, file: &mut PartFile, buffer: &mut Vec<u8>) -> Result<(), FilesError> {
        self.check_stop()?;
        if let Some(unsynced) = file.write(buffer)? {
            self.send(to_disk, DiskTask::Sync(unsynced));
        }
        self.bytes.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        buffer.clear();
        self.report();
        Ok(())
    }

    fn send(&self, to_disk: &SyncSender<DiskTask>, task: DiskTask) {
        to_disk.send(task).expect("the thread that waits for the disk outlives the senders");
    }

    fn finish(&self, file: PartFile, rows: u64) -> Result<(), FilesError> {
        file.finish()?;
        self.rows_written.fetch_add(rows, Ordering::Relaxed);
        self.files.fetch_add(1, Ordering::Relaxed);
        self.report();
        Ok(())
    }

    fn check_stop(&self) -> Result<(), FilesError> {
        let stopped = self.options.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed);
        if stopped {
            Err(FilesError::Stopped {
                path: PathBuf::from(self.dir),
            })
        } else {
            Ok(())
        }
    }

    fn report(&self) {
        (self.progress)(Progress {
            files: self.files.load(Ordering::Relaxed),
            total_files: self.total_files,
            bytes: self.bytes.load(Ordering::Relaxed),
            expected_bytes: self.expected_bytes,
        });
    }
}

#[cfg(test)]
mod tests;
