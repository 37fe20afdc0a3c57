//! `bench data`: the DVD Store generator alone, and the whole 1 GB set beside the disk's own write
//! rate.

use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::AtomicBool,
    time::Instant,
};

use rookery_cast::count_u32;
use rookery_stack::dvdstore_files::{FileOptions, Written, write_all};
use rookery_workload::dvdstore::{
    CustomerHalf, CustomerRandom, Customers, LineEnd, Size,
    data::{csv, fill},
};

const USAGE: &str =
    "usage: cargo xtask bench data [--dir DIR] [--runs N]   (N at least 5, default 5)";

/// Bytes of one measurement of the disk.
const DISK_BYTES: usize = 1 << 30;

/// Bytes of one plain write.
const BLOCK: usize = 1 << 20;

struct Options {
    dir: PathBuf,
    runs: usize,
}

/// Measures and prints: customers per second on one core, the 1 GB set to disk, the disk, their
/// ratio, the memory.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let options = parse(args)?;
    customers(options.runs)?;
    let scratch = Scratch::create(
        options
            .dir
            .join(format!("bench-data-{}", std::process::id())),
    )?;
    let result = set(&scratch.0, options.runs);
    drop(scratch);
    result?;
    println!(
        "peak memory of this process (VmHWM): {:.1} MB",
        peak_memory_mb()?
    );
    Ok(())
}

fn parse(args: &[String]) -> Result<Options, String> {
    let mut options = Options {
        dir: default_dir()?,
        runs: 5,
    };
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let mut value = || {
            words
                .next()
                .ok_or_else(|| format!("{word} needs a value; {USAGE}"))
        };
        match word.as_str() {
            "--dir" => options.dir = PathBuf::from(value()?),
            "--runs" => {
                let runs = value()?
                    .parse()
                    .ok()
                    .filter(|runs| (5..=1000).contains(runs));
                options.runs = runs.ok_or_else(|| format!("--runs is 5 to 1000; {USAGE}"))?;
            }
            other => return Err(format!("unknown option {other}; {USAGE}")),
        }
    }
    Ok(options)
}

/// The directory that cargo builds into, on the disk of the checkout.
pub(super) fn default_dir() -> Result<PathBuf, String> {
    let program =
        std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let target = program
        .ancestors()
        .nth(2)
        .ok_or("this program has no directory")?;
    Ok(target.to_owned())
}

/// A directory of our own, removed with all its files.
pub(super) struct Scratch(PathBuf);

impl Scratch {
    /// The directory.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn create(path: PathBuf) -> Result<Self, String> {
        fs::create_dir_all(&path).map_err(|error| {
            format!(
                "cannot make {}: {error}; choose another with --dir",
                path.display()
            )
        })?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!(
                "cannot remove {}: {error}; remove it by hand",
                self.0.display()
            );
        }
    }
}

/// All customers of the 1 GB set to /dev/null on this thread.
fn customers(runs: usize) -> Result<(), String> {
    let mut null = OpenOptions::new()
        .write(true)
        .open("/dev/null")
        .map_err(|error| format!("/dev/null: {error}"))?;
    for (name, random) in [
        ("newlib", CustomerRandom::Newlib),
        ("GNU", CustomerRandom::Gnu),
    ] {
        let mut wall = Vec::new();
        let mut cpu = Vec::new();
        let mut megabytes = Vec::new();
        for _ in 0..runs {
            let (start, cpu_start) = (Instant::now(), thread_cpu_seconds()?);
            let (rows, bytes) = customers_once(random, &mut null)?;
            let seconds = start.elapsed().as_secs_f64();
            wall.push(rows / seconds / 1e6);
            cpu.push(rows / (thread_cpu_seconds()? - cpu_start) / 1e6);
            megabytes.push(bytes / seconds / 1e6);
        }
        println!("customers ({name}) to /dev/null, one thread, {runs} runs:");
        println!("  {} million rows/s of wall time", Spread(&wall));
        println!("  {} million rows/s of CPU time", Spread(&cpu));
        println!("  {} MB/s of wall time", Spread(&megabytes));
    }
    Ok(())
}

fn customers_once(random: CustomerRandom, null: &mut File) -> Result<(f64, f64), String> {
    let rows = Size::Gb(1).rows();
    let mut bytes = 0;
    let mut buffer = Vec::new();
    for half in CustomerHalf::ALL {
        let mut customers = Customers::new(rows, half, random);
        let mut more = true;
        while more {
            more = fill(&mut customers, 256 * 1024, &mut buffer, |row, out| {
                csv::write_customer(row, LineEnd::Unix, out)
            });
            null.write_all(&buffer)
                .map_err(|error| format!("/dev/null: {error}"))?;
            bytes += buffer.len();
            buffer.clear();
        }
    }
    Ok((rows.customers as f64, bytes as f64))
}

