//! The kinds of guest: this file is the only one that knows which there are.
//!
//! Every kind has a folder with its lab and its guests, what it needs of the host, and what it
//! leaves on it ([`KindSweep`](crate::sweep::KindSweep)).

mod bare;
mod container;
mod external;
mod fake;
pub(crate) mod vm;

use std::{path::Path, sync::Arc};

use rookery_host::{Host, io::IoLimits, volume::VolumeSpec};
use rookery_study::{ForeignTier, Swap};

use crate::{
    error::GuestError,
    host_check::nothing_missing,
    kind::{Kind, LabShape},
    lab::Lab,
    lab_core::LabCore,
    link,
    paths::RunDirs,
    run_lab::{GuestMaker, RunLab},
    storage, swap,
    sweep::KindSweeps,
};
pub use fake::{FakeBehaviour, FakeLab, FakeStep};

/// What each kind leaves on a host.
pub(crate) const SWEEPS: KindSweeps = &[&container::Sweep, &vm::Sweep];

/// Open a lab for guests of this shape; the run is registered before anything else is made. `host`
/// is the means by which the host is changed: [`RealHost`](rookery_host::RealHost), or one that
/// fails for a test.
///
/// # Errors
/// When the host is not ready (everything that is missing at once), the shape is wrong, or the run
/// cannot be registered; nothing is left then.
pub fn open_lab(
    shape: &LabShape,
    dirs: RunDirs,
    host: Arc<dyn Host>,
) -> Result<Box<dyn Lab>, GuestError> {
    check_host(shape.kind())?;
    let core = |dirs| LabCore::open(shape.kind(), dirs, host, SWEEPS);
    Ok(match shape {
        LabShape::Bare => run_lab(core(dirs)?, bare::BareGuests::open)?,
        LabShape::Container(link) => run_lab(core(dirs)?, |core| {
            container::ContainerGuests::open(core, link.clone())
        })?,
        LabShape::External => Box::new(external::ExternalLab::new(core(dirs)?)),
        LabShape::Fake => Box::new(FakeLab::new(dirs, FakeBehaviour::default())),
        LabShape::Vm(shape) => {
            vm::check_shape(shape)?;
            run_lab(core(dirs)?, |core| {
                vm::VmGuests::open(core, (**shape).clone())
            })?
        }
    })
}

/// The lab of a registered run with the maker that `open` gives.
fn run_lab<M: GuestMaker + 'static>(
    core: LabCore,
    open: impl FnOnce(&LabCore) -> Result<M, GuestError>,
) -> Result<Box<dyn Lab>, GuestError> {
    let maker = open(&core)?;
    Ok(Box::new(RunLab::new(core, maker)))
}

/// Whether this host can run guests of a kind. Changes nothing.
///
/// # Errors
/// Everything that is missing, at once, each with what to do about it.
pub fn check_host(kind: Kind) -> Result<(), GuestError> {
    let missing = match kind {
        Kind::Bare | Kind::Fake | Kind::External => Vec::new(),
        Kind::Container => container::missing(),
        Kind::Vm => vm::missing(),
    };
    nothing_missing(kind, "", missing)
}

/// Whether this host can give guests of `kind` such storage. Changes nothing. `directory` is where
/// runs are kept, if that is known (it need not exist): its disk is that of guests without a
/// volume.
///
/// # Errors
/// Everything that is missing, at once, each with what to do about it.
pub fn check_storage(
    kind: Kind,
    volume: Option<&VolumeSpec>,
    limits: &IoLimits,
    directory: Option<&Path>,
) -> Result<(), GuestError> {
    let ability = match kind {
        Kind::Bare => bare::STORAGE,
        Kind::Container => container::STORAGE,
        Kind::External => external::STORAGE,
        Kind::Fake => fake::STORAGE,
        Kind::Vm => vm::STORAGE,
    };
    let missing = storage::missing(ability, volume, limits, directory);
    nothing_missing(kind, "for their storage, ", missing)
}

/// Refuses storage of a tier that is not made here, for guests of `kind`.
///
/// # Errors
/// Always: what the kernel lacks for it, or that someone else has to make it.
pub fn refuse_tier(kind: Kind, tier: ForeignTier) -> Result<(), GuestError> {
    nothing_missing(
        kind,
        "for their storage, ",
        vec![storage::foreign_tier(tier)],
    )
}

/// Whether this host can swap memory of containers as they ask for. Changes nothing. `directory` is
/// where runs are kept, if that is known (it need not exist).
///
/// # Errors
/// Everything that is missing, at once, each with what to do about it.
pub fn check_swap(asked: Swap, directory: Option<&Path>) -> Result<(), GuestError> {
    let missing = match asked {
        Swap::None => Vec::new(),
        Swap::Device { kind, .. } => swap::missing(kind, directory),
    };
    nothing_missing(Kind::Container, "to swap their memory, ", missing)
}

/// Whether this host can give guests of a lab of this shape the network that it asks for, with
/// their packets handled on these CPUs (none = as the kernel has it). Changes nothing.
///
/// # Errors
/// Everything that is missing, at once, each with what to do about it.
pub fn check_network(shape: &LabShape, packet_cpus: &[u32]) -> Result<(), GuestError> {
    let missing = link::missing(shape, packet_cpus);
    nothing_missing(shape.kind(), "for their network, ", missing)
}

#[cfg(test)]
mod tests {
    use rookery_diagnosis::Diagnosis;

    use super::*;

    #[test]
    fn bare_and_fake_need_nothing() {
        assert!(check_host(Kind::Bare).is_ok() && check_host(Kind::Fake).is_ok());
    }

    #[test]
    fn limits_need_containers_and_a_disk() {
        let limits = IoLimits {
            read_iops: Some(100),
            ..IoLimits::default()
        };
        let error = check_storage(Kind::Bare, None, &limits, Some(Path::new("/proc/self")))
            .expect_err("bare");
        let (text, help) = (error.to_string(), error.help().expect("there is help"));
        assert!(
            text.contains("only containers can be held to limits"),
            "{text}"
        );
        assert!(
            text.contains("without a device of its own") && help.contains("pool = \"volume\""),
            "{text}"
        );
        check_storage(
            Kind::Bare,
            None,
            &IoLimits::default(),
            Some(Path::new("/proc/self")),
        )
        .expect("nothing asked");
    }
}
