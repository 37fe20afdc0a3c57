//! Reading the record of one trial back; nothing in it is trusted.

use rookery_stats::{
    CpuParts, DatabaseLoad, DriverQuality, ErrorExample, ErrorTally, GuestMeasurement, IoRates,
    KernelCount, KernelCounter, Latencies, MachineLook, Measurement, MemoryRates,
    OperationMeasurement, OtherProgram, PressureShares, ReclaimRates, ResourceSample, SecondSample,
    Window,
    qos::{Limited, RuleResult, Verdict},
};

use crate::{
    AuditRow, CellError, Damage, GroupRecord, GuestAudit, GuestLog, LoadPlace, LoadRecord,
    ProgramOutput, Store, StoreError, TrialRecord, Tuning, cells::Cells, machines,
};
use rookery_workload::ProofRow;

impl Store {
    /// Everything that a trial yielded; `None` when it has not ended (or is not in the plan).
    ///
    /// # Errors
    /// When a table is damaged.
    pub fn record(&self, trial: u32) -> Result<Option<TrialRecord>, StoreError> {
        let Some(mut record) = self.outline(trial)? else {
            return Ok(None);
        };
        record.machines = self.machines(trial)?;
        self.visit_resources(trial, |sample| record.resources.push(sample))?;
        for guest in record.guests_mut() {
            guest.series = self.seconds(trial, &guest.guest)?;
        }
        Ok(Some(record))
    }

    /// What a trial yielded without its series, which may be long: `resources`, `machines` and the
    /// `series` of guests are empty.
    ///
    /// # Errors
    /// When a table is damaged.
    pub fn outline(&self, trial: u32) -> Result<Option<TrialRecord>, StoreError> {
        let sql = "SELECT * FROM records WHERE trial = ?1";
        let ends = self.collect("records", sql, [trial], |cells| {
            Ok((cells.named("outcome")?, cells.real("ready_s")?))
        })?;
        let Some((outcome, ready_s)) = ends.into_iter().next() else {
            return Ok(None);
        };
        Ok(Some(TrialRecord {
            outcome,
            reasons: self.reasons(trial)?,
            measurement: self.measurement(trial, 0)?,
            verdict: self.verdict(trial, 0)?,
            further: self.further(trial)?,
            resources: Vec::new(),
            machines: Vec::new(),
            other_programs: self.of_trial("other_programs", trial, other_program)?,
            kernel: self.of_trial("kernel_counts", trial, kernel_count)?,
            audits: self.audits(trial)?,
            logs: self.of_trial("logs", trial, log)?,
            outputs: self.of_trial("outputs", trial, output)?,
            tunings: self.of_trial("tunings", trial, tuning)?,
            loads: self.of_trial("loads", trial, load)?,
            ready_s,
        }))
    }

    /// Visit the samples of resources of a trial in the order of time, one at a time.
    ///
    /// # Errors
    /// When the table is damaged.
    pub fn visit_resources(
        &self,
        trial: u32,
        mut visit: impl FnMut(ResourceSample),
    ) -> Result<(), StoreError> {
        let sql = "SELECT * FROM resources WHERE trial = ?1 ORDER BY position";
        self.visit("resources", sql, [trial], |cells| {
            visit(resource(cells)?);
            Ok(())
        })
    }

