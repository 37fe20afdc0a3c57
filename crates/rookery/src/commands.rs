//! One module per command.

mod agent;
mod check;
mod clean;
pub(crate) mod compare;
mod completions;
mod demo_lab;
mod export;
mod fit;
mod fleet;
mod guests;
mod host;
mod labels;
mod live;
mod network;
mod new;
mod places;
mod plan;
pub(crate) mod predict;
mod rehearse;
mod report;
mod run;
mod runs;
mod storage;
mod studies;
mod supervise;
mod template;
mod trend;
mod vm_agent;

use crate::{
    cli::{Cli, Command},
    exit::{Code, Failure},
    output,
};

/// Run the command that was typed.
pub(crate) fn run(cli: &Cli) -> Result<Code, Failure> {
    match &cli.command {
        Command::Run(args) => run::run(args),
        Command::Check(args) => check::run(args),
        Command::DemoLab(args) => demo_lab::run(args),
        Command::Plan(args) => plan::run(args),
        Command::Rehearse(args) => rehearse::run(args),
        Command::Reference(args) => {
            if args.schema {
                output::json(&rookery_study::json_schema())
            } else {
                reference(args.table.as_deref())
            }
        }
        Command::Version => {
            output::result(format!("rookery {}", env!("CARGO_PKG_VERSION")));
            Ok(Code::Done)
        }
        Command::Data(command) => command.run(),
        Command::App(command) => command.run(),
        Command::Drive(command) => command.run(),
        Command::Workload(command) => command.run(),
        Command::Load(command) => command.run(),
        Command::Verify(command) => command.run(),
        Command::Runs(args) => runs::run(args),
        Command::Label(args) => labels::label(args),
        Command::Delete(args) => labels::delete(args),
        Command::Live(args) => live::run(args),
        Command::Studies(args) => studies::run(args),
        Command::New(args) => new::run(args),
        Command::Completions(args) => completions::completions(args),
        Command::Man(args) => completions::man(args),
        Command::Report(args) => report::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Trend(args) => trend::run(args),
        Command::Export(args) => export::run(args),
        Command::Fit(args) => fit::run(args),
        Command::Predict(args) => predict::run(args),
        Command::Guests(args) => guests::run(args),
        Command::Clean(args) => clean::run(args),
        Command::Template(command) => template::run(command),
        Command::Host(args) => host::run(args),
        Command::Fleet(command) => fleet::run(command),
        Command::Agent(args) => agent::run(args),
        Command::Supervise(args) => supervise::run(args),
        Command::VmAgent => vm_agent::run(),
    }
}

/// The reference of one table, or of all.
fn reference(table: Option<&str>) -> Result<Code, Failure> {
    let text = match table {
        None => rookery_study::reference(),
        Some(table) => rookery_study::reference_of(table).ok_or_else(|| {
            Failure::new(
                Code::Usage,
                format!("a study has no table or key `{table}`"),
            )
            .help(format!(
                "the tables are {}",
                rookery_study::reference_tables().join(", ")
            ))
        })?,
    };
    output::text(text);
    Ok(Code::Done)
}
