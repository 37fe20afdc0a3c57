//! One connection of a script: the steps of transactions as plain statements, in the order in which
//! terminals lock.

use std::time::Duration;

use rookery_workload::orderentry::{
    Decimal, Dialect, Isolation, sql::Statement, transaction::ErrorClass,
};
use tokio::time::timeout;

use crate::{ClientError, Database, OltpError, Target, error::shortened, target::Protocol};

/// Longest wait for any statement: servers give up a lock after 50 s by default, and nobody holds
/// one for so long here.
const DEADLINE: Duration = Duration::from_secs(30);

/// The district of all tests.
pub(super) const DISTRICT: &str = "1, 1";

/// Lines of an order.
const LINES: u32 = 5;

/// A connection.
pub(super) struct AcidSession(Database);

/// An order that waits for delivery.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) order: i64,
    pub(super) customer: i64,
    /// What its lines cost, in cents.
    pub(super) cents: i64,
}

impl AcidSession {
    pub(super) async fn open(target: &Target, isolation: Isolation) -> Result<Self, OltpError> {
        let mut session = Self(Database::connect(target).await?);
        let dialect = session.dialect();
        // Over ODBC nobody says how SQLite's journal is kept, and writers poll for the lock until
        // one of them gives up.
        let known = dialect.is_mysql_like()
            || dialect == Dialect::Postgresql
            || matches!(target.protocol, Protocol::Sqlite);
        if !known {
            return Err(OltpError::Setting {
                what: format!(
                    "the isolation tests are written for MariaDB, MySQL, PostgreSQL and the server \
                     of SQLite, not for {target}"
                ),
                help: Some(
                    "leave out `--acid`, or serve a SQLite database with `rookery app orderentry`",
                ),
            });
        }
        if let Some(statement) = dialect.set_isolation(isolation) {
            session.run(&statement).await?;
        }
        Ok(session)
    }

    pub(super) fn database(&mut self) -> &mut Database {
        &mut self.0
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.0.dialect()
    }

    pub(super) fn version(&self) -> &str {
        self.0.version()
    }

    /// Whether the server asks for the whole transaction again.
    pub(super) fn again(&self, error: &OltpError) -> bool {
        matches!(error, OltpError::Statement { why, .. } if matches!(why.class(self.dialect()), ErrorClass::Retry(_)))
    }

    pub(super) async fn run(&mut self, statement: &str) -> Result<(), OltpError> {
        match timeout(DEADLINE, self.0.execute(statement)).await {
            Ok(done) => done,
            Err(_) => Err(late(statement)),
        }
    }

    /// The first row; nothing where there is none.
    pub(super) async fn row(&mut self, query: &str) -> Result<Vec<Option<String>>, OltpError> {
        match timeout(DEADLINE, self.0.rows(query)).await {
            Ok(rows) => Ok(rows?.into_iter().next().unwrap_or_default()),
            Err(_) => Err(late(query)),
        }
    }

    /// The first column of the first row.
    pub(super) async fn value(&mut self, query: &str) -> Result<Option<String>, OltpError> {
        Ok(self.row(query).await?.into_iter().next().flatten())
    }

    pub(super) async fn number(&mut self, query: &str) -> Result<i64, OltpError> {
        let value = self.value(query).await?.unwrap_or_default();
        value.parse().map_err(|_| OltpError::Answer {
            statement: shortened(query),
            answer: value,
        })
    }

    pub(super) async fn cents(&mut self, query: &str) -> Result<i64, OltpError> {
        let value = self.value(query).await?.unwrap_or_default();
        let scale = if self.dialect().stores_unscaled() {
            0
        } else {
            2
        };
        match Decimal::parse(value.as_bytes(), scale) {
            Ok(decimal) => Ok(decimal.unscaled),
            Err(_) => Err(OltpError::Answer {
                statement: shortened(query),
                answer: value,
            }),
        }
    }

    /// An amount as statements of this database write it.
    pub(super) fn money(&self, cents: i64) -> String {
        if self.dialect().stores_unscaled() {
            cents.to_string()
        } else {
            Decimal::cents(cents).to_string()
        }
    }

