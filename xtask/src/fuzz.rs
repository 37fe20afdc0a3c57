//! Kept inputs of every parser of bytes from outside, and new ones made of them.
//!
//! This runs on the stable toolchain, in one process, as many targets at a time as there are CPUs;
//! cargo-fuzz, which follows coverage, runs the
//! same targets from `fuzz/`.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use rookery_fuzzing::{TARGETS, Target};
use rookery_workload::random::{RandomSource as _, SplitMix64};

use crate::root;

/// Longest new input, bytes.
const LONGEST: usize = 1 << 14;
/// Bytes that often decide something.
const EDGES: [u8; 8] = [0x00, 0x01, 0x7f, 0x80, 0xfb, 0xfe, 0xff, b'\n'];

/// `cargo xtask fuzz [TARGET] [--seconds N] [--seed S]`.
///
/// # Errors
/// When an input breaks a rule; it is then kept under `target/fuzz`.
pub(crate) fn run(words: &[&str]) -> Result<(), String> {
    let options = Options::parse(words)?;
    let root = root::directory();
    let wanted = TARGETS
        .iter()
        .filter(|target| options.target.is_none_or(|name| name == target.name));
    let (waiting, faults) = (Mutex::new(wanted), Mutex::new(Vec::new()));
    let next = || waiting.lock().ok().and_then(|mut waiting| waiting.next());
    thread::scope(|scope| {
        let work = || {
            while let Some(target) = next() {
                if let (Err(fault), Ok(mut faults)) =
                    (run_target(target, &root, &options), faults.lock())
                {
                    faults.push(fault);
                }
            }
        };
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            // The end of the scope alone does not wait until what a thread holds for itself, such
            // as the directories of pretend servers, is dropped.
            thread.join().expect("faults of a target are caught");
        }
    });
    let faults = faults.into_inner().unwrap_or_default();
    if faults.is_empty() {
        Ok(())
    } else {
        Err(faults.join("\n"))
    }
}

struct Options<'a> {
    target: Option<&'a str>,
    seconds: u64,
    seed: u64,
}

impl<'a> Options<'a> {
    fn parse(words: &[&'a str]) -> Result<Self, String> {
        let mut options = Self {
            target: None,
            seconds: 10,
            seed: 1,
        };
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            let number = |next: Option<&&str>| {
                let next = next.and_then(|next| next.parse().ok());
                next.ok_or_else(|| format!("{word} wants a whole number"))
            };
            match word {
                "--seconds" => options.seconds = number(words.next())?,
                "--seed" => options.seed = number(words.next())?,
                name if TARGETS.iter().any(|target| target.name == name) => {
                    options.target = Some(name);
                }
                other => {
                    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
                    return Err(format!(
                        "there is no target `{other}`; there are {}",
                        names.join(", ")
                    ));
                }
            }
        }
        Ok(options)
    }
}

fn run_target(target: &Target, root: &Path, options: &Options<'_>) -> Result<(), String> {
    let kept = kept(target, root)?;
    for (path, bytes) in &kept {
        attempt(target, bytes).map_err(|()| format!("{}: {}", target.name, path.display()))?;
    }
    let mut random = SplitMix64::new(options.seed);
    let until = Instant::now() + Duration::from_secs(options.seconds);
    let mut tried = 0u64;
    while Instant::now() < until {
        let bytes = changed(&kept, &mut random);
        attempt(target, &bytes).or_else(|()| keep_fault(target, root, &bytes))?;
        tried += 1;
    }
    println!(
        "{}: {} kept inputs and {tried} new ones of seed {}, no fault",
        target.name,
        kept.len(),
        options.seed
    );
    Ok(())
}

/// The words of a panic go to the terminal by themselves.
fn attempt(target: &Target, bytes: &[u8]) -> Result<(), ()> {
    catch_unwind(AssertUnwindSafe(|| (target.run)(bytes))).map_err(|_| ())
}

