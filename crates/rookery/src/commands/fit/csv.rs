//! Two columns of a delimited text file, with errors that name the line.

use rookery_model::fit::Observation;

/// A cell is no longer than this in an error.
const SHOWN: usize = 40;

/// Read the columns `n` and `x`. The separator is the comma, semicolon or tab that parts the first line into both; empty lines and lines that start with `#`
/// are skipped. Returns each row with its line number.
pub(super) fn read(text: &str, n: &str, x: &str) -> Result<Vec<(usize, Observation)>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let (at, heads) = lines
        .next()
        .ok_or("1: the file is empty\n  mend: a first line with the names of columns, then one line per run")?;
    let separator = [',', ';', '\t']
        .into_iter()
        .max_by_key(|separator| (split(heads, *separator).len(), *separator == ','))
        .unwrap_or(',');
    let heads = split(heads, separator);
    let place = |name: &str| {
        heads.iter().position(|head| head == name).ok_or_else(|| {
            format!(
                "{}: there is no column `{name}`\n  mend: the columns are {}",
                at + 1,
                shown(&heads.join(", "), 200)
            )
        })
    };
    let (n_place, x_place) = (place(n)?, place(x)?);
    let mut rows = Vec::new();
    for (index, line) in lines {
        let cells = split(line, separator);
        let value = |place: usize, name: &str| number(&cells, place, name).map_err(|reason| format!("{}: {reason}", index + 1));
        rows.push((
            index + 1,
            Observation {
                n: value(n_place, n)?,
                x: value(x_place, x)?,
            },
        ));
    }
    if rows.is_empty() {
        return Err(format!(
            "{}: there are no rows below the names of the columns\n  mend: one line per run",
            at + 1
        ));
    }
    Ok(rows)
}

fn number(cells: &[String], place: usize, name: &str) -> Result<f64, String> {
    let cell = cells
        .get(place)
        .ok_or_else(|| format!("there is no cell in column `{name}`\n  mend: give it a value, or remove the line"))?;
    let value: f64 = cell.parse().map_err(|_| {
        format!(
            "`{}` in column `{name}` is no number\n  mend: write it like 1234.5, without unit",
            shown(cell, SHOWN)
        )
    })?;
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(format!(
            "{} in column `{name}` is not above 0\n  mend: loads and throughputs are finite and above 0; remove the line if nothing was measured",
            shown(cell, SHOWN)
        ))
    }
}

/// The first characters of a text of unknown origin, without control characters.
fn shown(text: &str, most: usize) -> String {
    text.chars().filter(|c| !c.is_control()).take(most).collect()
}

/// Cells of one line; quoted cells may hold the separator, and doubled quotes.
fn split(line: &str, separator: char) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                push(&mut cells, '"');
            }
            '"' => quoted = !quoted,
            c if c == separator && !quoted => cells.push(String::new()),
            c => push(&mut cells, c),
        }
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

fn push(cells: &mut [String], c: char) {
    if let Some(cell) = cells.last_mut() {
        cell.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_quotes_comments_and_other_columns() {
        for text in [
            "users,note,\"rate, 1/s\"\n1,\"a,\"\"b\"\"\",10.5\n# no run\n\n2,,20\n",
            "users;note;rate, 1/s\r\n1;a;10.5\r\n2;;20\r\n",
            "\u{feff}users\tnote\trate, 1/s\n1\ta\t10.5\n2\t\t20",
        ] {
            let rows = read(text, "users", "rate, 1/s").expect("readable");
            let values: Vec<(f64, f64)> = rows.iter().map(|(_, row)| (row.n, row.x)).collect();
            assert_eq!(values, [(1.0, 10.5), (2.0, 20.0)], "{text:?}");
        }
    }

    #[test]
    fn errors_name_line_and_mend() {
        let cases = [
            ("", "1: the file is empty"),
            ("n,y\n1,2\n", "1: there is no column `x`"),
            ("n,x\n", "1: there are no rows"),
            ("n,x\n1,2\n3,many\n", "3: `many` in column `x` is no number"),
            ("n,x\n\n1\n", "3: there is no cell in column `x`"),
            ("n,x\n0,2\n", "2: 0 in column `n` is not above 0"),
            ("n,x\n1,inf\n", "2: inf in column `x` is not above 0"),
        ];
        for (text, expected) in cases {
            let error = read(text, "n", "x").expect_err(text);
            assert!(error.starts_with(expected) && error.contains("mend:"), "{error}");
        }
    }
}
