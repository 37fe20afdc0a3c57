//! What storage can do: random reads and writes at growing queue depths, measured with fio.
//!
//! [`sweep`] measures, [`Ceiling`] is what is kept of it: I/O operations per second, bytes per
//! second and latency at every depth, the ceiling under which whatever runs on that storage stays.

use std::{
    fs::{self, File},
    io::{self, Write},
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

use rookery_diagnosis::Diagnosis;
use rookery_workload::random::{RandomSource as _, SplitMix64};
use serde::{Deserialize, Serialize};

use crate::command::{CommandError, Host, Invocation};

/// Requests under way at once, unless others are asked for.
pub const DEPTHS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Block sizes, KiB: pages of file systems, and those of databases.
pub const BLOCKS_KIB: [u32; 2] = [4, 16];
/// What is measured at each depth, in its order.
pub const PATTERNS: [Pattern; 2] = [Pattern::Read, Pattern::Write];

/// Name of the file that is read and written.
const FILE: &str = ".rookery-fio.data";
/// Beyond its time fio may take so long to start and to end.
const GRACE: Duration = Duration::from_secs(60);
/// More operations per second than any device does; a number beyond is damage.
const MOST_IOPS: f64 = 1e9;
/// A latency beyond an hour is damage, us.
const MOST_LATENCY_US: f64 = 3.6e9;

/// Random reads or random writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Random reads.
    Read,
    /// Random writes.
    Write,
}

impl Pattern {
    /// Its name: `read`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// One measured point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CeilingPoint {
    /// Reads or writes.
    pub pattern: Pattern,
    /// Size of a request, KiB.
    pub block_kib: u32,
    /// Requests under way at once.
    pub depth: u32,
    /// Requests per second.
    pub iops: f64,
    /// MiB per second.
    pub mib_per_s: f64,
    /// Mean time of a request, us.
    pub mean_us: f64,
    /// Half of the requests took at most this, us.
    pub p50_us: f64,
    /// 95 of 100.
    pub p95_us: f64,
    /// 99 of 100.
    pub p99_us: f64,
}

/// What a pool of storage can do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// The pool in words.
    pub pool: String,
    /// What measured it: `fio-3.33`.
    pub tool: String,
    /// Size of the file that was read and written, MiB.
    pub file_mib: u64,
    /// Seconds at each point.
    pub seconds: u32,
    /// Patterns, block sizes, depths.
    pub points: Vec<CeilingPoint>,
}

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct Sweep<'a> {
    /// The directory; a file in it is made and removed.
    pub directory: &'a Path,
    /// Size of the file, MiB, 1 to 65536.
    pub file_mib: u64,
    /// Seconds at each point, 1 to 600.
    pub seconds: u32,
    /// Requests under way at once, each 1 to 1024.
    pub depths: &'a [u32],
    /// Directory of a control group in which fio runs, with its limits.
    pub group: Option<&'a Path>,
}

/// Storage that cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum FioError {
    /// fio is not there.
    #[error("storage is measured with `fio`, and there is none on this host")]
    Missing,
    /// The file cannot be made or removed.
    #[error("cannot prepare {path}: {source}")]
    File {
        /// The file.
        path: String,
        /// The system's words.
        source: io::Error,
    },
    /// fio failed.
    #[error("fio failed: {0}")]
    Failed(String),
    /// fio's own report cannot be understood.
    #[error("fio reports something that cannot be: {0}")]
    Report(#[from] ReportFault),
    /// The caller asked to stop.
    #[error("stopped while storage was measured, as asked")]
    Stopped,
}

/// What is wrong with a report of fio.
#[derive(Debug, thiserror::Error)]
pub enum ReportFault {
    /// It is no JSON.
    #[error("there is no JSON in it")]
    NoJson,
    /// Its JSON is not that of fio.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// It is about several jobs, or none.
    #[error("{0} jobs instead of one")]
    Jobs(usize),
    /// The job failed.
    #[error("its job ended with error {0}")]
    Job(i64),
    /// The storage answered nothing.
    #[error("no request was answered")]
    NoRequest,
    /// A number that no storage has.
    #[error("{what} of {value}")]
    OutOfBounds {
        /// What it is.
        what: &'static str,
        /// The number.
        value: f64,
    },
    /// A percentile is missing.
    #[error("no percentile {0}")]
    NoPercentile(&'static str),
}

impl Diagnosis for FioError {
    fn code(&self) -> &'static str {
        match self {
            Self::Missing => "host::fio-missing",
            Self::File { .. } => "host::fio-file",
            Self::Failed(_) => "host::fio-failed",
            Self::Report(_) => "host::fio-report",
            Self::Stopped => "host::stopped",
        }
    }

