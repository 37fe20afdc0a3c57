//! Virtual machines: a libvirt of the lab's own, inside the lab's network namespace (or that of the host, where a shape says so), and QEMU below it.
//!
//! [`VmShape`] is what a machine looks like; [`Accelerator`] what executes it. Every guest boots the same read-only system (its kernel given directly)
//! and has a disk of its own, a clone of an image made from the template's layers. The guest's program runs there in the very root that a container would
//! have, so that both kinds differ in nothing but the machine between.
//!
//! All of libvirt's files lie in the run's own directory of state, every emulator carries the run's label in its environment and lies in
//! the run's control group: [`clean`](crate::clean) finds them as it finds everything else.

mod accel;
mod agent;
mod base;
mod building;
mod cloud;
pub(crate) mod connection;
mod counters;
mod disk;
mod domain;
mod events;
mod guest;
mod image;
mod initrd;
pub(crate) mod libvirtd;
mod looks;
mod merge;
mod network;
mod pins;
pub(crate) mod pool;
mod relay;
mod seed;
mod virsh;
mod xml;

use std::{
    io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use rookery_host::{Host, RealHost, volume::VolumeSpec};
use rookery_study::vm_shape::LEAST_MEMORY_MIB;

pub use accel::{Accelerator, AcceleratorChoice, choose_accelerator};
pub use agent::vm_agent;
pub use counters::{DiskCounters, OutsideCounters, VmCounters};
pub use looks::VmProbe;
pub use pins::{GuestPins, audit_pins, pin_table};
pub use rookery_study::vm_shape::{
    Boot, CpuModel, DiskCache, DiskClone, DiskIo, DiskShape, GuestNet, MemoryShape, Network,
    NetworkShape, Pins, Pool, VmShape,
};

use crate::{
    Guest, GuestError, GuestSpec, IoLimits, Kind, Lab, Patience, Progress, Provision, Recipe, Site,
    Template, Volume,
    ground::Ground,
    patient,
    site::{check_spec, clone_dir, log_file},
    storage::Store,
    template,
};
use base::Base;
use building::Watch;
use connection::Libvirt;
use guest::{Parts, Shared, VmGuest};
use libvirtd::Libvirtd;
use network::LabNetwork;

/// Directory below that of the templates where libvirt keeps what it has learnt of the emulator: seconds for each run otherwise.
const CACHE: &str = "libvirt-cache";

/// The ground of virtual machines: the lab's network namespace, and a libvirtd in it.
pub(crate) struct VmLab {
    // Fields go in their order: the daemon ends before the ground is swept.
    libvirt: Libvirt,
    ground: Ground,
    network: LabNetwork,
    shape: VmShape,
    shared: Arc<Shared>,
    base: Mutex<Option<Base>>,
}

impl VmLab {
    /// # Errors
    /// When the shape is wrong, the run cannot be registered, or its network or its libvirt not be made; nothing is left then.
    pub(crate) fn open(
        site: Site,
        host: Arc<dyn Host>,
        shape: VmShape,
    ) -> Result<Self, GuestError> {
        check_shape(&shape)?;
        let ground = Ground::open(Kind::Vm, site, host)?;
        let fail = |name: &'static str| move |error: io::Error| step("lab", name, &error);
        let network = LabNetwork::open(&*ground.host, &ground.label, &shape.nic)
            .map_err(fail("making the lab's network"))?;
        let home = ground.vm_root();
        std::fs::create_dir_all(&home).map_err(fail("making libvirt's directory"))?;
        let accelerator = choose_accelerator(&RealHost, &home);
        let libvirt = match &shape.connection {
            None => {
                let cache = ground.site.templates.join(CACHE);
                let started = Libvirtd::start(
                    &*ground.host,
                    &ground.label,
                    network.namespace(),
                    &home,
                    &cache,
                );
                Libvirt::Own(started.map_err(fail("starting the lab's libvirt"))?)
            }
            Some(uri) => Libvirt::of_host(&*ground.host, &ground.label, uri, &home)
                .map_err(fail("connecting to the host's libvirt"))?,
        };
        let shared = Arc::new(Shared {
            label: ground.label.clone(),
            cgroups: ground.cgroups.clone(),
            host: Arc::clone(&ground.host),
            virsh: libvirt.virsh().clone(),
            security: libvirt.security().to_vec(),
            home,
            accelerator,
            network: network.namespace().map(Path::to_owned),
        });
        Ok(Self {
            libvirt,
            ground,
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
            None => Base::System(image::system(&self.ground, watch)?),
            Some(source) => Base::Image {
                template: cloud::image(&self.ground, source, watch)?,
                efi: self.shape.boots() == Boot::Efi,
            },
        };
        Ok(base.insert(built).clone())
    }

    /// Its storage: its disk lies on the volume, if there is one. Limits are the emulator's matter, not that of a control group: no device has to be found.
    fn store(&self, spec: &GuestSpec, provision: &Provision) -> Result<Store, GuestError> {
        let unlimited = Provision {
            limits: IoLimits::default(),
            ..provision.clone()
        };
        if provision.volume.is_some() && self.shape.pool != Pool::Directory {
            let what = "its disk cannot lie on a volume and in a pool\n  mend: leave out `pool` in [guest.vm], or `pool` in [storage]";
            return Err(step(
                &spec.name,
                "preparing its storage",
                &io::Error::other(what),
            ));
        }
        let store = Store::of(&unlimited, &spec.name, &self.ground.site.dir);
        let store = store
            .map_err(|what| step(&spec.name, "preparing its storage", &io::Error::other(what)))?;
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
        self.ground.template(recipe, patience)
    }

    fn prepare(
        &self,
        template: &Template,
        told: Progress<'_>,
        patience: Patience<'_>,
    ) -> Result<(), GuestError> {
        let watch = Watch { told, patience };
        self.base(watch)?;
        image::disk(&self.ground, template, self.shape.disk.size_mib, watch).map(drop)
    }

    fn volume(&self, name: &str, spec: &VolumeSpec) -> Result<Arc<Volume>, GuestError> {
        let volume = self.ground.volume(name, spec)?;
        if let Some(view) = self.libvirt.view() {
            let shown = self
                .ground
                .host
                .step("volume view")
                .and_then(|()| volume.show_in(view));
            shown.map_err(|error| step(name, "showing its volume to libvirt", &error))?;
        }
        Ok(volume)
    }

    fn create_with(
        &self,
        template: &Template,
        spec: &GuestSpec,
        provision: &Provision,
    ) -> Result<Box<dyn Guest>, GuestError> {
        check_spec(spec)?;
        template::check_top(template, &spec.name)?;
        let fail = |error: io::Error| step(&spec.name, "making its clone", &error);
        if let Some(mib) = spec.memory_mib.filter(|mib| *mib < LEAST_MEMORY_MIB) {
            let what = format!(
                "{mib} MiB of memory are too few for a machine with a kernel of its own: take {} or more",
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
        let image = image::disk(&self.ground, template, self.shape.disk.size_mib, watch)?;
        let site = &self.ground.site.dir;
        let parts = Parts {
            plug,
            shape: self.shape.clone(),
            site,
            directory: clone_dir(site, &spec.name),
            log: log_file(site, &spec.name),
            store,
            base,
        };
        let mut guest = VmGuest::make(Arc::clone(&self.shared), spec, parts).map_err(fail)?;
        // From here on the guest's drop removes what was made.
        guest.fill(template, image).map_err(fail)?;
        Ok(Box::new(guest))
    }

    fn close(&mut self) -> Result<(), GuestError> {
        self.libvirt.stop();
        self.ground.close()
    }
}

fn check_shape(shape: &VmShape) -> Result<(), GuestError> {
    let problems = shape.problems();
    if problems.is_empty() {
        return Ok(());
    }
    Err(step(
        "lab",
        "checking the shape of its machines",
        &io::Error::other(problems.join("; ")),
    ))
}

fn step(guest: &str, step: &'static str, error: &io::Error) -> GuestError {
    GuestError::Step {
        guest: guest.to_owned(),
        step,
        what: error.to_string(),
    }
}
