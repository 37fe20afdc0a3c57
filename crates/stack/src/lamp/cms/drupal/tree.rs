//! What a user names as a site: a directory or an archive, which release it is, and whether it is
//! whole.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read},
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use rookery_image::{Limits, survey_archive};
use sha2::{Digest as _, Sha256};

use super::{Generation, SiteError};

/// The file that says the version, and what stands before it, of old and of new releases.
const OLD_VERSION: (&str, &str) = ("includes/bootstrap.inc", "define('VERSION', '");
const NEW_VERSION: (&str, &str) = ("core/lib/Drupal.php", "const VERSION = '");
/// What an old release must have, and what a new one.
const OLD_FILES: [&str; 3] = [
    "index.php",
    "includes/install.core.inc",
    "profiles/standard/standard.profile",
];
const NEW_FILES: [&str; 4] = [
    "index.php",
    "autoload.php",
    "core/includes/install.core.inc",
    "core/profiles/standard/standard.info.yml",
];
/// Where its libraries are; beside the document root or in it.
const VENDOR: &str = "vendor/autoload.php";
/// Directories that may hold the documents.
const DOCUMENT_ROOTS: [&str; 3] = ["", "web/", "docroot/"];
/// Most bytes of the file that says the version.
const MOST_TEXT: u64 = 1 << 20;
/// Most bytes and most files of a tree.
const MOST_BYTES: u64 = 2 << 30;
const MOST_FILES: u64 = 300_000;

/// A site that a user names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SiteTree {
    pub(crate) path: PathBuf,
    pub(crate) is_archive: bool,
    pub(crate) version: String,
    pub(crate) generation: Generation,
    /// The directory in the archive in which everything lies, with a slash; nothing of a directory.
    pub(crate) top: String,
    /// Where the documents lie below that, with a slash, or nothing.
    pub(crate) documents: &'static str,
    /// Of all that it holds.
    pub(crate) digest: String,
}

/// What is known of the files of a tree: the paths that matter, and the texts that say a version.
type Files = BTreeMap<String, String>;

impl SiteTree {
    /// Looks at the tree or the archive at a path; reads all of it.
    ///
    /// # Errors
    /// When it cannot be read, is no whole Drupal, or of a release that is not known.
    pub(crate) fn read(path: &Path) -> Result<Self, SiteError> {
        let read = |source| SiteError::Read {
            path: path.to_owned(),
            source,
        };
        let is_archive = !fs::metadata(path).map_err(read)?.is_dir();
        let (files, digest) = match is_archive {
            true => files_of_archive(path)?,
            false => (files_of_directory(path).map_err(read)?, tree_digest(path)?),
        };
        let found = recognised(&files).ok_or_else(|| SiteError::NotDrupal {
            path: path.to_owned(),
        })?;
        let tree = Self {
            generation: found.generation(path)?,
            path: path.to_owned(),
            is_archive,
            version: found.version.clone(),
            top: found.top.clone(),
            documents: found.documents,
            digest,
        };
        let missing = found.missing(&files);
        if missing.is_empty() {
            return Ok(tree);
        }
        Err(SiteError::Incomplete {
            path: tree.path,
            version: tree.version,
            missing,
        })
    }

    /// The same, of a release that has the pages that a study expects.
    ///
    /// # Errors
    /// As [`SiteTree::read`], and when it has others.
    pub(crate) fn of_generation(path: &Path, expected: Generation) -> Result<Self, SiteError> {
        let tree = Self::read(path)?;
        if tree.generation == expected {
            return Ok(tree);
        }
        Err(SiteError::Contract {
            path: tree.path,
            version: tree.version,
            contract: expected.contract().name(),
            right: tree.generation.contract().name(),
        })
    }
}

/// A place that says a version.
struct Found {
    version: String,
    top: String,
    documents: &'static str,
    is_old: bool,
}

