//! What must hold of a run that was interrupted many times and then led to its end.

use std::collections::BTreeMap;

use serde_json::Value;

/// Check the export of a run; gives its number of trials. `children_killed` is how many processes
/// of guests were killed: no more trials may have failed.
///
/// # Errors
/// What does not hold.
pub(super) fn check_run(export: &[u8], children_killed: u32) -> Result<u32, String> {
    let run: Value =
        serde_json::from_slice(export).map_err(|error| format!("the export: {error}"))?;
    let trials = rows(&run, "trials")?;
    let mut begun: BTreeMap<u64, u64> = BTreeMap::new();
    for attempt in rows(&run, "attempts")? {
        *begun.entry(number(attempt, "trial")?).or_default() += 1;
    }
    let mut failed = 0;
    let mut seen = Vec::new();
    for trial in trials {
        let id = number(trial, "trial")?;
        if seen.contains(&id) {
            return Err(format!("trial {id} is there twice"));
        }
        seen.push(id);
        match trial["status"].as_str() {
            Some("done" | "void") => {}
            Some("failed") => failed += 1,
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
    if failed > children_killed {
        return Err(format!(
            "{failed} trials failed, but only {children_killed} processes of guests were killed: {}",
            run["reasons"]
        ));
    }
    u32::try_from(seen.len()).map_err(|_| "too many trials".to_owned())
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
        assert_eq!(check_run(&export("void", 2), 0), Ok(2));
        assert_eq!(check_run(&export("failed", 2), 1), Ok(2));
        for (status, attempts, told) in [
            ("running", 2, "trial 2 is Some(\"running\")"),
            ("done", 1, "counts 1 attempts"),
            ("failed", 2, "1 trials failed"),
        ] {
            let error = check_run(&export(status, attempts), 0).expect_err("refused");
            assert!(error.contains(told), "{error}");
        }
    }
}
