//! What the labs of all kinds share: label, registration, directories, the last sweep.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use rookery_host::{Cgroups, Host, Identity, volume::VolumeSpec};

use crate::{
    GuestError, Kind, Patience, Recipe, Site, Template,
    label::Label,
    registry::{Registration, Registry},
    storage::Volume,
    sweep::{discover, sweep, tidy},
    template,
};

/// A registered run.
pub(crate) struct Ground {
    pub(crate) site: Site,
    pub(crate) label: Label,
    pub(crate) cgroups: Cgroups,
    pub(crate) host: Arc<dyn Host>,
    registry: Registry,
    /// Every template that the run has used, so that nobody removes it between two trials.
    templates: Mutex<BTreeMap<String, Template>>,
    open: bool,
}

impl Ground {
    /// Register the run, before anything of it is made. What a dead controller of the same run left is removed first.
    ///
    /// # Errors
    /// When the run has a living controller, or its remains cannot be removed.
    pub(crate) fn open(kind: Kind, site: Site, host: Arc<dyn Host>) -> Result<Self, GuestError> {
        let fail = |step: &'static str, what: String| GuestError::Step {
            guest: "lab".to_owned(),
            step,
            what,
        };
        let registry = Registry::of_user();
        let cgroups =
            Cgroups::detect().map_err(|error| fail("reading the mounts", error.to_string()))?;
        let controller =
            Identity::own().map_err(|error| fail("reading /proc", error.to_string()))?;
        std::fs::create_dir_all(&site.dir).map_err(|error| {
            fail(
                "making the run's directory",
                format!("{}: {error}", site.dir.display()),
            )
        })?;
        // Absolute: clean-up runs from another directory.
        let dir = site.dir.canonicalize().map_err(|error| {
            fail(
                "finding the run's directory",
                format!("{}: {error}", site.dir.display()),
            )
        })?;
        std::fs::create_dir_all(&site.templates)
            .map_err(|error| fail("making the template directory", error.to_string()))?;
        let templates = site
            .templates
            .canonicalize()
            .map_err(|error| fail("finding the template directory", error.to_string()))?;
        let site = Site {
            dir,
            templates,
            ..site
        };
        let lock = registry.lock()?;
        let before = discover(&registry, &cgroups)
            .map_err(|error| fail("looking for labels", error.to_string()))?;
        if let Some(holdings) = before.get(site.run.as_str()) {
            if holdings.alive {
                let pid = holdings
                    .registration
                    .as_ref()
                    .map_or_else(String::new, |r| format!(" by process {}", r.controller.pid));
                let what = format!(
                    "run {} is being conducted{pid}; wait for its end, or choose another run",
                    site.run
                );
                return Err(fail("registering the run", what));
            }
            let dir = holdings
                .registration
                .as_ref()
                .map(|registration| registration.dir.as_path());
            sweep(&registry, &cgroups, &site.run, dir)
                .map_err(|failed| fail("removing what was left of the run", failed.join("; ")))?;
        }
        registry.write(
            &lock,
            &Registration {
                run: site.run.clone(),
                controller,
                dir: site.dir.clone(),
                kind,
            },
        )?;
        drop(lock);
        let label = Label {
            run: site.run.clone(),
            controller,
        };
        Ok(Self {
            site,
            label,
            cgroups,
            host,
            registry,
            templates: Mutex::default(),
            open: true,
        })
    }

    /// Build a template, or find it built; it cannot be removed while the run lasts.
    ///
    /// # Errors
    /// See [`template::build`].
    pub(crate) fn template(
        &self,
        recipe: &Recipe<'_>,
        patience: Patience<'_>,
    ) -> Result<Template, GuestError> {
        let template = template::build(&*self.host, &self.site.templates, recipe, patience)?;
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
    pub(crate) fn volume(&self, name: &str, spec: &VolumeSpec) -> Result<Arc<Volume>, GuestError> {
        Volume::make(&*self.host, &self.label, &self.site.dir, name, spec)
    }

    /// Where runc keeps the state of this run's containers.
    pub(crate) fn runc_root(&self) -> std::path::PathBuf {
        self.registry.runc_root(&self.label.run)
    }

    /// Where libvirt and its guests' sockets lie.
    pub(crate) fn vm_root(&self) -> std::path::PathBuf {
        self.registry.vm_root(&self.label.run)
    }

    /// Remove everything that carries this run's label, then its registration. Idempotent.
    ///
    /// # Errors
    /// When something stays.
    pub(crate) fn close(&mut self) -> Result<(), GuestError> {
        if !self.open {
            return Ok(());
        }
        let dir: &Path = &self.site.dir;
        sweep(&self.registry, &self.cgroups, &self.label.run, Some(dir)).map_err(|failed| {
            GuestError::Step {
                guest: "lab".to_owned(),
                step: "removing the run's guests",
                what: failed.join("; "),
            }
        })?;
        let lock = self.registry.lock()?;
        self.registry.remove(&lock, &self.label.run)?;
        tidy(&self.registry, &lock, &self.cgroups);
        self.open = false;
        Ok(())
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // What cannot be removed now stays registered, and `clean` reports it.
        let _ = self.close();
    }
}
