//! Problems of files as JSON.

use rookery_study::Problem;

/// One problem, with its place.
pub(crate) fn as_json(problem: &Problem) -> serde_json::Value {
    serde_json::json!({
        "file": &*problem.file,
        "line": problem.line,
        "column": problem.column,
        "code": problem.code.as_str(),
        "message": problem.message,
        "help": problem.help,
    })
}
