//! `rookery host storage`: what a directory, or the storage of a study, can do.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use rookery_host::fio::{Ceiling, CeilingPoint};
use rookery_lab::{CEILINGS, Gauge};
use rookery_study::{Choices, Plan};
use rookery_text::Table;

use crate::{
    cli::HostStorageArgs,
    commands::{check, report},
    exit::{Code, Failure},
    output, signals,
};

pub(crate) fn run(args: &HostStorageArgs) -> Result<Code, Failure> {
    let stop = signals::stop_flag()?;
    let mut count = 0;
    let mut hear = |point: &CeilingPoint| {
        count += 1;
        if !args.json {
            let (pattern, block, depth) = (point.pattern.name(), point.block_kib, point.depth);
            output::remark(format!(
                "{count:3}  random {pattern}s of {block} KiB, depth {depth}: {:.0}/s",
                point.iops
            ));
        }
        if signals::came(&stop) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let gauge = Gauge {
        file_mib: args.size,
        seconds: args.seconds,
        depths: args.depths.clone().into(),
    };
    let measured = match asked(args)? {
        Asked::Directory(directory) => gauge
            .directory(&directory, &mut hear)
            .map(|ceiling| vec![ceiling]),
        Asked::Plan(plan) => gauge.pools(&plan, &args.places.runs, &mut hear),
    };
    let ceilings = match measured {
        Err(_) if signals::came(&stop) => {
            return Err(Failure::new(
                Code::Interrupted,
                "interrupted; nothing is left of the measurement",
            ));
        }
        measured => measured?,
    };
    if let Some(run) = &args.run {
        keep(&rookery_lab::find(&args.places.runs, run)?, &ceilings)?;
    }
    if args.json {
        return output::json(&ceilings);
    }
    for ceiling in &ceilings {
        output::text(table(ceiling));
    }
    Ok(Code::Done)
}

/// What is to be measured.
enum Asked {
    Directory(PathBuf),
    Plan(Box<Plan>),
}

fn asked(args: &HostStorageArgs) -> Result<Asked, Failure> {
    if let Some(run) = &args.run {
        let store = report::open(&rookery_lab::find(&args.places.runs, run)?)?;
        let header = store.header()?;
        return Ok(Asked::Plan(Box::new(header.plan)));
    }
    if let Some(study) = &args.study {
        let document = check::load(
            study,
            Choices {
                scale: args.scale.as_deref(),
                ..Choices::default()
            },
        )?;
        return Ok(Asked::Plan(Box::new(check::plan(
            &document,
            &args.places.runs,
        )?)));
    }
    Ok(Asked::Directory(
        args.directory.clone().unwrap_or_else(|| PathBuf::from(".")),
    ))
}

/// Keep what was measured beside the run's store, for its report.
fn keep(directory: &Path, ceilings: &[Ceiling]) -> Result<(), Failure> {
    let path = directory.join(CEILINGS);
    let text =
        serde_json::to_vec_pretty(ceilings).map_err(|error| Failure::new(Code::Internal, error))?;
    rookery_lab::write_whole(&path, &text).map_err(|error| {
        Failure::new(
            Code::Store,
            format!("cannot write {}: {error}", path.display()),
        )
        .help("check that the run's directory is yours and has room")
    })?;
    output::remark(format!("kept in {}", path.display()));
    Ok(())
}

/// One line for each point.
fn table(ceiling: &Ceiling) -> String {
    let mut text = format!(
        "{}\n  measured with {}, direct I/O on a file of {} MiB, {} s at each depth\n\n",
        ceiling.pool, ceiling.tool, ceiling.file_mib, ceiling.seconds
    );
    let heads = [
        "pattern", "depth", "IOPS", "MiB/s", "mean, us", "p50, us", "p95, us", "p99, us",
    ];
    let row = |point: &CeilingPoint| {
        let pattern = format!(
            "random {}s of {} KiB",
            point.pattern.name(),
            point.block_kib
        );
        let times = [point.mean_us, point.p50_us, point.p95_us, point.p99_us];
        let mut row = vec![
            pattern,
            point.depth.to_string(),
            format!("{:.0}", point.iops),
            format!("{:.1}", point.mib_per_s),
        ];
        row.extend(times.map(|time| format!("{time:.0}")));
        row
    };
    let rows = ceiling.points.iter().map(row).collect();
    text += &Table::new(heads.map(str::to_owned).to_vec(), rows).render(output::width());
    text
}

#[cfg(test)]
mod tests {
    use rookery_host::fio::Pattern;

    use super::*;

    #[test]
    fn a_table_reads_well() {
        let ceiling = Ceiling {
            pool: "a volume with ext4, noatime, no barriers, data=writeback; at most 200 reads/s"
                .to_owned(),
            tool: "fio-3.33".to_owned(),
            file_mib: 64,
            seconds: 2,
            points: vec![CeilingPoint {
                pattern: Pattern::Read,
                block_kib: 16,
                depth: 64,
                iops: 7437.4,
                mib_per_s: 116.2,
                mean_us: 8602.0,
                p50_us: 8000.0,
                p95_us: 12_000.0,
                p99_us: 20_500.0,
            }],
        };
        insta::assert_snapshot!(table(&ceiling), @r"
        a volume with ext4, noatime, no barriers, data=writeback; at most 200 reads/s
          measured with fio-3.33, direct I/O on a file of 64 MiB, 2 s at each depth

        pattern                 depth  IOPS  MiB/s  mean, us  p50, us  p95, us  p99, us
        ----------------------  -----  ----  -----  --------  -------  -------  -------
        random reads of 16 KiB  64     7437  116.2  8602      8000     12000    20500
        ");
    }
}
