//! Columns of a table whose values are kept nowhere: a study has their place, and who drives reads
//! them there.

use thiserror::Error;

use super::{Feeder, SecretColumns, Source, csv};

/// What stands where a secret was.
pub const MASK: &str = "***";

/// A file that has not the table of a study. It says nothing of what the file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SecretMismatch {
    /// It is no table.
    #[error("it is no table of comma-separated values")]
    NoTable,
    /// It has other columns, other rows, or other values in columns that are not secret.
    #[error("beside its secret columns it is another table than the study was read with")]
    Other,
}

impl Feeder {
    /// Its secret columns, if it has any.
    #[must_use]
    pub fn secret(&self) -> Option<&SecretColumns> {
        match &self.source {
            Source::Table { secret, .. } => secret.as_ref(),
            _ => None,
        }
    }

    /// Takes the values of its secret columns out of its rows: only their places are left.
    pub fn conceal(&mut self) {
        if let Source::Table {
            columns,
            rows,
            secret: Some(secret),
        } = &mut self.source
        {
            for place in places(columns, secret) {
                rows.iter_mut().for_each(|row| row[place].clear());
            }
        }
    }

    /// Puts the values of its secret columns into its rows, out of the `text` of their file, and
    /// returns them.
    ///
    /// # Errors
    /// When the file has not this table.
    pub fn reveal(&mut self, text: &str) -> Result<Vec<String>, SecretMismatch> {
        let Source::Table {
            columns,
            rows,
            secret: Some(secret),
        } = &mut self.source
        else {
            return Ok(Vec::new());
        };
        let (found, whole) = csv::table(text).map_err(|_| SecretMismatch::NoTable)?;
        let places = places(columns, secret);
        let open = |row: &[String]| -> Vec<String> {
            let all = row.iter().enumerate();
            let open = all.filter(|(place, _)| !places.contains(place));
            open.map(|(_, value)| value.clone()).collect()
        };
        let same = found == *columns
            && whole.len() == rows.len()
            && whole.iter().zip(&*rows).all(|(a, b)| open(a) == open(b));
        if !same {
            return Err(SecretMismatch::Other);
        }
        let values = whole.iter().flat_map(|row| {
            let of = places.iter();
            of.map(|place| row[*place].clone())
        });
        let values = values.collect();
        *rows = whole;
        Ok(values)
    }
}

/// The places of secret columns.
fn places(columns: &[String], secret: &SecretColumns) -> Vec<usize> {
    let all = columns.iter().enumerate();
    all.filter(|(_, name)| secret.names.contains(name))
        .map(|(place, _)| place)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_driven::{Order, Per};

    const TEXT: &str = "name,password\nann,red\nbob,blue\n";

    fn concealed() -> Feeder {
        let (columns, rows) = csv::table(TEXT).expect("a table");
        let secret = SecretColumns {
            names: vec!["password".to_owned()],
            file: "/users.csv".to_owned(),
        };
        let mut feeder = Feeder {
            name: "users".to_owned(),
            source: Source::Table {
                columns,
                rows,
                secret: Some(secret),
            },
            order: Order::Random,
            per: Per::Operation,
        };
        feeder.conceal();
        feeder
    }

    #[test]
    fn a_table_is_kept_without_its_secrets_and_whole_again_from_its_file() {
        let mut feeder = concealed();
        let kept = serde_json::to_string(&feeder).expect("JSON");
        assert!(kept.contains("bob") && !kept.contains("blue"), "{kept}");
        assert_eq!(feeder.reveal(TEXT), Ok(vec!["red".into(), "blue".into()]));
        let kept = serde_json::to_string(&feeder).expect("JSON");
        assert!(kept.contains("blue"), "{kept}");
    }

    #[test]
    fn another_password_is_taken_and_another_table_is_not() {
        let mut feeder = concealed();
        let other = TEXT.replace("blue", "green");
        assert_eq!(
            feeder.reveal(&other),
            Ok(vec!["red".into(), "green".into()])
        );
        for (text, said) in [
            ("name,password\nann,\"red", SecretMismatch::NoTable),
            ("name,password\nann,red\n", SecretMismatch::Other),
            ("name,password\nann,red\neve,blue\n", SecretMismatch::Other),
            ("password,name\nann,red\nbob,blue\n", SecretMismatch::Other),
        ] {
            assert_eq!(concealed().reveal(text), Err(said), "{text}");
        }
    }
}