/// The disk and the set in turn, so that both meet the same weather.
fn set(dir: &Path, runs: usize) -> Result<(), String> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (mut disk, mut set, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let mut method = "";
    let mut written = None;
    for _ in 0..runs {
        let (rate, by) = disk_rate(dir)?;
        method = by;
        let result = write_set(dir, threads)?;
        let rate_of_set = result.bytes as f64 / result.seconds / 1e6;
        disk.push(rate);
        set.push(rate_of_set);
        ratios.push(rate_of_set / rate);
        written = Some(result);
    }
    if let Some(written) = written {
        println!(
            "1GB set to disk, {threads} threads, {} files, {} rows, {:.0} MB, with sync, {runs} \
             runs:",
            written.files,
            written.rows,
            written.bytes as f64 / 1e6
        );
    }
    println!("  set: {} MB/s", Spread(&set));
    println!(
        "  disk, sequential write by {method}: {} MB/s",
        Spread(&disk)
    );
    println!("  ratio set / disk: {}", Spread(&ratios));
    Ok(())
}

fn write_set(dir: &Path, threads: usize) -> Result<Written, String> {
    let set = Scratch::create(dir.join("set"))?;
    let never = AtomicBool::new(false);
    let options = FileOptions {
        threads,
        ..FileOptions::new(&never)
    };
    write_all(&set.0, Size::Gb(1), &options, &|_| ()).map_err(|error| error.to_string())
}

/// Sequential write rate in MB/s and how it was measured: by fio, or by plain writes where there is
/// no fio.
pub(super) fn disk_rate(dir: &Path) -> Result<(f64, &'static str), String> {
    match fio(dir) {
        Some(rate) => Ok((rate, "fio (direct, 1 MB x 8, end fsync)")),
        None => plain_write(dir).map(|rate| (rate, "plain 1 MB writes and fsync")),
    }
}

fn fio(dir: &Path) -> Option<f64> {
    let file = dir.join("disk");
    let report = fio_report(&[
        "--name=disk",
        "--rw=write",
        "--bs=1M",
        "--size=1G",
        "--direct=1",
        "--ioengine=libaio",
        "--iodepth=8",
        "--end_fsync=1",
        &format!("--filename={}", file.display()),
    ]);
    // Nothing depends on the removal: the file lies in our scratch directory.
    let _ = fs::remove_file(&file);
    let report = report?;
    let milliseconds = report["job_runtime"].as_f64().filter(|&ms| ms > 0.0)?;
    Some(written_bytes(&report)? / milliseconds / 1e3)
}

/// What fio says of its first job; nothing where there is no fio or it fails.
pub(super) fn fio_report(args: &[&str]) -> Option<serde_json::Value> {
    let output = Command::new("fio")
        .args(args)
        .arg("--output-format=json")
        .output()
        .ok()?;
    let mut report: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
    Some(report["jobs"][0].take())
}

/// Bytes that fio wrote in a job.
pub(super) fn written_bytes(job: &serde_json::Value) -> Option<f64> {
    job["write"]["io_bytes"]
        .as_f64()
        .filter(|&bytes| bytes > 0.0)
}

fn plain_write(dir: &Path) -> Result<f64, String> {
    let path = dir.join("disk");
    let explain = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    // Not zeros, which some disks do not store.
    let block: Vec<u8> = (0..count_u32(BLOCK))
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let start = Instant::now();
    let mut file = File::create(&path).map_err(explain)?;
    for _ in 0..DISK_BYTES / BLOCK {
        file.write_all(&block).map_err(explain)?;
    }
    file.sync_all().map_err(explain)?;
    let rate = DISK_BYTES as f64 / start.elapsed().as_secs_f64() / 1e6;
    fs::remove_file(&path).map_err(explain)?;
    Ok(rate)
}

/// CPU time of this thread so far, in seconds; the first field of its schedstat counts nanoseconds.
fn thread_cpu_seconds() -> Result<f64, String> {
    let path = "/proc/thread-self/schedstat";
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let nanoseconds = text
        .split_whitespace()
        .next()
        .and_then(|word| word.parse::<f64>().ok());
    nanoseconds
        .map(|ns| ns / 1e9)
        .ok_or_else(|| format!("{path} does not begin with a number"))
}

pub(super) fn peak_memory_mb() -> Result<f64, String> {
    let path = "/proc/self/status";
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    kib.map(|kib| kib * 1024.0 / 1e6)
        .ok_or_else(|| format!("{path} has no VmHWM"))
}

/// Median and range of repeated measurements.
pub(super) struct Spread<'a>(pub(super) &'a [f64]);

impl std::fmt::Display for Spread<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut sorted = self.0.to_vec();
        sorted.sort_by(f64::total_cmp);
        let digits = if sorted.last().is_some_and(|&largest| largest >= 100.0) {
            0
        } else {
            2
        };
        match (sorted.first(), sorted.get(sorted.len() / 2), sorted.last()) {
            (Some(low), Some(median), Some(high)) => {
                write!(f, "{median:.digits$} [{low:.digits$}-{high:.digits$}]")
            }
            _ => f.write_str("not measured"),
        }
    }
}