    /// How many samples of resources a trial has.
    ///
    /// # Errors
    /// When the table is damaged.
    pub fn resource_count(&self, trial: u32) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) AS samples FROM resources WHERE trial = ?1";
        let counts = self.collect("resources", sql, [trial], |cells| {
            Ok(cells.count("samples")?)
        })?;
        Ok(counts.first().copied().unwrap_or(0))
    }

    /// The looks at virtual machines of a trial, in the order of time.
    ///
    /// # Errors
    /// When the table is damaged.
    pub fn machines(&self, trial: u32) -> Result<Vec<MachineLook>, StoreError> {
        self.of_trial("machines", trial, machines::read)
    }

    /// The seconds of a guest of a trial, in order.
    ///
    /// # Errors
    /// When the table is damaged.
    pub fn seconds(&self, trial: u32, guest: &str) -> Result<Vec<SecondSample>, StoreError> {
        let sql = "SELECT * FROM seconds WHERE trial = ?1 AND guest = ?2 ORDER BY second";
        self.collect("seconds", sql, (trial, guest), second)
    }

    fn of_trial<T>(
        &self,
        table: &'static str,
        trial: u32,
        read: impl Fn(&Cells<'_>) -> Result<T, Damage>,
    ) -> Result<Vec<T>, StoreError> {
        self.collect(
            table,
            &format!("SELECT * FROM {table} WHERE trial = ?1 ORDER BY position"),
            [trial],
            read,
        )
    }

    fn audits(&self, trial: u32) -> Result<Vec<GuestAudit>, StoreError> {
        let mut audits = self.of_trial("audits", trial, audit)?;
        for (guest, row) in self.of_trial("proofs", trial, audit_row)? {
            if let Some(audit) = audits.iter_mut().find(|audit| audit.guest == guest) {
                audit.rows.push(row);
            }
        }
        Ok(audits)
    }

    /// What was measured of the groups after the first one.
    fn further(&self, trial: u32) -> Result<Vec<GroupRecord>, StoreError> {
        let sql = "SELECT part FROM measurements WHERE trial = ?1 AND part > 0 ORDER BY part";
        let parts = self.collect("measurements", sql, [trial], |cells| {
            Ok(cells.small("part")?)
        })?;
        let mut further = Vec::new();
        for part in parts {
            if let Some(measurement) = self.measurement(trial, part)? {
                let verdict = self.verdict(trial, part)?;
                further.push(GroupRecord {
                    measurement,
                    verdict,
                });
            }
        }
        Ok(further)
    }

    fn measurement(&self, trial: u32, part: u32) -> Result<Option<Measurement>, StoreError> {
        let sql = "SELECT * FROM measurements WHERE trial = ?1 AND part = ?2";
        let Some(mut measurement) = self
            .collect("measurements", sql, [trial, part], measurement)?
            .into_iter()
            .next()
        else {
            return Ok(None);
        };
        let sql = "SELECT * FROM guests WHERE trial = ?1 AND part = ?2 ORDER BY position";
        measurement.guests = self.collect("guests", sql, [trial, part], guest)?;
        for guest in &mut measurement.guests {
            self.fill_guest(trial, guest)?;
        }
        Ok(Some(measurement))
    }

    fn fill_guest(&self, trial: u32, guest: &mut GuestMeasurement) -> Result<(), StoreError> {
        let key = (trial, guest.guest.as_str());
        let sql = "SELECT * FROM operations WHERE trial = ?1 AND guest = ?2 ORDER BY position";
        let operations = self.collect("operations", sql, key, operation)?;
        let sql = "SELECT * FROM errors WHERE trial = ?1 AND guest = ?2 ORDER BY position";
        let tallies = self.collect("errors", sql, key, |cells| {
            Ok((cells.count("position")?, tally(cells)?))
        })?;
        let sql = "SELECT * FROM error_examples WHERE trial = ?1 AND guest = ?2 ORDER BY position, \
                   example";
        let examples = self.collect("error_examples", sql, key, |cells| {
            Ok((cells.count("position")?, example(cells)?))
        })?;
        guest.operations = operations;
        guest.errors = tallies
            .into_iter()
            .map(|(position, mut tally)| {
                let own = examples.iter().filter(|(of, _)| *of == position);
                tally.examples = own.map(|(_, example)| example.clone()).collect();
                tally
            })
            .collect();
        Ok(())
    }

    fn verdict(&self, trial: u32, part: u32) -> Result<Option<Verdict>, StoreError> {
        let sql = "SELECT * FROM verdicts WHERE trial = ?1 AND part = ?2";
        let heads = self.collect("verdicts", sql, [trial, part], |cells| {
            Ok((cells.flag("passed")?, cells.optional_count("binding_rule")?))
        })?;
        let Some((passed, binding)) = heads.into_iter().next() else {
            return Ok(None);
        };
        let sql = "SELECT * FROM rules WHERE trial = ?1 AND part = ?2 ORDER BY position";
        let rules = self.collect("rules", sql, [trial, part], rule)?;
        let binding = binding.map(|index| usize::try_from(index).unwrap_or(usize::MAX));
        if binding.is_some_and(|index| index >= rules.len()) {
            return Err(self.damaged("verdicts", Damage::UnknownRule));
        }
        Ok(Some(Verdict {
            passed,
            rules,
            binding,
        }))
    }
}

