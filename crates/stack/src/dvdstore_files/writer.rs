//! The jobs that make the load files, and the queue of files that wait for the disk.

use std::{
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
        mpsc::{Receiver, SyncSender},
    },
};

use rookery_workload::dvdstore::{
    CustomerHalf, Customers, Inventory, LineEnd, Order, Orders, Products, Rows,
    data::{MONTHS, csv, fill},
};

use super::{FileKind, FileOptions, FilesError, Progress, customer_file, part_file::PartFile};

/// One unit of work; a job owns its files.
#[derive(Clone, Copy, Debug)]
enum Job {
    Customers(CustomerHalf),
    Month(u8),
    Products,
}

/// A file with all its rows made, and how many they are.
pub(super) type Made = (PartFile, u64);

/// What the jobs share.
pub(super) struct Writer<'a> {
    pub(super) dir: &'a Path,
    pub(super) rows: Rows,
    pub(super) options: &'a FileOptions<'a>,
    pub(super) progress: &'a (dyn Fn(Progress) + Sync),
    /// Units sold per product, counted while orders are made; empty when no inventory is wanted.
    pub(super) sold: Vec<AtomicU32>,
    pub(super) failed: AtomicBool,
    /// The first failure.
    pub(super) failure: Mutex<Option<FilesError>>,
    pub(super) files: AtomicUsize,
    pub(super) bytes: AtomicU64,
    pub(super) rows_written: AtomicU64,
    pub(super) total_files: usize,
    pub(super) expected_bytes: u64,
}

impl Writer<'_> {
    /// The jobs, largest first so that the threads end together.
    fn jobs(&self) -> Vec<Job> {
        let wants = |kind| self.options.only.contains(&kind);
        let monthly = [
            FileKind::Orders,
            FileKind::OrderLines,
            FileKind::History,
            FileKind::Inventory,
        ];
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
    pub(super) fn run_jobs(&self, to_disk: &SyncSender<Made>) {
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
    pub(super) fn note(&self, result: Result<(), FilesError>) -> bool {
        let Err(error) = result else { return true };
        if !self.failed.swap(true, Ordering::Relaxed) {
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
        false
    }

    /// Completes files, which mostly waits for the disk. After a failure the queue is emptied,
    /// which removes the partial files.
    pub(super) fn complete(&self, queue: Receiver<Made>) {
        for (file, rows) in queue {
            if !self.failed.load(Ordering::Relaxed) {
                self.note(self.finish(file, rows));
            }
        }
    }

    fn run(&self, job: Job, to_disk: &SyncSender<Made>) -> Result<(), FilesError> {
        let end = self.options.line_end;
        match job {
            Job::Customers(half) => {
                let rows = Customers::new(self.rows, half, self.options.customers);
                self.table(to_disk, customer_file(half), rows, |row, out| {
                    csv::write_customer(row, end, out)
                })
            }
            Job::Products => {
                let rows = Products::new(self.rows, self.options.words);
                self.table(to_disk, "prod.csv", rows, |row, out| {
                    csv::write_product(row, end, out)
                })
            }
            Job::Month(month) => self.month(to_disk, month),
        }
    }

    /// Writes one file from one stream of rows.
    fn table<T>(
        &self,
        to_disk: &SyncSender<Made>,
        name: &str,
        rows: impl Iterator<Item = T>,
        write: impl Fn(&T, &mut Vec<u8>),
    ) -> Result<(), FilesError> {
        let mut file = self.create(name)?;
        let mut count = 0;
        let mut rows = rows.inspect(|_| count += 1);
        loop {
            let (buffer, full) = file.buffer();
            if !fill(&mut rows, full, buffer, &write) {
                break;
            }
            self.write(&mut file)?;
        }
        send(to_disk, (file, count));
        Ok(())
    }

    /// Writes the files of one month from one stream of orders, and counts the units sold.
    fn month(&self, to_disk: &SyncSender<Made>, month: u8) -> Result<(), FilesError> {
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
                Ok((kind, self.create(&format!("{name}_{suffix}.csv"))?, write))
            })
            .collect::<Result<Vec<_>, FilesError>>()?;
        let (mut orders, mut lines) = (0, 0);
        for order in Orders::new(self.rows, month) {
            orders += 1;
            lines += order.lines().len() as u64;
            self.count_sales(&order);
            for (_, file, write) in &mut outputs {
                write(&order, self.options.line_end, file.buffer().0);
                if file.is_full() {
                    self.write(file)?;
                }
            }
            if outputs.is_empty() && orders % 10_000 == 0 {
                self.check_stop()?;
            }
        }
        for (kind, file, _) in outputs {
            send(
                to_disk,
                (
                    file,
                    if kind == FileKind::Orders {
                        orders
                    } else {
                        lines
                    },
                ),
            );
        }
        Ok(())
    }

    #[inline]
    fn count_sales(&self, order: &Order) {
        if !self.sold.is_empty() {
            for line in order.lines() {
                self.sold[line.product as usize - 1]
                    .fetch_add(u32::from(line.quantity), Ordering::Relaxed);
            }
        }
    }

    /// Writes the inventory; all orders must have been counted.
    pub(super) fn inventory(&self, to_disk: &SyncSender<Made>) -> Result<(), FilesError> {
        let sold: Vec<u32> = self
            .sold
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .collect();
        let end = self.options.line_end;
        self.table(to_disk, "inv.csv", Inventory::new(&sold), |row, out| {
            csv::write_stock(row, end, out)
        })
    }

    fn create(&self, name: &str) -> Result<PartFile, FilesError> {
        PartFile::create(self.dir.join(name))
    }

    /// Writes what the file has gathered.
    fn write(&self, file: &mut PartFile) -> Result<(), FilesError> {
        self.check_stop()?;
        self.bytes.fetch_add(file.write()?, Ordering::Relaxed);
        self.report();
        Ok(())
    }

    fn finish(&self, mut file: PartFile, rows: u64) -> Result<(), FilesError> {
        self.check_stop()?;
        self.bytes.fetch_add(file.write_rest()?, Ordering::Relaxed);
        file.finish()?;
        self.rows_written.fetch_add(rows, Ordering::Relaxed);
        self.files.fetch_add(1, Ordering::Relaxed);
        self.report();
        Ok(())
    }

    fn check_stop(&self) -> Result<(), FilesError> {
        let stopped =
            self.options.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed);
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

fn send(to_disk: &SyncSender<Made>, made: Made) {
    to_disk
        .send(made)
        .expect("the thread that completes files outlives those that make them");
}
