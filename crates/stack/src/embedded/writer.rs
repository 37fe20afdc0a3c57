//! The one writer: group commit.
//!
//! SQLite has one writer at a time, and a commit waits for the disk. So all writes go to one thread
//! over a bounded queue. It takes what waits there (at most [`GROUP`] jobs), runs each in a
//! savepoint of its own inside one transaction, commits once, and only then answers them all. While
//! the disk works, the next group gathers: the busier the shop, the fewer disk waits per order.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::{Builder, JoinHandle},
    time::{Duration, SystemTime},
};

use rusqlite::{Connection, params};
use tokio::sync::{mpsc, oneshot};

use super::{
    Pages,
    calendar::date_number,
    connection::{is_busy, open_writer},
    error::{DatabaseContext as _, EmbeddedError},
    order::{NewOrder, OrderOutcome, place, run},
};

/// Most jobs of one transaction.
const GROUP: usize = 256;

/// Jobs that may wait; further requests wait outside for [`QUEUE_PATIENCE`].
const QUEUE: usize = 1_024;

/// How long a request waits for room in the queue before it is answered 503.
const QUEUE_PATIENCE: Duration = Duration::from_secs(5);

/// Times the start of a transaction is tried when another process holds the lock; each waits for
/// the connection's own patience.
const BEGIN_TRIES: u32 = 3;

/// A customer on the way to the writer; the column order of `CUSTOMERS` without the id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CustomerRow {
    pub(crate) first_name: String,
    pub(crate) last_name: String,
    pub(crate) address1: String,
    pub(crate) address2: String,
    pub(crate) city: String,
    pub(crate) state: String,
    pub(crate) zip: i64,
    pub(crate) country: String,
    pub(crate) region: i64,
    pub(crate) email: String,
    pub(crate) phone: String,
    pub(crate) card_kind: i64,
    pub(crate) card: String,
    pub(crate) card_expiration: String,
    pub(crate) username: String,
    pub(crate) password: String,
    pub(crate) age: Option<i64>,
    pub(crate) income: Option<i64>,
    pub(crate) gender: String,
}

/// Why a write was not done. Nothing of it is in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WriteFault {
    /// Overloaded or locked: may be tried again.
    Busy,
    /// The database refused, in its own words.
    Failed(String),
}

impl From<&rusqlite::Error> for WriteFault {
    fn from(error: &rusqlite::Error) -> Self {
        if is_busy(error) {
            Self::Busy
        } else {
            Self::Failed(error.to_string())
        }
    }
}

type Reply<T> = oneshot::Sender<Result<T, WriteFault>>;

/// What the writer is asked to do.
#[derive(Debug)]
enum Job {
    Order(NewOrder, Reply<OrderOutcome>),
    /// Answers the new id, `None` when the user name is taken.
    Customer(Box<CustomerRow>, Reply<Option<i64>>),
}

/// What the shop keeps of the writer. When the last clone is dropped, the writer finishes its queue
/// and ends.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    jobs: mpsc::Sender<Job>,
    orders: Arc<AtomicU64>,
}

impl Writer {
    /// Start the writer of `database`. The handle returns once the queue is done and the log is
    /// folded into the database.
    ///
    /// # Errors
    /// When the database cannot be opened or the thread not started.
    pub(crate) fn start(
        database: &Path,
        behaviour: Pages,
        loaded_orders: u64,
    ) -> Result<(Self, JoinHandle<Result<(), EmbeddedError>>), EmbeddedError> {
        let connection = open_writer(database).at(database, "opening the database for writing")?;
        let next_order = next_order(&connection).at(database, "finding the last order")?;
        let new_orders = "SELECT count(*) FROM ORDERS WHERE ORDERID > ?1";
        let new_orders: i64 = connection
            .query_row(new_orders, [loaded_orders.cast_signed()], |row| row.get(0))
            .at(database, "counting the new orders")?;
        let orders = Arc::new(AtomicU64::new(new_orders.unsigned_abs()));
        let (sender, jobs) = mpsc::channel(QUEUE);
        let scribe = Scribe {
            database: database.to_owned(),
            connection,
            behaviour,
            next_order,
            orders: Arc::clone(&orders),
            answers: Vec::new(),
        };
        let thread = Builder::new()
            .name("shop-writer".to_owned())
            .spawn(move || scribe.work(jobs))
            .map_err(EmbeddedError::Writer)?;
        Ok((
            Self {
                jobs: sender,
                orders,
            },
            thread,
        ))
    }

