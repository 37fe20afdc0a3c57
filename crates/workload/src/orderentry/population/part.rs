//! One table of one warehouse: the unit of a loader's work.

use super::{
    Customers, Districts, Histories, Items, NewOrders, OrderLines, Orders, Population, RowSink,
    Stocks, TextFormat, TextSink, Warehouse,
};
use crate::orderentry::schema::Table;

/// One table of one warehouse, or the items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// The table.
    pub table: Table,
    /// The warehouse; 0 for items and `oe_meta`, which belong to none.
    pub warehouse: u32,
}

impl Part {
    /// The parts of a population: items first, then one warehouse after another, each in the order
    /// of [`Table::LOADED`].
    pub fn all(population: &Population) -> impl Iterator<Item = Self> + use<> {
        let items = Self {
            table: Table::Item,
            warehouse: 0,
        };
        let warehouses = 1..=population.scale.warehouses();
        std::iter::once(items).chain(warehouses.flat_map(Self::of_warehouse))
    }

    /// The parts of one warehouse.
    pub fn of_warehouse(warehouse: u32) -> impl Iterator<Item = Self> {
        Table::LOADED
            .into_iter()
            .filter(|&table| table != Table::Item)
            .map(move |table| Self { table, warehouse })
    }

    /// Rows of this part, exact but for order lines, which are ten per order on average.
    #[must_use]
    pub fn expected_rows(self, population: &Population) -> u64 {
        if self.table == Table::Item {
            population.scale.rows(Table::Item)
        } else {
            population.scale.rows_per_warehouse(self.table)
        }
    }

    /// Its rows.
    #[must_use]
    pub fn rows(self, population: &Population) -> PartRows {
        let warehouse = self.warehouse;
        PartRows(match self.table {
            Table::Item => Rows::Items(population.items()),
            Table::Warehouse => {
                Rows::Warehouse(Some(Box::new(population.warehouse(warehouse))).into_iter())
            }
            Table::District => Rows::Districts(population.districts(warehouse)),
            Table::Customer => Rows::Customers(population.customers(warehouse)),
            Table::History => Rows::Histories(population.histories(warehouse)),
            Table::Orders => Rows::Orders(population.orders(warehouse)),
            Table::NewOrders => Rows::NewOrders(population.new_orders(warehouse)),
            Table::OrderLine => Rows::OrderLines(population.order_lines(warehouse)),
            Table::Stock => Rows::Stocks(population.stocks(warehouse)),
            Table::Meta => Rows::Meta(super::meta_rows(population).into_iter()),
        })
    }
}

/// The rows of a part that are still to come. Memory does not grow with them.
#[derive(Clone, Debug)]
pub struct PartRows(Rows);

#[derive(Clone, Debug)]
enum Rows {
    Items(Items),
    Warehouse(std::option::IntoIter<Box<Warehouse>>),
    Districts(Districts),
    Customers(Customers),
    Histories(Histories),
    Orders(Orders),
    NewOrders(NewOrders),
    OrderLines(OrderLines),
    Stocks(Stocks),
    Meta(std::vec::IntoIter<(&'static str, String)>),
}

impl PartRows {
    /// Appends rows as text of `format` to `out` until that holds `target` bytes or more, or there
    /// are none. Gives the number of rows, and whether more follow.
    pub fn fill_text(
        &mut self,
        out: &mut Vec<u8>,
        format: TextFormat,
        target: usize,
    ) -> (u64, bool) {
        let mut sink = TextSink::new(out, format, target);
        let more = self.fill(&mut sink);
        (sink.rows(), more)
    }

    /// Hands rows to `sink` until it wants no more, or there are none. Says whether more rows
    /// follow.
    pub fn fill(&mut self, sink: &mut impl RowSink) -> bool {
        match &mut self.0 {
            Rows::Items(rows) => each(rows, sink, |row, sink| row.write(sink)),
            Rows::Warehouse(rows) => each(rows, sink, |row, sink| row.write(sink)),
            Rows::Districts(rows) => each(rows, sink, |row, sink| row.write(sink)),
            Rows::Customers(rows) => each(rows, sink, |row, sink| row.write(sink)),
            Rows::Histories(rows) => each(rows, sink, |row, sink| row.write(sink)),
            Rows::Orders(rows) => each(rows, sink, |row, sink| row.write(sink)),
            Rows::NewOrders(rows) => each(rows, sink, |row, sink| row.write(sink)),
            Rows::OrderLines(rows) => each(rows, sink, |row, sink| row.write(sink)),
            Rows::Stocks(rows) => each(rows, sink, |row, sink| row.write(sink)),
            Rows::Meta(rows) => each(rows, sink, |(key, value), sink| {
                sink.text(key.as_bytes());
                sink.text(value.as_bytes());
            }),
        }
    }
}

#[inline]
fn each<T, S: RowSink>(
    rows: &mut impl Iterator<Item = T>,
    sink: &mut S,
    mut write: impl FnMut(&T, &mut S),
) -> bool {
    loop {
        let Some(row) = rows.next() else {
            return false;
        };
        write(&row, sink);
        if !sink.end_row() {
            return true;
        }
    }
}
