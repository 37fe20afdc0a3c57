//! Queueing solvers against an independent peer: random networks, solved here and by the package
//! `queueing` of GNU Octave.
//!
//! All networks go through one Octave process: a script is written, run, and its numbers are read
//! back. What counts is the largest relative difference of any throughput, residence time or number
//! at a station.

mod networks;

use std::{
    fs,
    io::{self, Write as _},
    process::Command,
    time::Instant,
};

use networks::{Case, Kind};
use rookery_workload::random::SplitMix64;

/// Largest relative difference at which two exact solvers agree.
const LIMIT: f64 = 1e-9;

const USAGE: &str = "usage: cargo xtask bench mva [--networks N] [--seed S]";

/// Run `bench mva`.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (mut count, mut seed) = (100, 1);
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    for option in words.chunks(2) {
        let number = |text: &str| {
            text.parse::<u64>()
                .map_err(|_| format!("`{text}` is not a whole number\n{USAGE}"))
        };
        match option {
            ["--networks", text] => count = number(text)?.clamp(1, 10_000),
            ["--seed", text] => seed = number(text)?,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let mut random = SplitMix64::new(seed);
    let cases: Vec<(Kind, Case)> = Kind::ALL
        .iter()
        .flat_map(|kind| (0..count).map(|_| *kind).collect::<Vec<_>>())
        .map(|kind| (kind, Case::draw(kind, &mut random)))
        .collect();
    let start = Instant::now();
    let ours: Vec<Vec<f64>> = cases
        .iter()
        .map(|(_, case)| case.solve())
        .collect::<Result<_, _>>()?;
    let own_time = start.elapsed();
    let start = Instant::now();
    let theirs = peer(&cases)?;
    let peer_time = start.elapsed();
    say(&format!(
        "{} random networks of each kind, seed {seed}; ours in {:.2} s, Octave in {:.1} s",
        count,
        own_time.as_secs_f64(),
        peer_time.as_secs_f64()
    ))?;
    say(&format!(
        "{:<58}{:>10}{:>12}  worst",
        "kind: ours against the peer's function", "numbers", "largest"
    ))?;
    let mut apart = Vec::new();
    for kind in Kind::ALL {
        let of_kind = (0..cases.len()).filter(|place| cases[*place].0 == kind);
        let (mut numbers, mut worst) = (0, (0.0, 0));
        for place in of_kind {
            if ours[place].len() != theirs[place].len() {
                return Err(format!(
                    "Octave gave {} numbers for {:?}",
                    theirs[place].len(),
                    cases[place].1
                ));
            }
            numbers += ours[place].len();
            let difference = largest_difference(&ours[place], &theirs[place]);
            if difference > worst.0 {
                worst = (difference, place);
            }
        }
        say(&format!(
            "{:<58}{numbers:>10}{:>12.1e}  #{}",
            kind.title(),
            worst.0,
            worst.1
        ))?;
        if worst.0 > LIMIT {
            apart.push(format!("{}: {:?}", kind.title(), cases[worst.1].1));
        }
    }
    if apart.is_empty() {
        say(&format!("All agree within {LIMIT:.0e}."))
    } else {
        Err(format!(
            "more than {LIMIT:.0e} apart:\n{}",
            apart.join("\n")
        ))
    }
}

fn say(line: &str) -> Result<(), String> {
    writeln!(io::stdout(), "{line}")
        .map_err(|error| format!("cannot write to standard output: {error}"))
}

/// |ours - theirs| over the larger of the two, of the worst pair; numbers that are 0 in both agree, and what is no number agrees with nothing.
fn largest_difference(ours: &[f64], theirs: &[f64]) -> f64 {
    let pairs = ours.iter().zip(theirs);
    let difference = |(a, b): (&f64, &f64)| {
        let size = a.abs().max(b.abs());
        match (a - b).abs() / size {
            _ if size < 1e-300 => 0.0,
            share if share.is_finite() => share,
            _ => f64::INFINITY,
        }
    };
    pairs.map(difference).fold(0.0, f64::max)
}

/// The numbers of every case as Octave finds them.
fn peer(cases: &[(Kind, Case)]) -> Result<Vec<Vec<f64>>, String> {
    let mut script = String::from(
        "1;\npkg load queueing;\nwarning(\"off\", \"all\");\nfunction put(v), printf(\"%.17g \", \
         v); printf(\"\\n\"); end\n",
    );
    for (_, case) in cases {
        script.push_str(&case.script());
        script.push('\n');
    }
    let directory = tempfile::tempdir()
        .map_err(|error| format!("cannot make a temporary directory: {error}"))?;
    let file = directory.path().join("networks.m");
    fs::write(&file, script)
        .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    let install =
        "install the peer: apt-get install --no-install-recommends octave octave-queueing";
    let output = Command::new("octave-cli")
        .args(["--norc", "--quiet", "--no-window-system", "--no-history"])
        .arg(&file)
        .output()
        .map_err(|error| format!("cannot start octave-cli ({error}); {install}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let rows: Vec<Vec<f64>> = text
        .lines()
        .map(numbers)
        .collect::<Option<_>>()
        .unwrap_or_default();
    if rows.len() == cases.len() {
        return Ok(rows);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let errors: String = errors.lines().take(5).collect::<Vec<_>>().join("\n");
    Err(format!(
        "Octave answered for {} of {} networks:\n{errors}\nIs its package there? {install}",
        rows.len(),
        cases.len()
    ))
}

fn numbers(line: &str) -> Option<Vec<f64>> {
    line.split_whitespace()
        .map(|word| word.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_relative_and_what_is_no_number_differs() {
        assert_eq!(largest_difference(&[1.0, 0.0], &[1.0, 0.0]), 0.0);
        assert!((largest_difference(&[1.0, 100.0], &[1.0, 99.0]) - 0.01).abs() < 1e-12);
        assert_eq!(
            largest_difference(&[1.0, f64::NAN, 1.0], &[1.0, 1.0, 1.0]),
            f64::INFINITY
        );
        assert_eq!(numbers(" 1 2.5e-3 "), Some(vec![1.0, 2.5e-3]));
        assert_eq!(numbers("error: 1"), None);
    }

    #[test]
    fn the_same_seed_draws_the_same_networks_and_all_can_be_solved() {
        for kind in Kind::ALL {
            let draw = || Case::draw(kind, &mut SplitMix64::new(7));
            assert_eq!(draw(), draw());
            let (case, found) = (draw(), draw().solve().expect("solvable"));
            assert!(
                found
                    .iter()
                    .all(|number| number.is_finite() && *number >= 0.0),
                "{case:?} {found:?}"
            );
            assert!(case.script().contains("put("), "{}", case.script());
        }
    }
}
