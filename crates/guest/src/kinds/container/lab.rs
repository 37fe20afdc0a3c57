//! How containers are made in a lab.

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use rookery_host::netns_path;
use rookery_study::{BackEnd, LinkShape};

use super::{
    STATE,
    guest::{ContainerGuest, Shared},
};
use crate::{
    error::GuestError,
    guest::Guest,
    kind::Kind,
    lab_core::LabCore,
    lab_network::make_lab_network,
    label::run_name,
    link::{back_end_address, guest_address},
    paths::{clone_dir, log_file},
    run_lab::GuestMaker,
    spec::{CalledBy, GuestSpec},
    storage::{ProvidedVolumes, Provision, Store},
    template::Template,
};

/// The maker of containers: the lab's network namespace.
pub(crate) struct ContainerGuests {
    network: PathBuf,
    shared: Arc<Shared>,
}

impl ContainerGuests {
    /// # Errors
    /// When its network cannot be made; nothing is left then.
    pub(crate) fn open(core: &LabCore, link: LinkShape) -> Result<Self, GuestError> {
        // Containers outlive the runc that makes them; as their adoptive parent we learn how they
        // end, and reap them at once.
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .map_err(|error| GuestError::in_lab("adopting containers", io::Error::from(error)))?;
        make_lab_network(&*core.host, &core.label, &link)
            .map_err(|error| GuestError::in_lab("making the lab's network", error))?;
        let network = netns_path(&run_name(&core.label.run));
        let shared = Arc::new(Shared {
            label: core.label.clone(),
            cgroups: core.cgroups.clone(),
            host: Arc::clone(&core.host),
            runc_root: core.state_dir(STATE),
            network: network.clone(),
            link,
        });
        Ok(Self { network, shared })
    }
}

impl GuestMaker for ContainerGuests {
    const KIND: Kind = Kind::Container;

    fn network(&self) -> Option<&Path> {
        Some(&self.network)
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
        let address = match (self.shared.link.back_end, spec.called_by) {
            (BackEnd::Separate, CalledBy::Guests) => back_end_address(spec.number),
            _ => guest_address(spec.number),
        };
        let address = SocketAddr::from((address.map_err(fail)?, spec.port));
        let dir = &core.dirs.dir;
        let store =
            Store::new(provision, volumes, &spec.name, dir).map_err(|error| fail(error.into()))?;
        let guest = ContainerGuest::make(
            Arc::clone(&self.shared),
            spec,
            address,
            clone_dir(dir, &spec.name),
            log_file(dir, &spec.name),
            dir,
            store,
        );
        let mut guest = guest.map_err(fail)?;
        // From here on the guest's drop removes what was made.
        guest.fill(template).map_err(fail)?;
        Ok(Box::new(guest))
    }
}
