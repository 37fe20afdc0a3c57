//! Container guests: an OCI bundle on an overlay clone of the template, run by runc, in an own network namespace on the lab's bridge.

mod config;
mod guest;
pub(crate) mod network;

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use rookery_host::{Host, netns_path, volume::VolumeSpec};

use crate::{
    Guest, GuestError, GuestSpec, Kind, Lab, Patience, Provision, Recipe, Site, Template, Volume,
    ground::Ground,
    label::run_name,
    site::{check_spec, clone_dir, log_file},
    storage::Store,
    template,
};
pub(crate) use config::quota;
use guest::{ContainerGuest, Shared};

/// The ground of containers: the lab's network namespace.
pub(crate) struct ContainerLab {
    ground: Ground,
    network: PathBuf,
    shared: Arc<Shared>,
}

impl ContainerLab {
    /// # Errors
    /// When the run cannot be registered or its network not be made; nothing is left then.
    pub(crate) fn open(site: Site, host: Arc<dyn Host>) -> Result<Self, GuestError> {
        let ground = Ground::open(Kind::Container, site, host)?;
        // Containers outlive the runc that makes them; as their adoptive parent we learn how they end, and reap them at once.
        let fail = |name: &'static str| {
            move |error: io::Error| GuestError::Step {
                guest: "lab".to_owned(),
                step: name,
                what: error.to_string(),
            }
        };
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .map_err(|error| fail("adopting containers")(error.into()))?;
        network::make_lab_network(&*ground.host, &ground.label)
            .map_err(fail("making the lab's network"))?;
        let network = netns_path(&run_name(&ground.label.run));
        let shared = Arc::new(Shared {
            label: ground.label.clone(),
            cgroups: ground.cgroups.clone(),
            host: Arc::clone(&ground.host),
            runc_root: ground.runc_root(),
            network: network.clone(),
        });
        Ok(Self {
            ground,
            network,
            shared,
        })
    }
}

impl Lab for ContainerLab {
    fn kind(&self) -> Kind {
        Kind::Container
    }

    fn network(&self) -> Option<&Path> {
        Some(&self.network)
    }

    fn template(
        &self,
        recipe: &Recipe<'_>,
        patience: Patience<'_>,
    ) -> Result<Template, GuestError> {
        self.ground.template(recipe, patience)
    }

    fn volume(&self, name: &str, spec: &VolumeSpec) -> Result<Arc<Volume>, GuestError> {
        self.ground.volume(name, spec)
    }

    fn create_with(
        &self,
        template: &Template,
        spec: &GuestSpec,
        provision: &Provision,
    ) -> Result<Box<dyn Guest>, GuestError> {
        check_spec(spec)?;
        template::check_top(template, &spec.name)?;
        let fail = |error: io::Error| GuestError::Step {
            guest: spec.name.clone(),
            step: "making its clone",
            what: error.to_string(),
        };
        let address = SocketAddr::from((
            network::guest_address(spec.number).map_err(fail)?,
            spec.port,
        ));
        let site = &self.ground.site.dir;
        let store =
            Store::of(provision, &spec.name, site).map_err(|what| fail(io::Error::other(what)))?;
        let guest = ContainerGuest::make(
            Arc::clone(&self.shared),
            spec,
            address,
            clone_dir(site, &spec.name),
            log_file(site, &spec.name),
            site,
            store,
        );
        let mut guest = guest.map_err(fail)?;
        // From here on the guest's drop removes what was made.
        guest.fill(template).map_err(fail)?;
        Ok(Box::new(guest))
    }

    fn close(&mut self) -> Result<(), GuestError> {
        self.ground.close()
    }
}
