//! What the labs of all kinds share: label, registration, directories, the last sweep.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use rookery_host::{Cgroups, Controller, Host, HostError, Presence, volume::VolumeSpec};
use rookery_study::SwapKind;
use tracing::instrument;

use crate::{
    error::{GuestError, StepError},
    kind::Kind,
    label::Label,
    paths::RunDirs,
    registry::{Registration, Registry},
    spec::GuestSpec,
    storage::{ProvidedVolumes, Provision, Volume},
    swap::{DeviceContext, SwapDevice},
    sweep::{KindSweeps, discover, sweep, tidy},
    template::{self, Patience, Recipe, Template, make_templates},
};

/// A registered run, and what its lab does whatever the kind of its guests.
pub(crate) struct LabCore {
    pub(crate) dirs: RunDirs,
    pub(crate) label: Label,
    pub(crate) cgroups: Cgroups,
    pub(crate) host: Arc<dyn Host>,
    registry: Registry,
    sweeps: KindSweeps,
    /// Every template that the run has used, so that nobody removes it between two trials.
    templates: Mutex<BTreeMap<String, Template>>,
    /// The volumes that were made, by their names; whoever made one and its guests hold it.
    volumes: Mutex<BTreeMap<String, Weak<Volume>>>,
    /// Other controllers see by it that this one lives, whatever becomes of the registration.
    presence: Option<Presence>,
    open: bool,
}

impl LabCore {
    /// Register the run, before anything of it is made. What a dead controller of the same run left
    /// is removed first.
    ///
    /// # Errors
    /// When the run has a living controller, or its remains cannot be removed.
    #[instrument(level = "debug", skip_all, err(level = "debug"), fields(run = %dirs.run, %kind))]
    pub(crate) fn open(
        kind: Kind,
        dirs: RunDirs,
        host: Arc<dyn Host>,
        sweeps: KindSweeps,
    ) -> Result<Self, GuestError> {
        let registry = Registry::open();
        let cgroups =
            Cgroups::detect().map_err(|error| GuestError::in_lab("reading the mounts", error))?;
        let controller =
            Controller::current().map_err(|error| GuestError::in_lab("reading /proc", error))?;
        std::fs::create_dir_all(&dirs.dir).map_err(|error| {
            GuestError::in_lab(
                "making the run's directory",
                HostError::at(&dirs.dir, error),
            )
        })?;
        // Absolute: clean-up runs from another directory.
        let dir = dirs.dir.canonicalize().map_err(|error| {
            GuestError::in_lab(
                "finding the run's directory",
                HostError::at(&dirs.dir, error),
            )
        })?;
        make_templates(&dirs.templates)
            .map_err(|error| GuestError::in_lab("making the template directory", error))?;
        let templates = dirs
            .templates
            .canonicalize()
            .map_err(|error| GuestError::in_lab("finding the template directory", error))?;
        let dirs = RunDirs {
            dir,
            templates,
            ..dirs
        };
        let lock = registry.lock()?;
        let before = discover(&registry, &cgroups, sweeps)
            .map_err(|error| GuestError::in_lab("looking for labels", error))?;
        if let Some(holdings) = before.get(dirs.run.as_str()) {
            if holdings.alive {
                let pid = holdings
                    .registration
                    .as_ref()
                    .map_or_else(String::new, |r| {
                        format!(" by process {}", r.controller.identity.pid)
                    });
                let what = format!(
                    "run {} is being conducted{pid}; wait for its end, or choose another run",
                    dirs.run
                );
                return Err(GuestError::in_lab(
                    "registering the run",
                    StepError::Refused(what),
                ));
            }
            let dir = holdings
                .registration
                .as_ref()
                .map(|registration| registration.dir.as_path());
            sweep(&registry, &cgroups, sweeps, &dirs.run, dir).map_err(|failed| {
                GuestError::in_lab(
                    "removing what was left of the run",
                    StepError::Several(failed),
                )
            })?;
        }
        let presence = Presence::announce(&dirs.run)
            .map_err(|error| GuestError::in_lab("announcing the run", error))?;
        registry.write(
            &lock,
            &Registration {
                run: dirs.run.clone(),
                controller,
                dir: dirs.dir.clone(),
                kind,
            },
        )?;
        drop(lock);
        let label = Label {
            run: dirs.run.clone(),
            controller,
        };
        Ok(Self {
            dirs,
            label,
            cgroups,
            host,
            registry,
            sweeps,
            templates: Mutex::default(),
            volumes: Mutex::default(),
            presence: Some(presence),
            open: true,
        })
    }