impl Found {
    fn generation(&self, path: &Path) -> Result<Generation, SiteError> {
        let major = self.version.split('.').next().unwrap_or_default();
        let generation = major.parse().ok().and_then(Generation::of_major);
        generation.ok_or_else(|| SiteError::Version {
            path: path.to_owned(),
            version: self.version.clone(),
        })
    }

    /// What is not there of what it must have.
    fn missing(&self, files: &Files) -> Vec<String> {
        let Self { top, documents, .. } = self;
        let wanted: &[&str] = if self.is_old { &OLD_FILES } else { &NEW_FILES };
        let paths = wanted.iter().map(|file| format!("{documents}{file}"));
        let missing = paths.filter(|path| !files.contains_key(&format!("{top}{path}")));
        let mut missing: Vec<String> = missing.collect();
        let vendor = [
            format!("{top}{VENDOR}"),
            format!("{top}{documents}{VENDOR}"),
        ];
        if !self.is_old && !vendor.iter().any(|path| files.contains_key(path)) {
            missing.push(VENDOR.to_owned());
        }
        missing
    }
}

/// The version that a tree says, and where.
fn recognised(files: &Files) -> Option<Found> {
    let mut tops: Vec<&str> = vec![""];
    tops.extend(files.keys().filter_map(|path| first_directory(path)));
    for (file, before) in [NEW_VERSION, OLD_VERSION] {
        for top in &tops {
            for documents in DOCUMENT_ROOTS {
                let text = files.get(&format!("{top}{documents}{file}"));
                if let Some(version) = text.and_then(|text| version_in(text, before)) {
                    return Some(Found {
                        version,
                        top: (*top).to_owned(),
                        documents,
                        is_old: file == OLD_VERSION.0,
                    });
                }
            }
        }
    }
    None
}

/// The first directory of a path, with its slash.
fn first_directory(path: &str) -> Option<&str> {
    path.find('/').map(|at| &path[..=at])
}

/// The version behind these words: digits, dots and what marks a release.
fn version_in(text: &str, before: &str) -> Option<String> {
    let rest = &text[text.find(before)? + before.len()..];
    let version = &rest[..rest.find('\'')?];
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    (!version.is_empty() && version.len() <= 40 && version.chars().all(plain))
        .then(|| version.to_owned())
}

/// Whether a path, as it lies below any directory, is one that matters.
fn matters(path: &str) -> bool {
    let all = OLD_FILES.iter().chain(&NEW_FILES).chain([&VENDOR]);
    let all = all.chain([&OLD_VERSION.0, &NEW_VERSION.0]);
    let mut all = all.filter(|file| path.ends_with(*file));
    // A top directory, one of the documents, and no more.
    all.any(|file| path[..path.len() - file.len()].matches('/').count() <= 2)
}

fn says_a_version(path: &str) -> bool {
    [OLD_VERSION.0, NEW_VERSION.0]
        .iter()
        .any(|file| path.ends_with(file))
}

fn files_of_directory(root: &Path) -> io::Result<Files> {
    let mut files = Files::new();
    for documents in DOCUMENT_ROOTS {
        let names = OLD_FILES.iter().chain(&NEW_FILES).chain([&VENDOR]);
        for name in names.chain([&OLD_VERSION.0, &NEW_VERSION.0]) {
            let path = format!("{documents}{name}");
            let file = root.join(&path);
            if !file.is_file() {
                continue;
            }
            let mut text = String::new();
            if says_a_version(&path) {
                text = bounded_text(&mut File::open(&file)?)?;
            }
            files.insert(path, text);
        }
    }
    Ok(files)
}

