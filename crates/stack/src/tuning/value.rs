//! Values of settings: texts, and formulas that become numbers.

use rookery_study::{Expression, Variables};

use super::Component;

/// Sizes that a server takes in certain steps only: it would round them itself, and what is in
/// force would differ from what was asked.
const STEPS: [(&str, f64); 2] = [
    ("innodb_buffer_pool_size", 1_048_576.0),
    ("innodb_log_file_size", 1_048_576.0),
];
/// PostgreSQL's sizes, with their steps in bytes. A number without a unit means steps to it, and
/// bytes to us: so sizes are written in kB.
const POSTGRESQL_SIZES: [(&str, f64); 27] = [
    ("autovacuum_work_mem", KIB),
    ("backend_flush_after", 8.0 * KIB),
    ("bgwriter_flush_after", 8.0 * KIB),
    ("checkpoint_flush_after", 8.0 * KIB),
    ("effective_cache_size", 8.0 * KIB),
    ("gin_pending_list_limit", KIB),
    ("huge_page_size", KIB),
    ("log_temp_files", KIB),
    ("logical_decoding_work_mem", KIB),
    ("maintenance_work_mem", KIB),
    ("max_slot_wal_keep_size", MIB),
    ("max_stack_depth", KIB),
    ("max_wal_size", MIB),
    ("min_dynamic_shared_memory", MIB),
    ("min_parallel_index_scan_size", 8.0 * KIB),
    ("min_parallel_table_scan_size", 8.0 * KIB),
    ("min_wal_size", MIB),
    ("shared_buffers", 8.0 * KIB),
    ("temp_buffers", 8.0 * KIB),
    ("temp_file_limit", KIB),
    ("vacuum_buffer_usage_limit", KIB),
    ("wal_buffers", 8.0 * KIB),
    ("wal_decode_buffer_size", KIB),
    ("wal_keep_size", MIB),
    ("wal_skip_threshold", KIB),
    ("wal_writer_flush_after", 8.0 * KIB),
    ("work_mem", KIB),
];
const KIB: f64 = 1024.0;
const MIB: f64 = 1_048_576.0;
/// Characters that would end a value, or begin something else, in one of the configuration files.
const FORBIDDEN: [char; 9] = ['"', '\'', '\\', '#', ';', '{', '}', '<', '>'];
/// Longest text of a value, bytes.
const LONGEST: usize = 256;

/// What is wrong, and the help.
type Refusal = (String, String);

/// A value before it is evaluated.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// Written as it stands.
    Text(String),
    /// Computed from the guest's shape.
    Formula(Expression),
}

impl Value {
    /// As a study writes it: a formula, a single word, or a text between single quotes.
    pub(super) fn of_study(text: &str) -> Result<Self, Refusal> {
        let text = text.trim();
        let quoted = text
            .strip_prefix('\'')
            .and_then(|rest| rest.strip_suffix('\''));
        if let Some(quoted) = quoted {
            return Self::text(quoted);
        }
        match text {
            "true" => return Self::text("ON"),
            "false" => return Self::text("OFF"),
            _ => {}
        }
        let refusal = match Expression::parse(text) {
            Ok(formula) => return Ok(Self::Formula(formula)),
            Err(error) => error.to_string(),
        };
        let word = text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ',' | ':' | '.' | '-'));
        if word {
            return Self::text(text);
        }
        let help = "write a number such as 64MiB, a formula such as 80% * memory, a word such as \
                    ON, or any text between single quotes";
        Err((refusal, help.to_owned()))
    }

    /// A text that keeps its line and its place in every configuration file.
    pub(super) fn text(text: &str) -> Result<Self, Refusal> {
        if text.is_empty() || text.len() > LONGEST {
            return Err((
                format!("a text has 1 to {LONGEST} characters"),
                "write another".to_owned(),
            ));
        }
        match text
            .chars()
            .find(|c| c.is_control() || FORBIDDEN.contains(c))
        {
            Some(c) => Err((
                format!("a text may not contain {c:?}"),
                "leave it out".to_owned(),
            )),
            None => Ok(Self::Text(text.to_owned())),
        }
    }
}

/// The value as the component reads it.
pub(super) fn render(
    component: Component,
    name: &str,
    value: &Value,
    variables: &Variables,
) -> Result<String, Refusal> {
    let formula = match value {
        Value::Text(text) => return Ok(text.clone()),
        Value::Formula(formula) => formula,
    };
    let number = formula.evaluate(variables).map_err(|error| {
        (
            error.to_string(),
            "write a formula that has a value for this guest".to_owned(),
        )
    })?;
    let postgresql = POSTGRESQL_SIZES
        .iter()
        .find(|(known, _)| component == Component::Postgresql && *known == name);
    if let Some((_, step)) = postgresql {
        return kilobytes(formula, number, *step);
    }
    // A number that stands alone is meant as it is; what a formula gives is a size or a count.
    let literal: Option<f64> = formula.to_string().parse().ok();
    if let Some(literal) = literal.filter(|literal| literal.fract() != 0.0) {
        return Ok(literal.to_string());
    }
    let step = STEPS
        .iter()
        .find(|(known, _)| component == Component::Mariadb && *known == name);
    let step = step.map_or(1.0, |(_, step)| *step);
    let whole = (number / step).floor() * step;
    if whole.abs() >= 9.0e15 {
        return Err((
            format!("{number} is too large for a setting"),
            "write a smaller one".to_owned(),
        ));
    }
    Ok(format!("{whole:.0}"))
}

/// A size of PostgreSQL: 0 and -1 have meanings of their own, every other number needs a unit.
fn kilobytes(formula: &Expression, bytes: f64, step: f64) -> Result<String, Refusal> {
    let literal: Option<f64> = formula.to_string().parse().ok();
    match literal {
        Some(special) if special == 0.0 || special == -1.0 => return Ok(format!("{special:.0}")),
        Some(number) => {
            let help = "write it with a unit, such as 64MiB: without one PostgreSQL would count \
                        pages or kilobytes";
            return Err((format!("{number} has no unit"), help.to_owned()));
        }
        None => {}
    }
    let whole = (bytes / step).floor() * step;
    if !(0.0..9.0e15).contains(&whole) {
        return Err((
            format!("{bytes} bytes are no size for a setting"),
            "write a size between 0 and 8 PB".to_owned(),
        ));
    }
    Ok(format!("{:.0}kB", whole / KIB))
}