    fn help(&self) -> Option<String> {
        let help = match self {
            Self::Missing => "apt install fio",
            Self::File { .. } => {
                "give a directory that is yours and has room, or a smaller `--size`"
            }
            Self::Failed(_) => {
                "give a directory on a file system that can do direct I/O (ext4, xfs; not tmpfs)"
            }
            Self::Report(_) => "use fio 3",
            Self::Stopped => return None,
        };
        Some(help.to_owned())
    }
}

/// Measure all points, `tell` each, and stop when it breaks.
///
/// # Errors
/// When fio is missing or fails, the file cannot be made, or the caller wants no more. The file is
/// gone in any case.
pub fn sweep(
    host: &dyn Host,
    asked: &Sweep<'_>,
    pool: &str,
    tell: &mut dyn FnMut(&CeilingPoint) -> ControlFlow<()>,
) -> Result<Ceiling, FioError> {
    let tool = version(host)?;
    let file = DataFile::make(&asked.directory.join(FILE), asked.file_mib)?;
    let mut points = Vec::with_capacity(PATTERNS.len() * BLOCKS_KIB.len() * asked.depths.len());
    for pattern in PATTERNS {
        for block_kib in BLOCKS_KIB {
            for &depth in asked.depths {
                let said = host
                    .run(invocation(asked, &file.0, pattern, block_kib, depth))
                    .map_err(failed)?;
                let point = parse(&said, pattern, block_kib, depth)?;
                points.push(point);
                if tell(&point).is_break() {
                    return Err(FioError::Stopped);
                }
            }
        }
    }
    Ok(Ceiling {
        pool: pool.to_owned(),
        tool,
        file_mib: asked.file_mib,
        seconds: asked.seconds,
        points,
    })
}

/// Whether there is a fio that can measure.
///
/// # Errors
/// When it is missing or does not tell its version.
pub fn check(host: &dyn Host) -> Result<(), FioError> {
    version(host).map(drop)
}

fn version(host: &dyn Host) -> Result<String, FioError> {
    let said = host
        .run(Invocation::new("fio").arg("--version"))
        .map_err(failed)?;
    Ok(said.trim().to_owned())
}

fn failed(error: CommandError) -> FioError {
    match error {
        CommandError::Missing { .. } => FioError::Missing,
        CommandError::Failed { words, .. } => FioError::Failed(words),
        other => FioError::Failed(other.to_string()),
    }
}

/// The file, removed in the end.
struct DataFile(PathBuf);

impl DataFile {
    /// Written whole with bytes that do not compress, so that nothing is allocated while it is
    /// measured.
    fn make(path: &Path, mib: u64) -> Result<Self, FioError> {
        let fail = |source| FioError::File {
            path: path.display().to_string(),
            source,
        };
        let mut file = File::create_new(path).map_err(fail)?;
        let made = Self(path.to_owned());
        let mut random = SplitMix64::new(0);
        let mut block = vec![0; 1 << 20];
        for _ in 0..mib {
            for word in block.chunks_exact_mut(8) {
                word.copy_from_slice(&random.bits().to_le_bytes());
            }
            file.write_all(&block).map_err(fail)?;
        }
        file.sync_all().map_err(fail)?;
        Ok(made)
    }
}

impl Drop for DataFile {
    fn drop(&mut self) {
        // In a directory of the user's own a file of a known name remains at worst.
        let _ = fs::remove_file(&self.0);
    }
}

