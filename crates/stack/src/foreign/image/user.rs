//! As whom the services of a container image run.

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use rookery_diagnosis::outside_text;
use rookery_guest::GuestUser;

use super::links::resolved;
use crate::{StackError, service::GUEST};

/// Most bytes that are read of a list of users or groups.
const MOST_BYTES: u64 = 1 << 20;
/// Numbers beyond are no users.
const LARGEST: u32 = 0x7fff_ffff;

/// The user of an image as it says it: nothing, `name`, `number`, each with or without `:group`.
/// Names are those of the image's own lists. Nothing in a guest is root: for root and for nothing
/// that is the user of all other guests.
///
/// # Errors
/// When the image has no such user or group.
pub(super) fn of_image(said: &str, root: &Path) -> Result<GuestUser, StackError> {
    let said = said.trim();
    if said.is_empty() {
        return Ok(GUEST);
    }
    let (name, group) = match said.split_once(':') {
        Some((name, group)) => (name, Some(group)),
        None => (said, None),
    };
    let users = list(root, "etc/passwd")?;
    let entry = |column: usize, text: &str| {
        let mut lines = users
            .lines()
            .map(|line| line.split(':').collect::<Vec<_>>());
        lines.find(|entry| entry.get(column) == Some(&text))
    };
    let number_in = |entry: &[&str], column: usize| entry.get(column).and_then(|text| number(text));
    let (user, own_group) = match number(name) {
        // A number needs no entry; then its group is root's, as everywhere else.
        Some(user) => {
            let entry = entry(2, &user.to_string());
            let group = entry.and_then(|entry| number_in(&entry, 3));
            (user, group.unwrap_or(0))
        }
        None => {
            let found = entry(0, name)
                .and_then(|entry| Some((number_in(&entry, 2)?, number_in(&entry, 3)?)));
            found.ok_or_else(|| unknown("user", name))?
        }
    };
    let group = match group {
        None | Some("") => own_group,
        Some(text) => match number(text) {
            Some(group) => group,
            None => group_named(text, root)?,
        },
    };
    Ok(match user {
        0 => GUEST,
        user => GuestUser { user, group },
    })
}

fn group_named(name: &str, root: &Path) -> Result<u32, StackError> {
    let groups = list(root, "etc/group")?;
    let mut entries = groups
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>());
    let entry = entries.find(|entry| entry.first() == Some(&name));
    let group = entry.and_then(|entry| number(entry.get(2)?));
    group.ok_or_else(|| unknown("group", name))
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number <= LARGEST)
}

/// A list of the image; empty where it has none.
fn list(root: &Path, path: &str) -> Result<String, StackError> {
    let failed = |source| StackError::Io {
        what: format!("reading /{path} of the image"),
        source,
    };
    // Links mean what they mean in the image.
    let place = root.join(resolved(root, Path::new(path)).map_err(failed)?);
    match place.symlink_metadata() {
        Ok(data) if data.is_file() => {}
        Ok(_) => return Err(failed(io::Error::other("it is no file"))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(failed(error)),
    }
    let mut bytes = Vec::new();
    File::open(place)
        .and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes))
        .map_err(failed)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn unknown(what: &'static str, name: &str) -> StackError {
    StackError::NotMade {
        what: "guests of the image",
        reason: format!(
            "it runs as the {what} `{}`, which its /etc/{} does not have",
            outside_text(name),
            if what == "user" { "passwd" } else { "group" }
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    fn root() -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a directory");
        let etc = root.path().join("usr/etc");
        fs::create_dir_all(&etc).expect("made");
        let users = "root:x:0:0::/root:/bin/sh\nnode:x:1000:1001::/home/node:/bin/sh\nbad:x:y:z\n";
        fs::write(etc.join("passwd"), users).expect("written");
        fs::write(etc.join("group"), "root:x:0:\nstaff:x:50:\n").expect("written");
        symlink("/usr/etc", root.path().join("etc")).expect("linked");
        root
    }

    #[test]
    fn users_are_those_of_the_image() {
        let root = root();
        let of = |said: &str| of_image(said, root.path()).expect("known");
        let user = |user, group| GuestUser { user, group };
        assert_eq!(of("node"), user(1000, 1001));
        assert_eq!(of("node:staff"), user(1000, 50));
        assert_eq!(of("node:7"), user(1000, 7));
        assert_eq!(of("1000"), user(1000, 1001));
        assert_eq!(of("65532"), user(65532, 0));
        assert_eq!(of("65532:65532"), user(65532, 65532));
        for root_or_nothing in ["", " ", "root", "0", "0:0", "root:staff"] {
            assert_eq!(of(root_or_nothing), GUEST, "{root_or_nothing}");
        }
    }

    #[test]
    fn a_user_that_the_image_has_not_is_an_error() {
        let root = root();
        for said in ["nobody", "bad", "node:nobody", "-1", "4294967295", ":5"] {
            let error = of_image(said, root.path()).expect_err(said).to_string();
            assert!(error.contains("which its /etc/"), "{error}");
        }
    }

    #[test]
    fn a_list_outside_the_image_is_not_read() {
        let root = tempfile::tempdir().expect("a directory");
        fs::create_dir(root.path().join("etc")).expect("made");
        symlink("../../../../etc/passwd", root.path().join("etc/passwd")).expect("linked");
        // It leads to itself, in the image.
        assert!(of_image("www-data", root.path()).is_err());
    }
}
