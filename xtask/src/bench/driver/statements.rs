//! The process that is measured on databases: the clients of terminals with the statements of
//! `sysbench` and `pgbench`, and nothing else.
//!
//! As in a trial there is one thread, a task for each connection, a generator for each, two looks
//! at the clock per transaction and a histogram.

use std::{
    cell::RefCell,
    rc::Rc,
    time::{Duration, Instant},
};

use rookery_cast::{low_u8, micros};
use rookery_oltp::{ClientError, OltpError, Statements, Target};
use rookery_stats::Latencies;
use rookery_workload::{
    orderentry::transaction::{Answers, Value},
    random::{RandomSource as _, SplitMix64},
};

use super::{
    library,
    mix::{LIBRARY, Mix},
};

/// One connection.
struct Terminal {
    statements: Statements,
    answers: Answers,
    random: SplitMix64,
    /// Rows of the table, or branches.
    size: u64,
    text: Vec<u8>,
}

impl Terminal {
    /// Executes statement `number`, alone in its flight.
    async fn execute(&mut self, number: usize, values: &[Value<'_>]) -> Result<(), ClientError> {
        self.answers.clear();
        self.statements.call(number, values)?;
        self.statements.fly(&mut self.answers).await
    }

    /// A whole number from 1 to `most`.
    fn up_to(&mut self, most: u64) -> i64 {
        (self.random.below(most) + 1).cast_signed()
    }

    /// Groups of eleven digits with hyphens between them, as sysbench fills its columns.
    fn digits(&mut self, groups: usize) -> Vec<u8> {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        for group in 0..groups {
            if group > 0 {
                text.push(b'-');
            }
            for _ in 0..11 {
                text.push(b'0' + low_u8((self.up_to(10) - 1).cast_unsigned()));
            }
        }
        text
    }

    async fn transact(&mut self, mix: Mix) -> Result<(), ClientError> {
        match mix {
            Mix::PointSelect => {
                let id = self.up_to(self.size);
                self.execute(0, &[Value::Int(id)]).await
            }
            Mix::SelectOnly => {
                let account = self.up_to(self.size * 100_000);
                self.execute(0, &[Value::Int(account)]).await
            }
            Mix::ReadWrite => self.read_write().await,
            Mix::TpcB => self.tpc_b().await,
        }
    }

    async fn read_write(&mut self) -> Result<(), ClientError> {
        const ROLLBACK: usize = 11;
        let done = self.read_write_once().await;
        // Two transactions that change the same rows may meet; the peer ignores that too.
        if matches!(
            &done,
            Err(ClientError::Server {
                code: 1213 | 1205 | 1062,
                ..
            })
        ) {
            return self.execute(ROLLBACK, &[]).await;
        }
        done
    }

    async fn read_write_once(&mut self) -> Result<(), ClientError> {
        const RANGE: i64 = 100;
        self.execute(0, &[]).await?;
        for _ in 0..10 {
            let id = self.up_to(self.size);
            self.execute(1, &[Value::Int(id)]).await?;
        }
        for statement in 2..=5 {
            let id = self.up_to(self.size);
            self.execute(statement, &[Value::Int(id), Value::Int(id + RANGE - 1)])
                .await?;
        }
        let id = self.up_to(self.size);
        self.execute(6, &[Value::Int(id)]).await?;
        let (text, id) = (self.digits(10), self.up_to(self.size));
        self.execute(7, &[Value::Text(&text), Value::Int(id)])
            .await?;
        self.text = text;
        let (id, key) = (self.up_to(self.size), self.up_to(self.size));
        self.execute(8, &[Value::Int(id)]).await?;
        let text = self.digits(10);
        let (c, pad) = (Value::Text(&text), Value::Text(&text[..59]));
        self.execute(9, &[Value::Int(id), Value::Int(key), c, pad])
            .await?;
        self.text = text;
        self.execute(10, &[]).await
    }

    async fn tpc_b(&mut self) -> Result<(), ClientError> {
        let account = Value::Int(self.up_to(self.size * 100_000));
        let branch = Value::Int(self.up_to(self.size));
        let teller = Value::Int(self.up_to(self.size * 10));
        let delta = Value::Int(self.up_to(10_001) - 5_001);
        self.execute(0, &[]).await?;
        self.execute(1, &[delta, account]).await?;
        self.execute(2, &[account]).await?;
        self.execute(3, &[delta, teller]).await?;
        self.execute(4, &[delta, branch]).await?;
        self.execute(5, &[teller, branch, account, delta]).await?;
        self.execute(6, &[]).await
    }
}

/// The process itself: prints the number of transactions.
pub(super) fn run(words: &[&str]) -> Result<(), String> {
    let [client, mix, url, size, connections, seconds] = words else {
        return Err("the client is started by the benchmark".to_owned());
    };
    let mix = Mix::ALL
        .into_iter()
        .find(|known| known.name() == *mix)
        .ok_or("no such mix")?;
    let (size, connections, seconds) = (
        super::parse(size)?,
        super::parse(connections)?,
        super::parse(seconds)?,
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| format!("cannot start a runtime: {error}"))?;
    let local = tokio::task::LocalSet::new();
    let length = Duration::from_secs(seconds.into());
    let count = if *client == LIBRARY {
        let driven = library::drive(mix, url, size.into(), connections, length);
        local
            .block_on(&runtime, driven)
            .map_err(|error| error.to_string())?
    } else {
        let target: Target = url.parse().map_err(|error: OltpError| error.to_string())?;
        local.block_on(
            &runtime,
            drive(mix, &target, size.into(), connections, length),
        )?
    };
    super::say(&count.to_string())
}

async fn drive(
    mix: Mix,
    target: &Target,
    size: u64,
    connections: u32,
    length: Duration,
) -> Result<u64, String> {
    let times = Rc::new(RefCell::new(Latencies::new()));
    let mut terminals = Vec::new();
    for number in 0..connections {
        let mut statements = Statements::open(target)
            .await
            .map_err(|error| error.to_string())?;
        for text in mix.statements() {
            statements
                .prepare(text)
                .await
                .map_err(|error| error.to_string())?;
        }
        terminals.push(Terminal {
            statements,
            answers: Answers::default(),
            random: SplitMix64::new(u64::from(number)),
            size,
            text: Vec::new(),
        });
    }
    let end = Instant::now() + length;
    let working: Vec<_> = terminals
        .into_iter()
        .map(|mut terminal| {
            let times = Rc::clone(&times);
            tokio::task::spawn_local(async move {
                let mut began = Instant::now();
                while began < end {
                    terminal.transact(mix).await?;
                    let ended = Instant::now();
                    times.borrow_mut().record_us(micros(ended - began));
                    began = ended;
                }
                Ok::<_, ClientError>(())
            })
        })
        .collect();
    for terminal in working {
        terminal
            .await
            .map_err(|error| error.to_string())?
            .map_err(|error| error.to_string())?;
    }
    Ok(times.take().count())
}
