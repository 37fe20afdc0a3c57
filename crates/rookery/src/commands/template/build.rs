//! `rookery template build lamp`.

use std::{
    io::{IsTerminal, stderr},
    ops::ControlFlow,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};
use rookery_guest::{
    Fill, FillError, GuestError, Recipe, StepError, Template, TemplateInfo, build_template,
    short_digest, templates,
};
use rookery_stack::root::{RootError, RootKind, RootProgress, RootRecipe, RootStep, build_root};
use serde_json::json;

use super::size;
use crate::{
    cli::TemplateLampArgs,
    exit::{Code, Failure},
    output,
    signals::stop_flag,
};

pub(crate) fn run(args: &TemplateLampArgs) -> Result<Code, Failure> {
    let directory = super::directory(&args.place)?;
    let recipe = RootRecipe::of_host(RootKind::Lamp)
        .with(args.suite.clone(), args.mirror.clone())
        .map_err(|error| failure(&error))?;
    let stop = stop_flag()?;
    let reporter = BuildReporter::new(args);
    let began = Instant::now();
    let built = AtomicBool::new(false);
    let template = build(&directory, &recipe, &reporter, &stop, &built);
    reporter.finish();
    let template = template?;
    let known = templates(&directory).map_err(|error| Failure::from_error(Code::Guest, &error))?;
    let info = known
        .into_iter()
        .find(|info| info.digest == template.digest);
    tell(
        args,
        &template,
        info.as_ref(),
        built.load(Ordering::Relaxed),
        began.elapsed(),
    )
}

fn build(
    directory: &Path,
    recipe: &RootRecipe,
    reporter: &BuildReporter,
    stop: &Arc<AtomicBool>,
    built: &AtomicBool,
) -> Result<Template, Failure> {
    let fill = |root: &Path| {
        built.store(true, Ordering::Relaxed);
        build_root(root, recipe, &|progress| reporter.report(progress), stop)
            .map_err(FillError::from)
    };
    let waited = AtomicBool::new(false);
    let patience = || {
        if !waited.swap(true, Ordering::Relaxed) {
            output::remark("waiting for another process that builds or removes a template");
        }
        if stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let template = build_template(
        directory,
        &Recipe {
            description: recipe.description(),
            program: "/nonexistent".into(),
            base: None,
            fill: Fill::Root(&fill),
        },
        &patience,
    );
    template.map_err(|error| match cause(&error) {
        Some(cause) => failure(cause),
        None if matches!(error, GuestError::Stopped { .. }) => {
            Failure::from_error(Code::Interrupted, &error)
        }
        None => Failure::from_error(Code::Guest, &error),
    })
}

/// Why the root could not be built, where that is what failed: it decides the exit code.
fn cause(error: &GuestError) -> Option<&RootError> {
    match error {
        GuestError::Step {
            source: StepError::Fill(error),
            ..
        } => error.downcast_ref(),
        _ => None,
    }
}

fn failure(error: &RootError) -> Failure {
    let code = match error {
        RootError::Stopped => Code::Interrupted,
        RootError::Suite(_) | RootError::Package(_) | RootError::Mirror(_) => Code::Usage,
        RootError::Disk { .. } | RootError::Failed { .. } => Code::Guest,
        RootError::Missing
        | RootError::NotRoot
        | RootError::Unreachable { .. }
        | RootError::Untrusted { .. }
        | RootError::NoPackage { .. }
        | RootError::DiskFull { .. }
        | RootError::Late { .. } => Code::Host,
    };
    Failure::from_error(code, error)
}

fn tell(
    args: &TemplateLampArgs,
    template: &Template,
    info: Option<&TemplateInfo>,
    built: bool,
    elapsed: Duration,
) -> Result<Code, Failure> {
    let mib = info.map_or(0.0, |info| info.size_mib);
    let versions = info.map(|info| info.versions.clone()).unwrap_or_default();
    if args.json {
        let line = json!({
            "event": "template", "digest": template.digest, "root": template.root, "built": built, "size_mib": mib,
            "seconds": elapsed.as_secs_f64(), "versions": versions,
        });
        output::result(line);
    } else if !args.quiet {
        let digest = short_digest(&template.digest);
        let versions: Vec<String> = versions
            .iter()
            .map(|(name, version)| format!("{name} {version}"))
            .collect();
        let what = if built {
            format!("built in {:.1} s", elapsed.as_secs_f64())
        } else {
            "is there already".to_owned()
        };
        output::result(format!(
            "template {digest} {what}: {} ({})",
            size(mib),
            versions.join(", ")
        ));
    }
    Ok(Code::Done)
}

/// Reports the progress of a build.
enum BuildReporter {
    Quiet,
    Json,
    /// A line that is written over, on a terminal.
    Terminal(ProgressBar),
    /// A line for each step.
    Lines(Mutex<Option<RootStep>>),
}

impl BuildReporter {
    fn new(args: &TemplateLampArgs) -> Self {
        match (args.json, args.quiet) {
            (true, _) => Self::Json,
            (false, true) => Self::Quiet,
            (false, false) if stderr().is_terminal() => {
                let bar = ProgressBar::new_spinner();
                bar.set_style(
                    ProgressStyle::with_template("  {spinner} {msg}")
                        .unwrap_or_else(|_| ProgressStyle::default_spinner()),
                );
                Self::Terminal(bar)
            }
            (false, false) => Self::Lines(Mutex::new(None)),
        }
    }

    fn report(&self, progress: &RootProgress) {
        let seconds = progress.elapsed.as_secs_f64();
        match self {
            Self::Quiet => {}
            Self::Json => {
                let line = json!({ "event": "progress", "step": progress.step.to_string(), "seconds": seconds });
                // A reader that goes away must not end the build.
                let _ = output::try_result(line);
            }
            Self::Terminal(bar) => {
                bar.set_message(format!("{}, {seconds:.0} s", progress.step));
                bar.tick();
            }
            Self::Lines(last) => {
                let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
                if last.is_none_or(|last| another(last, progress.step)) {
                    output::remark(format!("  {seconds:5.1} s  {}", progress.step));
                    *last = Some(progress.step);
                }
            }
        }
    }

    fn finish(&self) {
        if let Self::Terminal(bar) = self {
            bar.finish_and_clear();
        }
    }
}

/// Whether a step is worth a line of its own: not every package is.
fn another(last: RootStep, now: RootStep) -> bool {
    match (last, now) {
        (
            RootStep::Packages {
                done: before,
                total,
            },
            RootStep::Packages { done, .. },
        ) => before < total && done == total,
        (last, now) => last != now,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_get_a_first_and_a_last_line() {
        let packages = |done| RootStep::Packages { done, total: 3 };
        assert!(another(RootStep::Lists, packages(0)));
        assert!(!another(packages(0), packages(1)));
        assert!(another(packages(0), packages(3)) && !another(packages(3), packages(3)));
        assert!(
            another(packages(3), RootStep::Completion)
                && !another(RootStep::Completion, RootStep::Completion)
        );
    }
}
