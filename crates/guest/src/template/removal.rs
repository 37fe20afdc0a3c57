//! Removing templates.

use std::{
    collections::BTreeSet,
    fs::{self, File, TryLockError},
    io,
    path::Path,
    time::{Duration, SystemTime},
};

use rookery_host::{Host, HostError, RealHost};

use super::{
    PART, TemplateInfo,
    catalogue::{is_digest, overlay_options, templates, user_of},
    delete_part, lock,
};
use crate::error::GuestError;

/// Shortest beginning of a digest that names a template.
const SHORTEST: usize = 4;

/// Which templates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateChoice {
    /// Those whose digests begin so, with at least 4 characters.
    Digests(Vec<String>),
    /// All.
    All,
    /// Those that were not used for so long.
    UnusedFor(Duration),
}

/// What a removal did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TemplateRemoval {
    /// Templates that are gone.
    pub removed: Vec<TemplateInfo>,
    /// Templates that were chosen and stay, with the reason.
    pub kept: Vec<(TemplateInfo, String)>,
}

/// Remove templates. One that is in use stays, and so does one on which others stand that stay,
/// unless `with_dependents` removes these as well. Waits for a template that is being built; what
/// dead builders left is deleted.
///
/// # Errors
/// When a digest names no template or several (nothing is removed then), or the disk fails.
pub fn remove_templates(
    directory: &Path,
    choice: &TemplateChoice,
    with_dependents: bool,
) -> Result<TemplateRemoval, GuestError> {
    remove_on(&RealHost, directory, choice, with_dependents)
}

fn remove_on(
    host: &dyn Host,
    directory: &Path,
    choice: &TemplateChoice,
    with_dependents: bool,
) -> Result<TemplateRemoval, GuestError> {
    if !directory.exists() {
        return chosen(&[], choice).map(|_| TemplateRemoval::default());
    }
    let _lock = lock(directory)?;
    delete_parts(host, directory)?;
    let all = templates(directory)?;
    let mut doomed = chosen(&all, choice)?;
    if with_dependents {
        add_dependents(&all, &mut doomed);
    }
    let mut removal = TemplateRemoval::default();
    for template in from_the_top(&all, &doomed) {
        let stands_on_it = |other: &&TemplateInfo| other.base.as_ref() == Some(&template.digest);
        let gone = |other: &TemplateInfo| {
            removal
                .removed
                .iter()
                .any(|removed| removed.digest == other.digest)
        };
        if let Some(dependent) = all.iter().filter(stands_on_it).find(|other| !gone(other)) {
            let reason = format!(
                "{} ({}) stands on it; --with-dependents removes both",
                short_digest(&dependent.digest),
                dependent.description
            );
            removal.kept.push((template.clone(), reason));
            continue;
        }
        match remove_one(host, directory, &template.digest)? {
            None => removal.removed.push(template.clone()),
            Some(reason) => removal.kept.push((template.clone(), reason)),
        }
    }
    Ok(removal)
}

/// The beginning of a digest that people are shown.
#[must_use]
pub fn short_digest(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

/// Digests of the chosen templates.
fn chosen(all: &[TemplateInfo], choice: &TemplateChoice) -> Result<BTreeSet<String>, GuestError> {
    let refused = |what: String, help: &str| GuestError::Template {
        what,
        help: help.to_owned(),
    };
    let prefixes = match choice {
        TemplateChoice::All => {
            return Ok(all.iter().map(|template| template.digest.clone()).collect());
        }
        TemplateChoice::UnusedFor(age) => {
            let now = SystemTime::now();
            let unused = |template: &&TemplateInfo| {
                now.duration_since(template.last_used)
                    .is_ok_and(|unused| unused >= *age)
            };
            return Ok(all
                .iter()
                .filter(unused)
                .map(|template| template.digest.clone())
                .collect());
        }
        TemplateChoice::Digests(prefixes) => prefixes,
    };
    let one = |prefix: &String| {
        let matching: Vec<&TemplateInfo> = all
            .iter()
            .filter(|template| template.digest.starts_with(prefix.as_str()))
            .collect();
        match matching[..] {
            _ if prefix.len() < SHORTEST => Err(refused(
                format!("`{prefix}` is too short to name a template"),
                "give at least 4 characters of its digest (`rookery template list`)",
            )),
            [] => Err(refused(
                format!("no template's digest begins with `{prefix}`"),
                "see `rookery template list`",
            )),
            [template] => Ok(template.digest.clone()),
            _ => Err(refused(
                format!(
                    "the digests of {} templates begin with `{prefix}`",
                    matching.len()
                ),
                "give more characters",
            )),
        }
    };
    prefixes.iter().map(one).collect()
}

/// Whatever stands on the doomed is doomed. A chain has no more links than there are templates.
fn add_dependents(all: &[TemplateInfo], doomed: &mut BTreeSet<String>) {
    for _ in all {
        let before = doomed.len();
        let dependents = all.iter().filter(|template| {
            template
                .base
                .as_ref()
                .is_some_and(|base| doomed.contains(base))
        });
        let dependents: Vec<String> = dependents.map(|template| template.digest.clone()).collect();
        doomed.extend(dependents);
        if doomed.len() == before {
            return;
        }
    }
}

/// The doomed, each before what it stands on.
fn from_the_top<'a>(all: &'a [TemplateInfo], doomed: &BTreeSet<String>) -> Vec<&'a TemplateInfo> {
    let depth = |template: &TemplateInfo| {
        let base = |digest: &Option<String>| {
            all.iter()
                .find(|other| Some(&other.digest) == digest.as_ref())
        };
        let mut below = base(&template.base);
        let mut depth = 0;
        while let Some(template) = below.filter(|_| depth < all.len()) {
            below = base(&template.base);
            depth += 1;
        }
        depth
    };
    let mut order: Vec<&TemplateInfo> = all
        .iter()
        .filter(|template| doomed.contains(&template.digest))
        .collect();
    order.sort_by_key(|template| std::cmp::Reverse(depth(template)));
    order
}