    /// Build a template, or find it built; it cannot be removed while the run lasts.
    ///
    /// # Errors
    /// See [`template::build`].
    #[instrument(level = "debug", skip_all, err(level = "debug"), fields(recipe = recipe.description))]
    pub(crate) fn template(
        &self,
        recipe: &Recipe<'_>,
        patience: Patience<'_>,
    ) -> Result<Template, GuestError> {
        let template = template::build(&*self.host, &self.dirs.templates, recipe, patience)?;
        let mut templates = self
            .templates
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        templates.insert(template.digest.clone(), template.clone());
        Ok(template)
    }

    /// Make a volume below the run's directory.
    ///
    /// # Errors
    /// See [`Volume::make`].
    #[instrument(level = "debug", skip(self, spec), err(level = "debug"))]
    pub(crate) fn volume(&self, name: &str, spec: &VolumeSpec) -> Result<Arc<Volume>, GuestError> {
        let volume = Volume::make(&*self.host, &self.label, &self.dirs.dir, name, spec)?;
        self.volumes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name.to_owned(), Arc::downgrade(&volume));
        Ok(volume)
    }

    /// Make a device to which the kernel swaps.
    ///
    /// # Errors
    /// See [`SwapDevice::make`].
    #[instrument(level = "debug", skip(self), err(level = "debug"))]
    pub(crate) fn swap(
        &self,
        name: &str,
        kind: SwapKind,
        size_mib: u64,
    ) -> Result<SwapDevice, GuestError> {
        let context = DeviceContext {
            host: &*self.host,
            label: &self.label,
            dir: &self.dirs.dir,
            registry: &self.registry,
        };
        SwapDevice::make(context, name, kind, size_mib)
    }

    /// The volumes that are to hold what a guest keeps.
    ///
    /// # Errors
    /// When the lab has none of a name.
    pub(crate) fn provided_volumes(
        &self,
        spec: &GuestSpec,
        provision: &Provision,
    ) -> Result<ProvidedVolumes, GuestError> {
        let volumes = self.volumes.lock().unwrap_or_else(PoisonError::into_inner);
        let find = |name: &String| {
            let volume = volumes.get(name).and_then(Weak::upgrade);
            volume.ok_or_else(|| {
                let error = StepError::Refused(format!("the lab has no volume `{name}`"));
                GuestError::in_guest(&spec.name, "finding its volume", error)
            })
        };
        let roles = provision.roles.iter();
        Ok(ProvidedVolumes {
            data: provision.volume.as_ref().map(find).transpose()?,
            roles: roles
                .map(|(role, provided)| Ok((*role, find(&provided.volume)?)))
                .collect::<Result<_, GuestError>>()?,
        })
    }

    /// Directory of what the run keeps besides its guests, under the name `part`; it is removed
    /// with the run.
    pub(crate) fn state_dir(&self, part: &str) -> std::path::PathBuf {
        self.registry.state_dir(part, &self.label.run)
    }

    /// Remove everything that carries this run's label, then its registration. Idempotent.
    ///
    /// # Errors
    /// When something stays.
    pub(crate) fn close(&mut self) -> Result<(), GuestError> {
        if !self.open {
            return Ok(());
        }
        let dir: &Path = &self.dirs.dir;
        sweep(
            &self.registry,
            &self.cgroups,
            self.sweeps,
            &self.label.run,
            Some(dir),
        )
        .map_err(|failed| {
            GuestError::in_lab("removing the run's guests", StepError::Several(failed))
        })?;
        let lock = self.registry.lock()?;
        self.registry.remove(&lock, &self.label.run)?;
        tidy(&self.registry, &lock, &self.cgroups, self.sweeps);
        self.presence = None;
        self.open = false;
        Ok(())
    }
}

impl Drop for LabCore {
    fn drop(&mut self) {
        // What cannot be removed now stays registered, and `clean` reports it.
        let _ = self.close();
    }
}
