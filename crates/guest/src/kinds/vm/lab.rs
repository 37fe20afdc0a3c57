//! The lab of virtual machines.

use std::{
    io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use rookery_host::{HostError, RealHost, io::IoLimits, volume::VolumeSpec};
use rookery_study::vm_shape::{Boot, LEAST_MEMORY_MIB, Pool, VmShape};
use tracing::instrument;

use super::{
    accel::choose_accelerator,
    base::Base,
    building::Watch,
    cloud,
    connection::Libvirt,
    guest::{Parts, VmGuest},
    image,
    libvirtd::{Libvirtd, STATE},
    network::LabNetwork,
    shared::Shared,
};
use crate::{
    error::{GuestError, StepError},
    guest::Guest,
    kind::Kind,
    lab::{Lab, Progress},
    lab_core::LabCore,
    paths::{clone_dir, log_file},
    spec::{GuestSpec, check_spec},
    storage::{Provision, Store, Volume},
    template::{self, Patience, Recipe, Template, patient},
};

/// Directory below that of the templates where libvirt keeps what it has learnt of the emulator:
/// seconds for each run otherwise.
const CACHE: &str = "libvirt-cache";

/// The lab of virtual machines: the lab's network namespace, and a libvirtd in it.
pub(crate) struct VmLab {
    // Fields go in their order: the daemon ends before the run is swept.
    libvirt: Libvirt,
    core: LabCore,
    network: LabNetwork,
    shape: VmShape,
    shared: Arc<Shared>,
    base: Mutex<Option<Base>>,
}

impl VmLab {
    /// # Errors
    /// When its network or its libvirt cannot be made; nothing is left then. The shape has no
    /// [problems](check_shape).
    pub(crate) fn open(core: LabCore, shape: VmShape) -> Result<Self, GuestError> {
        let fail = |step| move |error: io::Error| GuestError::in_lab(step, error);
        let network = LabNetwork::open(&*core.host, &core.label, &shape.nic)
            .map_err(fail("making the lab's network"))?;
        let home = core.state_dir(STATE);
        std::fs::create_dir_all(&home).map_err(fail("making libvirt's directory"))?;
        let accelerator = choose_accelerator(&RealHost, &home);
        let libvirt = match &shape.connection {
            None => {
                let cache = core.dirs.templates.join(CACHE);
                let started =
                    Libvirtd::start(&*core.host, &core.label, network.namespace(), &home, &cache);
                Libvirt::Own(started.map_err(fail("starting the lab's libvirt"))?)
            }
            Some(uri) => Libvirt::to_host(&*core.host, &core.label, uri, &home)
                .map_err(fail("connecting to the host's libvirt"))?,
        };
        let shared = Arc::new(Shared {
            label: core.label.clone(),
            cgroups: core.cgroups.clone(),
            host: Arc::clone(&core.host),
            virsh: libvirt.virsh().clone(),
            security: libvirt.security().to_vec(),
            home,
            accelerator,
            network: network.namespace().map(Path::to_owned),
        });
        Ok(Self {
            libvirt,
            core,
            network,
            shape,
            shared,
            base: Mutex::default(),
        })
    }

    /// What machines boot from, built once.
    fn base(&self, watch: Watch<'_>) -> Result<Base, GuestError> {
        let mut base = self.base.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(base) = &*base {
            return Ok(base.clone());
        }
        let built = match &self.shape.image {
            None => Base::System(image::system(&self.core, watch)?),
            Some(source) => Base::Image {
                template: cloud::image(&self.core, source, watch)?,
                efi: self.shape.boots() == Boot::Efi,
            },
        };
        Ok(base.insert(built).clone())
    }

    /// Its storage: its disk lies on the volume, if there is one. Limits are the emulator's matter,
    /// not that of a control group: no device has to be found.
    fn store(&self, spec: &GuestSpec, provision: &Provision) -> Result<Store, GuestError> {
        let unlimited = Provision {
            limits: IoLimits::default(),
            ..provision.clone()
        };
        if provision.volume.is_some() && self.shape.pool != Pool::Directory {
            let error = HostError::refused(
                "its disk cannot lie on a volume and in a pool",
                "leave out `pool` in [guest.vm], or `pool` in [storage]",
            );
            return Err(GuestError::in_guest(
                &spec.name,
                "preparing its storage",
                error,
            ));
        }
        let store = Store::new(&unlimited, &spec.name, &self.core.dirs.dir);
        let store = store
            .map_err(|error| GuestError::in_guest(&spec.name, "preparing its storage", error))?;
        Ok(Store {
            limits: provision.limits,
            ..store
        })
    }
}

impl Lab for VmLab {
    fn kind(&self) -> Kind {
        Kind::Vm
    }

    fn network(&self) -> Option<&Path> {
        self.network.namespace()
    }

    fn template(
        &self,
        recipe: &Recipe<'_>,
        patience: Patience<'_>,
    ) -> Result<Template, GuestError> {
        self.core.template(recipe, patience)
    }

    fn prepare(
        &self,
        template: &Template,
        told: Progress<'_>,
        patience: Patience<'_>,
    ) -> Result<(), GuestError> {
        let watch = Watch { told, patience };
        self.base(watch)?;
        image::disk(&self.core, template, self.shape.disk.size_mib, watch).map(drop)
    }

    fn volume(&self, name: &str, spec: &VolumeSpec) -> Result<Arc<Volume>, GuestError> {
        let volume = self.core.volume(name, spec)?;
        if let Some(view) = self.libvirt.view() {
            let shown = self
                .core
                .host
                .step("volume view")
                .and_then(|()| volume.show_in(view));
            shown.map_err(|error| {
                GuestError::in_guest(name, "showing its volume to libvirt", error)
            })?;
        }
        Ok(volume)
    }

    #[instrument(level = "debug", skip_all, err(level = "debug"), fields(guest = %spec.name))]
    fn create_with(
        &self,
        template: &Template,
        spec: &GuestSpec,
        provision: &Provision,
    ) -> Result<Box<dyn Guest>, GuestError> {
        check_spec(spec)?;
        template::check_top(template, &spec.name)?;
        let fail = |error: io::Error| GuestError::in_guest(&spec.name, "making its clone", error);
        if let Some(mib) = spec.memory_mib.filter(|mib| *mib < LEAST_MEMORY_MIB) {
            let what = format!(
                "{mib} MiB of memory are too few for a machine with a kernel of its own: take {} \
                 or more",
                LEAST_MEMORY_MIB
            );
            return Err(fail(io::Error::other(what)));
        }
        let plug = self.network.plug(spec.number, spec.port).map_err(fail)?;
        let store = self.store(spec, provision)?;
        let watch = Watch {
            told: &|_, _| {},
            patience: &patient,
        };
        let base = self.base(watch)?;
        let image = image::disk(&self.core, template, self.shape.disk.size_mib, watch)?;
        let dir = &self.core.dirs.dir;
        let parts = Parts {
            plug,
            shape: self.shape.clone(),
            dir,
            directory: clone_dir(dir, &spec.name),
            log: log_file(dir, &spec.name),
            store,
            base,
        };
        let mut guest = VmGuest::make(Arc::clone(&self.shared), spec, parts).map_err(fail)?;
        // From here on the guest's drop removes what was made.
        guest.fill(template, image).map_err(fail)?;
        Ok(Box::new(guest))
    }

    #[instrument(level = "debug", skip_all, err(level = "debug"))]
    fn close(&mut self) -> Result<(), GuestError> {
        self.libvirt.stop();
        self.core.close()
    }
}

/// Refuse a shape that no machine can have.
///
/// # Errors
/// Everything that is wrong with it.
pub(crate) fn check_shape(shape: &VmShape) -> Result<(), GuestError> {
    let problems = shape.problems();
    if problems.is_empty() {
        return Ok(());
    }
    Err(GuestError::in_lab(
        "checking the shape of its machines",
        StepError::Several(problems),
    ))
}
