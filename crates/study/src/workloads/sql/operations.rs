//! From the keys of operations, statements and audits to these, and back.

use rookery_workload::{
    RandomDelay,
    sql::{RowAudit, RowCapture, RowChecks, SqlOperation, SqlStatement},
};

use super::keys::{AuditKeys, OperationKeys, StatementKeys};
use crate::{grammar::Context, problem::Code, source::quoted, workloads::data_driven::Defaults};

/// One operation; nothing where it was refused. `path` is where its keys stand.
pub(super) fn build(
    keys: OperationKeys,
    defaults: Defaults,
    path: &str,
    context: &mut Context,
) -> Option<SqlOperation> {
    let name = keys.name?;
    let given = keys.statement?;
    if given.is_empty() {
        let span = context.spans.nearest(&format!("{path}.statement"));
        let message = format!("the operation {} has no statement", quoted(&name));
        let help = "write for instance `statement = [{sql = \"SELECT 1\"}]`";
        return context.refuse(Code::EmptyList, span, message, help);
    }
    let statements: Vec<Option<SqlStatement>> = given
        .into_iter()
        .enumerate()
        .map(|(index, keys)| statement(keys, &format!("{path}.statement[{index}]"), context))
        .collect();
    Some(SqlOperation {
        name,
        statements: statements.into_iter().collect::<Option<_>>()?,
        transaction: keys.transaction?,
        delay: RandomDelay {
            mean: keys.think_time.unwrap_or(defaults.think_time),
            distribution: keys.think_distribution.unwrap_or(defaults.distribution),
        },
        timeout: keys.timeout,
        counts: keys.counts,
    })
}

fn statement(keys: StatementKeys, path: &str, context: &mut Context) -> Option<SqlStatement> {
    let (min_rows, max_rows) = match keys.rows {
        None => (keys.min_rows, keys.max_rows),
        Some(rows) if keys.min_rows.is_none() && keys.max_rows.is_none() => {
            (Some(rows), Some(rows))
        }
        Some(_) => {
            let span = context.spans.nearest(&format!("{path}.rows"));
            let message = "`rows` says exactly how many there are, so that `min_rows` and \
                           `max_rows` have no meaning";
            let help = "keep `rows`, or `min_rows` and `max_rows`";
            return context.refuse(Code::Contradiction, span, message, help);
        }
    };
    if let (Some(min), Some(max)) = (min_rows, max_rows)
        && min > max
    {
        let span = context.spans.nearest(&format!("{path}.max_rows"));
        let message = format!("at least {min} and at most {max} rows do not exist");
        return context.refuse(Code::Contradiction, span, message, "make `max_rows` larger");
    }
    let captures = keys.capture.unwrap_or_default().into_iter();
    Some(SqlStatement {
        text: keys.sql?,
        checks: RowChecks {
            min_rows,
            max_rows,
            values: keys.values.unwrap_or_default(),
        },
        captures: captures
            .map(|(name, column)| RowCapture { name, column })
            .collect(),
    })
}

/// One audit; nothing where it was refused.
pub(super) fn audit(keys: AuditKeys) -> Option<RowAudit> {
    Some(RowAudit {
        counts: keys.counts?,
        statement: keys.sql?,
        initial: keys.initial?,
    })
}

/// The keys of an audit.
pub(super) fn keys_of_audit(audit: &RowAudit) -> AuditKeys {
    AuditKeys {
        counts: Some(audit.counts.clone()),
        sql: Some(audit.statement.clone()),
        initial: Some(audit.initial),
    }
}

/// The keys of an operation, but for its place in the mix.
pub(super) fn keys_of(operation: &SqlOperation) -> OperationKeys {
    OperationKeys {
        name: Some(operation.name.clone()),
        statement: Some(operation.statements.iter().map(keys_of_statement).collect()),
        transaction: Some(operation.transaction),
        think_time: Some(operation.delay.mean),
        think_distribution: Some(operation.delay.distribution),
        timeout: operation.timeout,
        counts: operation.counts.clone(),
        ..OperationKeys::default()
    }
}

fn keys_of_statement(statement: &SqlStatement) -> StatementKeys {
    let RowChecks {
        min_rows,
        max_rows,
        values,
    } = &statement.checks;
    let captures = statement.captures.iter();
    let captures: Vec<_> = captures
        .map(|capture| (capture.name.clone(), capture.column))
        .collect();
    StatementKeys {
        sql: Some(statement.text.clone()),
        rows: None,
        min_rows: *min_rows,
        max_rows: *max_rows,
        values: Some(values.clone()).filter(|values| !values.is_empty()),
        capture: Some(captures).filter(|captures| !captures.is_empty()),
    }
}
