//! What must hold of a run that was interrupted many times and then led to its end.

use std::collections::BTreeMap;

use serde_json::Value;

/// The trials of a run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    /// All of them.
    pub(super) trials: u32,
    /// Those that failed.
    pub(super) failed: u32,
}

/// Reason of a trial whose guest answered nothing in its window of a second: the machine was too
/// busy, which no interruption did.
const SILENT: &str = "silent";

/// Check the export of a run. `children_killed` is how many processes of guests were killed: no
/// more trials may have failed, but for those whose guests were silent.
///
/// # Errors
/// What does not hold.
pub(super) fn check_run(export: &[u8], children_killed: u32) -> Result<Outcome, String> {
    let run: Value =
        serde_json::from_slice(export).map_err(|error| format!("the export: {error}"))?;
    let trials = rows(&run, "trials")?;
    let mut begun: BTreeMap<u64, u64> = BTreeMap::new();
    for attempt in rows(&run, "attempts")? {
        *begun.entry(number(attempt, "trial")?).or_default() += 1;
    }
    let silent = silent_trials(&run)?;
    let (mut failed, mut by_machine) = (0, 0);
    let (mut seen, mut groups) = (Vec::new(), Vec::new());
    for trial in trials {
        let id = number(trial, "trial")?;
        let group = trial["group"].as_str().unwrap_or_default();
        if groups.contains(&(id, group)) {
            return Err(format!("trial {id} is there twice"));
        }
        groups.push((id, group));
        // A trial has a row for each of its groups, which end alike.
        if seen.contains(&id) {
            continue;
        }
        seen.push(id);
        match trial["status"].as_str() {
            Some("done" | "void") => {}
            Some("failed") => {
                failed += 1;
                by_machine += u32::from(silent.contains(&id));
            }
            other => return Err(format!("trial {id} is {other:?}")),
        }
        let attempts = number(trial, "attempts")?;
        if begun.get(&id) != Some(&attempts) {
            return Err(format!(
                "trial {id} counts {attempts} attempts, {:?} are stored",
                begun.get(&id)
            ));
        }
    }
    // Trials are numbered from 1 as they are planned.
    let planned = seen.iter().max().copied().unwrap_or(0);
    if planned != seen.len() as u64 {
        return Err(format!("{planned} trials planned, {} stored", seen.len()));
    }
    if failed - by_machine > children_killed {
        return Err(format!(
            "{failed} trials failed, {by_machine} of them because their guests were silent, but only {children_killed} processes of guests were killed: {}",
            run["reasons"]
        ));
    }
    let trials = u32::try_from(seen.len()).map_err(|_| "too many trials".to_owned())?;
    Ok(Outcome { trials, failed })
}

/// Trials that give [`SILENT`] as a reason.
fn silent_trials(run: &Value) -> Result<Vec<u64>, String> {
    let reasons = rows(run, "reasons")?.iter();
    reasons
        .filter(|reason| reason["code"] == SILENT)
        .map(|reason| number(reason, "trial"))
        .collect()
}

fn rows<'v>(run: &'v Value, table: &str) -> Result<&'v Vec<Value>, String> {
    run[table]
        .as_array()
        .ok_or_else(|| format!("the export has no table {table}"))
}

fn number(row: &Value, key: &str) -> Result<u64, String> {
    row[key]
        .as_u64()
        .ok_or_else(|| format!("{key} is no number in {row}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn export(status: &str, attempts: u64) -> Vec<u8> {
        let run = json!({
            "trials": [
                { "trial": 1, "status": "done", "attempts": 1 },
                { "trial": 2, "status": status, "attempts": attempts },
            ],
            "attempts": [{ "trial": 1 }, { "trial": 2 }, { "trial": 2 }],
            "reasons": [],
        });
        run.to_string().into_bytes()
    }

    #[test]
    fn each_trial_is_there_once_with_all_its_attempts() {
        let ended = |failed| Ok(Outcome { trials: 2, failed });
        assert_eq!(check_run(&export("void", 2), 0), ended(0));
        assert_eq!(check_run(&export("failed", 2), 1), ended(1));
        for (status, attempts, told) in [
            ("running", 2, "trial 2 is Some(\"running\")"),
            ("done", 1, "counts 1 attempts"),
            ("failed", 2, "1 trials failed"),
        ] {
            let error = check_run(&export(status, attempts), 0).expect_err("refused");
            assert!(error.contains(told), "{error}");
        }
    }

    #[test]
    fn groups_of_a_trial_are_one_trial() {
        let rows = |second: &str| {
            let run = json!({
                "trials": [
                    { "trial": 1, "group": "left", "status": "done", "attempts": 1 },
                    { "trial": 1, "group": second, "status": "done", "attempts": 1 },
                ],
                "attempts": [{ "trial": 1 }],
                "reasons": [],
            });
            run.to_string().into_bytes()
        };
        let ended = Outcome {
            trials: 1,
            failed: 0,
        };
        assert_eq!(check_run(&rows("right"), 0), Ok(ended));
        let error = check_run(&rows("left"), 0).expect_err("refused");
        assert!(error.contains("trial 1 is there twice"), "{error}");
    }

    #[test]
    fn a_guest_that_was_silent_was_not_killed() {
        let text = String::from_utf8(export("failed", 2)).expect("text");
        let reasons = r#""reasons":[{"trial":2,"code":"silent"}]"#;
        let silent = text.replace(r#""reasons":[]"#, reasons);
        let ended = Outcome {
            trials: 2,
            failed: 1,
        };
        assert_eq!(check_run(silent.as_bytes(), 0), Ok(ended));
    }
}
