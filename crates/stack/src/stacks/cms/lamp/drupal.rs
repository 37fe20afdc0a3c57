//! A Drupal of the user, in every guest.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use rookery_guest::{CommandVariables, FillError, Guest, GuestCommand, Kind, Template};
use rookery_study::WebServer;
use rookery_workload::cms::Contract;

use super::{Filling, LampSite};
use crate::{
    StackContext, StackError, SupervisedService,
    cms::{SiteNodes, SiteTables},
    lamp::{
        Software,
        cms::drupal::{self, Generation, SiteError, SiteTree},
        sql::Database,
    },
    root::RootKind,
    stacks::lamp::{check_software, software},
    template::{copy_tree, files_layer},
    tuning::Tuned,
};

/// Raised when the same tree gives another layer, and when the same data give another template.
const VERSION: u32 = 1;
/// How long its installer may take.
const INSTALL_LIMIT: Duration = Duration::from_secs(900);
/// Most characters of an installer's words that are kept: the last.
const MOST_WORDS: usize = 1_000;

/// The tree that the user names.
pub(super) struct DrupalSite {
    path: PathBuf,
    generation: Generation,
}

impl DrupalSite {
    /// The tree at a path, whose pages are those of this generation.
    pub(super) fn new(path: &str, generation: Generation) -> Self {
        Self {
            path: path.into(),
            generation,
        }
    }

    fn tree(&self) -> Result<SiteTree, StackError> {
        Ok(SiteTree::of_generation(&self.path, self.generation)?)
    }
}

impl LampSite for DrupalSite {
    fn contract(&self) -> Contract {
        self.generation.contract()
    }

    fn switches(&self) -> &'static [&'static str] {
        drupal::switches(self.generation)
    }

    fn database(&self) -> &'static str {
        drupal::DATABASE
    }

    fn directories(&self) -> &'static [&'static str] {
        &["mysql", drupal::FILES]
    }

    fn nodes(&self) -> &'static SiteNodes {
        match self.generation {
            Generation::Seven => &drupal::NODES_7,
            Generation::Ten => &drupal::NODES_10,
        }
    }

    fn check_host(&self, kind: Kind, templates: &Path) -> Result<(), StackError> {
        self.tree()?;
        check_software(RootKind::LampSite, kind, templates)
    }

    fn base(&self, context: &StackContext<'_>) -> Result<(Option<Template>, Software), StackError> {
        let tree = self.tree()?;
        let (root, _) = software(context, RootKind::LampSite)?;
        let root = root.ok_or_else(|| StackError::NotMade {
            what: "the root of a site",
            reason: "guests of this kind have none of their own".to_owned(),
        })?;
        let software = Software::find_for_sites(&root.root, &drupal::EXTENSIONS)?;
        let description = format!("site {VERSION}, Drupal {}: {}", tree.version, tree.digest);
        let files = files_layer(context, &root, description, |layer| {
            context.building("site", "copying its tree");
            let copy = |from: &Path, to: &Path| copy_tree(from, to, &|| context.go_on());
            drupal::put_tree::<StackError>(&tree, layer, context.stop, copy)
                .map_err(FillError::from)
        })?;
        Ok((Some(files), software))
    }

    fn description(&self) -> Result<String, StackError> {
        Ok(format!("lamp drupal, schema {VERSION}"))
    }

    fn builder(
        &self,
        software: &Software,
        service: SupervisedService,
    ) -> Result<SupervisedService, StackError> {
        Ok(drupal::installer(&self.tree()?, software, service))
    }

    fn service(
        &self,
        software: &Software,
        tuned: &Tuned,
        server: WebServer,
    ) -> Result<SupervisedService, StackError> {
        Ok(drupal::service(&self.tree()?, software, tuned, server))
    }

    fn create(
        &self,
        filling: &Filling<'_>,
        guest: &dyn Guest,
        database: &mut Database,
    ) -> Result<SiteTables, StackError> {
        database.execute_script(drupal::CREATE)?;
        filling.context.building("site", "running its installer");
        let end = guest.run(&GuestCommand {
            words: drupal::install_command(filling.software),
            variables: CommandVariables(vec![("PHP_INI_SCAN_DIR".to_owned(), String::new())]),
            limit: INSTALL_LIMIT,
        })?;
        if let Some(failure) = end.failure {
            return Err(StackError::from(SiteError::Installer {
                failure,
                output: last_words(&end.output),
            }));
        }
        let (query, tables): (_, fn(String) -> SiteTables) = match self.generation {
            Generation::Seven => (drupal::PASS_7, drupal::tables_7),
            Generation::Ten => (drupal::PASS_10, drupal::tables_10),
        };
        let pass: Vec<(String,)> = database.query(query)?;
        let (pass,) = pass.into_iter().next().ok_or(SiteError::Installer {
            failure: "no administrator".to_owned(),
            output: last_words(&end.output),
        })?;
        Ok(tables(pass))
    }
}

/// The end of what was said.
fn last_words(said: &str) -> String {
    let said = said.trim();
    let more = said.chars().count().saturating_sub(MOST_WORDS);
    said.chars().skip(more).collect()
}
