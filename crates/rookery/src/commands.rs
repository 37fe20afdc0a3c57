//! One module per command.

pub(crate) mod app;
mod check;
mod clean;
pub(crate) mod compare;
mod data;
mod demo_lab;
mod drive;
mod export;
mod fit;
mod guests;
mod host;
mod line_error;
pub(crate) mod orderentry;
mod plan;
pub(crate) mod predict;
mod rehearse;
mod report;
mod run;
mod storage;
mod supervise;
mod template;
mod vm_agent;
mod words;

use crate::{
    cli::{AppCommand, Cli, Command, DataCommand, DriveCommand, LoadCommand, VerifyCommand},
    exit::{Code, Failure},
    output, workloads,
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
                output::result(rookery_study::reference());
                Ok(Code::Done)
            }
        }
        Command::Data(DataCommand::Dvdstore(args)) => data::run(args),
        Command::Data(DataCommand::Orderentry(args)) => data::orderentry::run(args),
        Command::App(AppCommand::Dvdstore(args)) => app::run(args),
        Command::App(AppCommand::Orderentry(args)) => app::orderentry::run(args),
        Command::App(AppCommand::Sample(args)) => workloads::sample::app::run(args),
        Command::Drive(DriveCommand::Dvdstore(args)) => drive::run(args),
        Command::Drive(DriveCommand::Orderentry(args)) => orderentry::drive::run(args),
        Command::Load(LoadCommand::Orderentry(args)) => orderentry::load::run(args),
        Command::Verify(VerifyCommand::Orderentry(args)) => orderentry::verify::run(args),
        Command::Report(args) => report::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Export(args) => export::run(args),
        Command::Fit(args) => fit::run(args),
        Command::Predict(args) => predict::run(args),
        Command::Guests(args) => guests::run(args),
        Command::Clean(args) => clean::run(args),
        Command::Template(command) => template::run(command),
        Command::Host(args) => host::run(args),
        Command::Supervise(args) => supervise::run(args),
        Command::VmAgent => vm_agent::run(),
    }
}