fn invocation(
    asked: &Sweep<'_>,
    file: &Path,
    pattern: Pattern,
    block_kib: u32,
    depth: u32,
) -> Invocation {
    let options = [
        "--name=rookery".to_owned(),
        format!("--rw=rand{}", pattern.name()),
        format!("--bs={block_kib}k"),
        format!("--iodepth={depth}"),
        format!("--size={}m", asked.file_mib),
        format!("--runtime={}", asked.seconds),
        "--time_based".to_owned(),
        "--direct=1".to_owned(),
        "--ioengine=libaio".to_owned(),
        "--fallocate=none".to_owned(),
        "--allow_file_create=0".to_owned(),
        "--output-format=json".to_owned(),
    ];
    let base = match asked.group {
        // A process joins the group itself, before it becomes fio.
        Some(group) => Invocation::new("sh")
            .args(["-c", "echo $$ > \"$0/cgroup.procs\" && exec fio \"$@\""])
            .arg(group),
        None => Invocation::new("fio"),
    };
    let mut filename = std::ffi::OsString::from("--filename=");
    // In fio's options a colon separates files.
    filename.push(file.to_string_lossy().replace(':', "\\:"));
    base.args(options)
        .arg(filename)
        .timeout(Duration::from_secs(asked.seconds.into()) + GRACE)
}

/// What is read of fio's report; everything else is left alone.
#[derive(Deserialize)]
struct Report {
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    error: i64,
    read: Direction,
    write: Direction,
}

#[derive(Deserialize)]
struct Direction {
    iops: f64,
    bw_bytes: f64,
    total_ios: u64,
    clat_ns: Latency,
}

#[derive(Deserialize)]
struct Latency {
    mean: f64,
    #[serde(default)]
    percentile: std::collections::BTreeMap<String, f64>,
}

