//! For how long the threads of guests were ready to run and waited for a CPU.

use std::{collections::BTreeMap, fs, path::Path};

use rookery_guest::ProcessProbe;
use rookery_stats::{KernelCount, KernelCounter};

use super::text::text;

/// Most threads of a guest that are read; of a guest with more nothing is said.
const MOST_THREADS: usize = 4096;

/// What each thread of a guest has waited so far, us, by its number.
type Waits = BTreeMap<u32, u64>;

/// The waits of all guests, in their order; nothing of a guest where the kernel does not count.
pub(super) fn read(
    proc: &Path,
    guests: &mut [(String, ProcessProbe)],
) -> Vec<(String, Option<Waits>)> {
    guests
        .iter_mut()
        .map(|(name, processes)| (name.clone(), waits(proc, processes())))
        .collect()
}

/// By how much the waits of guests grew. A thread that was not there before begins at zero; what
/// one has waited that is gone is not known.
pub(super) fn growth(
    before: &[(String, Option<Waits>)],
    after: &[(String, Option<Waits>)],
) -> Vec<KernelCount> {
    let of_guest =
        |((name, before), (_, after)): (&(String, Option<Waits>), &(_, Option<Waits>))| {
            let (before, after) = (before.as_ref()?, after.as_ref()?);
            let grown = after.iter().map(|(thread, now)| {
                let then = before.get(thread).copied().unwrap_or_default();
                now.saturating_sub(then)
            });
            Some(KernelCount {
                scope: name.clone(),
                counter: KernelCounter::RunDelay,
                count: grown.sum(),
            })
        };
    before.iter().zip(after).filter_map(of_guest).collect()
}

fn waits(proc: &Path, processes: impl IntoIterator<Item = u32>) -> Option<Waits> {
    let mut waits = Waits::new();
    for process in processes {
        let tasks = fs::read_dir(proc.join(format!("{process}/task")));
        for task in tasks.into_iter().flatten().flatten() {
            let number = task.file_name().to_str().and_then(|name| name.parse().ok());
            let waited = parse_schedstat(&text(&task.path().join("schedstat")));
            if let (Some(number), Some(waited)) = (number, waited) {
                waits.insert(number, waited);
            }
            if waits.len() > MOST_THREADS {
                return None;
            }
        }
    }
    (!waits.is_empty()).then_some(waits)
}

/// The second number of a `schedstat` file, ns, as us.
fn parse_schedstat(text: &str) -> Option<u64> {
    let ns: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(ns / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_of_all_threads_grow_together() {
        let proc = tempfile::tempdir().expect("a directory");
        let write = |thread: u32, text: &str| {
            let task = proc.path().join(format!("7/task/{thread}"));
            fs::create_dir_all(&task).expect("a directory");
            fs::write(task.join("schedstat"), text).expect("a file");
        };
        let guest = |name: &str, process: u32| -> (String, ProcessProbe) {
            (name.to_owned(), Box::new(move || vec![process]))
        };
        let mut guests = [guest("g1", 7), guest("g2", 9)];
        write(7, "100 5000000 3\n");
        write(8, "100 9000000 3\n");
        let before = read(proc.path(), &mut guests);
        fs::remove_dir_all(proc.path().join("7/task/8")).expect("it ends");
        write(7, "900 7000000 4\n");
        write(10, "5 1000000 1\n");
        let after = read(proc.path(), &mut guests);
        assert_eq!(
            growth(&before, &after),
            [KernelCount {
                scope: "g1".to_owned(),
                counter: KernelCounter::RunDelay,
                count: 3000,
            }],
            "nothing of a guest without threads"
        );
    }

    #[test]
    fn files_of_another_form_say_nothing() {
        for text in ["", "5", "5 x 1", "-1 -1 -1"] {
            assert_eq!(parse_schedstat(text), None, "{text}");
        }
    }
}
