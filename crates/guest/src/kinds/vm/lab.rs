//! How virtual machines are made in a lab.

use std::{
    collections::BTreeMap,
    io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use rookery_host::{HostError, RealHost, io::IoLimits};
use rookery_study::vm_shape::{Boot, LEAST_MEMORY_MIB, Pool, VmShape};

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
    role_disks::RoleDisks,
    shared::Shared,
};
use crate::{
    error::{GuestError, StepError},
    guest::Guest,
    kind::Kind,
    lab::Progress,
    lab_core::LabCore,
    paths::{clone_dir, log_file},
    run_lab::GuestMaker,
    spec::GuestSpec,
    storage::{ProvidedVolumes, Provision, Store, Volume},
    template::{Patience, Template, patient},
};

/// Directory below that of the templates where libvirt keeps what it has learnt of the emulator:
/// seconds for each run otherwise.
const CACHE: &str = "libvirt-cache";

/// The maker of virtual machines: the lab's network namespace, and a libvirtd in it.
pub(crate) struct VmGuests {
    libvirt: Libvirt,
    network: LabNetwork,
    shape: VmShape,
    shared: Arc<Shared>,
    base: Mutex<Option<Base>>,
}

impl VmGuests {
    /// # Errors
    /// When its network or its libvirt cannot be made; nothing is left then. The shape has no
    /// [problems](check_shape).
    pub(crate) fn open(core: &LabCore, shape: VmShape) -> Result<Self, GuestError> {
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
            network,
            shape,
            shared,
            base: Mutex::default(),
        })
    }

    /// What machines boot from, built once.
    fn base(&self, core: &LabCore, watch: Watch<'_>) -> Result<Base, GuestError> {
        let mut base = self.base.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(base) = &*base {
            return Ok(base.clone());
        }
        let built = match &self.shape.image {
            None => Base::System(image::system(core, watch)?),
            Some(source) => Base::Image {
                template: cloud::image(core, source, watch)?,
                efi: self.shape.boots() == Boot::Efi,
            },
        };
        Ok(base.insert(built).clone())
    }

    /// Its storage: its disk lies on the volume, if there is one, and each role has a disk. Limits
    /// are the emulator's matter, not that of a control group: no device has to be found.
    fn store(
        &self,
        core: &LabCore,
        spec: &GuestSpec,
        provision: &Provision,
        volumes: ProvidedVolumes,
    ) -> Result<(Store, RoleDisks), GuestError> {
        let unlimited = Provision {
            limits: IoLimits::default(),
            ..provision.clone()
        };
        let fail =
            |error: HostError| GuestError::in_guest(&spec.name, "preparing its storage", error);
        if volumes.data.is_some() && self.shape.pool != Pool::Directory {
            return Err(fail(HostError::refused(
                "its disk cannot lie on a volume and in a pool",
                "leave out `pool` in [guest.vm], or `pool` in [storage]",
            )));
        }
        let roles = RoleDisks::new(provision, volumes.roles).map_err(fail)?;
        let of_data = ProvidedVolumes {
            data: volumes.data,
            roles: BTreeMap::new(),
        };
        let store = Store::new(&unlimited, of_data, &spec.name, &core.dirs.dir).map_err(fail)?;
        let store = Store {
            limits: provision.limits,
            ..store
        };
        Ok((store, roles))
    }
}

impl GuestMaker for VmGuests {
    const KIND: Kind = Kind::Vm;

    fn network(&self) -> Option<&Path> {
        self.network.namespace()
    }

    fn prepare(
        &self,
        core: &LabCore,
        template: &Template,
        told: Progress<'_>,
        patience: Patience<'_>,
    ) -> Result<(), GuestError> {
        let watch = Watch {
            told,
            patience,
            label: &core.label,
        };
        self.base(core, watch)?;
        image::disk(core, template, self.shape.disk.size_mib, watch).map(drop)
    }

    fn show_volume(&self, core: &LabCore, volume: &Volume) -> Result<(), GuestError> {
        let Some(view) = self.libvirt.view() else {
            return Ok(());
        };
        core.host
            .step("volume view")
            .and_then(|()| volume.show_in(view))
            .map_err(|error| {
                GuestError::in_guest(volume.name(), "showing its volume to libvirt", error)
            })
    }

    fn make(
        &self,
        core: &LabCore,
        template: &Template,
        spec: &GuestSpec,
        provision: &Provision,
        volumes: ProvidedVolumes,
    ) -> Result<Box<dyn Guest>, GuestError> {
        let fail = |error: io::Error| GuestError::in_guest(&spec.name, "making its clone", error);
        if let Some(mib) = spec.memory_mib.filter(|mib| *mib < LEAST_MEMORY_MIB) {
            let what = format!(
                "{mib} MiB of memory are too few for a machine with a kernel of its own: take {} \
                 or more",
                LEAST_MEMORY_MIB
            );
            return Err(fail(io::Error::other(what)));
        }
        let plug = self.network.plug(spec.number, spec.port, spec.called_by);
        let plug = plug.map_err(fail)?;
        self.network
            .refuse_taken(&*core.host, &plug)
            .map_err(fail)?;
        let (store, roles) = self.store(core, spec, provision, volumes)?;
        let watch = Watch {
            told: &|_, _| {},
            patience: &patient,
            label: &core.label,
        };
        let base = self.base(core, watch)?;
        let image = image::disk(core, template, self.shape.disk.size_mib, watch)?;
        let dir = &core.dirs.dir;
        let parts = Parts {
            plug,
            shape: self.shape.clone(),
            dir,
            directory: clone_dir(dir, &spec.name),
            log: log_file(dir, &spec.name),
            store,
            roles,
            base,
        };
        let mut guest = VmGuest::make(Arc::clone(&self.shared), spec, parts).map_err(fail)?;
        // From here on the guest's drop removes what was made.
        guest.fill(template, image).map_err(fail)?;
        Ok(Box::new(guest))
    }

    fn close(&mut self) {
        self.libvirt.stop();
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
