//! What layers read like, from stores made by formula.

use rookery_analysis::{
    Analysis, Run,
    compare::{Options, compare},
    estimate::{Estimate, EstimateBasis},
    layers::LayeredPoint,
};
use rookery_stats::{CpuParts, MachineInside, MachineLook, MachineOutside, Ratio};
use rookery_store::{RunHeader, TrialRecord, Tuning};
use rookery_study::{Factor, GuestKind, Level, Point, Trial, Variant};

use super::{
    compare_html, compare_terminal,
    fixture::{Fixture, end, header as plain_header, planned},
    html, terminal,
};
use crate::{
    figures::{
        data::{Mark, Place},
        layers::{figure, panels},
    },
    prose::layers::{caveats, mean, ratio, sentences},
};

const KINDS: [(&str, GuestKind); 3] = [
    ("bare", GuestKind::Bare),
    ("container", GuestKind::Container),
    ("vm", GuestKind::Vm),
];

/// One layout on these kinds, as levels of a factor where there are several.
fn header(kinds: &[(&str, GuestKind)]) -> RunHeader {
    let mut header = plain_header(3);
    header.run_id = kinds
        .iter()
        .map(|(name, _)| *name)
        .collect::<Vec<_>>()
        .join("-");
    let plan = &mut header.plan;
    let several = kinds.len() > 1;
    let levels = |name: &str| {
        let level = Level {
            key: "guest.kind".to_owned(),
            value: name.to_owned(),
        };
        several.then_some(level).into_iter().collect::<Vec<Level>>()
    };
    if several {
        plan.factors = vec![Factor {
            key: "guest.kind".to_owned(),
            levels: kinds.iter().map(|(name, _)| (*name).to_owned()).collect(),
        }];
    }
    let variant = |(id, (name, kind)): (u32, &(&str, GuestKind))| {
        let mut study = header.study.clone();
        study.guest.lab = (*kind).into();
        Variant {
            id,
            levels: levels(name),
            study,
            further: Vec::new(),
        }
    };
    plan.variants = (1..).zip(kinds).map(variant).collect();
    let template = plan.points[0].clone();
    let point = |(id, (name, _)): (u32, &(&str, GuestKind))| Point {
        id,
        variant: id,
        levels: levels(name),
        baseline: None,
        ..template.clone()
    };
    plan.points = (1..).zip(kinds).map(point).collect();
    let count = kinds.len() as u32;
    let trial = |index: u32| Trial {
        id: index + 1,
        point: index % count + 1,
        repeat: index / count + 1,
        block: index / count + 1,
        seed: u64::from(index / count),
        purpose: rookery_study::Purpose::Study,
    };
    plan.trials = (0..3 * count).map(trial).collect();
    header
}

fn fixture(kinds: &[(&str, GuestKind)]) -> Fixture {
    let header = header(kinds);
    let fixture = planned(&header);
    for trial in &header.plan.trials {
        let point = &header.plan.points[trial.point as usize - 1];
        let kind = header.plan.study_of(point).guest.kind();
        end(&fixture, trial.id, |record| {
            spend(record, kind, trial.repeat)
        });
    }
    fixture
}

/// Give the guests of a trial their costs: in containers a little more of the kernel, in machines
/// ten times as much and an emulator.
fn spend(record: &mut TrialRecord, kind: GuestKind, repeat: u32) {
    let block = 0.02 * (1.0 + 0.05 * f64::from(repeat));
    let [user, system, guest, emulator] = match kind {
        GuestKind::Bare => [0.8, 0.2, 0.0, 0.0],
        GuestKind::Container => [0.8, 0.25, 0.0, 0.0],
        _ => [0.0, 0.5, 8.0, 1.5],
    }
    .map(|part| part * block);
    let cores = user + system + guest + emulator;
    for sample in &mut record.resources {
        match sample.subject.as_str() {
            "driver" => {}
            "host" => sample.cpu_cores = cores + 0.15,
            _ => {
                sample.cpu_cores = cores;
                sample.parts = Some(CpuParts {
                    user,
                    system,
                    guest,
                    emulator,
                });
            }
        }
    }
    let Some(measured) = &record.measurement else {
        return;
    };
    if kind != GuestKind::Vm {
        return;
    }
    let window = measured.window;
    record.machines = [window.start_s - 1.0, window.end_s + 0.1]
        .map(|at_s| look(at_s, guest, cores))
        .to_vec();
    record.tunings.push(Tuning {
        guest: "g1".to_owned(),
        name: "vm.accelerator".to_owned(),
        asked: String::new(),
        effective: "TCG: this host has no /dev/kvm".to_owned(),
        at_end: String::new(),
    });
}

