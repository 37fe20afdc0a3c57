//! Tests of what is told of order entry, against a fixture run.

use rookery_analysis::{
    Analysis, Run,
    storage::{Ceiling, CeilingPoint},
};
use rookery_store::{PoolRound, PoolSizing};
use rookery_text::Zone;

use super::{
    analysed,
    fixture::{self, end, orderentry as fixture_run, planned},
    terminal,
};
use crate::{
    figures::{
        ceiling,
        data::{Figure, Panel},
        matrix, sweep,
    },
    tables::Table,
    workloads::section,
};

fn shown(table: &Table) -> String {
    let rows = std::iter::once(&table.heads).chain(&table.rows);
    rows.map(|row| format!("{}\n", row.join(" | "))).collect()
}

/// A table of the section by its heading.
fn part(run: &Run, analysis: &Analysis, heading: &str) -> Table {
    let parts = section(run, analysis).expect("good trials").parts;
    let part = parts.into_iter().find(|part| part.heading == heading);
    part.expect("a part").table
}

fn ceilings() -> Vec<Ceiling> {
    let point = |pattern: &str, block_kib, depth, iops| CeilingPoint {
        pattern: pattern.to_owned(),
        block_kib,
        depth,
        iops,
        mean_us: 1e6 * f64::from(depth) / iops,
    };
    vec![Ceiling {
        pool: "a volume with ext4".to_owned(),
        tool: "fio-3.33".to_owned(),
        points: vec![
            point("read", 16, 1, 300.0),
            point("read", 16, 8, 800.0),
            point("read", 16, 32, 780.0),
            point("write", 16, 8, 600.0),
        ],
    }]
}

fn data(figure: &Figure) -> String {
    let tables = figure
        .panels
        .iter()
        .map(Panel::table)
        .chain(figure.tables.clone());
    let tables: String = tables
        .map(|table| format!("\n{}\n{}", table.label, shown(&table)))
        .collect();
    format!("{}\n{}\n{tables}", figure.title, figure.caption)
}

#[test]
fn a_report_of_order_entry_speaks_of_new_orders() {
    let text = terminal(&fixture_run::complete().store).expect("a report");
    insta::assert_snapshot!("orderentry_terminal", text);
    assert!(
        !text.contains("think time") && !text.contains("login"),
        "nobody shops"
    );
}

#[test]
fn the_dial_is_told() {
    let fixture = fixture_run::complete();
    let round = |bytes, hit| PoolRound { bytes, hit };
    let pool = PoolSizing {
        point: 1,
        target: 0.8,
        bytes: 24 << 20,
        hit: 0.808,
        reached: true,
        rounds: vec![round(16 << 20, 0.74), round(24 << 20, 0.808)],
    };
    fixture.store.keep_pool(&pool).expect("room");
    let (run, analysis) = analysed(&fixture);
    insta::assert_snapshot!(shown(&part(&run, &analysis, "Calibration of the buffer pools")), @r"
    point | hit ratio asked for | found by calibration | pool, MiB | rounds
    1 x 0.5 vCPU, 4 terminals, hit_target=0.8, memory=512MiB | 80.0 % | 80.8 %, reached | 24.00 | 16.00 MiB: 74.0 %; 24.00 MiB: 80.8 %
    ");
}

#[test]
fn types_of_transactions_have_their_own_rows() {
    let (run, analysis) = analysed(&fixture_run::complete());
    let mut types = part(&run, &analysis, "Transactions by type");
    assert_eq!(types.rows.len(), 60);
    types.rows.truncate(10);
    insta::assert_snapshot!("orderentry_types", shown(&types));
}

#[test]
fn cpus_against_memory_and_the_ceiling_are_figures() {
    let (run, analysis) = analysed(&fixture_run::complete());
    insta::assert_snapshot!(
        "orderentry_matrix",
        data(&matrix::figure(&run, &analysis).expect("both vary"))
    );
    insta::assert_snapshot!(
        "orderentry_ceiling",
        data(&ceiling::figure(&run, &analysis, &ceilings()).expect("I/O was counted"))
    );
    insta::assert_snapshot!(
        "storage_sweep",
        data(&sweep::figure(&ceilings()).expect("measured"))
    );
    assert!(sweep::figure(&[]).is_none());
    let mut shared = Analysis::from_run(&run);
    for summary in &mut shared.points {
        summary.point.client_count = 16;
    }
    let figure = matrix::figure(&run, &shared).expect("one load for all numbers of CPUs");
    assert!(
        figure
            .panels
            .iter()
            .all(|panel| panel.label.starts_with("16 terminals")),
        "{:?}",
        figure.panels
    );
    let mut diagonal = Analysis::from_run(&run);
    let smallest = diagonal
        .points
        .iter()
        .map(|summary| summary.point.memory_mib)
        .min()
        .expect("points");
    let least = diagonal
        .points
        .iter()
        .map(|summary| summary.point.vcpus)
        .fold(f64::INFINITY, f64::min);
    diagonal
        .points
        .retain(|summary| (summary.point.memory_mib == smallest) == (summary.point.vcpus == least));
    assert!(
        matrix::figure(&run, &diagonal).is_none(),
        "memory that goes with the CPUs"
    );
    let without = ceiling::figure(&run, &analysis, &[]).expect("I/O was counted");
    assert!(
        without.caption.contains("No ceiling is known"),
        "{}",
        without.caption
    );
}

#[test]
fn the_page_has_a_section_of_its_own_and_none_of_the_shop() {
    let page =
        crate::html(&fixture_run::complete().store, &ceilings(), &Zone::utc()).expect("a page");
    for part in [
        "id=\"orderentry\"",
        "id=\"matrix\"",
        "id=\"io-ceiling\"",
        "id=\"storage-sweep\"",
        "Buffer pool and growth",
        "ceiling, random reads of 16 KiB",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("id=\"shop\""));
    let shop = super::html(&fixture::complete().store).expect("a page");
    assert!(shop.contains("id=\"shop\"") && !shop.contains("id=\"orderentry\""));
}

#[test]
fn what_is_off_is_told() {
    let header = fixture_run::header(1);
    let fixture = planned(&header);
    for trial in &header.plan.trials {
        let point = header
            .plan
            .points
            .iter()
            .find(|point| point.id == trial.point)
            .expect("planned");
        end(&fixture, trial.id, |record| {
            fixture_run::change(record, point, trial.repeat);
            record
                .tunings
                .iter_mut()
                .filter(|tuning| tuning.name.ends_with("trx_commit"))
                .for_each(|tuning| {
                    tuning.effective = "2".to_owned();
                });
            for counters in record
                .measurement
                .iter_mut()
                .flat_map(|measured| &mut measured.guests)
                .filter_map(|guest| guest.counters.orderentry_mut())
            {
                counters.short_deliveries = counters.transactions[3].completed / 10;
                counters.database.as_mut().expect("read").misses *= 2;
            }
        });
    }
    let (run, analysis) = analysed(&fixture);
    let figures = part(&run, &analysis, "");
    let buffer = part(&run, &analysis, "Buffer pool and growth");
    assert!(
        figures.rows[0][7].ends_with("innodb_flush_log_at_trx_commit=2, relaxed durability"),
        "{:?}",
        figures.rows[0]
    );
    assert!(
        buffer.rows[0][2].starts_with("80.0 %, missed by 18"),
        "{:?}",
        buffer.rows[0]
    );
    let caveats = analysis.caveats.join("\n");
    assert!(
        caveats.contains("deliveries skipped a district"),
        "{caveats}"
    );
}
