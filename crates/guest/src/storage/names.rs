//! Names of what a run has in a directory of volumes: they carry its label.

use std::path::{Path, PathBuf};

use rookery_host::RunId;

use crate::label::run_of_name;

/// Name of the directory of volumes below a run's directory of guests.
pub(super) const VOLUMES: &str = "volumes";
/// Extension of the file behind a volume.
pub(super) const IMAGE: &str = "img";
/// Extension of what tells of a device of the host that a volume lies on.
pub(super) const RECORD: &str = "device";

/// Directory of all volumes of a run.
pub(crate) fn volumes(dir: &Path) -> PathBuf {
    dir.join(VOLUMES)
}

/// The run whose volume has this file behind its device; `None` when it is no file of ours.
pub(super) fn run_of_image(file: &Path) -> Option<RunId> {
    run_of_file(file, IMAGE)
}

/// The run of a file with this extension in a directory of volumes.
pub(super) fn run_of_file(file: &Path, extension: &str) -> Option<RunId> {
    let ours = file.extension().is_some_and(|found| found == extension)
        && file.parent()?.ends_with(VOLUMES);
    let stem = file.file_stem()?.to_str().filter(|_| ours)?;
    // `rookery-<run>-<volume>`
    stem.strip_prefix("rookery-")?
        .contains('-')
        .then(|| run_of_name(stem))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_ours_tell_a_run() {
        let run = |path: &str| run_of_image(Path::new(path)).map(String::from);
        assert_eq!(
            run("/runs/a/guests/volumes/rookery-ab12-g1.img").as_deref(),
            Some("ab12")
        );
        for other in [
            "/runs/volumes/rookery-ab12.img",
            "/runs/volumes/rookery-ab12-g1.iso",
            "/home/rookery-ab12-g1.img",
            "/runs/volumes/my-rookery-ab12-g1.img",
            "/runs/volumes/rookery-UPPER-g1.img",
        ] {
            assert_eq!(run(other), None, "{other}");
        }
    }
}
