//! Stock level: how many items of the last twenty orders of a district are running out.

use super::{Desk, Failure, Outcome, Session};
use crate::orderentry::{
    sql::{Statement, Style, Verb},
    terminal::StockLevelInput,
};

/// Orders that are looked at.
const LAST_ORDERS: i64 = 20;

pub(super) async fn run<S: Session>(
    session: &mut S,
    desk: &mut Desk,
    style: Style,
    input: &StockLevelInput,
) -> Result<Outcome, Failure<S::Error>> {
    if style == Style::Procs {
        let call = desk.call(Statement::one(Verb::CallStockLevel));
        call.int(input.warehouse)
            .int(input.district)
            .int(input.threshold);
        desk.fly_committing(session).await?;
        return Ok(Outcome::StockLevel {
            low: desk.row(0)?.id(0)?,
        });
    }
    let together = style == Style::Pipelined;
    desk.call(Statement::BEGIN_READ);
    if !together {
        desk.fly(session).await?;
    }
    desk.call(Statement::one(Verb::NextOrder))
        .int(input.warehouse)
        .int(input.district);
    desk.fly(session).await?;
    let next = desk.row(usize::from(together))?.int(0)?;
    let call = desk
        .call(Statement::one(Verb::LowStock))
        .int(input.warehouse)
        .int(input.district);
    call.int(next - LAST_ORDERS).int(next).int(input.threshold);
    if together {
        desk.call(Statement::COMMIT);
    }
    desk.fly(session).await?;
    let low = desk.row(0)?.id(0)?;
    if !together {
        desk.control(session, Statement::COMMIT).await?;
    }
    Ok(Outcome::StockLevel { low })
}
