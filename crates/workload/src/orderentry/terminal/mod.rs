//! What one terminal does: which transaction comes next, with which input, and how long it pauses.
//!
//! [`Terminal`] is the principal type. All of its choices come from streams of its own, seeded by
//! the run's seed and its number; input exists before the clock of a transaction starts.

mod binding;
mod input;
mod mix;
mod pacing;

pub use binding::{Binding, Warehouses};
pub use input::{
    CustomerChoice, DeliveryInput, Input, InputSource, MAX_LINES, NewOrderInput, NewOrderLine,
    OrderStatusInput, PaymentInput, StockLevelInput,
};
pub use mix::{Cards, DECK, Kind, Mix, MixError, PerKind};
pub use pacing::{Arrivals, Pacing, PacingError, Pauses};

use super::{
    constants::RunConstants,
    decimal::Timestamp,
    random::{Purpose, Stream},
    scale::{DISTRICTS, Scale},
};
use crate::delay::DelayDistribution;

/// What all terminals of a run share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TerminalPlan {
    /// Size of the database.
    pub scale: Scale,
    /// The run's constants.
    pub constants: RunConstants,
    /// Number of terminals, at least 1.
    pub terminals: u32,
    /// Which warehouses a terminal works for.
    pub binding: Binding,
    /// How often each transaction comes.
    pub mix: Mix,
    /// How long a terminal pauses.
    pub pacing: Pacing,
    /// How think times scatter about their means; the benchmark that the workload follows cuts
    /// exponential ones.
    pub think: DelayDistribution,
    /// Seed of all choices.
    pub seed: u64,
}

/// An emulated terminal.
#[derive(Clone, Debug)]
pub struct Terminal {
    cards: Cards,
    inputs: InputSource,
    warehouses: Warehouses,
    /// The warehouse and district of stock levels, with fixed binding.
    fixed: Option<u32>,
    pacing: Pacing,
    think: DelayDistribution,
    pauses: Stream,
}

impl Terminal {
    /// Terminal `number` of `plan`, counted from 0.
    #[must_use]
    pub fn new(plan: &TerminalPlan, number: u32) -> Self {
        let stream = |purpose| Stream::new(plan.seed, purpose, u64::from(number));
        let warehouses = plan.scale.warehouses();
        Self {
            cards: Cards::new(plan.mix, stream(Purpose::Deck)),
            inputs: InputSource::new(plan.scale, plan.constants, stream(Purpose::Input)),
            warehouses: Warehouses::new(plan.binding, warehouses, number, plan.terminals),
            fixed: (plan.binding == Binding::Fixed).then_some(number / warehouses % DISTRICTS + 1),
            pacing: plan.pacing,
            think: plan.think,
            pauses: stream(Purpose::Pause),
        }
    }

    /// The next transaction; `now` goes into deliveries.
    pub fn next_input(&mut self, now: Timestamp) -> Input {
        let kind = self.cards.draw();
        let warehouse = self.warehouses.next(&mut self.inputs);
        self.inputs.draw(kind, warehouse, self.fixed, now)
    }

    /// How long the terminal keys before a transaction of `kind` and thinks after it.
    pub fn pauses(&mut self, kind: Kind) -> Pauses {
        self.pacing.pauses(kind, self.think, &mut self.pauses)
    }
}

#[cfg(test)]
mod tests;
