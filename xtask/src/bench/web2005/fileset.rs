//! File sets of about 1 GB, beside each the disk's own rate and equally many files of fio.

use std::{fs::File, path::Path, sync::atomic::AtomicBool, time::Instant};

use rookery_stack::web2005::{FilesetOptions, WrittenFileset, write_fileset};
use rookery_workload::web2005::{Model, files::Shape};

use crate::bench::data::{
    Scratch, Spread, default_dir, disk_rate, fio_report, peak_memory_mb, written_bytes,
};

/// Sessions whose sets have about 1 GB: of support a few large files, of banking many small ones.
const SETS: [(Model, u32); 2] = [(Model::Support, 60), (Model::Banking, 100)];

pub(super) fn run(runs: usize) -> Result<(), String> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let dir = default_dir()?.join(format!("bench-web2005-{}", std::process::id()));
    let scratch = Scratch::create(dir)?;
    for (model, sessions) in SETS {
        let shape = Shape::new(model, sessions, 1.0, 1).map_err(|error| error.to_string())?;
        let mut rates = Rates::default();
        for _ in 0..runs {
            rates.add(scratch.path(), &shape, threads)?;
        }
        println!(
            "file set of {} for {sessions} sessions, {threads} threads, {} files, {:.0} MB, with \
             sync, {runs} runs:",
            model.name(),
            shape.total_files(),
            shape.total_bytes() as f64 / 1e6
        );
        rates.print();
        println!(
            "  peak memory of this process (VmHWM): {:.1} MB",
            peak_memory_mb()?
        );
    }
    Ok(())
}

/// Rates of runs in turn, MB/s.
#[derive(Default)]
struct Rates {
    set: Vec<f64>,
    disk: Vec<f64>,
    /// How the disk was measured.
    disk_by: &'static str,
    /// Equally many files of the same mean size by fio; none where there is no fio.
    files: Vec<f64>,
}

impl Rates {
    fn add(&mut self, dir: &Path, shape: &Shape, threads: usize) -> Result<(), String> {
        let (disk, by) = disk_rate(dir)?;
        self.disk.push(disk);
        self.disk_by = by;
        self.files.extend(files_of_fio(dir, shape, threads)?);
        let written = write(dir, shape, threads)?;
        let seconds = written.seconds.unwrap_or(f64::NAN);
        self.set.push(written.manifest.bytes as f64 / seconds / 1e6);
        Ok(())
    }

    fn print(&self) {
        let ratios = |others: &[f64]| -> Vec<f64> {
            let pairs = self.set.iter().zip(others);
            pairs.map(|(set, other)| set / other).collect()
        };
        println!("  set: {} MB/s", Spread(&self.set));
        println!(
            "  disk, sequential write by {}: {} MB/s",
            self.disk_by,
            Spread(&self.disk)
        );
        println!(
            "  ratio set / disk: {} (at least 0.5)",
            Spread(&ratios(&self.disk))
        );
        println!(
            "  fio, equally many files of the same mean size: {} MB/s",
            Spread(&self.files)
        );
        println!(
            "  ratio set / files of fio: {} (at least 1.0)",
            Spread(&ratios(&self.files))
        );
    }
}

/// The rate of fio for as many files as the set has, all of its mean size, each written by one call
/// and in as many threads, until all are on the disk, MB/s.
fn files_of_fio(dir: &Path, shape: &Shape, threads: usize) -> Result<Option<f64>, String> {
    let files = Scratch::create(dir.join("files"))?;
    let threads = threads as u64;
    let each = shape.total_files().div_ceil(threads);
    let bytes = shape.total_bytes() / shape.total_files();
    let report = fio_report(&[
        "--name=files",
        "--rw=write",
        "--ioengine=psync",
        "--fallocate=none",
        // Files are made while the time runs, one after the other.
        "--create_on_open=1",
        "--openfiles=1",
        "--file_service_type=sequential",
        "--thread",
        "--group_reporting",
        &format!("--directory={}", files.path().display()),
        &format!("--numjobs={threads}"),
        &format!("--nrfiles={each}"),
        &format!("--filesize={bytes}"),
        &format!("--size={}", each * bytes),
        &format!("--bs={}", bytes.min(1 << 20)),
    ]);
    let Some(report) = report else {
        return Ok(None);
    };
    let sync = Instant::now();
    File::open(files.path())
        .and_then(|directory| Ok(rustix::fs::syncfs(&directory)?))
        .map_err(|error| format!("cannot sync {}: {error}", files.path().display()))?;
    // With group reporting the time is the sum over all threads.
    let writing_s = report["job_runtime"].as_f64().unwrap_or(f64::NAN) / 1e3 / threads as f64;
    let seconds = writing_s + sync.elapsed().as_secs_f64();
    Ok(written_bytes(&report).map(|bytes| bytes / seconds / 1e6))
}

fn write(dir: &Path, shape: &Shape, threads: usize) -> Result<WrittenFileset, String> {
    let set = Scratch::create(dir.join("set"))?;
    let never = AtomicBool::new(false);
    let options = FilesetOptions {
        threads,
        max_bytes: None,
        stop: &never,
    };
    write_fileset(set.path(), shape, &options, &|_| ()).map_err(|error| error.to_string())
}
