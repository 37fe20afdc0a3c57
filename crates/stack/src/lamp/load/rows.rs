//! The rows of one table as the bytes of a load file, chunk by chunk.

use std::io;

use bytes::Bytes;
use rookery_workload::dvdstore::{
    Rows, WordLists,
    data::{
        CustomerHalf, CustomerRandom, Customers, Inventory, LineEnd, Orders, Products, count_month,
        csv, fill,
    },
};
use tokio::sync::mpsc::Sender;

use super::super::schema::Table;

/// Bytes of one chunk: large enough that handing it over costs nothing, small enough that server
/// and generator work at the same time.
const CHUNK: usize = 256 * 1024;

/// The parts that a table is loaded in, each by one statement and transaction: a large table in one
/// would grow the undo log with it.
pub(super) fn parts(table: Table) -> std::ops::RangeInclusive<u8> {
    match table {
        Table::Orders | Table::OrderLines | Table::CustHist => 1..=12,
        Table::Customers => 1..=2,
        Table::Products | Table::Inventory => 1..=1,
    }
}

/// Rows of `table`; exact but for order lines and history, which are five per order on average.
pub(super) fn expected(table: Table, rows: Rows) -> u64 {
    match table {
        Table::Customers => rows.customers,
        Table::Orders => rows.orders(),
        Table::OrderLines | Table::CustHist => 5 * rows.orders(),
        Table::Products | Table::Inventory => rows.products,
    }
}

/// Where chunks go: to the connection, and to whoever counts rows.
pub(super) struct Sink<'a> {
    pub(super) chunks: Sender<io::Result<Bytes>>,
    /// Told the rows of each chunk; its answer ends the stream.
    pub(super) count: &'a dyn Fn(u64) -> io::Result<()>,
}

/// Generate `part` of `table` into `sink`. Returns the rows generated, which are all unless the
/// receiver has gone or the count ended the stream.
pub(super) fn generate(
    table: Table,
    part: u8,
    rows: Rows,
    words: &WordLists,
    sink: &Sink<'_>,
) -> u64 {
    const END: LineEnd = LineEnd::Unix;
    let orders = || Orders::new(rows, part);
    match table {
        Table::Customers => {
            let half = CustomerHalf::ALL[usize::from(part - 1)];
            sink.send(
                Customers::new(rows, half, CustomerRandom::Newlib),
                |_| 1,
                |row, out| csv::write_customer(row, END, out),
            )
        }
        Table::Orders => sink.send(orders(), |_| 1, |row, out| csv::write_order(row, END, out)),
        Table::OrderLines => sink.send(
            orders(),
            |row| row.lines().len() as u64,
            |row, out| csv::write_order_lines(row, END, out),
        ),
        Table::CustHist => sink.send(
            orders(),
            |row| row.lines().len() as u64,
            |row, out| csv::write_history(row, END, out),
        ),
        Table::Products => sink.send(
            Products::new(rows, words),
            |_| 1,
            |row, out| csv::write_product(row, END, out),
        ),
        Table::Inventory => {
            let mut sold = vec![
                0;
                usize::try_from(rows.products)
                    .expect("a catalogue has at most 10 230 000 products")
            ];
            for month in 1..=12 {
                count_month(rows, month, &mut sold);
            }
            sink.send(
                Inventory::new(&sold),
                |_| 1,
                |row, out| csv::write_stock(row, END, out),
            )
        }
    }
}

impl Sink<'_> {
    fn send<T>(
        &self,
        mut rows: impl Iterator<Item = T>,
        lines: impl Fn(&T) -> u64,
        write: impl Fn(&T, &mut Vec<u8>),
    ) -> u64 {
        let (mut sent, mut more) = (0, true);
        while more {
            let mut chunk = Vec::with_capacity(CHUNK + 4096);
            let mut counted = 0;
            more = fill(&mut rows, CHUNK, &mut chunk, |row, out| {
                counted += lines(row);
                write(row, out);
            });
            if let Err(error) = (self.count)(counted) {
                // The receiver may have gone for another reason; then nobody needs this one.
                let _ = self.chunks.blocking_send(Err(error));
                return sent;
            }
            if self.chunks.blocking_send(Ok(Bytes::from(chunk))).is_err() {
                return sent;
            }
            sent += counted;
        }
        sent
    }
}

#[cfg(test)]
mod tests {
    use rookery_workload::dvdstore::Size;

    use super::*;

    /// Everything that a table's parts generate, and the rows.
    fn generated(table: Table, rows: Rows) -> (Vec<u8>, u64) {
        let (chunks, mut received) = tokio::sync::mpsc::channel(1_000);
        let sink = Sink {
            chunks,
            count: &|_| Ok(()),
        };
        let count = parts(table)
            .map(|part| generate(table, part, rows, WordLists::own(), &sink))
            .sum();
        drop(sink);
        let mut bytes = Vec::new();
        while let Some(chunk) = received.blocking_recv() {
            bytes.extend_from_slice(&chunk.expect("no error was sent"));
        }
        (bytes, count)
    }

    #[test]
    fn every_row_is_generated_once() {
        let rows = Size::Mb(1).rows();
        for table in Table::ALL {
            let (bytes, count) = generated(table, rows);
            let lines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
            assert_eq!(lines, count, "{table:?}");
            let expected = expected(table, rows);
            let exact = !matches!(table, Table::OrderLines | Table::CustHist);
            assert!(
                count == expected || (!exact && count.abs_diff(expected) < expected / 20),
                "{table:?}: {count} of {expected}"
            );
        }
    }

    #[test]
    fn a_count_that_refuses_ends_the_stream_with_its_error() {
        let (chunks, mut received) = tokio::sync::mpsc::channel(10);
        let sink = Sink {
            chunks,
            count: &|_| Err(io::ErrorKind::Interrupted.into()),
        };
        assert_eq!(
            generate(
                Table::Customers,
                1,
                Size::Mb(10).rows(),
                WordLists::own(),
                &sink
            ),
            0
        );
        let first = received.blocking_recv().expect("one item");
        assert_eq!(
            first.expect_err("the error").kind(),
            io::ErrorKind::Interrupted
        );
        assert!(received.try_recv().is_err());
    }
}
