//! Writing the record of one trial.

use rookery_stats::{
    CpuParts, GuestMeasurement, IoRates, KernelCount, Latencies, Measurement, OperationMeasurement,
    OtherProgram, qos::Limited, qos::Verdict,
};
use rusqlite::Transaction;

use crate::{
    GuestAudit, LoadPlace, LoadRecord, TrialRecord,
    cells::{int, json_of, name_of},
    insert::insert,
    machines, metrics,
};

/// Write everything that a trial yielded.
pub(crate) fn write_record(
    transaction: &Transaction<'_>,
    trial: u32,
    record: &TrialRecord,
) -> rusqlite::Result<()> {
    insert(
        transaction,
        "records",
        &[
            ("trial", &trial),
            ("outcome", &name_of(record.outcome)),
            ("ready_s", &record.ready_s),
        ],
    )?;
    for (position, reason) in record.reasons.iter().enumerate() {
        insert(
            transaction,
            "reasons",
            &[
                ("trial", &trial),
                ("position", &at(position)),
                ("code", &reason.code),
                ("reason", &reason.text),
            ],
        )?;
    }
    if let Some(measurement) = &record.measurement {
        write_measurement(transaction, trial, 0, 0, measurement)?;
    }
    if let Some(verdict) = &record.verdict {
        write_verdict(transaction, trial, 0, verdict)?;
    }
    let own = record.measurement.as_ref();
    let mut guests = own.map_or(0, |measurement| measurement.guests.len());
    for (part, group) in record.further.iter().enumerate() {
        write_measurement(transaction, trial, part + 1, guests, &group.measurement)?;
        guests += group.measurement.guests.len();
        if let Some(verdict) = &group.verdict {
            write_verdict(transaction, trial, part + 1, verdict)?;
        }
    }
    write_evidence(transaction, trial, record)
}

fn at(position: usize) -> rusqlite::types::Value {
    int(position as u64)
}

