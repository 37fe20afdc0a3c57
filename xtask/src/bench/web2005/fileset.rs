//! File sets of about 1 GB, the disk's own rate beside each.

use std::sync::atomic::AtomicBool;

use rookery_stack::web2005::{FilesetOptions, WrittenFileset, write_fileset};
use rookery_workload::web2005::{Model, files::Shape};

use crate::bench::data::{Scratch, Spread, default_dir, disk_rate, peak_memory_mb};

/// Sessions whose sets have about 1 GB: of support a few large files, of banking many small ones.
const SETS: [(Model, u32); 2] = [(Model::Support, 60), (Model::Banking, 100)];

pub(super) fn run(runs: usize) -> Result<(), String> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let dir = default_dir()?.join(format!("bench-web2005-{}", std::process::id()));
    let scratch = Scratch::create(dir)?;
    for (model, sessions) in SETS {
        let shape = Shape::new(model, sessions, 1.0, 1).map_err(|error| error.to_string())?;
        let (mut disk, mut set, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        let mut method = "";
        let mut last = None;
        for _ in 0..runs {
            let (rate, by) = disk_rate(scratch.path())?;
            method = by;
            let written = write(&scratch, &shape, threads)?;
            let seconds = written.seconds.unwrap_or(f64::NAN);
            let of_set = written.manifest.bytes as f64 / seconds / 1e6;
            disk.push(rate);
            set.push(of_set);
            ratios.push(of_set / rate);
            last = Some(written);
        }
        if let Some(written) = last {
            println!(
                "file set of {} for {sessions} sessions, {threads} threads, {} files, {:.0} MB, \
                 with sync, {runs} runs:",
                model.name(),
                written.manifest.files,
                written.manifest.bytes as f64 / 1e6
            );
        }
        println!("  set: {} MB/s", Spread(&set));
        println!(
            "  disk, sequential write by {method}: {} MB/s",
            Spread(&disk)
        );
        println!("  ratio set / disk: {} (at least 0.5)", Spread(&ratios));
        println!(
            "  peak memory of this process (VmHWM): {:.1} MB",
            peak_memory_mb()?
        );
    }
    Ok(())
}

fn write(scratch: &Scratch, shape: &Shape, threads: usize) -> Result<WrittenFileset, String> {
    let set = Scratch::create(scratch.path().join("set"))?;
    let never = AtomicBool::new(false);
    let options = FilesetOptions {
        threads,
        max_bytes: None,
        stop: &never,
    };
    write_fileset(set.path(), shape, &options, &|_| ()).map_err(|error| error.to_string())
}