    /// Place an order; returns after it is committed or rolled back.
    pub(crate) async fn order(&self, order: NewOrder) -> Result<OrderOutcome, WriteFault> {
        self.send(|reply| Job::Order(order, reply)).await
    }

    /// Add a customer; returns the id after the commit, `None` when the user name is taken.
    pub(crate) async fn customer(&self, row: CustomerRow) -> Result<Option<i64>, WriteFault> {
        self.send(|reply| Job::Customer(Box::new(row), reply)).await
    }

    /// Orders in the database beyond the loaded ones.
    pub(crate) fn orders(&self) -> u64 {
        self.orders.load(Ordering::Relaxed)
    }

    /// Whether the writer lives.
    pub(crate) fn is_alive(&self) -> bool {
        !self.jobs.is_closed()
    }

    async fn send<T>(&self, job: impl FnOnce(Reply<T>) -> Job) -> Result<T, WriteFault> {
        let (reply, answer) = oneshot::channel();
        self.jobs
            .send_timeout(job(reply), QUEUE_PATIENCE)
            .await
            .map_err(|_| WriteFault::Busy)?;
        answer
            .await
            .unwrap_or_else(|_| Err(WriteFault::Failed("the writer has ended".to_owned())))
    }
}

/// The id that the next order gets. Ids of rolled-back orders are not given again while their
/// history rows may remain, so the last history row counts too; it is the newest, as rows are only
/// appended.
fn next_order(connection: &Connection) -> Result<i64, rusqlite::Error> {
    let last = "SELECT max(coalesce((SELECT max(ORDERID) FROM ORDERS), 0),
                           coalesce((SELECT ORDERID FROM CUST_HIST ORDER BY rowid DESC LIMIT 1), \
                0))";
    connection
        .query_row(last, [], |row| row.get::<_, i64>(0))
        .map(|last| last + 1)
}

/// The answer to one job, kept back until the commit.
enum Answer {
    Order(Reply<OrderOutcome>, Result<OrderOutcome, WriteFault>),
    Customer(Reply<Option<i64>>, Result<Option<i64>, WriteFault>),
}

impl Answer {
    /// Tell the request. That it is gone (the client hung up) is no error.
    fn send(self) {
        match self {
            Self::Order(reply, result) => drop(reply.send(result)),
            Self::Customer(reply, result) => drop(reply.send(result)),
        }
    }

    fn fail(&mut self, fault: &WriteFault) {
        match self {
            Self::Order(_, result) => *result = Err(fault.clone()),
            Self::Customer(_, result) => *result = Err(fault.clone()),
        }
    }
}

/// The thread's own state.
struct Scribe {
    database: PathBuf,
    connection: Connection,
    behaviour: Pages,
    next_order: i64,
    orders: Arc<AtomicU64>,
    /// Of the running transaction.
    answers: Vec<Answer>,
}

impl Scribe {
    /// Serve the queue until every sender is gone and it is empty.
    fn work(mut self, mut jobs: mpsc::Receiver<Job>) -> Result<(), EmbeddedError> {
        let mut group = Vec::with_capacity(GROUP);
        while jobs.blocking_recv_many(&mut group, GROUP) > 0 {
            self.commit_group(&mut group);
        }
        self.connection
            .pragma(None, "wal_checkpoint", "TRUNCATE", |_| Ok(()))
            .at(&self.database, "folding the log into the database")
    }