fn look(at_s: f64, vcpu: f64, cores: f64) -> MachineLook {
    let us = |rate: f64| (rate * at_s * 1e6) as u64;
    MachineLook {
        guest: "g1".to_owned(),
        at_s,
        outside: MachineOutside {
            cpu_us: us(cores),
            vcpu_us: us(vcpu),
            balloon_bytes: 640 << 20,
            resident_bytes: 700 << 20,
            ..MachineOutside::default()
        },
        inside: Some(MachineInside {
            uptime_us: us(1.0) + 9_000_000,
            user_us: us(0.95 * vcpu),
            memory_bytes: 600 << 20,
            available_bytes: 150 << 20,
            cpu_pressure_us: Some(us(0.125)),
            ..MachineInside::default()
        }),
    }
}

fn read(fixture: &Fixture) -> Run {
    Run::read(&fixture.store).expect("a whole store")
}

/// The words and tables of layers alone, as a terminal shows them.
fn shown(points: &[LayeredPoint]) -> String {
    let sentences: String = sentences(points)
        .iter()
        .map(|sentence| format!("* {sentence}\n"))
        .collect();
    format!(
        "{sentences}\n{}",
        crate::terminal::layers(points, super::WIDE)
    )
}

#[test]
fn layers_are_told_in_words_and_tables() {
    let run = read(&fixture(&KINDS));
    let analysis = Analysis::from_run(&run);
    insta::assert_snapshot!("layers_terminal", shown(&analysis.layers));
    let figure = figure(&run, &analysis).expect("three layers");
    assert!(figure.remarks[0].contains("costs") && figure.tables.len() == 3);
    // Inside, vCPU threads, emulator; the balloon, the emulator's memory, pressure.
    let machine = &figure.tables[2].rows[0];
    assert_eq!(machine[2..5], ["0.1672", "0.1760", "0.2200"]);
    assert_eq!(machine[9..12], ["640", "700", "12.5 %, n/a, n/a"]);
    let table = figure.panels[0].table();
    let rows: Vec<String> = std::iter::once(&table.heads)
        .chain(&table.rows)
        .map(|row| row.join(" | "))
        .collect();
    insta::assert_snapshot!("layers_waterfall", rows.join("\n"));
}

#[test]
fn the_page_and_the_terminal_have_the_section_and_other_runs_have_not() {
    let several = fixture(&KINDS);
    let page = html(&several.store).expect("a page");
    assert!(
        page.contains("<section id=\"layers\" class=\"figure\">")
            && page.contains("<a href=\"#layers\">Layers</a>")
    );
    assert!(
        page.contains("Machines from inside and from outside")
            && page.contains("\"barmode\":\"stack\"")
    );
    assert!(
        page.contains("bare, container, vm, capped at their vCPUs, pinning"),
        "the method names every kind"
    );
    assert!(
        terminal(&several.store)
            .expect("a summary")
            .contains("Host CPU per order:")
    );
    let single = fixture(&KINDS[2..]);
    assert!(
        !html(&single.store)
            .expect("a page")
            .contains("id=\"layers\"")
    );
    assert!(
        !terminal(&single.store)
            .expect("a summary")
            .contains("Host CPU per order:")
    );
}

