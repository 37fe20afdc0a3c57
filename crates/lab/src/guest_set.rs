//! The guests of a point from their clones to their removal, written once for trials, calibrations
//! and rehearsals.

use std::{
    collections::BTreeSet,
    thread,
    time::{Duration, Instant},
};

use rookery_cast::{count_u16, truncate_u64};
use rookery_guest::{
    CalledBy, CpuTime, Guest, GuestError, GuestSpec, Lab, RoleMove, SwapDevice, Template,
    remove_all, start_all,
};
use rookery_host::RunId;
use rookery_stack::{
    DatabaseLoader, Origin, RunningGuests, Service, StackContext, StackError, TierAccess,
};
use rookery_store::Tuning;
use rookery_study::{
    Callers, CpuSet, GuestKind, GuestShape, PlannedGuest, Point, StorageRole, Study, Vcpus,
};

use crate::{
    context::LabContext,
    error::{LabError, TrialError},
    group_context::GroupContext,
    host_settings::HostSettings,
    storage,
    tiers::called_by,
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
    // The kernel gives back quickly what no guest has there any more.
    swaps: Vec<SwapDevice>,
    settings: HostSettings,
}

/// What is done with each guest: of this group, at this place of it.
pub(crate) trait GuestWork<T>:
    Fn(&GroupContext<'_>, usize, &StackContext<'_>, &mut dyn Guest) -> Result<T, StackError> + Sync
{
}