fn files_of_archive(archive: &Path) -> Result<(Files, String), SiteError> {
    let limits = Limits {
        unpacked_bytes: MOST_BYTES,
        entries: MOST_FILES,
        ..Limits::default()
    };
    let mut files = Files::new();
    let never = AtomicBool::new(false);
    let digest = survey_archive(archive, &limits, &never, &mut |path, content| {
        let Some(path) = std::str::from_utf8(path).ok().filter(|path| matters(path)) else {
            return Ok(());
        };
        let text = match says_a_version(path) {
            true => bounded_text(content)?,
            false => String::new(),
        };
        files.insert(path.to_owned(), text);
        Ok(())
    })?;
    Ok((files, digest.to_string()))
}

fn bounded_text(content: &mut dyn Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    content.take(MOST_TEXT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The digest of names, kinds and contents of a tree, in the order of the names.
fn tree_digest(root: &Path) -> Result<String, SiteError> {
    let mut left = Left {
        root,
        digest: Sha256::new(),
        bytes: MOST_BYTES,
        files: MOST_FILES,
    };
    left.add(root)?;
    let digest = left.digest.finalize();
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A tree that is being digested, and how much of it there may still be.
struct Left<'r> {
    root: &'r Path,
    digest: Sha256,
    bytes: u64,
    files: u64,
}

impl Left<'_> {
    fn add(&mut self, directory: &Path) -> Result<(), SiteError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| SiteError::Read { path, source }
        };
        let mut entries: Vec<fs::DirEntry> = fs::read_dir(directory)
            .and_then(|entries| entries.collect())
            .map_err(failed(directory))?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            self.take(1, 0)?;
            let inside = path.strip_prefix(self.root).unwrap_or(&path);
            self.digest.update(inside.as_os_str().as_bytes());
            let kind = entry.file_type().map_err(failed(&path))?;
            if kind.is_dir() {
                self.digest.update(b"\0/");
                self.add(&path)?;
            } else if kind.is_symlink() {
                let target = fs::read_link(&path).map_err(failed(&path))?;
                self.digest.update(b"\0>");
                self.digest.update(target.as_os_str().as_bytes());
                self.digest.update(b"\0");
            } else if kind.is_file() {
                let mut file = File::open(&path).map_err(failed(&path))?;
                let length = file.metadata().map_err(failed(&path))?.len();
                self.take(0, length)?;
                self.digest.update(b"\0=");
                self.digest.update(length.to_le_bytes());
                self.add_content(&mut file).map_err(failed(&path))?;
            }
        }
        Ok(())
    }

    fn add_content(&mut self, file: &mut File) -> io::Result<()> {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(()),
                read => self.digest.update(&buffer[..read]),
            }
        }
    }

    fn take(&mut self, files: u64, bytes: u64) -> Result<(), SiteError> {
        let large = |most: String| SiteError::Large {
            path: self.root.to_owned(),
            most,
        };
        let left = self.files.checked_sub(files);
        self.files = left.ok_or_else(|| large(format!("{MOST_FILES} files")))?;
        let left = self.bytes.checked_sub(bytes);
        self.bytes = left.ok_or_else(|| large(format!("{} GiB", MOST_BYTES >> 30)))?;
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use rookery_diagnosis::Diagnosis as _;

    use super::*;

    /// A small tree that has what a release must have.
    pub(in crate::lamp::cms::drupal) fn make(root: &Path, documents: &str, version: &str) {
        let is_old = version.starts_with(['6', '7']);
        let (file, before) = if is_old { OLD_VERSION } else { NEW_VERSION };
        let mut files = vec![(file, format!("<?php\n{before}{version}');\n"))];
        let others: &[&str] = if is_old { &OLD_FILES } else { &NEW_FILES };
        files.extend(others.iter().map(|file| (*file, "<?php\n".to_owned())));
        for (file, text) in files {
            put(&root.join(documents).join(file), &text);
        }
        if !is_old {
            put(&root.join(VENDOR), "<?php\n");
        }
    }

    fn put(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn read(documents: &str, version: &str) -> Result<SiteTree, SiteError> {
        let place = tempfile::tempdir().expect("a directory");
        make(place.path(), documents, version);
        SiteTree::read(place.path())
    }

    #[test]
    fn releases_are_told_by_what_they_say_wherever_their_documents_are() {
        for (documents, version, generation) in [
            ("", "7.105", Generation::Seven),
            ("web/", "10.3.1", Generation::Ten),
            ("docroot/", "11.2.0-dev", Generation::Ten),
        ] {
            let tree = read(documents, version).expect(version);
            assert_eq!(
                (tree.documents, tree.version.as_str(), tree.generation),
                (documents, version, generation)
            );
        }
        let old = read("", "6.38").expect_err("too old");
        assert_eq!(old.code(), "site::version");
        assert!(old.to_string().contains("6.38"), "{old}");
        assert_eq!(read("", "9.5.11").expect_err("old").code(), "site::version");
    }

    #[test]
    fn what_is_no_whole_tree_is_refused_with_what_is_missing() {
        let place = tempfile::tempdir().expect("a directory");
        let refused = SiteTree::read(place.path()).expect_err("empty");
        assert_eq!(refused.code(), "site::not-drupal");
        let refused = SiteTree::read(&place.path().join("none")).expect_err("nothing");
        assert_eq!(refused.code(), "site::read");
        make(place.path(), "web", "10.3.1");
        fs::remove_dir_all(place.path().join("vendor")).expect("removed");
        let refused = SiteTree::read(place.path()).expect_err("no libraries");
        assert_eq!(refused.code(), "site::incomplete");
        assert!(refused.to_string().contains(VENDOR), "{refused}");
        assert!(
            refused
                .help()
                .is_some_and(|help| help.contains("composer install"))
        );
    }

    #[test]
    fn pages_of_another_release_are_refused_with_the_right_ones() {
        let place = tempfile::tempdir().expect("a directory");
        make(place.path(), "", "7.105");
        let refused = SiteTree::of_generation(place.path(), Generation::Ten).expect_err("other");
        assert_eq!(
            refused.to_string(),
            "this is Drupal 7.105, but `contract` is \"drupal10\""
        );
        assert!(
            refused
                .help()
                .is_some_and(|help| help.contains("\"drupal7\""))
        );
        assert!(SiteTree::of_generation(place.path(), Generation::Seven).is_ok());
    }

    #[test]
    fn every_byte_and_name_is_in_the_digest() {
        let place = tempfile::tempdir().expect("a directory");
        make(place.path(), "", "7.105");
        let digest = || SiteTree::read(place.path()).expect("read").digest;
        let first = digest();
        assert_eq!(first, digest());
        put(&place.path().join("modules/a.inc"), "1");
        let second = digest();
        put(&place.path().join("modules/a.inc"), "2");
        let third = digest();
        fs::rename(
            place.path().join("modules/a.inc"),
            place.path().join("modules/b.inc"),
        )
        .expect("renamed");
        let all = [first, second, third, digest()];
        let different: std::collections::BTreeSet<&String> = all.iter().collect();
        assert_eq!(different.len(), 4);
    }

    #[test]
    fn an_archive_is_read_through_its_top_directory() {
        let place = tempfile::tempdir().expect("a directory");
        let (tree, archive) = (
            place.path().join("drupal-7.105"),
            place.path().join("a.tar"),
        );
        make(&tree, "", "7.105");
        let made = rookery_host::bound_command("tar")
            .args(["--create", "--file"])
            .arg(&archive)
            .arg("--directory")
            .arg(place.path())
            .arg("drupal-7.105")
            .status();
        assert!(made.is_ok_and(|status| status.success()));
        let read = SiteTree::read(&archive).expect("read");
        assert_eq!(
            (read.top.as_str(), read.version.as_str()),
            ("drupal-7.105/", "7.105")
        );
        assert!(read.is_archive && !read.digest.is_empty());
        fs::write(&archive, "nothing").expect("written");
        assert!(matches!(
            SiteTree::read(&archive),
            Err(SiteError::Archive(_))
        ));
    }
}
