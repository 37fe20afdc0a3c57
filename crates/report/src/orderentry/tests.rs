//! Tests of what is told of order entry, against a fixture run.

use rookery_store::{PoolRound, PoolSizing};

use crate::{
    Analysis, Ceiling, CeilingPoint, Run, ceiling,
    figure::{Figure, Table},
    fixture::{self, end, orderentry as fixture_run, planned},
    html_with, sweep, terminal,
};

fn shown(table: &Table) -> String {
    let rows = std::iter::once(&table.heads).chain(&table.rows);
    rows.map(|row| format!("{}\n", row.join(" | "))).collect()
}

fn analysed(fixture: &fixture::Fixture) -> (Run, Analysis) {
    let run = Run::read(&fixture.store).expect("a whole store");
    let analysis = Analysis::of(&run);
    (run, analysis)
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
        .map(crate::figure::Panel::table)
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
    insta::assert_snapshot!(shown(&super::of(&run, &analysis).pools), @r"
    point | hit ratio asked for | found by calibration | pool, MiB | rounds
    1 x 0.5 vCPU, 4 terminals, hit_target=0.8, memory=512MiB | 80.0 % | 80.8 %, reached | 24.00 | 16.00 MiB: 74.0 %; 24.00 MiB: 80.8 %
    ");
}

#[test]
fn types_of_transactions_have_their_own_rows() {
    let (run, analysis) = analysed(&fixture_run::complete());
    let mut types = super::of(&run, &analysis).types;
    assert_eq!(types.rows.len(), 60);
    types.rows.truncate(10);
    insta::assert_snapshot!("orderentry_types", shown(&types));
}

#[test]
fn cpus_against_memory_and_the_ceiling_are_figures() {
    let (run, analysis) = analysed(&fixture_run::complete());
    insta::assert_snapshot!(
        "orderentry_matrix",
        data(&super::matrix(&run, &analysis).expect("both vary"))
    );
    insta::assert_snapshot!(
        "orderentry_ceiling",
        data(&ceiling::figure(&run, &ceilings()).expect("I/O was counted"))
    );
    insta::assert_snapshot!(
        "storage_sweep",
        data(&sweep::figure(&ceilings()).expect("measured"))
    );
    assert!(sweep::figure(&[]).is_none());
    let mut shared = Analysis::of(&run);
    for summary in &mut shared.points {
        summary.point.users = vec![16];
    }
    let figure = super::matrix(&run, &shared).expect("one load for all numbers of CPUs");
    assert!(
        figure
            .panels
            .iter()
            .all(|panel| panel.label.starts_with("16 terminals")),
        "{:?}",
        figure.panels
    );
    let mut diagonal = Analysis::of(&run);
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
        .min()
        .expect("points");
    diagonal
        .points
        .retain(|summary| (summary.point.memory_mib == smallest) == (summary.point.vcpus == least));
    assert!(
        super::matrix(&run, &diagonal).is_none(),
        "memory that goes with the CPUs"
    );
    let without = ceiling::figure(&run, &[]).expect("I/O was counted");
    assert!(
        without.caption.contains("No ceiling is known"),
        "{}",
        without.caption
    );
}

#[test]
fn the_page_has_a_section_of_its_own_and_none_of_the_shop() {
    let page = html_with(&fixture_run::complete().store, &ceilings()).expect("a page");
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
    let shop = crate::html(&fixture::complete().store).expect("a page");
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
                .filter_map(|guest| guest.orderentry.as_mut())
            {
                counters.short_deliveries = counters.transactions[3].completed / 10;
                counters.database.as_mut().expect("read").misses *= 2;
            }
        });
    }
    let (run, analysis) = analysed(&fixture);
    let section = super::of(&run, &analysis);
    assert!(
        section.figures.rows[0][7]
            .ends_with("innodb_flush_log_at_trx_commit=2, relaxed durability"),
        "{:?}",
        section.figures.rows[0]
    );
    assert!(
        section.buffer.rows[0][2].starts_with("80.0 %, missed by 18"),
        "{:?}",
        section.buffer.rows[0]
    );
    let caveats = analysis.caveats.join("\n");
    assert!(
        caveats.contains("deliveries skipped a district"),
        "{caveats}"
    );
}