/// The kept inputs of a target, in the order of their names; studies are inputs, too.
fn kept(target: &Target, root: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>, String> {
    let mut folders = vec![root.join("fuzz/corpus").join(target.name)];
    if target.name == "study_file" {
        folders.push(root.join("studies"));
    }
    let mut paths = Vec::new();
    for folder in &folders {
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        for entry in fs::read_dir(folder).map_err(failed)? {
            paths.push(entry.map_err(failed)?.path());
        }
    }
    paths.retain(|path| path.is_file());
    paths.sort();
    let read = |path: PathBuf| {
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok((path, bytes))
    };
    paths.into_iter().map(read).collect()
}

fn keep_fault(target: &Target, root: &Path, bytes: &[u8]) -> Result<(), String> {
    let folder = root.join("target/fuzz");
    let path = folder.join(format!("{}-fault", target.name));
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(&path, bytes))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    Err(format!(
        "{}: a fault over {}; move it to fuzz/corpus/{}/ together with its mend",
        target.name,
        path.display(),
        target.name
    ))
}

/// A new input: a kept one, changed in a few places, or bytes at random where none is kept.
fn changed(kept: &[(PathBuf, Vec<u8>)], random: &mut SplitMix64) -> Vec<u8> {
    let mut bytes = match kept {
        [] => Vec::new(),
        _ => kept[random.index(kept.len())].1.clone(),
    };
    for _ in 0..=random.below(6) {
        change(&mut bytes, kept, random);
    }
    bytes.truncate(LONGEST);
    bytes
}

fn change(bytes: &mut Vec<u8>, kept: &[(PathBuf, Vec<u8>)], random: &mut SplitMix64) {
    let at = random.index(bytes.len() + 1);
    let end = at + random.index(bytes.len() - at + 1).min(64);
    match random.below(8) {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        1 if at < bytes.len() => bytes[at] = EDGES[random.index(EDGES.len())],
        2 => bytes.insert(at, random.bits().to_le_bytes()[0]),
        3 => drop(bytes.drain(at..end)),
        4 => {
            let again = bytes[at..end].to_vec();
            bytes.splice(at..at, again);
        }
        5 => {
            let number = random.bits().to_le_bytes();
            let length = 1 + random.index(8);
            bytes.splice(at..at, number[..length].iter().copied());
        }
        6 => bytes.truncate(at),
        _ if !kept.is_empty() => {
            let (_, other) = &kept[random.index(kept.len())];
            let from = random.index(other.len() + 1);
            bytes.splice(at..end, other[from..].iter().copied());
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_kept_inputs_and_every_folder_a_target() {
        let root = root::directory();
        for target in TARGETS {
            let kept = kept(target, &root).expect("readable");
            assert!(kept.len() >= 3, "{}", target.name);
        }
        let folders = fs::read_dir(root.join("fuzz/corpus")).expect("readable");
        for folder in folders {
            let name = folder.expect("readable").file_name();
            assert!(
                TARGETS.iter().any(|target| name == target.name),
                "{name:?} has no target"
            );
        }
    }

    #[test]
    fn a_panic_is_a_fault_and_changes_are_reproducible() {
        let target = Target {
            name: "test",
            run: |bytes| assert!(bytes.is_empty(), "not empty"),
        };
        assert_eq!(attempt(&target, b""), Ok(()));
        assert_eq!(attempt(&target, b"x"), Err(()));
        let kept = vec![(PathBuf::new(), b"HTTP/1.1 200 OK\r\n\r\n".to_vec())];
        let of = |seed| {
            let mut random = SplitMix64::new(seed);
            (0..50)
                .map(|_| changed(&kept, &mut random))
                .collect::<Vec<_>>()
        };
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn options_are_read_or_refused() {
        let options = Options::parse(&["http_answer", "--seconds", "3", "--seed", "9"]);
        let options = options.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            (options.target, options.seconds, options.seed),
            (Some("http_answer"), 3, 9)
        );
        assert!(Options::parse(&["nothing"]).is_err_and(|error| error.contains("http_answer")));
        assert!(Options::parse(&["--seconds", "x"]).is_err());
    }
}
