//! Tables of the documentation that follow from files of the project: written by
//! `cargo xtask docs`, compared by `cargo xtask tidy`.
//!
//! A table stands in a page between the lines `<!-- begin: PATH -->` and `<!-- end -->`, where
//! PATH is the tuning file that it shows, or names what the project itself says: [`CODES`],
//! [`EXPORTS`], [`METRICS`].

mod codes;

use std::{fmt::Write as _, fs, path::Path};

use serde::Deserialize;

/// Pages that contain such tables.
const PAGES: &[&str] = &[
    "docs/tunings.md",
    "docs/databases.md",
    "docs/exit-codes.md",
    "docs/exports.md",
];
/// What stands in place of a file for the codes of errors.
const CODES: &str = "error codes";
/// For the tables of exports.
const EXPORTS: &str = "tables of exports";
/// For the metrics of workloads.
const METRICS: &str = "metrics of workloads";
const BEGIN: &str = "<!-- begin: ";
const END: &str = "<!-- end -->";

/// A tuning file; the crate `stack` checks more of it when it reads it.
#[derive(Deserialize)]
struct Tuning {
    #[serde(default, rename = "setting")]
    settings: Vec<Setting>,
}

/// One setting, or, without a name, one of an earlier release that no longer exists.
#[derive(Deserialize)]
struct Setting {
    component: String,
    name: Option<String>,
    value: Option<String>,
    formula: Option<String>,
    server: Option<String>,
    former: Option<String>,
    reason: String,
}

/// Write every table anew.
///
/// # Errors
/// When a page or a tuning file cannot be read or written.
pub(crate) fn write() -> Result<(), String> {
    let root = crate::root::directory();
    for page in PAGES {
        let path = root.join(page);
        let (old, new) = rendered(&root, &path)?;
        if old != new {
            fs::write(&path, new).map_err(|error| format!("{page}: {error}"))?;
            println!("docs: {page} written");
        }
    }
    Ok(())
}

/// The pages whose tables do not show what the files say.
///
/// # Errors
/// When a page or a tuning file cannot be read.
pub(crate) fn stale(root: &Path) -> Result<Vec<String>, String> {
    let mut stale = Vec::new();
    for page in PAGES {
        let (old, new) = rendered(root, &root.join(page))?;
        if old != new {
            stale.push(format!(
                "{page}: its tables are out of date: run `cargo xtask docs`"
            ));
        }
    }
    Ok(stale)
}

/// A page as it is, and as it should be.
fn rendered(root: &Path, page: &Path) -> Result<(String, String), String> {
    let old = fs::read_to_string(page).map_err(|error| format!("{}: {error}", page.display()))?;
    let mut new = String::with_capacity(old.len());
    let mut inside = false;
    for line in old.lines() {
        if line == END {
            inside = false;
        }
        if !inside {
            new.push_str(line);
            new.push('\n');
        }
        if let Some(file) = line
            .strip_prefix(BEGIN)
            .and_then(|rest| rest.strip_suffix(" -->"))
        {
            inside = true;
            new.push_str(&table_of(root, page, file)?);
        }
    }
    if inside {
        return Err(format!("{}: a table has no line `{END}`", page.display()));
    }
    Ok((old, new))
}

/// The tables of a marker.
fn table_of(root: &Path, page: &Path, marker: &str) -> Result<String, String> {
    match marker {
        CODES => codes::table(root),
        EXPORTS => Ok(rookery_export::dictionary()),
        METRICS => Ok(rookery_export::metrics()),
        file => {
            let text = fs::read_to_string(root.join(file))
                .map_err(|error| format!("{file}, named in {}: {error}", page.display()))?;
            tables(&text).map_err(|error| format!("{file}: {error}"))
        }
    }
}

/// The settings of a tuning file as a table, and below it those that no longer exist.
fn tables(text: &str) -> Result<String, toml::de::Error> {
    let tuning: Tuning = toml::from_str(text)?;
    if tuning.settings.is_empty() {
        return Ok("\nIt sets nothing.\n\n".to_owned());
    }
    let mut out = String::new();
    let _ = writeln!(
        out,
        "\n| setting | value | for | formerly | reason |\n|---|---|---|---|---|"
    );
    let mut gone = Vec::new();
    for setting in &tuning.settings {
        let Some(name) = &setting.name else {
            gone.push(setting);
            continue;
        };
        let value = setting.value.as_ref().or(setting.formula.as_ref());
        let _ = writeln!(
            out,
            "| `{}.{name}` | {} | {} | {} | {} |",
            setting.component,
            value
                .map(|value| format!("`{}`", cell(value)))
                .unwrap_or_default(),
            setting.server.as_deref().unwrap_or_default(),
            setting
                .former
                .as_ref()
                .map(|former| format!("`{former}`"))
                .unwrap_or_default(),
            cell(&setting.reason),
        );
    }
    if !gone.is_empty() {
        let _ = writeln!(out, "\n| no longer exists | what became of it |\n|---|---|");
    }
    for setting in gone {
        let _ = writeln!(
            out,
            "| `{}`: `{}` | {} |",
            setting.component,
            cell(setting.former.as_deref().unwrap_or_default()),
            cell(&setting.reason),
        );
    }
    out.push('\n');
    Ok(out)
}

/// Text that does not end the cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_row_for_each_setting() {
        let text = "name = 'x'\n[[setting]]\ncomponent = 'php'\nname = 'a'\nvalue = 'b|c'\nreason = 'r'\n\
                    [[setting]]\ncomponent = 'php'\nformer = 'old = 1'\nreason = 'removed'\n";
        let tables = tables(text).expect("valid TOML");
        assert!(
            tables.contains("| `php.a` | `b\\|c` |  |  | r |"),
            "{tables}"
        );
        assert!(
            tables.contains("| `php`: `old = 1` | removed |"),
            "{tables}"
        );
    }

    #[test]
    fn a_page_keeps_what_stands_around_its_table() {
        let root = tempfile::tempdir().expect("a directory");
        fs::write(root.path().join("t.toml"), "setting = []\n").expect("written");
        let page = root.path().join("p.md");
        fs::write(&page, "a\n<!-- begin: t.toml -->\nold\n<!-- end -->\nz\n").expect("written");
        let (_, new) = rendered(root.path(), &page).expect("a page");
        assert!(
            new.starts_with("a\n<!-- begin: t.toml -->\n\nIt sets nothing."),
            "{new}"
        );
        assert!(
            new.ends_with("<!-- end -->\nz\n") && !new.contains("old"),
            "{new}"
        );
        fs::write(&page, "<!-- begin: t.toml -->\n").expect("written");
        assert!(rendered(root.path(), &page).is_err());
    }
}
