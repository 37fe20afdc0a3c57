//! Writing the record of one trial.

use rookery_stats::{
    CpuParts, GuestMeasurement, IoRates, Latencies, Measurement, OperationMeasurement,
    OrderEntryCounters, qos::Limited, qos::Verdict,
};
use rusqlite::{Transaction, params};

use crate::{
    TrialRecord,
    cells::{int, json_of, name_of},
    machines,
};

/// Write everything that a trial yielded.
pub(crate) fn write_record(
    transaction: &Transaction<'_>,
    trial: u32,
    record: &TrialRecord,
) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached("INSERT INTO records VALUES (?1, ?2, ?3)")?;
    statement.execute(params![trial, name_of(record.outcome), record.ready_s])?;
    for (position, reason) in record.reasons.iter().enumerate() {
        let mut statement =
            transaction.prepare_cached("INSERT INTO reasons VALUES (?1, ?2, ?3)")?;
        statement.execute(params![trial, at(position), reason])?;
    }
    if let Some(measurement) = &record.measurement {
        write_measurement(transaction, trial, measurement)?;
    }
    if let Some(verdict) = &record.verdict {
        write_verdict(transaction, trial, verdict)?;
    }
    write_evidence(transaction, trial, record)
}

fn at(position: usize) -> rusqlite::types::Value {
    int(position as u64)
}

fn write_measurement(
    transaction: &Transaction<'_>,
    trial: u32,
    measurement: &Measurement,
) -> rusqlite::Result<()> {
    let driver = &measurement.driver;
    let cpus: Vec<String> = driver.cpus.iter().map(u32::to_string).collect();
    transaction.execute(
        "INSERT INTO measurements VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)",
        params![
            trial,
            name_of(measurement.mode),
            name_of(measurement.pacing),
            measurement.window.start_s,
            measurement.window.end_s,
            measurement.aborted,
            cpus.join(","),
            driver.cpu_share,
            driver.cpu_us_per_request,
            driver.run_queue_share,
            driver.lag_mean_us,
            int(driver.lag_p50_us),
            int(driver.lag_p99_us),
            int(driver.lag_max_us),
            driver.unconnected_users,
            driver.connect_s,
            driver.little_error,
            int(driver.connections),
            int(driver.idle_retries),
            driver.arrivals.as_ref().map(json_of),
        ],
    )?;
    for (position, guest) in measurement.guests.iter().enumerate() {
        write_guest(transaction, trial, position, guest)?;
        for (position, operation) in guest.operations.iter().enumerate() {
            write_operation(transaction, trial, position, &guest.guest, operation)?;
        }
        write_seconds(transaction, trial, guest)?;
        write_errors(transaction, trial, guest)?;
    }
    Ok(())
}

fn write_guest(
    transaction: &Transaction<'_>,
    trial: u32,
    position: usize,
    guest: &GuestMeasurement,
) -> rusqlite::Result<()> {
    let shop = &guest.shop;
    let mut statement = transaction.prepare_cached(
        "INSERT INTO guests VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,
         ?23, ?24, ?25, ?26)",
    )?;
    statement.execute(params![
        trial,
        guest.guest,
        at(position),
        guest.users,
        guest.busy_s,
        guest.idle_s,
        guest.drawn_delay_mean_s,
        guest.actual_delay_mean_s,
        int(shop.n_overall),
        shop.opm,
        shop.rt_tot_avg_msec,
        shop.rt_tot_lastn_max_msec,
        int(shop.n_rollbacks_overall),
        shop.rollback_rate,
        int(shop.n_login_overall),
        int(shop.n_newcust_overall),
        int(shop.n_browse_overall),
        int(shop.n_purchase_overall),
        shop.rt_login_avg_msec,
        shop.rt_newcust_avg_msec,
        shop.rt_browse_avg_msec,
        shop.rt_purchase_avg_msec,
        int(shop.n_purchase_from_start),
        int(shop.n_rollbacks_from_start),
        int(shop.n_purchase_unanswered),
        guest
            .orderentry
            .as_ref()
            .map(|counters| json_of(&finite(counters))),
    ])?;
    Ok(())
}

/// JSON has no number for what could not be computed: figures of a window of no length are zero.
fn finite(counters: &OrderEntryCounters) -> OrderEntryCounters {
    let finite = |figure: f64| if figure.is_finite() { figure } else { 0.0 };
    OrderEntryCounters {
        nopm: finite(counters.nopm),
        tpm: finite(counters.tpm),
        ..counters.clone()
    }
}

