//! `cargo xtask chaos`: runs of every kind are killed at random moments, in random ways, and must
//! lose nothing and leave nothing.

mod fleet;
mod interruption;
mod kind;
mod outcome;
mod remains;
mod series;

use std::{fs, num::NonZeroUsize, path::PathBuf, process::Command, sync::Mutex, time::Instant};

use fleet::FleetSeries;
use kind::{RunKind, shares};
use rookery_workload::random::{RandomSource as _, SplitMix64};
use series::{Series, Tally};

/// How many kills there are unless the caller says otherwise.
const KILLS: u32 = 40;
/// Series at the same time unless the caller says otherwise: they mostly wait for trials to end.
const JOBS: NonZeroUsize = NonZeroUsize::new(3).expect("not zero");

pub(crate) const USAGE: &str = "\
usage: cargo xtask chaos [--kills N] [--seed S] [--kinds NAME,..] [--jobs N] [--templates DIR]
                         [--program FILE]

  --kills N       interruptions, shared among the kinds (40)
  --seed S        of moments and ways (1); the same seed draws the same
  --kinds NAME,.. containers, volumes, database, settings, lamp, cms-storage, lamp-build,
                  machines, machines-build, fleet (all)
  --jobs N        kinds that are interrupted at the same time (3)
  --templates DIR where templates are kept, to spare their building (a directory of its own)
  --program FILE  the `rookery` that is interrupted (this tree's, which is built first)
";

/// What the caller asks for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    kills: u32,
    seed: u64,
    kinds: Vec<RunKind>,
    jobs: NonZeroUsize,
    templates: Option<PathBuf>,
    program: Option<PathBuf>,
}

impl Options {
    fn parse(words: &[&str]) -> Result<Self, String> {
        let mut options = Self {
            kills: KILLS,
            seed: 1,
            kinds: RunKind::all().collect(),
            jobs: JOBS,
            templates: None,
            program: None,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let value = words
                .next()
                .ok_or_else(|| format!("`{word}` wants a value\n{USAGE}"))?;
            let wrong = |_| format!("`{word} {value}` is no number\n{USAGE}");
            match *word {
                "--kills" => options.kills = value.parse().map_err(wrong)?,
                "--seed" => options.seed = value.parse().map_err(wrong)?,
                "--jobs" => options.jobs = value.parse().map_err(wrong)?,
                "--program" => options.program = Some(PathBuf::from(value)),
                "--templates" => options.templates = Some(PathBuf::from(value)),
                "--kinds" => {
                    options.kinds = value
                        .split(',')
                        .map(|name| {
                            RunKind::from_name(name)
                                .ok_or_else(|| format!("there is no kind `{name}`\n{USAGE}"))
                        })
                        .collect::<Result<_, _>>()?;
                }
                _ => return Err(format!("`{word}` is not known\n{USAGE}")),
            }
        }
        Ok(options)
    }
}

/// Build the program, and interrupt its runs.
///
/// # Errors
/// What did not hold.
pub(crate) fn run(words: &[&str]) -> Result<(), String> {
    let options = Options::parse(words)?;
    let program = match &options.program {
        Some(program) => {
            fs::canonicalize(program).map_err(|error| format!("{}: {error}", program.display()))?
        }
        None => build()?,
    };
    let base = tempfile::Builder::new()
        .prefix("rookery-chaos-")
        .tempdir()
        .map_err(|error| format!("a temporary directory: {error}"))?;
    let own = base.path().join("templates");
    let templates = options.templates.as_deref().unwrap_or(&own);
    let templates = std::path::absolute(templates)
        .map_err(|error| format!("{}: {error}", templates.display()))?;
    let mut seeds = SplitMix64::new(options.seed);
    let mut series = Vec::new();
    for (kind, share) in shares(&options.kinds, options.kills) {
        let place = base.path().join(kind.name());
        fs::create_dir_all(&place)
            .and_then(|()| fs::write(place.join("chaos.toml"), kind.study()))
            .map_err(|error| format!("{}: {error}", place.display()))?;
        let random = SplitMix64::new(seeds.below(u64::MAX));
        series.push((
            share,
            Series {
                kind,
                program: &program,
                templates: &templates,
                place,
                random,
            },
        ));
    }
    let kills: u32 = series.iter().map(|(share, _)| share).sum();
    let failures = all(series, options.jobs);
    if failures.is_empty() {
        println!(
            "chaos: {kills} interruptions, seed {}: every trial is there once, nothing is left",
            options.seed
        );
        return Ok(());
    }
    Err(format!(
        "chaos, seed {}: {}",
        options.seed,
        failures.join("\n")
    ))
}

/// Perform all series, `jobs` at a time, in the order in which they are given; what did not hold.
/// A series that fails ends alone: the others tell what they find.
fn all(series: Vec<(u32, Series<'_>)>, jobs: NonZeroUsize) -> Vec<String> {
    let waiting = Mutex::new(series.into_iter());
    let failures = Mutex::new(Vec::new());
    let next = || waiting.lock().ok().and_then(|mut waiting| waiting.next());
    std::thread::scope(|scope| {
        for _ in 0..jobs.get() {
            scope.spawn(|| {
                while let Some((share, series)) = next() {
                    let (name, began) = (series.kind.name(), Instant::now());
                    let interrupted = match series.kind {
                        RunKind::Fleet => FleetSeries::new(series).interrupt(share),
                        _ => series.interrupt(share),
                    };
                    let told = match interrupted {
                        Ok(tally) => summary(share, &tally, began.elapsed().as_secs()),
                        Err(error) => {
                            let told = format!("FAILED: {error}");
                            if let Ok(mut failures) = failures.lock() {
                                failures.push(format!("{name}: {error}"));
                            }
                            told
                        }
                    };
                    println!("{name:<15} {told}");
                }
            });
        }
    });
    failures.into_inner().unwrap_or_default()
}

fn summary(kills: u32, tally: &Tally, seconds: u64) -> String {
    let ways: Vec<String> = tally
        .ways
        .iter()
        .map(|(way, count)| format!("{count} {way}"))
        .collect();
    format!(
        "{kills} interruptions in {seconds} s ({}); {} cleans and {} killed ones, {} resumes \
         without; {} trials of {} runs",
        ways.join(", "),
        tally.cleans,
        tally.killed_cleans,
        tally.bare_resumes,
        tally.trials,
        tally.runs
    )
}

/// The program of this tree, as it is built for tests.
fn build() -> Result<PathBuf, String> {
    let root = crate::root::directory();
    let status = Command::new("cargo")
        .args(["build", "--quiet", "--locked", "--package", "rookery"])
        .current_dir(&root)
        .status()
        .map_err(|error| format!("cargo build: {error}"))?;
    if !status.success() {
        return Err("cargo build failed".to_owned());
    }
    Ok(crate::root::target().join("debug/rookery"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let options = Options::parse(&["--kills", "7", "--seed", "9", "--kinds", "lamp,volumes"]);
        assert_eq!(
            options,
            Ok(Options {
                kills: 7,
                seed: 9,
                kinds: vec![RunKind::Lamp, RunKind::Volumes],
                jobs: JOBS,
                templates: None,
                program: None,
            })
        );
        for wrong in [
            &["--kills"][..],
            &["--kills", "x"],
            &["--kinds", "y"],
            &["--jobs", "0"],
            &["-v", "1"],
        ] {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
