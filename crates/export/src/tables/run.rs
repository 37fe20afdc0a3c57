//! The run as a whole.

use rookery_store::Store;
use rookery_study::StackKind;

use super::{optional_text, text, whole};
use crate::{
    ExportError, Table,
    column::{self, RowVisitor, Source, flag},
};

pub(super) const RUN: Table = Table {
    name: "run",
    row: "run (there is one)",
    columns: &[
        column::text("run_id", "Label of everything that the run made."),
        column::text("title", "Title of the study."),
        column::text("question", "The question that the study asks."),
        column::text("created_at", "Creation, RFC 3339."),
        column::text("rookery_version", "Version of the program that made it."),
        column::text("study_file", "Path of the study file as it was given."),
        column::text("study_text", "Text of the study file."),
        column::text(
            "seed",
            "Seed of the study; text, because it may need 64 bits without a sign.",
        ),
        flag(
            "simulated",
            "Whether it was computed by a model: nothing was measured.",
        ),
        column::text("workload", "Name of the workload."),
        column::text("throughput_unit", "What throughput counts: `orders/min`."),
        column::text("hostname", "Name of the host."),
        column::text("kernel", "Release of its kernel."),
        column::text("cpu_model", "Model of its CPUs."),
        column::whole("cpus", "Number of CPUs that the plan was made for."),
        column::whole("memory_mib", "Memory that the plan was made for."),
    ],
    source: Source::Computed(run),
};

pub(super) const VERSIONS: Table = Table {
    name: "versions",
    row: "program",
    columns: &[
        column::text("software", "Name of the program."),
        column::text("version", "Its version on the host of the run."),
    ],
    source: Source::Computed(versions),
};

pub(super) const NOTES: Table = Table {
    name: "notes",
    row: "remark on the whole run",
    columns: &[
        column::text("at", "When, RFC 3339."),
        column::text("text", "What."),
    ],
    source: Source::Stored {
        from: "notes",
        order: "note",
    },
};

fn run(store: &Store, visit: &mut RowVisitor<'_>) -> Result<(), ExportError> {
    let header = store.header()?;
    let (study, host) = (&header.study, &header.host);
    let info = study.workload.kind().info();
    visit(&[
        text(&header.run_id),
        text(&header.title),
        optional_text(study.question.as_deref()),
        text(&header.created_at),
        text(&header.rookery_version),
        text(&header.study_file),
        text(&header.study_text),
        text(study.seed.to_string()),
        rookery_store::Cell::Flag(study.stack.kind() == StackKind::Simulated),
        text(info.name),
        text(info.unit.rate),
        text(&host.hostname),
        text(&host.kernel),
        text(&host.cpu_model),
        whole(Some(host.facts.cpus.len())),
        whole(Some(host.facts.memory_mib)),
    ])
}

fn versions(store: &Store, visit: &mut RowVisitor<'_>) -> Result<(), ExportError> {
    for (software, version) in &store.header()?.host.versions {
        visit(&[text(software), text(version)])?;
    }
    Ok(())
}