/// Remove one whole or not at all: its name is gone before its content. Gives the reason why it
/// stays.
fn remove_one(
    host: &dyn Host,
    directory: &Path,
    digest: &str,
) -> Result<Option<String>, GuestError> {
    let (whole, part) = (
        directory.join(digest),
        directory.join(format!("{digest}{PART}")),
    );
    let failed = |error: io::Error| {
        GuestError::in_template("removing a template", HostError::at(&whole, error))
    };
    // What used it when the list was made may have ended, and the other way round.
    let mounted = overlay_options().map_err(failed)?;
    if let Some(user) = user_of(&whole, digest, &mounted).map_err(failed)? {
        return Ok(Some(user));
    }
    let held = File::open(&whole).map_err(failed)?;
    match held.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(Some("a living run uses it".to_owned())),
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    host.step("template removal")
        .and_then(|()| fs::rename(&whole, &part))
        .map_err(failed)?;
    // Who waits for it looks for its name again, and builds it anew once we let go of the
    // directory's lock.
    drop(held);
    host.step("template deletion")
        .and_then(|()| delete_part(&part))
        .map_err(failed)?;
    Ok(None)
}

/// Delete what builders and removers that died left; no other is at work while we hold the lock.
fn delete_parts(host: &dyn Host, directory: &Path) -> Result<(), GuestError> {
    let failed = |error: io::Error| {
        GuestError::in_template(
            "deleting what a dead builder left",
            HostError::at(directory, error),
        )
    };
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let is_part = entry
            .file_name()
            .to_str()
            .and_then(|name| name.strip_suffix(PART))
            .is_some_and(is_digest);
        if is_part {
            host.step("template remains")
                .and_then(|()| delete_part(&entry.path()))
                .map_err(failed)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use rookery_host::FaultyHost;

    use super::*;
    use crate::{Fill, FillError, Recipe, Template, Versions, patient, template::build};

    struct Place {
        dir: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Self {
            let dir = tempfile::tempdir().expect("temporary directory");
            fs::write(dir.path().join("script"), "#!/bin/sh\n").expect("written");
            Self { dir }
        }

        fn templates(&self) -> PathBuf {
            self.dir.path().join("templates")
        }

        fn build(&self, description: &str, base: Option<&Template>, fill: Fill<'_>) -> Template {
            let recipe = Recipe {
                description: description.into(),
                program: self.dir.path().join("script"),
                base,
                fill,
            };
            build(&RealHost, &self.templates(), &recipe, &patient).expect("built")
        }

        fn base(&self) -> Template {
            let fill = |root: &Path| {
                fs::write(root.join("file"), "x")
                    .map(|()| Versions::from([("php".into(), "8.2".into())]))
                    .map_err(FillError::from)
            };
            self.build("a root", None, Fill::Root(&fill))
        }

        fn data(&self, base: Option<&Template>) -> Template {
            self.build("some data", base, Fill::Data(&|_| Ok(None)))
        }

        fn remove(&self, choice: &TemplateChoice, with_dependents: bool) -> TemplateRemoval {
            remove_templates(&self.templates(), choice, with_dependents).expect("removed")
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(self.templates())
                .into_iter()
                .flatten()
                .flatten();
            entries
                .filter_map(|entry| entry.file_name().into_string().ok())
                .collect()
        }
    }

    fn digests(of: &[&str]) -> TemplateChoice {
        TemplateChoice::Digests(
            of.iter()
                .map(|digest| short_digest(digest).to_owned())
                .collect(),
        )
    }

    #[test]
    fn what_was_built_is_listed() {
        let place = Place::new();
        assert_eq!(templates(&place.templates()).expect("none"), []);
        let base = place.base();
        let data = place.data(Some(&base));
        fs::create_dir(place.templates().join("a stranger's")).expect("made");
        fs::create_dir_all(place.templates().join("0".repeat(64)).join("root")).expect("made");
        let listed = templates(&place.templates()).expect("listed");
        let find = |digest: &str| {
            listed
                .iter()
                .find(|info| info.digest == digest)
                .expect("listed")
        };
        assert_eq!(listed.len(), 3);
        assert_eq!(
            (find(&base.digest).kind, &find(&base.digest).base),
            (Some(crate::LayerKind::Root), &None)
        );
        assert_eq!(find(&base.digest).versions["php"], "8.2");
        assert_eq!(find(&data.digest).base.as_ref(), Some(&base.digest));
        assert!(find(&data.digest).size_mib > 0.0 && find(&data.digest).built_at.ends_with('Z'));
        assert!(find(&data.digest).last_used_at() >= find(&base.digest).built_at);
        assert_eq!(
            find(&data.digest).used_by.as_deref(),
            Some("a living run uses it")
        );
        assert_eq!(find(&"0".repeat(64)).kind, None);
        drop((base, data));
        assert!(
            templates(&place.templates())
                .expect("listed")
                .iter()
                .all(|info| info.used_by.is_none())
        );
    }

    #[test]
    fn what_is_used_stays() {
        let place = Place::new();
        let data = place.data(Some(&place.base()));
        let removal = place.remove(&TemplateChoice::All, false);
        assert_eq!(
            (removal.removed.len(), removal.kept.len()),
            (0, 2),
            "the data layer holds its base"
        );
        let copy = data.clone();
        drop(data);
        assert_eq!(place.remove(&TemplateChoice::All, false).removed.len(), 0);
        drop(copy);
        assert_eq!(place.remove(&TemplateChoice::All, false).removed.len(), 2);
        assert!(place.names().is_empty());
    }

    #[test]
    fn a_base_goes_with_what_stands_on_it_or_not_at_all() {
        let place = Place::new();
        let base = place.base().digest;
        place.data(Some(&place.base()));
        let removal = place.remove(&digests(&[&base]), false);
        assert!(
            removal.removed.is_empty() && removal.kept[0].1.contains("--with-dependents"),
            "{removal:?}"
        );
        let removal = place.remove(&digests(&[&base]), true);
        assert_eq!(removal.removed.len(), 2);
        assert_eq!(removal.removed[1].digest, base, "the base goes last");
    }

    #[test]
    fn a_digest_must_name_one_template() {
        let place = Place::new();
        for description in 0..40 {
            place.build(
                &format!("data {description}"),
                None,
                Fill::Data(&|_| Ok(None)),
            );
        }
        let removed = |prefix: &str| {
            remove_templates(
                &place.templates(),
                &TemplateChoice::Digests(vec![prefix.into()]),
                false,
            )
        };
        for (bad, reason) in [
            ("abc", "too short"),
            ("zzzz", "no template's"),
            ("../..", "no template's"),
        ] {
            let error = removed(bad).expect_err("refused").to_string();
            assert!(error.contains(reason), "{error}");
        }
        assert_eq!(place.names().len(), 40);
        let one = place.names().remove(0);
        assert_eq!(removed(&one[..12]).expect("removed").removed.len(), 1);
        let error = remove_templates(&place.dir.path().join("none"), &digests(&["abcdef"]), false)
            .expect_err("refused");
        assert!(error.to_string().contains("no template's"), "{error}");
    }

    #[test]
    fn only_the_unused_are_chosen_by_age() {
        let place = Place::new();
        let old = place.data(None).digest;
        place.build("other data", None, Fill::Data(&|_| Ok(None)));
        let day = Duration::from_secs(86400);
        let used = File::options()
            .write(true)
            .open(place.templates().join(&old).join("used"))
            .expect("there");
        used.set_modified(SystemTime::now() - day * 10)
            .expect("set");
        assert_eq!(
            place.remove(&TemplateChoice::UnusedFor(day * 11), false),
            TemplateRemoval::default()
        );
        let removal = place.remove(&TemplateChoice::UnusedFor(day * 9), false);
        assert_eq!(
            removal
                .removed
                .iter()
                .map(|info| &info.digest)
                .collect::<Vec<_>>(),
            [&old]
        );
    }

    /// Whatever fails, a template is there whole or not at all, and the next removal takes what is
    /// left.
    #[test]
    fn a_fault_leaves_no_half() {
        for n in 1.. {
            let place = Place::new();
            let base = place.base();
            place.data(Some(&base));
            drop(base);
            fs::create_dir(place.templates().join(format!("{}{PART}", "1".repeat(64))))
                .expect("made");
            let host = FaultyHost::failing_at(n);
            let result = remove_on(&host, &place.templates(), &TemplateChoice::All, false);
            for info in templates(&place.templates()).expect("listed") {
                assert!(info.kind.is_some(), "fault {n}: {info:?} is whole");
            }
            if !host.has_failed() {
                assert_eq!(result.expect("no fault").removed.len(), 2);
                assert_eq!(n, 6, "remains, and two steps for each of two templates");
                break;
            }
            result.expect_err("fault");
            place.remove(&TemplateChoice::All, false);
            assert!(place.names().is_empty(), "fault {n}: {:?}", place.names());
        }
    }
}
