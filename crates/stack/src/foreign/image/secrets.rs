//! The values of secrets: read when a guest is started or a command is run, and kept nowhere.

use std::{
    collections::BTreeMap,
    env, fs,
    io::{self, Read as _},
};

use rookery_study::SecretSource;

use crate::StackError;

/// Most bytes of a secret.
const LONGEST: u64 = 64 << 10;

/// Names and values.
///
/// # Errors
/// When a value is not where the study says, or is none. It is in no error.
pub(super) fn values(
    secrets: &BTreeMap<String, SecretSource>,
) -> Result<Vec<(String, String)>, StackError> {
    let read = secrets.iter().map(|(name, source)| {
        let value = match source {
            SecretSource::File(path) => of_file(path),
            SecretSource::Environment(variable) => of_environment(variable),
        };
        match value.and_then(good) {
            Ok(value) => Ok((name.clone(), value)),
            Err(error) => Err(StackError::Secret {
                name: name.clone(),
                place: match source {
                    SecretSource::File(path) => path.clone(),
                    SecretSource::Environment(variable) => format!("the variable {variable}"),
                },
                source: error,
            }),
        }
    });
    read.collect()
}

fn of_file(path: &str) -> io::Result<String> {
    let mut bytes = Vec::new();
    fs::File::open(path)?
        .take(LONGEST + 1)
        .read_to_end(&mut bytes)?;
    // What is no text is not quoted.
    let mut text = String::from_utf8(bytes).map_err(|_| io::Error::other("it is no text"))?;
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}

fn of_environment(variable: &str) -> io::Result<String> {
    env::var(variable).map_err(|error| {
        io::Error::other(match error {
            env::VarError::NotPresent => "it is not set",
            env::VarError::NotUnicode(_) => "it is no text",
        })
    })
}

fn good(value: String) -> io::Result<String> {
    if value.contains('\0') {
        return Err(io::Error::other("it has a character with the number zero"));
    }
    if value.len() as u64 > LONGEST {
        return Err(io::Error::other("it is longer than 64 KiB"));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: SecretSource) -> Result<String, String> {
        let secrets = BTreeMap::from([("A".to_owned(), source)]);
        match values(&secrets) {
            Ok(values) => Ok(values[0].1.clone()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn a_secret_is_read_where_it_is_and_is_in_no_error() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("secret");
        let file = || SecretSource::File(path.display().to_string());
        assert!(read(file()).expect_err("none").contains("`A`"));
        fs::write(&path, "hunter 2\n").expect("written");
        assert_eq!(read(file()).as_deref(), Ok("hunter 2"));
        fs::write(&path, "hunter2\0").expect("written");
        let error = read(file()).expect_err("none");
        assert!(
            error.contains("number zero") && !error.contains("hunter"),
            "{error}"
        );
        let unset = SecretSource::Environment("ROOKERY_NO_SUCH".to_owned());
        assert!(read(unset).expect_err("none").contains("not set"));
    }
}