impl<T, W> GuestWork<T> for W where
    W: Fn(&GroupContext<'_>, usize, &StackContext<'_>, &mut dyn Guest) -> Result<T, StackError>
        + Sync
{
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
            swaps: Vec::new(),
            settings,
        })
    }

    /// A set without guests that leaves the settings of the host as they are.
    pub(crate) fn without_settings(context: LabContext<'a>) -> Self {
        Self {
            context,
            guests: Vec::new(),
            swaps: Vec::new(),
            settings: HostSettings::none(),
        }
    }

    /// Make and start the guests of all groups, until every one is healthy. Those that were there
    /// before are removed.
    ///
    /// # Errors
    /// When a guest cannot be made or does not become healthy. What there is of them stays until
    /// the set is closed.
    pub(crate) fn bring_up(
        &mut self,
        groups: &[GroupContext<'_>],
    ) -> Result<StartTimes, TrialError> {
        self.remove()?;
        let count: u32 = groups.iter().map(|group| group.point.guests()).sum();
        let _span = tracing::info_span!("bring-up", guests = count).entered();
        let began = Instant::now();
        self.clone_all(groups)?;
        let cloned = began.elapsed();
        tracing::debug!(ms = cloned.as_millis(), "guests cloned");
        for group in tiers_first(groups) {
            start_all(
                &mut self.guests[group.range()],
                group.context.lab,
                group.study.guest.ready_within,
                &|_| (),
                self.context.stop,
            )?;
        }
        let ready = began.elapsed();
        tracing::debug!(ms = ready.as_millis(), "guests healthy");
        Ok(StartTimes { cloned, ready })
    }

    /// Clone the guests of all groups: those of tiers first, because their callers are told where
    /// they are.
    fn clone_all(&mut self, groups: &[GroupContext<'_>]) -> Result<(), TrialError> {
        for group in groups {
            let (lab, study) = (group.context.lab, group.study);
            self.swaps
                .extend(swap_device(lab, study, &group.point, group.before)?);
        }
        let all_cpus = cpus_of(groups.iter().map(|group| &group.point));
        let mut made: Vec<Vec<Box<dyn Guest>>> = groups.iter().map(|_| Vec::new()).collect();
        for group in tiers_first(groups) {
            let called = group
                .tier
                .and_then(|tier| Some((groups.get(tier)?, &made[tier])));
            let access = |(tier, guests): (&GroupContext<'_>, &Vec<Box<dyn Guest>>)| match tier
                .stack
                .guests()
                .origin()
            {
                Origin::Cloned(stack) => guests
                    .iter()
                    .filter_map(|guest| stack.access(guest.as_ref()))
                    .collect(),
                Origin::Running(_) => Vec::new(),
            };
            let tier: Vec<TierAccess> = called.map(access).unwrap_or_default();
            let guests = clone_guests(group, &tier, &all_cpus)?;
            let place = groups.iter().position(|other| other.before == group.before);
            if let Some(own) = place.and_then(|place| made.get_mut(place)) {
                *own = guests;
            }
        }
        self.guests = made.into_iter().flatten().collect();
        Ok(())
    }

    /// Make the guests of a point without their databases. Those that were there before are
    /// removed.
    ///
    /// # Errors
    /// When a guest cannot be made. Then there is none.
    pub(crate) fn clone_empty(
        &mut self,
        study: &Study,
        loader: &dyn DatabaseLoader,
        point: &Point,
    ) -> Result<(), TrialError> {
        self.remove()?;
        self.swaps
            .extend(swap_device(self.context.lab, study, point, 0)?);
        let service = |index| loader.service(point, index);
        let template = loader.template();
        let place = GuestPlace {
            point,
            before: 0,
            all_cpus: &cpus_of([point]),
        };
        self.guests = make_guests(
            &self.context,
            study,
            place,
            Cloned {
                template,
                service: &service,
                // Its server makes everything where it belongs.
                moved: &|_| Vec::new(),
            },
        )?;
        Ok(())
    }

    /// Do `work` with all guests of the set's own lab at once, each with its place.
    ///
    /// # Errors
    /// The first failure, when all have ended.
    pub(crate) fn each_alone<T: Send>(
        &mut self,
        work: impl Fn(usize, &StackContext<'_>, &mut dyn Guest) -> Result<T, StackError> + Sync,
    ) -> Result<Vec<T>, TrialError> {
        let guests = &mut self.guests;
        self.context
            .with_stack(|context| each_guest(guests, |index, guest| work(index, context, guest)))
            .into_iter()
            .collect()
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

    /// Do `work` with all guests at once, each with its group and its place in the group.
    ///
    /// # Errors
    /// The first failure, when all have ended.
    pub(crate) fn each<T: Send>(
        &mut self,
        groups: &[GroupContext<'_>],
        work: impl GuestWork<T>,
    ) -> Result<Vec<T>, TrialError> {
        self.try_each(groups, work).into_iter().collect()
    }

    /// The same, for work whose failures are not those of the trial: one result for each guest.
    pub(crate) fn try_each<T: Send>(
        &mut self,
        groups: &[GroupContext<'_>],
        work: impl GuestWork<T>,
    ) -> Vec<Result<T, TrialError>> {
        let place_of = |index: usize| groups.iter().rev().find(|group| group.before <= index);
        let guests = &mut self.guests;
        let done = each_guest(guests, |index, guest| {
            let Some(group) = place_of(index) else {
                return Ok(None);
            };
            let in_group = index - group.before;
            let done = group
                .context
                .with_stack(|context| work(group, in_group, context, guest));
            done.map(Some)
        });
        // Every guest has a group: the first begins at zero.
        done.into_iter().filter_map(Result::transpose).collect()
    }

    /// Remove the guests and what they swapped to, and tell how long the guests took. The settings
    /// stay in force.
    ///
    /// # Errors
    /// The first guest, or device, of which something stays.
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
        let mut swaps = std::mem::take(&mut self.swaps);
        let swaps = swaps.iter_mut().map(SwapDevice::remove);
        // All of them are tried.
        let swaps = swaps
            .collect::<Vec<_>>()
            .into_iter()
            .collect::<Result<(), _>>();
        let took = removed?;
        swaps.map(|()| took)
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

/// The groups that others call, then those who call them.
fn tiers_first<'g, 'a>(
    groups: &'g [GroupContext<'a>],
) -> impl Iterator<Item = &'g GroupContext<'a>> {
    let tiers = groups.iter().filter(|group| !group.has_users());
    tiers.chain(groups.iter().filter(|group| group.has_users()))
}

/// Clone the guests of a group, whose tier is reached so, in a trial whose guests have these CPUs.
fn clone_guests(
    group: &GroupContext<'_>,
    tier: &[TierAccess],
    all_cpus: &[u32],
) -> Result<Vec<Box<dyn Guest>>, TrialError> {
    let GroupContext { point, study, .. } = group;
    let stack = match group.stack.guests().origin() {
        Origin::Cloned(stack) => stack,
        Origin::Running(stack) => return attach(group, stack),
    };
    let service = |index| {
        let called = called_by(index, point.guests() as usize, tier.len());
        match tier.get(called) {
            Some(tier) => stack.front_service(point, index, tier),
            None => stack.service(point, index),
        }
    };
    let place = GuestPlace {
        point,
        before: group.lower_numbers,
        all_cpus,
    };
    let cloned = Cloned {
        template: stack.template(),
        service: &service,
        moved: &|role| stack.moved(role),
    };
    let mut guests = make_guests(&group.context, study, place, cloned)?;
    let kind = study.guest.kind();
    let prepared = each_guest(&mut guests, |_, guest| stack.prepare_clone(kind, guest));
    prepared.into_iter().collect::<Result<(), TrialError>>()?;
    Ok(guests)
}

/// Take a system that runs already as the guest of a group, put back into its state.
fn attach(
    group: &GroupContext<'_>,
    stack: &dyn RunningGuests,
) -> Result<Vec<Box<dyn Guest>>, TrialError> {
    let name = format!("g{}", group.lower_numbers + 1);
    let guest = group.context.lab.attach(&name, stack.system())?;
    let reset = stack.reset(guest.as_ref());
    reset.map_err(|source| TrialError::InGuest {
        guest: name,
        source,
    })?;
    Ok(vec![guest])
}

/// The device to which the containers of a point swap, as large as all of them may fill it; nothing
/// where they do not swap. Machines have disks of their own.
fn swap_device(
    lab: &dyn Lab,
    study: &Study,
    point: &Point,
    before: usize,
) -> Result<Option<SwapDevice>, GuestError> {
    if study.guest.kind() != GuestKind::Container {
        return Ok(None);
    }
    let of_guest = |guest: PlannedGuest<'_>| study.guest.swap.of_guest(guest.group.memory_mib);
    let mut swapped = point.each_guest().filter_map(of_guest).peekable();
    let Some((kind, _)) = swapped.peek().copied() else {
        return Ok(None);
    };
    let all_mib = swapped.map(|(_, mib)| mib).sum();
    lab.swap(&format!("swap{}", before + 1), kind, all_mib)
        .map(Some)
}

/// Which guests are made, among those of a trial.
#[derive(Clone, Copy)]
struct GuestPlace<'a> {
    point: &'a Point,
    /// Guests with lower numbers.
    before: usize,
    /// The CPUs of all guests of the trial.
    all_cpus: &'a [u32],
}

/// The CPUs of all guests of these points, ascending.
fn cpus_of<'p>(points: impl IntoIterator<Item = &'p Point>) -> CpuSet {
    let guests = points.into_iter().flat_map(Point::each_guest);
    let cpus: BTreeSet<u32> = guests.flat_map(|guest| guest.cpus().to_vec()).collect();
    cpus.into_iter().collect()
}

/// What guests are made of.
struct Cloned<'a> {
    template: &'a Template,
    /// What each of them runs.
    service: &'a dyn Fn(usize) -> Result<Service, StackError>,
    /// What is moved to the volume of a role.
    moved: &'a dyn Fn(StorageRole) -> Vec<RoleMove>,
}

/// Make the guests of a point.
fn make_guests(
    context: &LabContext<'_>,
    study: &Study,
    place: GuestPlace<'_>,
    cloned: Cloned<'_>,
) -> Result<Vec<Box<dyn Guest>>, TrialError> {
    let GuestPlace {
        point,
        before,
        all_cpus,
    } = place;
    let shape = &study.guest;
    let bare = shape.kind() == GuestKind::Bare;
    // Whoever is not root may make no control groups; the plan says so.
    let limited = !bare || rustix::process::geteuid().is_root();
    let provisions = storage::provisions(context.lab, study, point, before, cloned.moved)?;
    let of_guests = provisions.of_guests.iter();
    let numbers = count_u16(before + 1)..;
    let mut guests: Vec<Box<dyn Guest>> = Vec::new();
    for ((number, planned), provision) in numbers.zip(point.each_guest()).zip(of_guests) {
        let service = (cloned.service)(planned.index)?;
        let spec = GuestSpec {
            number,
            name: format!("g{number}"),
            cpus: planned.cpus().to_vec(),
            cpu_time: cpu_time(shape, planned.group.vcpus),
            cpu_weight: shape.cpu_weight,
            packet_cpus: shape.packets_on(planned.cpus(), all_cpus),
            called_by: match planned.group.callers {
                Callers::Users => CalledBy::Users,
                Callers::Group(_) => CalledBy::Guests,
            },
            memory_mib: limited.then_some(planned.group.memory_mib),
            swap: shape.swap,
            pids: (!bare).then_some(shape.pids),
            args: service.args,
            port: service.port,
            health: service.health,
            files: service.files,
            user: Some(service.user),
            sockets: service.sockets,
        };
        guests.push(context.lab.create_with(cloned.template, &spec, provision)?);
    }
    drop(provisions.volumes);
    Ok(guests)
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