#[test]
fn machines_and_host_that_disagree_are_spoken_of() {
    let mut points = Analysis::from_run(&read(&fixture(&KINDS))).layers;
    let told = |points: &[LayeredPoint]| {
        caveats(points)
            .into_iter()
            .find(|caveat| caveat.contains("vCPU threads"))
    };
    assert_eq!(told(&points), None, "five percent are not worth a word");
    let vm = &mut points[0].layers[2];
    let inside = vm.inside.as_mut().expect("a machine");
    inside.inside_cores = 3.0 * inside.vcpu_cores;
    assert!(told(&points).is_some_and(|caveat| caveat.contains("TCG tells machines nothing")));
    points[0].layers[2].accelerator = Some("KVM".to_owned());
    assert!(told(&points).is_some_and(|caveat| caveat.contains("what they missed")));
}

#[test]
fn a_ratio_that_is_not_known_has_no_digits_of_an_interval() {
    let shown = |interval| {
        ratio(&Ratio {
            value: 0.34,
            interval,
        })
    };
    let shown = [None, Some((0.3, 0.4)), Some((0.0, 886_109.94))].map(shown);
    assert_eq!(
        shown,
        [
            "0.34",
            "0.34 (0.30 to 0.40)",
            "0.34 (known to no factor of 100)"
        ]
    );
}

#[test]
fn no_amount_is_told_below_nothing() {
    let few = Estimate {
        mean: 337.8,
        ends: Some((-101.8, 777.3)),
        basis: EstimateBasis::Repeats { trials: 3 },
    };
    assert_eq!(mean(&few), "337.8 (0 to 777)");
}

#[test]
fn the_steps_of_the_waterfall_stand_on_what_is_below() {
    let run = read(&fixture(&KINDS));
    let panels = panels(&Analysis::from_run(&run).layers);
    let series = &panels[0].rows[0].series;
    assert_eq!(series[0].mark, Mark::Floor);
    let y = |name: &str, of: &str| {
        let series = series.iter().find(|series| series.name == name)?;
        let found = series
            .data
            .iter()
            .find(|datum| datum.x == Place::Name(of.to_owned()))?;
        Some(found.y)
    };
    let whole = |of: &str| {
        ["user", "system", "guest", "emulator"]
            .iter()
            .filter_map(|part| y(part, of))
            .sum::<f64>()
    };
    for (layer, below) in [("container", "bare"), ("vm (TCG)", "container")] {
        let step = format!("{layer} adds");
        let (foot, added) = (
            y("floor", &step).expect("a foot"),
            y("added", &step).expect("a step"),
        );
        assert!(
            (foot / whole(below) - 1.0).abs() < 1e-6
                && ((foot + added) / whole(layer) - 1.0).abs() < 1e-6
        );
    }
    // Nobody sees the floors: not in the table, not in the legend.
    assert!(
        panels[0]
            .table()
            .heads
            .iter()
            .all(|head| !head.contains("floor"))
    );
}

#[test]
fn a_comparison_of_two_kinds_shows_the_layers() {
    let (container, vm) = (read(&fixture(&KINDS[1..2])), read(&fixture(&KINDS[2..])));
    let comparison =
        compare(std::slice::from_ref(&container), &[vm], &Options::default()).expect("two runs");
    assert_eq!(comparison.layers.len(), 1);
    let text = compare_terminal(&comparison);
    assert!(
        text.contains("Host CPU per order:") && text.contains("virtual machines (TCG) add"),
        "{text}"
    );
    assert!(
        text.contains("are compared by their means") && !text.contains("Nothing can be said"),
        "{text}"
    );
    let page = compare_html(&comparison).expect("a page");
    assert!(page.contains("What each layer costs at") && page.contains("Host CPU per order"));
    let json = serde_json::to_value(&comparison).expect("plain data");
    assert_eq!(json["layers"][0]["layers"][1]["kind"], "vm");
    // Two runs of one kind are compared as ever.
    let again = read(&fixture(&KINDS[1..2]));
    let comparison = compare(&[container], &[again], &Options::default()).expect("two runs");
    assert!(comparison.layers.is_empty() && comparison.points.len() == 1);
}