fn write_operation(
    transaction: &Transaction<'_>,
    trial: u32,
    position: usize,
    guest: &str,
    operation: &OperationMeasurement,
) -> rusqlite::Result<()> {
    let percentile = |latencies: &Latencies, p| latencies.percentile_us(p).map(int);
    let service = &operation.service;
    let mut statement = transaction.prepare_cached(
        "INSERT INTO operations VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
    )?;
    statement.execute(params![
        trial,
        guest,
        operation.name,
        at(position),
        int(operation.started),
        int(operation.completed),
        int(operation.succeeded),
        int(operation.failed),
        int(operation.unfinished),
        service.mean_us(),
        percentile(service, 50.0),
        percentile(service, 95.0),
        percentile(service, 99.0),
        service.max_us().map(int),
        service.to_blob(),
        int(service.overflow()),
        operation.response.to_blob(),
        int(operation.response.overflow()),
    ])?;
    Ok(())
}

fn write_seconds(
    transaction: &Transaction<'_>,
    trial: u32,
    guest: &GuestMeasurement,
) -> rusqlite::Result<()> {
    let mut statement = transaction
        .prepare_cached("INSERT INTO seconds VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?;
    for sample in &guest.series {
        statement.execute(params![
            trial,
            guest.guest,
            sample.second,
            sample.requests,
            sample.orders,
            sample.errors,
            int(sample.p50_us),
            int(sample.p95_us),
            int(sample.p99_us),
            int(sample.max_us),
        ])?;
    }
    Ok(())
}

fn write_errors(
    transaction: &Transaction<'_>,
    trial: u32,
    guest: &GuestMeasurement,
) -> rusqlite::Result<()> {
    let mut tally_row =
        transaction.prepare_cached("INSERT INTO errors VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    let mut example_row = transaction
        .prepare_cached("INSERT INTO error_examples VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
    for (position, tally) in guest.errors.iter().enumerate() {
        let class = tally.class.name();
        tally_row.execute(params![
            trial,
            guest.guest,
            at(position),
            class,
            tally.sub_class,
            int(tally.count)
        ])?;
        for (number, example) in tally.examples.iter().enumerate() {
            example_row.execute(params![
                trial,
                guest.guest,
                at(position),
                at(number),
                example.at_s,
                example.operation,
                example.detail
            ])?;
        }
    }
    Ok(())
}

fn write_verdict(
    transaction: &Transaction<'_>,
    trial: u32,
    verdict: &Verdict,
) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached("INSERT INTO verdicts VALUES (?1, ?2, ?3)")?;
    statement.execute(params![trial, verdict.passed, verdict.binding.map(at)])?;
    let mut statement = transaction
        .prepare_cached("INSERT INTO rules VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?;
    for (position, rule) in verdict.rules.iter().enumerate() {
        let percentile = match rule.limited {
            Limited::Percentile(p) => Some(p),
            Limited::ErrorRatio => None,
        };
        statement.execute(params![
            trial,
            at(position),
            rule.guest,
            rule.operation,
            percentile,
            rule.limit,
            rule.value,
            int(rule.samples),
            name_of(rule.outcome),
            rule.marginal,
        ])?;
    }
    Ok(())
}

fn write_evidence(
    transaction: &Transaction<'_>,
    trial: u32,
    record: &TrialRecord,
) -> rusqlite::Result<()> {
    let mut statement =
        transaction.prepare_cached("INSERT INTO resources VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)")?;
    for (position, sample) in record.resources.iter().enumerate() {
        let memory = int(sample.memory_bytes);
        let io = |of: fn(&IoRates) -> f64| sample.io.as_ref().map(of);
        let part = |of: fn(&CpuParts) -> f64| sample.parts.as_ref().map(of);
        statement.execute(params![
            trial,
            at(position),
            sample.subject,
            sample.at_s,
            sample.cpu_cores,
            memory,
            io(|rates| rates.reads_per_s),
            io(|rates| rates.writes_per_s),
            io(|rates| rates.read_bytes_per_s),
            io(|rates| rates.written_bytes_per_s),
            part(|parts| parts.user),
            part(|parts| parts.system),
            part(|parts| parts.guest),
            part(|parts| parts.emulator),
        ])?;
    }
    machines::write(transaction, trial, &record.machines)?;
    let mut statement = transaction
        .prepare_cached("INSERT INTO audits VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?;
    for (position, audit) in record.audits.iter().enumerate() {
        statement.execute(params![
            trial,
            at(position),
            audit.guest,
            int(audit.orders_in_database),
            int(audit.orders_acknowledged),
            int(audit.unanswered),
            audit.killed,
            audit.consistent,
            audit.detail,
        ])?;
    }
    let mut statement =
        transaction.prepare_cached("INSERT INTO tunings VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
    for (position, tuning) in record.tunings.iter().enumerate() {
        let texts = (
            &tuning.guest,
            &tuning.name,
            &tuning.asked,
            &tuning.effective,
            &tuning.at_end,
        );
        statement.execute(params![
            trial,
            at(position),
            texts.0,
            texts.1,
            texts.2,
            texts.3,
            texts.4
        ])?;
    }
    let mut statement = transaction.prepare_cached("INSERT INTO logs VALUES (?1, ?2, ?3, ?4)")?;
    for (position, log) in record.logs.iter().enumerate() {
        statement.execute(params![trial, at(position), log.guest, log.text])?;
    }
    Ok(())
}