fn measurement(cells: &Cells<'_>) -> Result<Measurement, Damage> {
    Ok(Measurement {
        mode: cells.named("mode")?,
        pacing: cells.named("pacing")?,
        window: Window {
            start_s: cells.real("window_start_s")?,
            end_s: cells.real("window_end_s")?,
        },
        guests: Vec::new(),
        driver: DriverQuality {
            cpus: cpus(&cells.text("driver_cpus")?)?,
            cpu_share: cells.real("driver_cpu_share")?,
            cpu_us_per_request: cells.real("driver_cpu_us_per_request")?,
            run_queue_share: cells.real("driver_run_queue_share")?,
            lag_mean_us: cells.real("lag_mean_us")?,
            lag_p50_us: cells.count("lag_p50_us")?,
            lag_p99_us: cells.count("lag_p99_us")?,
            lag_max_us: cells.count("lag_max_us")?,
            unconnected_users: cells.small("unconnected_users")?,
            connect_s: cells.real("connect_s")?,
            little_error: cells.real("little_error")?,
            connections: cells.count("connections")?,
            idle_retries: cells.count("idle_retries")?,
            arrivals: cells.optional_json("arrivals_json")?,
        },
        aborted: cells.optional_text("aborted")?,
    })
}

fn cpus(text: &str) -> Result<Vec<u32>, CellError> {
    let numbers = text.split(',').filter(|number| !number.is_empty());
    let parsed = numbers.map(|number| {
        number.parse().map_err(|_| CellError::Cpu {
            column: "driver_cpus".to_owned(),
            text: number.chars().take(60).collect(),
        })
    });
    parsed.collect()
}

fn guest(cells: &Cells<'_>) -> Result<GuestMeasurement, Damage> {
    Ok(GuestMeasurement {
        guest: cells.text("guest")?,
        users: cells.small("users")?,
        operations: Vec::new(),
        series: Vec::new(),
        errors: Vec::new(),
        counters: cells.counters("counters_json")?,
        busy_s: cells.real("busy_s")?,
        idle_s: cells.real("idle_s")?,
        drawn_delay_mean_s: cells.optional_real("drawn_delay_mean_s")?,
        actual_delay_mean_s: cells.optional_real("actual_delay_mean_s")?,
    })
}

fn operation(cells: &Cells<'_>) -> Result<OperationMeasurement, Damage> {
    let latencies = |blob: &str, overflow: &str| {
        Latencies::from_blob(&cells.blob(blob)?, cells.count(overflow)?).map_err(|source| {
            CellError::Histogram {
                column: blob.to_owned(),
                source,
            }
        })
    };
    Ok(OperationMeasurement {
        name: cells.text("operation")?,
        started: cells.count("started")?,
        completed: cells.count("completed")?,
        succeeded: cells.count("succeeded")?,
        failed: cells.count("failed")?,
        unfinished: cells.count("unfinished")?,
        service: latencies("service_hdr", "service_overflow")?,
        response: latencies("response_hdr", "response_overflow")?,
    })
}

fn second(cells: &Cells<'_>) -> Result<SecondSample, Damage> {
    Ok(SecondSample {
        second: cells.small("second")?,
        requests: cells.small("requests")?,
        orders: cells.small("orders")?,
        errors: cells.small("errors")?,
        p50_us: cells.count("p50_us")?,
        p95_us: cells.count("p95_us")?,
        p99_us: cells.count("p99_us")?,
        max_us: cells.count("max_us")?,
    })
}

fn tally(cells: &Cells<'_>) -> Result<ErrorTally, Damage> {
    Ok(ErrorTally {
        class: cells.named("class")?,
        sub_class: cells.text("sub_class")?,
        count: cells.count("count")?,
        examples: Vec::new(),
    })
}

fn example(cells: &Cells<'_>) -> Result<ErrorExample, Damage> {
    Ok(ErrorExample {
        at_s: cells.real("at_s")?,
        operation: cells.text("operation")?,
        detail: cells.text("detail")?,
    })
}

fn rule(cells: &Cells<'_>) -> Result<RuleResult, Damage> {
    Ok(RuleResult {
        guest: cells.text("guest")?,
        operation: cells.optional_text("operation")?,
        limited: cells
            .optional_real("percentile")?
            .map_or(Limited::ErrorRatio, Limited::Percentile),
        limit: cells.real("limit_us_or_share")?,
        value: cells.optional_real("value_us_or_share")?,
        samples: cells.count("samples")?,
        outcome: cells.named("outcome")?,
        marginal: cells.flag("marginal")?,
    })
}

fn resource(cells: &Cells<'_>) -> Result<ResourceSample, Damage> {
    Ok(ResourceSample {
        subject: cells.text("subject")?,
        at_s: cells.real("at_s")?,
        cpu_cores: cells.real("cpu_cores")?,
        memory_bytes: cells.count("memory_bytes")?,
        io: io_rates(cells)?,
        parts: cpu_parts(cells)?,
        throttled_cores: cells.optional_real("throttled_cores")?,
        memory: memory_rates(cells)?,
    })
}

