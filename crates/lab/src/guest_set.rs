//! The guests of a point from their clones to their removal, written once for trials, calibrations
//! and rehearsals.

use std::{
    thread,
    time::{Duration, Instant},
};

use rookery_cast::truncate_u64;
use rookery_guest::{CpuTime, Guest, GuestError, GuestSpec, remove_all, start_all};
use rookery_host::RunId;
use rookery_stack::{BuiltStack, GUEST_USER, StackContext, StackError};
use rookery_store::Tuning;
use rookery_study::{GuestKind, GuestShape, Point, Study, Vcpus};

use crate::{
    context::LabContext,
    error::{LabError, TrialError},
    host_settings::HostSettings,
    storage,
};

/// The guests of one point, and the host settings that are held while they are there.
///
/// [`GuestSet::close`] removes the guests and puts the settings back, and gives the errors. A set
/// that is dropped does the same without a word: no path out of a trial leaves anything behind.
pub(crate) struct GuestSet<'a> {
    context: LabContext<'a>,
    // Before the settings: fields are dropped in their order, and guests kill and remove
    // themselves.
    guests: Vec<Box<dyn Guest>>,
    settings: HostSettings,
}

/// How long guests took to come up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StartTimes {
    /// All clones.
    pub(crate) cloned: Duration,
    /// From the first clone to the last healthy guest.
    pub(crate) ready: Duration,
}

impl<'a> GuestSet<'a> {
    /// A set without guests; the settings that the study asks for are in force until it is closed.
    ///
    /// # Errors
    /// When they cannot be applied as a whole; then nothing is changed.
    pub(crate) fn hold(
        context: LabContext<'a>,
        study: &Study,
        run: &RunId,
    ) -> Result<Self, LabError> {
        let settings = HostSettings::hold(study.host.settings.as_deref(), run, context.stop)?;
        Ok(Self {
            context,
            guests: Vec::new(),
            settings,
        })
    }

    /// A set without guests that leaves the settings of the host as they are.
    pub(crate) fn without_settings(context: LabContext<'a>) -> Self {
        Self {
            context,
            guests: Vec::new(),
            settings: HostSettings::none(),
        }
    }

    /// Make and start the guests of a point, until every one is healthy. Those that were there
    /// before are removed.
    ///
    /// # Errors
    /// When a guest cannot be made or does not become healthy. What there is of them stays until
    /// the set is closed.
    pub(crate) fn bring_up(
        &mut self,
        study: &Study,
        stack: &BuiltStack,
        point: &Point,
    ) -> Result<StartTimes, TrialError> {
        self.remove()?;
        let _span = tracing::info_span!("bring-up", guests = point.guests()).entered();
        let began = Instant::now();
        self.clone_guests(study, stack, point)?;
        let cloned = began.elapsed();
        tracing::debug!(ms = cloned.as_millis(), "guests cloned");
        start_all(
            &mut self.guests,
            self.context.lab,
            study.guest.ready_within,
            &|_| (),
            self.context.stop,
        )?;
        let ready = began.elapsed();
        tracing::debug!(ms = ready.as_millis(), "guests healthy");
        Ok(StartTimes { cloned, ready })
    }

    fn clone_guests(
        &mut self,
        study: &Study,
        stack: &BuiltStack,
        point: &Point,
    ) -> Result<(), TrialError> {
        let stack = stack.guests();
        let shape = &study.guest;
        let limited = shape.kind() != GuestKind::Bare;
        let provisions = storage::provisions(self.context.lab, study, point)?;
        let of_guests = provisions.of_guests.iter();
        for ((number, planned), provision) in (1..).zip(point.each_guest()).zip(of_guests) {
            let index = planned.index;
            let service = stack.service(point, index)?;
            let spec = GuestSpec {
                number,
                name: format!("g{number}"),
                cpus: planned.cpus().to_vec(),
                cpu_time: cpu_time(shape, planned.group.vcpus),
                memory_mib: limited.then_some(planned.group.memory_mib),
                pids: limited.then_some(shape.pids),
                args: service.args,
                port: service.port,
                health: service.health,
                files: service.files,
                user: Some(GUEST_USER),
                sockets: service.sockets,
            };
            let guest = self
                .context
                .lab
                .create_with(stack.template(), &spec, provision)?;
            self.guests.push(guest);
        }
        drop(provisions.volumes);
        let kind = shape.kind();
        self.each(|_, _, guest| stack.prepare_clone(kind, guest))?;
        Ok(())
    }

