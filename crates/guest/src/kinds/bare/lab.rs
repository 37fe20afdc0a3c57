//! How bare guests are made in a lab.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use rookery_host::{Cgroups, HostError};

use super::{
    control::{Control, hierarchies},
    guest::BareGuest,
};
use crate::{
    addresses::Blocks,
    copy::copy_tree_without,
    error::GuestError,
    guest::Guest,
    kind::Kind,
    lab_core::LabCore,
    label::guest_group,
    paths::{SHARED, clone_dir, log_file, open_directory, prepare},
    run_lab::GuestMaker,
    spec::GuestSpec,
    storage::{ProvidedVolumes, Provision, Store, make_roles},
    template::Template,
};

/// What is attempted where storage is prepared.
const STORAGE_STEP: &str = "preparing its storage";

/// The maker of bare guests: a block of loopback addresses, and the hierarchies in which guests
/// have control groups.
pub(crate) struct BareGuests {
    blocks: Mutex<Blocks>,
    hierarchies: Option<Cgroups>,
}

impl BareGuests {
    /// # Errors
    /// When no address is free.
    pub(crate) fn open(core: &LabCore) -> Result<Self, GuestError> {
        let blocks = Blocks::reserve(&core.label.run)
            .map_err(|error| GuestError::in_lab("reserving addresses", error))?;
        Ok(Self {
            blocks: Mutex::new(blocks),
            hierarchies: hierarchies(&core.cgroups),
        })
    }
}

impl GuestMaker for BareGuests {
    const KIND: Kind = Kind::Bare;

    fn make(
        &self,
        core: &LabCore,
        template: &Template,
        spec: &GuestSpec,
        provision: &Provision,
        volumes: ProvidedVolumes,
    ) -> Result<Box<dyn Guest>, GuestError> {
        let store = store(core, spec, provision, volumes)?;
        let fail = |step| move |error: io::Error| GuestError::in_guest(&spec.name, step, error);
        let address = self
            .blocks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .address(spec.number, spec.port);
        let address = address.map_err(fail("finding an address"))?;
        let dir = &core.dirs.dir;
        let clone = clone_dir(dir, &spec.name);
        let claim = core
            .host
            .step("clone directory")
            .and_then(|()| prepare(dir, &spec.name))
            .map_err(fail("making the clone's directory"))?;
        let guest = BareGuest {
            label: core.label.clone(),
            host: Arc::clone(&core.host),
            address,
            template: template.clone(),
            data: store.home.as_ref().unwrap_or(&clone).join("data"),
            log: log_file(dir, &spec.name),
            clone,
            _claim: claim,
            store,
            control: self.hierarchies.clone().map(|cgroups| Control {
                cgroups,
                group: guest_group(&core.label.run, &spec.name),
            }),
            spec: spec.clone(),
            child: None,
            ended: None,
        };
        // From here on the guest's drop removes what was made.
        let copied = guest
            .host
            .step("clone data")
            .and_then(|()| guest.store.home.as_deref().map_or(Ok(()), open_directory))
            .and_then(|()| {
                // Who has a volume has all of its data there.
                let without = guest.store.home.is_none().then_some(SHARED);
                copy_tree_without(&template.root.join("data"), &guest.data, without)
            })
            .and_then(|()| {
                make_roles(&*guest.host, &guest.store.roles, &guest.data, |_, home| {
                    home.to_string_lossy().into_owned()
                })
            })
            .and_then(|()| open_directory(&guest.clone.join("run")));
        copied.map_err(fail("copying the data"))?;
        guest.store.settle();
        Ok(Box::new(guest))
    }
}

/// Its storage; a process has neither limits on I/O nor memory nodes nor devices of its own.
fn store(
    core: &LabCore,
    spec: &GuestSpec,
    provision: &Provision,
    volumes: ProvidedVolumes,
) -> Result<Store, GuestError> {
    let refused = |what: &str, help: &str| {
        let error = HostError::refused(what, help);
        GuestError::in_guest(&spec.name, STORAGE_STEP, error)
    };
    let limited = provision.roles.values().map(|role| role.limits);
    let limited = limited.chain([provision.limits]);
    if !provision.nodes.is_empty() || limited.into_iter().any(|limits| !limits.is_none()) {
        return Err(refused(
            "bare guests cannot be held to limits on I/O or to memory nodes",
            "use containers, or leave these out",
        ));
    }
    let store = Store::new(provision, volumes, &spec.name, &core.dirs.dir)
        .map_err(|error| GuestError::in_guest(&spec.name, STORAGE_STEP, error))?;
    match store.raw() {
        Some(_) => Err(refused(
            "bare guests keep their data in files and take no raw device",
            "give the volume a file system, or use containers",
        )),
        None => Ok(store),
    }
}
