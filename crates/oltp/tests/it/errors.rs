//! Errors that are forced on real servers: each lands in its class, and is tried again with the
//! same input or not, as its class says.

use std::{
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use rookery_oltp::{
    ClientError, Database, DbSession, DriveOptions, LoadOptions, SessionOptions, Target, drive,
    load, verify,
};
use rookery_workload::orderentry::{
    DeliveryMode, Isolation, Moment, Population, RunConstants, Scale, Timestamp,
    sql::Style,
    terminal::{Binding, Input, Mix, Pacing, PaymentInput, Terminal, TerminalPlan},
    transaction::{Cause, Desk, Ended, Outcome, Performed, Retries, perform},
};

use crate::support::{Kind, Server, skipped};

/// Longest wait for something that must come.
const PATIENCE: Duration = Duration::from_secs(20);

fn population() -> Population {
    Population::new(Scale::new(1, 100).expect("valid"), 42)
}

fn loaded(kind: Kind) -> Server {
    let server = Server::start(kind);
    let done = load(
        &server.target(),
        &LoadOptions::new(population(), 2),
        &AtomicBool::new(false),
        &|_| {},
    )
    .expect("loaded");
    assert!(done.broken.is_empty(), "{:?}", done.broken);
    server
}

fn is_sound(server: &Server) {
    let found =
        verify(&server.target(), Moment::AnyTime, &crate::support::NEVER).expect("verified");
    let broken: Vec<_> = found
        .checks
        .iter()
        .filter(|check| !check.offenders.is_empty())
        .collect();
    assert!(broken.is_empty(), "{broken:?}");
}

fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(future)
}

/// The first payment that a terminal draws.
fn payment() -> Input {
    let population = population();
    let plan = TerminalPlan {
        scale: population.scale,
        constants: RunConstants::new(1, population.load_constant()),
        terminals: 1,
        binding: Binding::Uniform,
        mix: Mix::Deck,
        pacing: Pacing::None,
        think: rookery_workload::DelayDistribution::TruncatedExponential,
        seed: 1,
    };
    let mut terminal = Terminal::new(&plan, 0);
    loop {
        if let input @ Input::Payment(_) = terminal.next_input(Timestamp::DEFAULT_LOAD) {
            return input;
        }
    }
}

fn facts(input: &Input) -> &PaymentInput {
    match input {
        Input::Payment(payment) => payment,
        other => panic!("{other:?} is no payment"),
    }
}

/// A terminal, someone who is in its way, and someone who looks on.
struct Scene {
    target: Target,
    session: DbSession,
    rival: Database,
    onlooker: Database,
}

impl Scene {
    async fn open(server: &Server, isolation: Isolation) -> Self {
        let target = server.target();
        let options = SessionOptions {
            style: Style::Plain,
            isolation,
        };
        Self {
            session: DbSession::open(&target, options).await.expect("a session"),
            rival: Database::connect(&target).await.expect("a rival"),
            onlooker: Database::connect(&target).await.expect("an onlooker"),
            target,
        }
    }

    /// Performs `input` while the rival, who has begun with `before`, goes on with `then`.
    async fn perform_beside(
        &mut self,
        input: &Input,
        max_retries: u32,
        before: &[&str],
        then: impl AsyncFnOnce(&mut Database, &mut Database),
    ) -> Performed<ClientError> {
        for statement in before {
            run(&mut self.rival, statement).await;
        }
        let (mut desk, mut retries) = (Desk::new(), Retries::new(max_retries, 1, 0));
        let performing = perform(
            &mut self.session,
            &mut desk,
            Style::Plain,
            input,
            &mut retries,
            async |wait| {
                tokio::time::sleep(wait).await;
            },
        );
        let watching = then(&mut self.rival, &mut self.onlooker);
        let both = async { tokio::join!(performing, watching).0 };
        tokio::time::timeout(3 * PATIENCE, both)
            .await
            .expect("an end")
    }