/// `part` is the place of the group, `before` the number of guests of groups before it.
fn write_measurement(
    transaction: &Transaction<'_>,
    trial: u32,
    part: usize,
    before: usize,
    measurement: &Measurement,
) -> rusqlite::Result<()> {
    let driver = &measurement.driver;
    let cpus: Vec<String> = driver.cpus.iter().map(u32::to_string).collect();
    insert(
        transaction,
        "measurements",
        &[
            ("trial", &trial),
            ("part", &at(part)),
            ("mode", &name_of(measurement.mode)),
            ("pacing", &name_of(measurement.pacing)),
            ("window_start_s", &measurement.window.start_s),
            ("window_end_s", &measurement.window.end_s),
            ("aborted", &measurement.aborted),
            ("driver_cpus", &cpus.join(",")),
            ("driver_cpu_share", &driver.cpu_share),
            ("driver_cpu_us_per_request", &driver.cpu_us_per_request),
            ("driver_run_queue_share", &driver.run_queue_share),
            ("lag_mean_us", &driver.lag_mean_us),
            ("lag_p50_us", &int(driver.lag_p50_us)),
            ("lag_p99_us", &int(driver.lag_p99_us)),
            ("lag_max_us", &int(driver.lag_max_us)),
            ("unconnected_users", &driver.unconnected_users),
            ("connect_s", &driver.connect_s),
            ("little_error", &driver.little_error),
            ("connections", &int(driver.connections)),
            ("idle_retries", &int(driver.idle_retries)),
            ("arrivals_json", &driver.arrivals.as_ref().map(json_of)),
        ],
    )?;
    for (position, guest) in measurement.guests.iter().enumerate() {
        write_guest(transaction, trial, part, before + position, guest)?;
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
    part: usize,
    position: usize,
    guest: &GuestMeasurement,
) -> rusqlite::Result<()> {
    insert(
        transaction,
        "guests",
        &[
            ("trial", &trial),
            ("part", &at(part)),
            ("guest", &guest.guest),
            ("position", &at(position)),
            ("users", &guest.users),
            ("busy_s", &guest.busy_s),
            ("idle_s", &guest.idle_s),
            ("drawn_delay_mean_s", &guest.drawn_delay_mean_s),
            ("actual_delay_mean_s", &guest.actual_delay_mean_s),
            ("workload", &guest.counters.kind().name()),
            ("counters_json", &json_of(&guest.counters)),
        ],
    )?;
    metrics::write(transaction, trial, &guest.guest, &guest.counters)
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
    insert(
        transaction,
        "operations",
        &[
            ("trial", &trial),
            ("guest", &guest),
            ("operation", &operation.name),
            ("position", &at(position)),
            ("started", &int(operation.started)),
            ("completed", &int(operation.completed)),
            ("succeeded", &int(operation.succeeded)),
            ("failed", &int(operation.failed)),
            ("unfinished", &int(operation.unfinished)),
            ("service_mean_us", &service.mean_us()),
            ("service_p50_us", &percentile(service, 50.0)),
            ("service_p95_us", &percentile(service, 95.0)),
            ("service_p99_us", &percentile(service, 99.0)),
            ("service_max_us", &service.max_us().map(int)),
            ("service_hdr", &service.to_blob()),
            ("service_overflow", &int(service.overflow())),
            ("response_hdr", &operation.response.to_blob()),
            ("response_overflow", &int(operation.response.overflow())),
        ],
    )?;
    Ok(())
}

fn write_seconds(
    transaction: &Transaction<'_>,
    trial: u32,
    guest: &GuestMeasurement,
) -> rusqlite::Result<()> {
    for sample in &guest.series {
        insert(
            transaction,
            "seconds",
            &[
                ("trial", &trial),
                ("guest", &guest.guest),
                ("second", &sample.second),
                ("requests", &sample.requests),
                ("orders", &sample.orders),
                ("errors", &sample.errors),
                ("p50_us", &int(sample.p50_us)),
                ("p95_us", &int(sample.p95_us)),
                ("p99_us", &int(sample.p99_us)),
                ("max_us", &int(sample.max_us)),
            ],
        )?;
    }
    Ok(())
}

fn write_errors(
    transaction: &Transaction<'_>,
    trial: u32,
    guest: &GuestMeasurement,
) -> rusqlite::Result<()> {
    for (position, tally) in guest.errors.iter().enumerate() {
        let class = tally.class.name();
        insert(
            transaction,
            "errors",
            &[
                ("trial", &trial),
                ("guest", &guest.guest),
                ("position", &at(position)),
                ("class", &class),
                ("sub_class", &tally.sub_class),
                ("count", &int(tally.count)),
            ],
        )?;
        for (number, example) in tally.examples.iter().enumerate() {
            insert(
                transaction,
                "error_examples",
                &[
                    ("trial", &trial),
                    ("guest", &guest.guest),
                    ("position", &at(position)),
                    ("example", &at(number)),
                    ("at_s", &example.at_s),
                    ("operation", &example.operation),
                    ("detail", &example.detail),
                ],
            )?;
        }
    }
    Ok(())
}

fn write_verdict(
    transaction: &Transaction<'_>,
    trial: u32,
    part: usize,
    verdict: &Verdict,
) -> rusqlite::Result<()> {
    insert(
        transaction,
        "verdicts",
        &[
            ("trial", &trial),
            ("part", &at(part)),
            ("passed", &verdict.passed),
            ("binding_rule", &verdict.binding.map(at)),
        ],
    )?;
    for (position, rule) in verdict.rules.iter().enumerate() {
        let percentile = match rule.limited {
            Limited::Percentile(p) => Some(p),
            Limited::ErrorRatio => None,
        };
        insert(
            transaction,
            "rules",
            &[
                ("trial", &trial),
                ("part", &at(part)),
                ("position", &at(position)),
                ("guest", &rule.guest),
                ("operation", &rule.operation),
                ("percentile", &percentile),
                ("limit_us_or_share", &rule.limit),
                ("value_us_or_share", &rule.value),
                ("samples", &int(rule.samples)),
                ("outcome", &name_of(rule.outcome)),
                ("marginal", &rule.marginal),
            ],
        )?;
    }
    Ok(())
}

fn write_proof(
    transaction: &Transaction<'_>,
    trial: u32,
    audit: &GuestAudit,
) -> rusqlite::Result<()> {
    for (position, row) in audit.rows.iter().enumerate() {
        insert(
            transaction,
            "proofs",
            &[
                ("trial", &trial),
                ("guest", &audit.guest),
                ("position", &at(position)),
                ("what", &row.proof.what),
                ("found", &row.found.map(int)),
                ("acknowledged", &int(row.proof.acknowledged)),
                ("unanswered", &int(row.proof.unanswered)),
            ],
        )?;
    }
    Ok(())
}

fn write_other_programs(
    transaction: &Transaction<'_>,
    trial: u32,
    programs: &[OtherProgram],
) -> rusqlite::Result<()> {
    for (position, program) in programs.iter().enumerate() {
        insert(
            transaction,
            "other_programs",
            &[
                ("trial", &trial),
                ("position", &at(position)),
                ("name", &program.name),
                ("cpu_cores", &program.cpu_cores),
                ("disk_bytes_per_s", &program.disk_bytes_per_s),
                ("memory_bytes", &int(program.memory_bytes)),
            ],
        )?;
    }
    Ok(())
}

fn write_kernel_counts(
    transaction: &Transaction<'_>,
    trial: u32,
    counts: &[KernelCount],
) -> rusqlite::Result<()> {
    for (position, count) in counts.iter().enumerate() {
        insert(
            transaction,
            "kernel_counts",
            &[
                ("trial", &trial),
                ("position", &at(position)),
                ("scope", &count.scope),
                ("counter", &count.counter.name()),
                ("count", &int(count.count)),
            ],
        )?;
    }
    Ok(())
}

fn write_loads(
    transaction: &Transaction<'_>,
    trial: u32,
    loads: &[LoadRecord],
) -> rusqlite::Result<()> {
    for (
        position,
        LoadRecord {
            place,
            database,
            load,
        },
    ) in loads.iter().enumerate()
    {
        let (guest, template) = match place {
            LoadPlace::Guest(guest) => (Some(guest), None),
            LoadPlace::Template { digest, built } => (None, Some((digest, *built))),
        };
        insert(
            transaction,
            "loads",
            &[
                ("trial", &trial),
                ("position", &at(position)),
                ("guest", &guest),
                ("template", &template.map(|(digest, _)| digest)),
                ("built", &template.is_none_or(|(_, built)| built)),
                ("database", &database),
                ("create_s", &load.create_s),
                ("rows_s", &load.rows_s),
                ("index_s", &load.index_s),
                ("check_s", &load.check_s),
                ("close_s", &load.close_s),
                ("rows", &int(load.rows)),
                ("bytes", &int(load.bytes)),
            ],
        )?;
    }
    Ok(())
}

fn write_evidence(
    transaction: &Transaction<'_>,
    trial: u32,
    record: &TrialRecord,
) -> rusqlite::Result<()> {
    for (position, sample) in record.resources.iter().enumerate() {
        let memory = int(sample.memory_bytes);
        let io = |of: fn(&IoRates) -> f64| sample.io.as_ref().map(of);
        let part = |of: fn(&CpuParts) -> f64| sample.parts.as_ref().map(of);
        let rates = sample.memory.as_ref();
        let swap = rates.map(|rates| int(rates.swap_bytes));
        let reclaim = rates.and_then(|rates| rates.reclaim);
        let pressure = rates.and_then(|rates| rates.pressure);
        insert(
            transaction,
            "resources",
            &[
                ("trial", &trial),
                ("position", &at(position)),
                ("subject", &sample.subject),
                ("at_s", &sample.at_s),
                ("cpu_cores", &sample.cpu_cores),
                ("memory_bytes", &memory),
                ("reads_per_s", &io(|rates| rates.reads_per_s)),
                ("writes_per_s", &io(|rates| rates.writes_per_s)),
                ("read_bytes_per_s", &io(|rates| rates.read_bytes_per_s)),
                (
                    "written_bytes_per_s",
                    &io(|rates| rates.written_bytes_per_s),
                ),
                ("user_cores", &part(|parts| parts.user)),
                ("system_cores", &part(|parts| parts.system)),
                ("guest_cores", &part(|parts| parts.guest)),
                ("emulator_cores", &part(|parts| parts.emulator)),
                ("throttled_cores", &sample.throttled_cores),
                ("swap_bytes", &swap),
                (
                    "major_faults_per_s",
                    &rates.map(|rates| rates.major_faults_per_s),
                ),
                ("refaults_per_s", &rates.map(|rates| rates.refaults_per_s)),
                (
                    "scanned_pages_per_s",
                    &reclaim.map(|reclaim| reclaim.scanned_per_s),
                ),
                (
                    "reclaimed_pages_per_s",
                    &reclaim.map(|reclaim| reclaim.reclaimed_per_s),
                ),
                ("memory_some_share", &pressure.map(|pressure| pressure.some)),
                ("memory_full_share", &pressure.map(|pressure| pressure.full)),
            ],
        )?;
    }
    machines::write(transaction, trial, &record.machines)?;
    write_other_programs(transaction, trial, &record.other_programs)?;
    write_kernel_counts(transaction, trial, &record.kernel)?;
    for (position, audit) in record.audits.iter().enumerate() {
        insert(
            transaction,
            "audits",
            &[
                ("trial", &trial),
                ("position", &at(position)),
                ("guest", &audit.guest),
                ("killed", &audit.killed),
                ("consistent", &audit.consistent),
                ("detail", &audit.detail),
            ],
        )?;
        write_proof(transaction, trial, audit)?;
    }
    for (position, tuning) in record.tunings.iter().enumerate() {
        let texts = (
            &tuning.guest,
            &tuning.name,
            &tuning.asked,
            &tuning.effective,
            &tuning.at_end,
        );
        insert(
            transaction,
            "tunings",
            &[
                ("trial", &trial),
                ("position", &at(position)),
                ("guest", &texts.0),
                ("name", &texts.1),
                ("asked", &texts.2),
                ("effective", &texts.3),
                ("at_end", &texts.4),
            ],
        )?;
    }
    write_loads(transaction, trial, &record.loads)?;
    for (position, log) in record.logs.iter().enumerate() {
        insert(
            transaction,
            "logs",
            &[
                ("trial", &trial),
                ("position", &at(position)),
                ("guest", &log.guest),
                ("text", &log.text),
            ],
        )?;
    }
    for (position, output) in record.outputs.iter().enumerate() {
        insert(
            transaction,
            "outputs",
            &[
                ("trial", &trial),
                ("position", &at(position)),
                ("guest", &output.guest),
                ("program", &output.program),
                ("text", &output.text),
            ],
        )?;
    }
    Ok(())
}