    /// Run all jobs of `group` in one transaction, and answer them when it is durable.
    fn commit_group(&mut self, group: &mut Vec<Job>) {
        let mut jobs = group.drain(..);
        if let Err(error) = self.try_commit_group(&mut jobs) {
            let fault = &WriteFault::from(&error);
            // Fails where SQLite itself has rolled back already (disk full, I/O error), and has
            // nothing left to do then.
            let _ = self.connection.execute_batch("ROLLBACK");
            // What was not run yet is answered too.
            for job in jobs {
                self.answers.push(match job {
                    Job::Order(_, reply) => Answer::Order(reply, Err(fault.clone())),
                    Job::Customer(_, reply) => Answer::Customer(reply, Err(fault.clone())),
                });
            }
            self.answers
                .iter_mut()
                .for_each(|answer| answer.fail(fault));
        }
        let ordered = self
            .answers
            .iter()
            .filter(|answer| matches!(answer, Answer::Order(_, Ok(OrderOutcome::Ordered(_)))))
            .count();
        self.orders.fetch_add(ordered as u64, Ordering::Relaxed);
        self.answers.drain(..).for_each(Answer::send);
    }

    fn try_commit_group(
        &mut self,
        jobs: &mut impl Iterator<Item = Job>,
    ) -> Result<(), rusqlite::Error> {
        self.begin()?;
        let date = date_number(SystemTime::now());
        for job in jobs {
            match job {
                Job::Order(order, reply) => {
                    let id = self.next_order;
                    self.next_order += 1;
                    let result = place(&self.connection, self.behaviour, id, date, &order);
                    self.keep(Answer::Order, reply, result)?;
                }
                Job::Customer(row, reply) => {
                    let result = insert_customer(&self.connection, &row);
                    self.keep(Answer::Customer, reply, result)?;
                }
            }
        }
        run(&self.connection, "COMMIT")
    }

    /// Keep the answer of one job.
    ///
    /// # Errors
    /// The job's own error, which ends the whole group: what makes the database refuse (a full
    /// disk, an I/O error) is no matter of one job.
    fn keep<T>(
        &mut self,
        answer: fn(Reply<T>, Result<T, WriteFault>) -> Answer,
        reply: Reply<T>,
        result: Result<T, rusqlite::Error>,
    ) -> Result<(), rusqlite::Error> {
        let (result, kept) = match result {
            Ok(value) => (Ok(value), Ok(())),
            Err(error) => (Err(WriteFault::from(&error)), Err(error)),
        };
        self.answers.push(answer(reply, result));
        kept
    }

    /// Take the write lock, with bounded patience.
    fn begin(&self) -> Result<(), rusqlite::Error> {
        for _ in 1..BEGIN_TRIES {
            match run(&self.connection, "BEGIN IMMEDIATE") {
                Err(error) if is_busy(&error) => {}
                other => return other,
            }
        }
        run(&self.connection, "BEGIN IMMEDIATE")
    }
}

/// Insert a customer; `None` when the user name is taken.
fn insert_customer(
    connection: &Connection,
    row: &CustomerRow,
) -> Result<Option<i64>, rusqlite::Error> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO CUSTOMERS (FIRSTNAME, LASTNAME, ADDRESS1, ADDRESS2, CITY, STATE, ZIP, \
         COUNTRY, REGION, EMAIL, PHONE, CREDITCARDTYPE,
           CREDITCARD, CREDITCARDEXPIRATION, USERNAME, PASSWORD, AGE, INCOME, GENDER)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, \
         ?19) ON CONFLICT (USERNAME) DO NOTHING",
    )?;
    let inserted = insert.execute(params![
        row.first_name,
        row.last_name,
        row.address1,
        row.address2,
        row.city,
        row.state,
        row.zip,
        row.country,
        row.region,
        row.email,
        row.phone,
        row.card_kind,
        row.card,
        row.card_expiration,
        row.username,
        row.password,
        row.age,
        row.income,
        row.gender,
    ])?;
    Ok((inserted == 1).then(|| connection.last_insert_rowid()))
}