    /// What ends a SELECT whose rows will be changed. SQLite has no locks of rows: who may write
    /// has the whole database.
    fn lock(&self) -> &'static str {
        if self.dialect() == Dialect::Sqlite {
            ""
        } else {
            " FOR UPDATE"
        }
    }

    /// Begins a transaction that only reads, in the words of terminals.
    pub(super) async fn begin_to_read(&mut self) -> Result<(), OltpError> {
        self.run(&Statement::BEGIN_READ.sql(self.dialect())).await
    }

    /// Begins a transaction that will write, in the words of terminals. On SQLite this waits as
    /// long as another is open.
    pub(super) async fn begin_to_write(&mut self) -> Result<(), OltpError> {
        self.run(&Statement::BEGIN_WRITE.sql(self.dialect())).await
    }

    pub(super) async fn commit(&mut self) -> Result<(), OltpError> {
        self.run("COMMIT").await
    }

    pub(super) async fn rollback(&mut self) -> Result<(), OltpError> {
        self.run("ROLLBACK").await
    }

    /// The last order of a customer, as order status reads it.
    pub(super) async fn last_order(&mut self, customer: i64) -> Result<Option<String>, OltpError> {
        self.row(&format!(
            "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE (c_w_id, c_d_id) = \
             ({DISTRICT}) AND c_id = {customer}"
        ))
        .await?;
        self.value(&format!(
            "SELECT o_id FROM orders WHERE o_w_id = 1 AND o_d_id = 1 AND o_c_id = {customer} ORDER \
             BY o_id DESC LIMIT 1"
        ))
        .await
    }

    /// The first half of a new order: its number, which it locks.
    pub(super) async fn take_number(&mut self) -> Result<i64, OltpError> {
        self.value("SELECT w_tax FROM warehouse WHERE w_id = 1")
            .await?;
        let lock = self.lock();
        self.number(&format!(
            "SELECT d_next_o_id FROM district WHERE d_w_id = 1 AND d_id = 1{lock}"
        ))
        .await
    }

    /// The second half of a new order.
    pub(super) async fn write_order(&mut self, order: i64, customer: i64) -> Result<(), OltpError> {
        let lock = self.lock();
        self.run("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = 1")
            .await?;
        self.run(&format!(
            "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, \
             o_all_local) \
             VALUES ({DISTRICT}, {order}, {customer}, CURRENT_TIMESTAMP, NULL, {LINES}, 1)"
        ))
        .await?;
        self.run(&format!(
            "INSERT INTO new_orders (no_w_id, no_d_id, no_o_id) VALUES ({DISTRICT}, {order})"
        ))
        .await?;
        for item in 1..=LINES {
            let price = self
                .value(&format!("SELECT i_price FROM item WHERE i_id = {item}"))
                .await?;
            let price = price.unwrap_or_default();
            let key = format!("s_w_id = 1 AND s_i_id = {item}");
            let left = self
                .number(&format!("SELECT s_quantity FROM stock WHERE {key}{lock}"))
                .await?;
            let left = if left > 10 { left - 1 } else { left + 90 };
            self.run(&format!(
                "UPDATE stock SET s_quantity = {left}, s_ytd = s_ytd + 1, s_order_cnt = \
                 s_order_cnt + 1 WHERE {key}"
            ))
            .await?;
            self.run(&format!(
                "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, \
                 ol_supply_w_id, ol_delivery_d, ol_quantity, \
                 ol_amount, ol_dist_info) VALUES ({DISTRICT}, {order}, {item}, {item}, 1, NULL, 1, \
                 {price}, 'isolation test')"
            ))
            .await?;
        }
        Ok(())
    }

    /// A whole new order.
    pub(super) async fn new_order(&mut self, customer: i64) -> Result<i64, OltpError> {
        self.begin_to_write().await?;
        let order = self.take_number().await?;
        self.write_order(order, customer).await?;
        self.commit().await?;
        Ok(order)
    }

    /// The oldest order that waits in the district, locked.
    pub(super) async fn oldest(&mut self) -> Result<Option<String>, OltpError> {
        let lock = self.lock();
        self.value(&format!(
            "SELECT no_o_id FROM new_orders WHERE no_w_id = 1 AND no_d_id = 1 ORDER BY no_o_id \
             LIMIT 1{lock}"
        ))
        .await
    }

    /// Delivers the oldest order of the district, without a commit.
    pub(super) async fn deliver(&mut self) -> Result<Waiting, OltpError> {
        let order = self.oldest().await?.unwrap_or_default();
        self.run(&format!(
            "DELETE FROM new_orders WHERE no_w_id = 1 AND no_d_id = 1 AND no_o_id = {order}"
        ))
        .await?;
        let key = format!("o_w_id = 1 AND o_d_id = 1 AND o_id = {order}");
        let lock = self.lock();
        let customer = self
            .number(&format!("SELECT o_c_id FROM orders WHERE {key}{lock}"))
            .await?;
        self.run(&format!("UPDATE orders SET o_carrier_id = 7 WHERE {key}"))
            .await?;
        let key = format!("ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = {order}");
        self.run(&format!(
            "UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP WHERE {key}"
        ))
        .await?;
        let cents = self
            .cents(&format!(
                "SELECT SUM(ol_amount) FROM order_line WHERE {key}"
            ))
            .await?;
        self.run(&format!(
            "UPDATE customer SET c_balance = c_balance + {}, c_delivery_cnt = c_delivery_cnt + 1 \
             WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = {customer}",
            self.money(cents)
        ))
        .await?;
        Ok(Waiting {
            order: order.parse().unwrap_or_default(),
            customer,
            cents,
        })
    }

    /// A payment of `cents` up to its commit.
    pub(super) async fn pay(&mut self, customer: i64, cents: i64) -> Result<(), OltpError> {
        let (amount, lock) = (self.money(cents), self.lock());
        self.run(&format!(
            "UPDATE warehouse SET w_ytd = w_ytd + {amount} WHERE w_id = 1"
        ))
        .await?;
        self.run(&format!(
            "UPDATE district SET d_ytd = d_ytd + {amount} WHERE d_w_id = 1 AND d_id = 1"
        ))
        .await?;
        let key = format!("c_w_id = 1 AND c_d_id = 1 AND c_id = {customer}");
        self.value(&format!("SELECT c_balance FROM customer WHERE {key}{lock}"))
            .await?;
        self.run(&format!(
            "UPDATE customer SET c_balance = c_balance - {amount}, c_ytd_payment = c_ytd_payment + \
             {amount}, \
             c_payment_cnt = c_payment_cnt + 1 WHERE {key}"
        ))
        .await?;
        self.run(&format!(
            "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, \
             h_data) \
             VALUES ({customer}, {DISTRICT}, {DISTRICT}, CURRENT_TIMESTAMP, {amount}, 'isolation \
             test')"
        ))
        .await
    }

    pub(super) async fn balance(&mut self, customer: i64) -> Result<i64, OltpError> {
        self.cents(&format!(
            "SELECT c_balance FROM customer WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = {customer}"
        ))
        .await
    }
}

fn late(statement: &str) -> OltpError {
    OltpError::Statement {
        statement: shortened(statement),
        why: ClientError::Timeout(DEADLINE),
    }
}
