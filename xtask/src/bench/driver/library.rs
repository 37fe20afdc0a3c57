//! The same statements of `pgbench` through the library `tokio-postgres`, so that the sessions of
//! terminals can be weighed against what we would use without them (ADR 12).

use std::{
    cell::RefCell,
    rc::Rc,
    time::{Duration, Instant},
};

use rookery_stats::Latencies;
use rookery_workload::random::{RandomSource as _, SplitMix64};
use tokio_postgres::{Client, Error, NoTls, Statement};

use super::mix::Mix;

/// One connection.
struct Session {
    client: Client,
    statements: Vec<Statement>,
    random: SplitMix64,
    branches: u64,
}

impl Session {
    async fn open(url: &str, mix: Mix, number: u32, branches: u64) -> Result<Self, Error> {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        tokio::task::spawn_local(connection);
        let mut statements = Vec::new();
        for text in mix.statements() {
            statements.push(client.prepare(text).await?);
        }
        Ok(Self {
            client,
            statements,
            random: SplitMix64::new(u64::from(number)),
            branches,
        })
    }

    /// A whole number from 1 to `most`; the generator of the other client.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "pgbench's keys are 32 bits wide"
    )]
    fn up_to(&mut self, most: u64) -> i32 {
        (self.random.below(most) + 1) as i32
    }

    async fn transact(&mut self, mix: Mix) -> Result<(), Error> {
        let account = self.up_to(self.branches * 100_000);
        if mix == Mix::SelectOnly {
            return self
                .client
                .query(&self.statements[0], &[&account])
                .await
                .map(drop);
        }
        let branch = self.up_to(self.branches);
        let teller = self.up_to(self.branches * 10);
        let delta = self.up_to(10_001) - 5_001;
        let (client, statements) = (&self.client, &self.statements);
        client.execute(&statements[0], &[]).await?;
        client.execute(&statements[1], &[&delta, &account]).await?;
        client.query(&statements[2], &[&account]).await?;
        client.execute(&statements[3], &[&delta, &teller]).await?;
        client.execute(&statements[4], &[&delta, &branch]).await?;
        let row: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
            [&teller, &branch, &account, &delta];
        client.execute(&statements[5], &row).await?;
        client.execute(&statements[6], &[]).await.map(drop)
    }
}

/// Runs `mix` for `length` over so many connections; the number of transactions.
pub(super) async fn drive(
    mix: Mix,
    url: &str,
    branches: u64,
    connections: u32,
    length: Duration,
) -> Result<u64, Error> {
    let times = Rc::new(RefCell::new(Latencies::new()));
    let mut sessions = Vec::new();
    for number in 0..connections {
        sessions.push(Session::open(url, mix, number, branches).await?);
    }
    let end = Instant::now() + length;
    let mut working = Vec::new();
    for mut session in sessions {
        let times = Rc::clone(&times);
        working.push(tokio::task::spawn_local(async move {
            let mut began = Instant::now();
            while began < end {
                session.transact(mix).await?;
                let ended = Instant::now();
                let us = u64::try_from((ended - began).as_micros()).unwrap_or(u64::MAX);
                times.borrow_mut().record_us(us);
                began = ended;
            }
            Ok::<_, Error>(())
        }));
    }
    for session in working {
        // A task that panicked has ended the process: panics are ours alone here.
        if let Ok(done) = session.await {
            done?;
        }
    }
    Ok(times.take().count())
}
