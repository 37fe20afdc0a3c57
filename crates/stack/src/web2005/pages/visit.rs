//! What the server knows of the users who visit it.

use rookery_workload::web2005::besim::{
    Cents,
    ecommerce::{Choice, STAGES},
};

/// A user of banking who logged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BankUser(pub(super) u32);

/// Region of customers who chose none.
const FIRST_REGION: u32 = 1;

/// What the server knows of a customer's visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Customer {
    pub(super) region: u32,
    /// The model that is being customized, and the choices of its stages.
    pub(super) model: Option<u32>,
    pub(super) choices: [Option<Choice>; STAGES as usize],
    pub(super) cart: Vec<CartLine>,
    pub(super) customer: Option<u32>,
    /// Cost of the shipping that was chosen.
    pub(super) shipping: Option<Cents>,
    /// Whether a card was accepted.
    pub(super) billed: bool,
}

/// A line of a cart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CartLine {
    pub(super) model: u32,
    pub(super) choices: [Option<Choice>; STAGES as usize],
    pub(super) quantity: u32,
    pub(super) total: Cents,
    pub(super) tax: Cents,
}

impl Customer {
    pub(super) fn new() -> Self {
        Self {
            region: FIRST_REGION,
            model: None,
            choices: [None; STAGES as usize],
            cart: Vec::new(),
            customer: None,
            shipping: None,
            billed: false,
        }
    }

    /// What the cart costs with taxes.
    pub(super) fn cart_total(&self) -> Cents {
        Cents(self.cart.iter().map(|line| line.total.0 + line.tax.0).sum())
    }

    /// Begins or goes on with a model: choices are those of one model.
    pub(super) fn choose(&mut self, model: u32) {
        if self.model != Some(model) {
            self.model = Some(model);
            self.choices = [None; STAGES as usize];
        }
    }
}