    /// The guests, in their order.
    pub(crate) fn guests(&self) -> &[Box<dyn Guest>] {
        &self.guests
    }

    /// The same, to be stopped or killed.
    pub(crate) fn guests_mut(&mut self) -> &mut [Box<dyn Guest>] {
        &mut self.guests
    }

    /// Names of the guests.
    pub(crate) fn names(&self) -> Vec<String> {
        self.guests
            .iter()
            .map(|guest| guest.name().to_owned())
            .collect()
    }

    /// Do `work` with all guests at once, each with its index.
    ///
    /// # Errors
    /// The first failure, when all have ended.
    pub(crate) fn each<T: Send>(
        &mut self,
        work: impl Fn(usize, &StackContext<'_>, &mut dyn Guest) -> Result<T, StackError> + Sync,
    ) -> Result<Vec<T>, TrialError> {
        let guests = &mut self.guests;
        self.context
            .with_stack(|context| each_guest(guests, |index, guest| work(index, context, guest)))
            .into_iter()
            .collect()
    }

    /// The same, for work whose failures are not those of the trial: one result for each guest.
    pub(crate) fn try_each<T: Send>(
        &mut self,
        work: impl Fn(usize, &StackContext<'_>, &mut dyn Guest) -> Result<T, StackError> + Sync,
    ) -> Vec<Result<T, TrialError>> {
        let guests = &mut self.guests;
        self.context
            .with_stack(|context| each_guest(guests, |index, guest| work(index, context, guest)))
    }

    /// Remove the guests, and tell how long it took. The settings stay in force.
    ///
    /// # Errors
    /// The first guest of which something stays.
    pub(crate) fn remove(&mut self) -> Result<Duration, GuestError> {
        let mut guests = std::mem::take(&mut self.guests);
        let removed = remove_all(&mut guests);
        match &removed {
            Ok(took) if !guests.is_empty() => {
                tracing::debug!(ms = took.as_millis(), "guests removed");
            }
            Ok(_) => {}
            Err(error) => tracing::warn!("removing the guests: {error}"),
        }
        removed
    }

    /// What became of each host setting, and what it is now.
    pub(crate) fn host_tunings(&self) -> Vec<Tuning> {
        self.settings.tunings()
    }

    /// Remove the guests and put the settings of the host back.
    ///
    /// # Errors
    /// When something of a guest stays, or a setting cannot be put back; both are tried.
    pub(crate) fn close(mut self) -> Result<(), LabError> {
        let removed = self.remove();
        let settings = std::mem::replace(&mut self.settings, HostSettings::none());
        let put_back = settings.put_back();
        removed?;
        put_back
    }
}

impl Drop for GuestSet<'_> {
    /// The way out of a trial that did not end as planned: all guests at once. What stays is found
    /// by `rookery clean`; the settings follow with their field.
    fn drop(&mut self) {
        let _ = self.remove();
    }
}

fn each_guest<T: Send>(
    guests: &mut [Box<dyn Guest>],
    work: impl Fn(usize, &mut dyn Guest) -> Result<T, StackError> + Sync,
) -> Vec<Result<T, TrialError>> {
    let work = &work;
    let phase = tracing::Span::current();
    let phase = &phase;
    thread::scope(|scope| {
        let workers: Vec<_> = guests
            .iter_mut()
            .enumerate()
            .map(|(index, guest)| {
                let name = guest.name().to_owned();
                let span = tracing::info_span!(parent: phase, "guest", name);
                let worker = scope.spawn(move || span.in_scope(|| work(index, guest.as_mut())));
                (name, worker)
            })
            .collect();
        workers
            .into_iter()
            .map(|(guest, worker)| match worker.join() {
                Ok(result) => result.map_err(|source| TrialError::InGuest { guest, source }),
                Err(_) => Err(TrialError::Panicked { guest }),
            })
            .collect()
    })
}

/// The CPU time of a guest of so many vCPUs.
fn cpu_time(shape: &GuestShape, vcpus: Vcpus) -> CpuTime {
    let cores = vcpus.cpus();
    match (shape.kind(), shape.cpu) {
        (GuestKind::Bare, _) => CpuTime::Unlimited,
        (_, rookery_study::CpuTime::Share) => CpuTime::Share { cores },
        (_, rookery_study::CpuTime::Cap { period }) => CpuTime::Cap {
            cores,
            period_us: period.map(|period| truncate_u64(period.as_secs_f64() * 1e6)),
        },
    }
}
