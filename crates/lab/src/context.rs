//! Where a run's trials are performed.

use std::{
    net::IpAddr,
    ops::ControlFlow,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use rookery_guest::{Lab, RunDirs, Template};
use rookery_stack::{BuiltStack, DatabaseLoader, Stack, StackContext};
use rookery_study::PointData;

use crate::{
    error::LabError,
    event::{Event, Listener},
};

/// What all trials in one lab share.
#[derive(Clone, Copy)]
pub(crate) struct LabContext<'a> {
    pub(crate) lab: &'a dyn Lab,
    /// Directories of the run.
    pub(crate) dirs: &'a RunDirs,
    /// The program that guests run.
    pub(crate) program: &'a Path,
    /// Set when the user wants no more.
    pub(crate) stop: &'a AtomicBool,
    pub(crate) listener: &'a Listener<'a>,
    /// Addresses of other machines that the user allowed to be loaded.
    pub(crate) confirmed: &'a [IpAddr],
}

impl LabContext<'_> {
    /// Whether the user wants no more.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Do `work` with what a stack must know of the lab.
    pub(crate) fn with_stack<T>(&self, work: impl FnOnce(&StackContext<'_>) -> T) -> T {
        work(&StackContext {
            lab: self.lab,
            dirs: self.dirs,
            program: self.program,
            stop: self.stop,
            listener: &|what: &str, detail: &str| self.report_building(what, detail),
        })
    }

    /// All that guests of a stack with such data stand on, built or found.
    ///
    /// # Errors
    /// When a part cannot be built, or the user wants no more.
    pub(crate) fn build(&self, stack: &dyn Stack, data: PointData) -> Result<BuiltStack, LabError> {
        let began = Instant::now();
        let built = self.with_stack(|context| stack.build(context, data))?;
        if built.guests().origin().template().is_some() {
            (self.listener)(&Event::Template {
                database: data.to_string(),
                seconds: began.elapsed().as_secs_f64(),
            });
        }
        self.boot_for(&built)?;
        Ok(built)
    }

    /// The same, without a word on the database.
    ///
    /// # Errors
    /// As [`LabContext::build`].
    pub(crate) fn build_quietly(
        &self,
        stack: &dyn Stack,
        data: PointData,
    ) -> Result<BuiltStack, LabError> {
        let built = self.with_stack(|context| stack.build(context, data))?;
        self.boot_for(&built)?;
        Ok(built)
    }

    /// All that guests stand on which are to be loaded with such data, built or found.
    ///
    /// # Errors
    /// As [`LabContext::build`].
    pub(crate) fn loader(
        &self,
        stack: &dyn Stack,
        data: PointData,
    ) -> Result<Box<dyn DatabaseLoader>, LabError> {
        let loader = self.with_stack(|context| stack.loader(context, data))?;
        self.boot(loader.template())?;
        Ok(loader)
    }

    /// What the guests of a stack need besides their template, where they have one.
    fn boot_for(&self, built: &BuiltStack) -> Result<(), LabError> {
        let template = built.guests().origin().template();
        template.map_or(Ok(()), |template| self.boot(template))
    }

    /// What guests need besides the template, built or found.
    fn boot(&self, template: &Template) -> Result<(), LabError> {
        Ok(self.lab.prepare(
            template,
            &|what, detail| self.report_building(what, detail),
            &|| {
                if self.stopped() {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            },
        )?)
    }

    fn report_building(&self, what: &str, detail: &str) {
        (self.listener)(&Event::Building {
            what: what.to_owned(),
            detail: detail.to_owned(),
        });
    }
}