fn memory_rates(cells: &Cells<'_>) -> Result<Option<MemoryRates>, Damage> {
    let Some(swap_bytes) = cells.optional_count("swap_bytes")? else {
        return Ok(None);
    };
    let reclaim = match cells.optional_real("scanned_pages_per_s")? {
        None => None,
        Some(scanned_per_s) => Some(ReclaimRates {
            scanned_per_s,
            reclaimed_per_s: cells.real("reclaimed_pages_per_s")?,
        }),
    };
    let pressure = match cells.optional_real("memory_some_share")? {
        None => None,
        Some(some) => Some(PressureShares {
            some,
            full: cells.real("memory_full_share")?,
        }),
    };
    Ok(Some(MemoryRates {
        swap_bytes,
        major_faults_per_s: cells.real("major_faults_per_s")?,
        refaults_per_s: cells.real("refaults_per_s")?,
        reclaim,
        pressure,
    }))
}

fn cpu_parts(cells: &Cells<'_>) -> Result<Option<CpuParts>, Damage> {
    let Some(user) = cells.optional_real("user_cores")? else {
        return Ok(None);
    };
    Ok(Some(CpuParts {
        user,
        system: cells.real("system_cores")?,
        guest: cells.real("guest_cores")?,
        emulator: cells.real("emulator_cores")?,
    }))
}

fn io_rates(cells: &Cells<'_>) -> Result<Option<IoRates>, Damage> {
    let Some(reads_per_s) = cells.optional_real("reads_per_s")? else {
        return Ok(None);
    };
    Ok(Some(IoRates {
        reads_per_s,
        writes_per_s: cells.real("writes_per_s")?,
        read_bytes_per_s: cells.real("read_bytes_per_s")?,
        written_bytes_per_s: cells.real("written_bytes_per_s")?,
    }))
}

fn audit(cells: &Cells<'_>) -> Result<GuestAudit, Damage> {
    Ok(GuestAudit {
        guest: cells.text("guest")?,
        rows: Vec::new(),
        killed: cells.flag("killed")?,
        consistent: cells.flag("consistent")?,
        detail: cells.text("detail")?,
    })
}

fn audit_row(cells: &Cells<'_>) -> Result<(String, AuditRow), Damage> {
    Ok((
        cells.text("guest")?,
        AuditRow {
            proof: ProofRow {
                what: cells.text("what")?,
                acknowledged: cells.count("acknowledged")?,
                unanswered: cells.count("unanswered")?,
            },
            found: cells.optional_count("found")?,
        },
    ))
}

fn log(cells: &Cells<'_>) -> Result<GuestLog, Damage> {
    Ok(GuestLog {
        guest: cells.text("guest")?,
        text: cells.text("text")?,
    })
}

fn output(cells: &Cells<'_>) -> Result<ProgramOutput, Damage> {
    Ok(ProgramOutput {
        guest: cells.text("guest")?,
        program: cells.text("program")?,
        text: cells.text("text")?,
    })
}

fn other_program(cells: &Cells<'_>) -> Result<OtherProgram, Damage> {
    Ok(OtherProgram {
        name: cells.text("name")?,
        cpu_cores: cells.real("cpu_cores")?,
        disk_bytes_per_s: cells.real("disk_bytes_per_s")?,
        memory_bytes: cells.count("memory_bytes")?,
    })
}

fn kernel_count(cells: &Cells<'_>) -> Result<KernelCount, Damage> {
    let counter = cells.text("counter")?;
    Ok(KernelCount {
        scope: cells.text("scope")?,
        counter: KernelCounter::from_name(&counter).ok_or(Damage::UnknownCounter { counter })?,
        count: cells.count("count")?,
    })
}

fn load(cells: &Cells<'_>) -> Result<LoadRecord, Damage> {
    Ok(LoadRecord {
        place: match cells.optional_text("guest")? {
            Some(guest) => LoadPlace::Guest(guest),
            None => LoadPlace::Template {
                digest: cells.text("template")?,
                built: cells.flag("built")?,
            },
        },
        database: cells.text("database")?,
        load: DatabaseLoad {
            create_s: cells.real("create_s")?,
            rows_s: cells.real("rows_s")?,
            index_s: cells.real("index_s")?,
            check_s: cells.real("check_s")?,
            close_s: cells.real("close_s")?,
            rows: cells.count("rows")?,
            bytes: cells.count("bytes")?,
        },
    })
}

fn tuning(cells: &Cells<'_>) -> Result<Tuning, Damage> {
    Ok(Tuning {
        guest: cells.text("guest")?,
        name: cells.text("name")?,
        asked: cells.text("asked")?,
        effective: cells.text("effective")?,
        at_end: cells.text("at_end")?,
    })
}