/// One point out of fio's JSON. What fio prints before it (notes on a file that it lays out) is
/// skipped.
fn parse(
    text: &str,
    pattern: Pattern,
    block_kib: u32,
    depth: u32,
) -> Result<CeilingPoint, ReportFault> {
    let begin = text.find('{').ok_or(ReportFault::NoJson)?;
    let report: Report = serde_json::from_str(&text[begin..])?;
    let [job] = report.jobs.as_slice() else {
        return Err(ReportFault::Jobs(report.jobs.len()));
    };
    if job.error != 0 {
        return Err(ReportFault::Job(job.error));
    }
    let direction = match pattern {
        Pattern::Read => &job.read,
        Pattern::Write => &job.write,
    };
    if direction.total_ios == 0 {
        return Err(ReportFault::NoRequest);
    }
    let bounded =
        |what, value: f64, most: f64| match value.is_finite() && (0.0..=most).contains(&value) {
            true => Ok(value),
            false => Err(ReportFault::OutOfBounds { what, value }),
        };
    let percentile = |key: &'static str| {
        let value = direction
            .clat_ns
            .percentile
            .get(key)
            .copied()
            .ok_or(ReportFault::NoPercentile(key))?;
        bounded("a latency", value / 1e3, MOST_LATENCY_US)
    };
    Ok(CeilingPoint {
        pattern,
        block_kib,
        depth,
        iops: bounded("a rate", direction.iops, MOST_IOPS)?,
        mib_per_s: bounded(
            "a bandwidth",
            direction.bw_bytes / f64::from(1 << 20),
            MOST_IOPS,
        )?,
        mean_us: bounded("a latency", direction.clat_ns.mean / 1e3, MOST_LATENCY_US)?,
        p50_us: percentile("50.000000")?,
        p95_us: percentile("95.000000")?,
        p99_us: percentile("99.000000")?,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn report(error: i64, iops: f64, requests: u64) -> String {
        let direction = |iops: f64, requests: u64| {
            format!(
                r#"{{"iops": {iops}, "bw_bytes": {}, "total_ios": {requests}, "clat_ns": {{"mean": 250000.0, "percentile":
                {{"50.000000": 200000, "95.000000": 400000, "99.000000": 800000}}}}}}"#,
                iops * 4096.0
            )
        };
        format!(
            "note: laying out a file\n{{\"jobs\": [{{\"error\": {error}, \"read\": {}, \"write\": \
             {}}}]}}",
            direction(iops, requests),
            direction(0.0, 0)
        )
    }

    #[test]
    fn a_report_becomes_a_point() {
        let point = parse(&report(0, 5120.0, 10_240), Pattern::Read, 4, 8).expect("a point");
        assert_eq!(
            (point.iops, point.mib_per_s, point.mean_us),
            (5120.0, 20.0, 250.0)
        );
        assert_eq!(
            (point.p50_us, point.p95_us, point.p99_us),
            (200.0, 400.0, 800.0)
        );
        assert_eq!(
            (point.depth, point.block_kib, point.pattern),
            (8, 4, Pattern::Read)
        );
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (text, wanted) in [
            ("fio: no".to_owned(), "no JSON"),
            ("{\"jobs\": []}".to_owned(), "0 jobs"),
            (report(5, 1.0, 1), "error 5"),
            (report(0, 0.0, 0), "no request was answered"),
            (report(0, 1e12, 1), "a rate of"),
            (report(0, -1.0, 1), "a rate of"),
            (report(0, 1.0, 1).replace("800000", "1e30"), "a latency of"),
            (
                report(0, 1.0, 1).replace("99.000000", "98.0"),
                "no percentile",
            ),
        ] {
            let error = parse(&text, Pattern::Read, 4, 1).expect_err(wanted);
            assert!(error.to_string().contains(wanted), "{error}");
        }
        assert!(
            parse(&report(0, 1.0, 1), Pattern::Write, 4, 1).is_err(),
            "nothing was written"
        );
    }

    /// A host whose fio answers from a text, and remembers what it was asked.
    struct Told {
        asked: Mutex<Vec<String>>,
        missing: bool,
    }

    impl Host for Told {
        fn step(&self, _name: &'static str) -> io::Result<()> {
            Ok(())
        }

        fn run(&self, invocation: Invocation) -> Result<String, CommandError> {
            let line = invocation.line();
            if self.missing {
                return Err(CommandError::Missing {
                    program: "fio".to_owned(),
                    command: line,
                });
            }
            let answer = match line.as_str() {
                "fio --version" => "fio-3.33\n".to_owned(),
                _ => report(0, 100.0, 100)
                    .replace("\"iops\": 0,", "\"iops\": 90,")
                    .replace("\"total_ios\": 0,", "\"total_ios\": 9,"),
            };
            self.asked.lock().expect("no panic").push(line);
            Ok(answer)
        }
    }

    #[test]
    fn every_depth_is_measured_and_the_file_goes() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let host = Told {
            asked: Mutex::default(),
            missing: false,
        };
        let asked = Sweep {
            directory: directory.path(),
            file_mib: 1,
            seconds: 2,
            depths: &DEPTHS,
            group: Some(Path::new("/group")),
        };
        let mut told = 0;
        let ceiling = sweep(&host, &asked, "a directory", &mut |_| {
            told += 1;
            ControlFlow::Continue(())
        })
        .expect("measured");
        assert_eq!(
            (ceiling.points.len(), told, ceiling.tool.as_str()),
            (28, 28, "fio-3.33")
        );
        let lines = host.asked.lock().expect("no panic");
        let last = lines.last().expect("asked");
        assert!(
            last.starts_with(
                "sh -c echo $$ > \"$0/cgroup.procs\" && exec fio \"$@\" /group --name=rookery \
                 --rw=randwrite --bs=16k --iodepth=64"
            ),
            "{last}"
        );
        assert!(
            last.contains("--direct=1") && last.contains("--runtime=2"),
            "{last}"
        );
        assert_eq!(fs::read_dir(directory.path()).expect("there").count(), 0);
        let text = serde_json::to_string(&ceiling).expect("JSON");
        assert_eq!(
            serde_json::from_str::<Ceiling>(&text).expect("the same"),
            ceiling
        );
    }

    #[test]
    fn one_may_stop_and_fio_may_be_missing() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let asked = Sweep {
            directory: directory.path(),
            file_mib: 1,
            seconds: 1,
            depths: &DEPTHS,
            group: None,
        };
        let host = |missing| Told {
            asked: Mutex::default(),
            missing,
        };
        let stopped = sweep(&host(false), &asked, "", &mut |_| ControlFlow::Break(()));
        assert!(matches!(stopped, Err(FioError::Stopped)));
        let error = sweep(&host(true), &asked, "", &mut |_| ControlFlow::Continue(()))
            .expect_err("missing");
        assert!(
            error.help().as_deref() == Some("apt install fio"),
            "{error}"
        );
        let nowhere = Sweep {
            directory: Path::new("/nonexistent"),
            ..asked
        };
        let error = sweep(&host(false), &nowhere, "", &mut |_| {
            ControlFlow::Continue(())
        })
        .expect_err("no directory");
        assert!(matches!(error, FioError::File { .. }), "{error}");
        assert_eq!(fs::read_dir(directory.path()).expect("there").count(), 0);
    }
}