    async fn reconnect(&mut self) {
        let until = Instant::now() + PATIENCE;
        self.session = loop {
            match DbSession::open(&self.target, SessionOptions::default()).await {
                Ok(session) => break session,
                Err(error) => assert!(Instant::now() < until, "{error}"),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
    }
}

async fn run(database: &mut Database, statement: &str) {
    let done = tokio::time::timeout(PATIENCE, database.execute(statement)).await;
    done.expect("in time")
        .unwrap_or_else(|error| panic!("{statement}: {error}"));
}

async fn number(database: &mut Database, query: &str) -> i64 {
    let rows = tokio::time::timeout(PATIENCE, database.rows(query))
        .await
        .expect("in time");
    let rows = rows.unwrap_or_else(|error| panic!("{query}: {error}"));
    let value = rows
        .into_iter()
        .flatten()
        .next()
        .flatten()
        .unwrap_or_default();
    value.parse().unwrap_or_else(|_| panic!("{query}: {value}"))
}

/// Waits until a connection waits for a lock, and gives its number.
async fn waiting(onlooker: &mut Database, kind: Kind) -> i64 {
    let query = match kind {
        Kind::MariaDb => {
            "SELECT COALESCE(MIN(trx_mysql_thread_id), 0) FROM information_schema.innodb_trx WHERE \
             trx_state = 'LOCK WAIT'"
        }
        Kind::Postgres => "SELECT COALESCE(MIN(pid), 0) FROM pg_locks WHERE NOT granted",
    };
    until(onlooker, query).await
}

/// Cuts the connection that waits for a lock. What InnoDB tells of transactions may be of a moment
/// ago: one that has gone is looked for again.
async fn cut_waiting(onlooker: &mut Database, kind: Kind) {
    let end = Instant::now() + PATIENCE;
    loop {
        let id = waiting(onlooker, kind).await;
        let cut = match kind {
            Kind::MariaDb => format!("KILL CONNECTION {id}"),
            Kind::Postgres => format!("SELECT pg_terminate_backend({id})"),
        };
        match tokio::time::timeout(PATIENCE, onlooker.execute(&cut))
            .await
            .expect("in time")
        {
            Ok(()) => return,
            Err(error) => assert!(Instant::now() < end, "{cut}: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
}

/// Waits until a query gives something else than 0.
async fn until(onlooker: &mut Database, query: &str) -> i64 {
    let end = Instant::now() + PATIENCE;
    loop {
        let found = number(onlooker, query).await;
        if found != 0 {
            return found;
        }
        assert!(Instant::now() < end, "{query}");
        // InnoDB looks at its transactions anew only when nobody has asked for a tenth of a second.
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
}

async fn payments(database: &mut Database) -> i64 {
    number(database, "SELECT COUNT(*) FROM history").await
}

/// That the payment was done once, as it was asked for.
fn was_done(performed: &Performed<ClientError>, input: &Input, cause: Option<Cause>) {
    let Ended::Done(Outcome::Payment {
        amount_cents,
        warehouse,
        ..
    }) = &performed.ended
    else {
        panic!("{performed:?}");
    };
    assert_eq!(
        (*amount_cents, *warehouse),
        (facts(input).amount_cents, facts(input).customer_warehouse)
    );
    for other in Cause::ALL {
        let retries = performed.retries[other as usize];
        assert_eq!(
            retries > 0,
            Some(other) == cause,
            "{other:?}: {performed:?}"
        );
    }
}

/// The terminal has the warehouse and wants the customer; the rival has all customers and wants the
/// warehouse.
fn deadlocks(server: &Server) {
    let kind = server.kind();
    if kind == Kind::Postgres {
        // Who notices first gives in: the terminal, soon; the rival much later.
        server.execute(
            &server.target(),
            "ALTER DATABASE shop SET deadlock_timeout = '2s'",
        );
    }
    block_on(async {
        let mut scene = Scene::open(server, Isolation::ReadCommitted).await;
        let before = payments(&mut scene.onlooker).await;
        let mut first = vec![
            "BEGIN",
            "SELECT COUNT(*) FROM (SELECT c_id FROM customer FOR UPDATE) AS locked",
        ];
        match kind {
            Kind::Postgres => first.insert(0, "SET deadlock_timeout = '60s'"),
            // Who has changed less gives in.
            Kind::MariaDb => first.push("UPDATE item SET i_im_id = i_im_id + 1"),
        }
        let input = payment();
        let performed = scene
            .perform_beside(&input, 10, &first, async |rival, onlooker| {
                waiting(onlooker, kind).await;
                run(rival, "UPDATE warehouse SET w_zip = w_zip WHERE w_id = 1").await;
                run(rival, "ROLLBACK").await;
            })
            .await;
        was_done(&performed, &input, Some(Cause::Deadlock));
        assert_eq!(payments(&mut scene.onlooker).await, before + 1, "once");
    });
    is_sound(server);
}

/// The rival has the warehouse for longer than the terminal waits for a lock.
fn lock_timeouts(server: &Server) {
    let kind = server.kind();
    let short = match kind {
        Kind::MariaDb => "SET GLOBAL innodb_lock_wait_timeout = 1",
        Kind::Postgres => "ALTER DATABASE shop SET lock_timeout = '500ms'",
    };
    server.execute(&server.target(), short);
    block_on(async {
        let mut scene = Scene::open(server, Isolation::Default).await;
        let before = payments(&mut scene.onlooker).await;
        let input = payment();
        let first = [
            "BEGIN",
            "SELECT w_tax FROM warehouse WHERE w_id = 1 FOR UPDATE",
        ];
        let performed = scene
            .perform_beside(&input, 0, &first, async |_, _| {})
            .await;
        assert!(
            matches!(performed.ended, Ended::Failed(Cause::LockTimeout)),
            "{performed:?}"
        );
        assert_eq!((performed.attempts, performed.retries), (1, [0; 5]));
        run(&mut scene.rival, "ROLLBACK").await;
        assert_eq!(
            payments(&mut scene.onlooker).await,
            before,
            "nothing was changed"
        );
        let performed = scene
            .perform_beside(&input, 50, &first, async |rival, _| {
                tokio::time::sleep(Duration::from_millis(1800)).await;
                run(rival, "ROLLBACK").await;
            })
            .await;
        was_done(&performed, &input, Some(Cause::LockTimeout));
        assert_eq!(payments(&mut scene.onlooker).await, before + 1, "once");
    });
    is_sound(server);
}

/// The rival changes the warehouse behind the terminal's snapshot.
fn serialization_failures(server: &Server) {
    block_on(async {
        let mut scene = Scene::open(server, Isolation::RepeatableRead).await;
        let before = payments(&mut scene.onlooker).await;
        let input = payment();
        let first = ["BEGIN", "UPDATE warehouse SET w_zip = w_zip WHERE w_id = 1"];
        let performed = scene
            .perform_beside(&input, 10, &first, async |rival, onlooker| {
                waiting(onlooker, Kind::Postgres).await;
                run(rival, "COMMIT").await;
            })
            .await;
        was_done(&performed, &input, Some(Cause::Serialization));
        assert_eq!(payments(&mut scene.onlooker).await, before + 1, "once");
    });
    is_sound(server);
}

/// The connection is cut while the transaction waits: nothing was changed, and the same input goes
/// through on a new connection.
fn lost_connections(server: &mut Server) {
    let kind = server.kind();
    let input = payment();
    let first = [
        "BEGIN",
        "SELECT d_tax FROM district WHERE d_w_id = 1 FOR UPDATE",
    ];
    block_on(async {
        let mut scene = Scene::open(server, Isolation::Default).await;
        let before = payments(&mut scene.onlooker).await;
        let performed = scene
            .perform_beside(&input, 10, &first, async |rival, onlooker| {
                cut_waiting(onlooker, kind).await;
                run(rival, "ROLLBACK").await;
            })
            .await;
        assert!(
            matches!(performed.ended, Ended::Disconnected(_)),
            "{performed:?}"
        );
        assert_eq!(
            payments(&mut scene.onlooker).await,
            before,
            "nothing was changed"
        );
        scene.reconnect().await;
        let performed = scene.perform_beside(&input, 10, &[], async |_, _| {}).await;
        was_done(&performed, &input, None);
        assert_eq!(payments(&mut scene.onlooker).await, before + 1, "once");
    });
    // The same when the server itself is shut down in an orderly way and started again.
    let before = block_on(async {
        let mut scene = Scene::open(server, Isolation::Default).await;
        let before = payments(&mut scene.onlooker).await;
        let performed = scene
            .perform_beside(&input, 10, &first, async |_, onlooker| {
                waiting(onlooker, kind).await;
                server.stop();
            })
            .await;
        assert!(
            matches!(performed.ended, Ended::Disconnected(_)),
            "{performed:?}"
        );
        before
    });
    server.run();
    block_on(async {
        let mut scene = Scene::open(server, Isolation::Default).await;
        assert_eq!(
            payments(&mut scene.onlooker).await,
            before,
            "nothing was changed"
        );
        let performed = scene.perform_beside(&input, 10, &[], async |_, _| {}).await;
        was_done(&performed, &input, None);
    });
    is_sound(server);
}

/// A COMMIT that waits for a standby that does not exist is cut: it is on disk, and the terminal
/// cannot know.
fn unknown_outcomes(server: &Server) {
    let target = server.target();
    server.execute(
        &target,
        "ALTER SYSTEM SET synchronous_standby_names = 'nobody'",
    );
    server.execute(&target, "SELECT pg_reload_conf()");
    block_on(async {
        let mut scene = Scene::open(server, Isolation::Default).await;
        let before = payments(&mut scene.onlooker).await;
        let input = payment();
        let performed = scene
            .perform_beside(&input, 10, &[], async |_, onlooker| {
                let query = "SELECT COALESCE(MIN(pid), 0) FROM pg_stat_activity WHERE wait_event = \
                             'SyncRep'";
                let id = until(onlooker, query).await;
                run(onlooker, &format!("SELECT pg_terminate_backend({id})")).await;
            })
            .await;
        assert!(
            matches!(performed.ended, Ended::Unknown(_)),
            "{performed:?}"
        );
        assert_eq!(performed.attempts, 1, "never tried again");
        assert_eq!(
            payments(&mut scene.onlooker).await,
            before + 1,
            "it was committed"
        );
    });
    is_sound(server);
}

/// With the workload's order of locks eight terminals in one warehouse never lock each other out.
fn no_deadlocks(server: &Server) {
    let kind = server.kind();
    let options = DriveOptions {
        terminals: 8,
        threads: 1,
        session: SessionOptions {
            style: Style::Plain,
            isolation: Isolation::ReadCommitted,
        },
        binding: Binding::Uniform,
        mix: Mix::Deck,
        pacing: Pacing::None,
        max_retries: 10,
        seed: 3,
        ramp_up: Duration::ZERO,
        steady: Duration::from_secs(3),
        delivery: DeliveryMode::Inline,
        patience: PATIENCE,
    };
    let report = drive(&server.target(), &options, &AtomicBool::new(false)).expect("driven");
    eprintln!(
        "{kind:?}: {:?}, retries {:?}",
        report.counts, report.retries
    );
    assert_eq!(
        report.retries[Cause::Deadlock as usize],
        0,
        "{:?}",
        report.retries
    );
    assert!(report.told.new_orders > 50, "{:?}", report.told);
    assert!(report.ledger_holds());
    is_sound(server);
}

#[test]
fn errors_of_mariadb_fall_into_their_classes() {
    if skipped() {
        return;
    }
    let mut server = loaded(Kind::MariaDb);
    no_deadlocks(&server);
    deadlocks(&server);
    lost_connections(&mut server);
    lock_timeouts(&server);
}

#[test]
fn errors_of_postgresql_fall_into_their_classes() {
    if skipped() {
        return;
    }
    let mut server = loaded(Kind::Postgres);
    no_deadlocks(&server);
    deadlocks(&server);
    serialization_failures(&server);
    lost_connections(&mut server);
    lock_timeouts(&server);
    unknown_outcomes(&server);
}
