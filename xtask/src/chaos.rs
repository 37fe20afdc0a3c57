//! `cargo xtask chaos`: runs of every kind are killed at random moments, in random ways, and must
//! lose nothing and leave nothing.

mod interruption;
mod kind;
mod outcome;
mod remains;
mod series;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use kind::{RunKind, shares};
use rookery_workload::random::{RandomSource as _, SplitMix64};
use series::{Series, Tally};

/// How many kills there are unless the caller says otherwise.
const KILLS: u32 = 40;

pub(crate) const USAGE: &str = "\
usage: cargo xtask chaos [--kills N] [--seed S] [--kinds NAME,..] [--templates DIR]

  --kills N       interruptions, shared among the kinds (40)
  --seed S        of moments and ways (1); the same seed draws the same
  --kinds NAME,.. containers, volumes, database, settings, lamp, lamp-build, machines,
                  machines-build (all)
  --templates DIR where templates are kept, to spare their building (a directory of its own)
";

/// What the caller asks for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    kills: u32,
    seed: u64,
    kinds: Vec<RunKind>,
    templates: Option<PathBuf>,
}

impl Options {
    fn parse(words: &[&str]) -> Result<Self, String> {
        let mut options = Self {
            kills: KILLS,
            seed: 1,
            kinds: RunKind::all().collect(),
            templates: None,
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
    let program = build()?;
    let base = tempfile::Builder::new()
        .prefix("rookery-chaos-")
        .tempdir()
        .map_err(|error| format!("a temporary directory: {error}"))?;
    let own = base.path().join("templates");
    let templates = options.templates.as_deref().unwrap_or(&own);
    let mut seeds = SplitMix64::new(options.seed);
    let mut kills = 0;
    for (kind, share) in shares(&options.kinds, options.kills) {
        let place = base.path().join(kind.name());
        fs::create_dir_all(&place)
            .and_then(|()| fs::write(place.join("chaos.toml"), kind.study()))
            .map_err(|error| format!("{}: {error}", place.display()))?;
        let series = Series {
            kind,
            program: &program,
            templates,
            place,
            random: SplitMix64::new(seeds.below(u64::MAX)),
        };
        let began = Instant::now();
        let tally = series
            .interrupt(share)
            .map_err(|error| format!("chaos, {}, seed {}: {error}", kind.name(), options.seed))?;
        println!(
            "{:<15} {}",
            kind.name(),
            summary(share, &tally, began.elapsed().as_secs())
        );
        kills += share;
    }
    println!(
        "chaos: {kills} interruptions, seed {}: every trial is there once, nothing is left",
        options.seed
    );
    Ok(())
}

fn summary(kills: u32, tally: &Tally, seconds: u64) -> String {
    let ways: Vec<String> = tally
        .ways
        .iter()
        .map(|(way, count)| format!("{count} {way:?}"))
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
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || root.join("target"),
        |target| root.join(Path::new(&target)),
    );
    Ok(target.join("debug/rookery"))
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
                templates: None,
            })
        );
        for wrong in [
            &["--kills"][..],
            &["--kills", "x"],
            &["--kinds", "y"],
            &["-v", "1"],
        ] {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
