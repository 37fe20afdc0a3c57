//! The five transactions, and how often each comes: from a deck of cards, or by independent draws.

use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    MixShare,
    orderentry::{TRANSACTIONS, random::Stream},
    random::RandomSource as _,
};

/// A transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A customer orders 5 to 15 items.
    NewOrder,
    /// A customer pays.
    Payment,
    /// A customer asks for his last order.
    OrderStatus,
    /// Ten orders are delivered, one per district.
    Delivery,
    /// How many items of the last orders are running out.
    StockLevel,
}

impl Kind {
    /// All five, in the order of weights.
    pub const ALL: [Self; 5] = [
        Self::NewOrder,
        Self::Payment,
        Self::OrderStatus,
        Self::Delivery,
        Self::StockLevel,
    ];

    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NewOrder => "new order",
            Self::Payment => "payment",
            Self::OrderStatus => "order status",
            Self::Delivery => "delivery",
            Self::StockLevel => "stock level",
        }
    }

    /// Whether it changes nothing.
    #[must_use]
    pub fn is_read_only(self) -> bool {
        matches!(self, Self::OrderStatus | Self::StockLevel)
    }
}

/// One value for each transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerKind<T>(pub [T; 5]);

impl<T> Index<Kind> for PerKind<T> {
    type Output = T;

    fn index(&self, kind: Kind) -> &T {
        &self.0[kind as usize]
    }
}

impl<T> IndexMut<Kind> for PerKind<T> {
    fn index_mut(&mut self, kind: Kind) -> &mut T {
        &mut self.0[kind as usize]
    }
}

/// The deck: 10, 10, 1, 1, 1 cards.
pub const DECK: PerKind<u32> = PerKind([10, 10, 1, 1, 1]);

/// How the next transaction is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mix {
    /// From a shuffled deck of 23 cards per terminal: exact shares over every deck.
    #[default]
    Deck,
    /// By independent draws with these weights: new order, payment, order status, delivery, stock
    /// level.
    Weighted([u32; 5]),
}

/// Weights that choose nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("weights {0:?}: give five whole numbers whose sum is 1 to 1 000 000")]
pub struct MixError(pub [u32; 5]);

impl Mix {
    /// The weights 45, 43, 4, 4, 4.
    pub const MINIMUMS: Self = Self::Weighted([45, 43, 4, 4, 4]);

    /// A mix of independent draws.
    ///
    /// # Errors
    /// When the sum of the weights is 0 or above a million.
    pub fn weighted(weights: [u32; 5]) -> Result<Self, MixError> {
        let sum: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
        if (1..=1_000_000).contains(&sum) {
            Ok(Self::Weighted(weights))
        } else {
            Err(MixError(weights))
        }
    }

    /// The shares of all transactions, by the names of their operations.
    #[must_use]
    pub fn shares(self) -> Vec<MixShare> {
        Kind::ALL
            .into_iter()
            .zip(TRANSACTIONS)
            .map(|(kind, name)| MixShare::new(name, self.share(kind)))
            .collect()
    }

    /// The share of `kind` in the long run, 0 to 1.
    #[must_use]
    pub fn share(self, kind: Kind) -> f64 {
        let weights = match self {
            Self::Deck => DECK,
            Self::Weighted(weights) => PerKind(weights),
        };
        f64::from(weights[kind]) / f64::from(weights.0.iter().sum::<u32>())
    }
}

/// The choices of one terminal.
#[derive(Clone, Debug)]
pub struct Cards {
    mix: Mix,
    deck: [Kind; 23],
    next: usize,
    stream: Stream,
}

impl Cards {
    pub(super) fn new(mix: Mix, stream: Stream) -> Self {
        let mut deck = [Kind::NewOrder; 23];
        let cards = Kind::ALL
            .iter()
            .flat_map(|&kind| std::iter::repeat_n(kind, DECK[kind] as usize));
        for (place, kind) in deck.iter_mut().zip(cards) {
            *place = kind;
        }
        Self {
            mix,
            deck,
            next: deck.len(),
            stream,
        }
    }

    /// The next transaction.
    pub fn draw(&mut self) -> Kind {
        match self.mix {
            Mix::Deck => {
                if self.next == self.deck.len() {
                    self.stream.shuffle(&mut self.deck);
                    self.next = 0;
                }
                self.next += 1;
                self.deck[self.next - 1]
            }
            Mix::Weighted(weights) => {
                let mut drawn = self
                    .stream
                    .below(weights.iter().map(|&weight| u64::from(weight)).sum());
                for (kind, weight) in Kind::ALL.into_iter().zip(weights) {
                    if drawn < u64::from(weight) {
                        return kind;
                    }
                    drawn -= u64::from(weight);
                }
                Kind::NewOrder
            }
        }
    }
}
