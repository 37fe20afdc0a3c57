//! Columns of a delimited text file, as people and their programs write them, with errors that name
//! the line.

use rookery_model::fit::Observation;

use super::decimal::{Mark, number};
use crate::line_error::LineError;

/// A cell is no longer than this in an error.
const SHOWN: usize = 40;
/// What stands in the column of reasons where a run counts.
const COUNTS: [&str; 9] = ["", "0", "false", "no", "ok", "done", "valid", "pass", "-"];

/// The columns to read; a number is the place of a column, from 1.
pub(super) struct Columns<'a> {
    /// The load.
    pub(super) n: &'a str,
    /// The throughput.
    pub(super) x: &'a str,
    /// Why a run does not count.
    pub(super) exclude: Option<&'a str>,
    /// The decimal mark; `None` = to be told from the numbers.
    pub(super) decimal: Option<Mark>,
}

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// Its line, from 1.
    pub(super) line: usize,
    pub(super) run: Observation,
    /// Why it does not count, if so.
    pub(super) excluded: Option<String>,
}

/// What a file tells.
#[derive(Debug)]
pub(super) struct Table {
    /// The load's name.
    pub(super) n: String,
    /// The throughput's name.
    pub(super) x: String,
    pub(super) rows: Vec<Row>,
}

/// Where the columns lie.
struct Places {
    n: usize,
    x: usize,
    exclude: Option<usize>,
}

/// Read the runs. Separator is the comma, semicolon, tab, bar or white space that parts the first
/// line into the columns; empty lines and lines that start with `#` are skipped, but a line of
/// names may start with `#`.
pub(super) fn read(text: &str, columns: &Columns) -> Result<Table, LineError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (comments, lines): (Vec<_>, Vec<_>) = records(text)?
        .into_iter()
        .partition(|(_, line)| line.starts_with('#'));
    let &(at, first) = lines.first().ok_or_else(|| {
        let help = "write a first line with the names of columns, then one line per run";
        LineError::new(1, "the file is empty", help)
    })?;
    let named = comments
        .iter()
        .filter(|(line, _)| *line < at)
        .map(|(_, line)| line.trim_start_matches('#'));
    let heads: Vec<&str> = std::iter::once(first).chain(named).collect();
    let (head, separator, places) = heads
        .iter()
        .enumerate()
        .find_map(|(index, head)| {
            SEPARATORS
                .iter()
                .find_map(|s| Some((index, *s, places(head, *s, columns)?)))
        })
        .ok_or_else(|| missing(at, first, columns))?;
    // The first line holds names, unless these stood in a comment, or columns are numbered and it
    // holds numbers already.
    let cells = split(first, separator);
    let numbers = |place: usize| {
        cells.get(place).is_some_and(|cell| {
            number(cell, Mark::Point)
                .or(number(cell, Mark::Comma))
                .is_some()
        })
    };
    let nameless = numbers(places.n) && numbers(places.x);
    let skip = usize::from(head == 0 && !nameless);
    let rows: Vec<(usize, Vec<String>)> = lines[skip..]
        .iter()
        .map(|(line, record)| (*line, split(record, separator)))
        .filter(|(_, cells)| cells.iter().any(|cell| !cell.is_empty()))
        .collect();
    if rows.is_empty() {
        let what = "there are no rows below the names of the columns";
        return Err(LineError::new(at, what, "write one line per run"));
    }
    let pairs = rows.iter().flat_map(|(line, cells)| {
        [places.n, places.x].map(|place| (*line, cells.get(place).map_or("", String::as_str)))
    });
    let mark = match columns.decimal {
        Some(mark) => mark,
        None => super::decimal::tell(pairs, separator == ',')?,
    };
    let named = |place: usize| {
        let name = split(heads[head], separator)
            .get(place)
            .filter(|name| !name.is_empty())
            .cloned();
        name.filter(|_| head > 0 || !nameless)
            .unwrap_or_else(|| format!("column {}", place + 1))
    };
    let rows: Result<Vec<Row>, LineError> = rows
        .iter()
        .map(|(line, cells)| row(*line, cells, &places, columns, mark))
        .collect();
    Ok(Table {
        n: named(places.n),
        x: named(places.x),
        rows: rows?,
    })
}

fn row(
    line: usize,
    cells: &[String],
    places: &Places,
    columns: &Columns,
    mark: Mark,
) -> Result<Row, LineError> {
    let value = |place: usize, name: &str| {
        value(cells, place, name, mark).map_err(|(what, help)| LineError::new(line, what, help))
    };
    let reason = places
        .exclude
        .and_then(|place| cells.get(place))
        .map(|cell| shown(cell, SHOWN));
    let excluded = reason.filter(|cell| !COUNTS.contains(&cell.to_lowercase().as_str()));
    Ok(Row {
        line,
        run: Observation {
            n: value(places.n, columns.n)?,
            x: value(places.x, columns.x)?,
        },
        excluded,
    })
}

/// The number in a cell, or what is wrong with it and the help.
fn value(
    cells: &[String],
    place: usize,
    name: &str,
    mark: Mark,
) -> Result<f64, (String, &'static str)> {
    let cell = cells
        .get(place)
        .filter(|cell| !cell.is_empty())
        .ok_or_else(|| {
            let what = format!("there is no cell in column `{name}`");
            (what, "give it a value, or remove the line")
        })?;
    let shown = shown(cell, SHOWN);
    let value = number(cell, mark).ok_or_else(|| {
        let what = format!("`{shown}` in column `{name}` is no number");
        (
            what,
            "write it like 1234.5, without unit, or remove the line",
        )
    })?;
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err((
            format!("{shown} in column `{name}` is not above 0"),
            "loads and throughputs are finite and above 0; remove the line if nothing was measured",
        ))
    }
}

/// Separators, likeliest first; a blank stands for white space of any length.
const SEPARATORS: [char; 5] = [',', ';', '\t', '|', ' '];

/// The places of all columns, if this separator parts the line of names into them.
fn places(head: &str, separator: char, columns: &Columns) -> Option<Places> {
    let heads = split(head, separator);
    Some(Places {
        n: place(&heads, columns.n)?,
        x: place(&heads, columns.x)?,
        exclude: match columns.exclude {
            Some(name) => Some(place(&heads, name)?),
            None => None,
        },
    })
}

/// By its number, by its name, or by its name in other letters where that is the only such one.
fn place(heads: &[String], name: &str) -> Option<usize> {
    let name = name.trim();
    let number = name
        .parse::<usize>()
        .ok()
        .filter(|number| (1..=heads.len()).contains(number));
    let alike: Vec<usize> = (0..heads.len())
        .filter(|i| heads[*i].eq_ignore_ascii_case(name))
        .collect();
    let exact = || heads.iter().position(|head| head == name);
    number
        .map(|number| number - 1)
        .or_else(exact)
        .or((alike.len() == 1).then(|| alike[0]))
}

/// Which column is not there, by the separator that parts most.
fn missing(line: usize, head: &str, columns: &Columns) -> LineError {
    let heads = SEPARATORS
        .iter()
        .map(|s| split(head, *s))
        .rev()
        .max_by_key(Vec::len)
        .unwrap_or_default();
    let names = [Some(columns.n), Some(columns.x), columns.exclude];
    let name = names
        .into_iter()
        .flatten()
        .find(|name| place(&heads, name).is_none())
        .unwrap_or(columns.n);
    LineError::new(
        line,
        format!("there is no column `{}`", shown(name, SHOWN)),
        format!(
            "the columns are {}; a number counts them from 1",
            shown(&heads.join(", "), 200)
        ),
    )
}

/// The first characters of a text of unknown origin, without control characters.
fn shown(text: &str, most: usize) -> String {
    text.chars()
        .filter(|c| !c.is_control())
        .take(most)
        .collect()
}

/// Lines with their numbers, empty ones left out; a quoted cell may hold ends of lines.
fn records(text: &str) -> Result<Vec<(usize, &str)>, LineError> {
    let (mut records, mut start, mut line, mut first, mut quoted) = (Vec::new(), 0, 1, 1, false);
    for (place, c) in text.char_indices().chain([(text.len(), '\n')]) {
        match c {
            '"' => quoted = !quoted,
            '\n' | '\r' if !quoted || place == text.len() => {
                let record =
                    text[start..place].trim_matches(|c: char| c == ' ' || c == '\r' || c == '\n');
                if !record.trim().is_empty() {
                    records.push((first, record));
                }
                start = place + 1;
                // `\r\n` is one end, and so is a single `\r`.
                let pair = c == '\r' && text[place + 1..].starts_with('\n');
                line += usize::from(!pair);
                first = line;
            }
            '\n' => line += 1,
            _ => {}
        }
        start = start.min(text.len());
    }
    if quoted {
        let open = records.last().map_or(1, |(line, _)| *line);
        return Err(LineError::new(
            open,
            "a quote is opened and never closed",
            "close it, or double a quote that belongs to the text",
        ));
    }
    Ok(records)
}

/// Cells of one line; quoted cells may hold the separator, and doubled quotes.
fn split(line: &str, separator: char) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut characters = line
        .trim_matches(|c| separator == ' ' && c == ' ')
        .chars()
        .peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                push(&mut cells, '"');
            }
            '"' => quoted = !quoted,
            c if separator == ' ' && c.is_whitespace() && !quoted => {
                if cells.last().is_some_and(|cell| !cell.is_empty()) {
                    cells.push(String::new());
                }
            }
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
    use rookery_workload::random::{RandomSource as _, SplitMix64};

    use super::*;

    const COLUMNS: Columns = Columns {
        n: "users",
        x: "rate, 1/s",
        exclude: None,
        decimal: None,
    };

    fn values(text: &str, columns: &Columns) -> Vec<(f64, f64)> {
        let table = read(text, columns).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        table
            .rows
            .iter()
            .map(|row| (row.run.n, row.run.x))
            .collect()
    }

    #[test]
    fn separators_quotes_comments_and_other_columns() {
        for text in [
            "users,note,\"rate, 1/s\"\n1,\"a,\"\"b\"\"\",10.5\n# no run\n\n2,,20\n",
            "users;note;rate, 1/s\r\n1;a;10.5\r\n2;;20\r\n;;\r\n",
            "\u{feff}users\tnote\trate, 1/s\n1\ta\t10.5\n2\t\t20",
            "users|rate, 1/s\r1|10.5\r2|20",
            "Users;note;Rate, 1/s\n1;\"two\nlines\";10,5\n2;;20,0",
            "# a comment\n# users;rate, 1/s\n1;10.5\n2;20\n",
        ] {
            assert_eq!(
                values(text, &COLUMNS),
                [(1.0, 10.5), (2.0, 20.0)],
                "{text:?}"
            );
        }
    }

    #[test]
    fn white_space_parts_columns_that_may_be_numbered() {
        let plain = Columns {
            n: "N",
            x: "X",
            ..COLUMNS
        };
        assert_eq!(
            values("  N   X\n  1   10.5\n 2  20\n", &plain),
            [(1.0, 10.5), (2.0, 20.0)]
        );
        assert_eq!(
            values("# N X\n1 10.5\n2 20\n", &plain),
            [(1.0, 10.5), (2.0, 20.0)]
        );
        let numbered = Columns {
            n: "3",
            x: "1",
            ..COLUMNS
        };
        assert_eq!(
            values("10.5,a,1\n20,b,2\n", &numbered),
            [(1.0, 10.5), (2.0, 20.0)],
            "no names at all"
        );
        assert_eq!(
            values("rate,note,n\n10.5,a,1\n20,b,2\n", &numbered),
            [(1.0, 10.5), (2.0, 20.0)]
        );
        let names = |text| read(text, &numbered).map(|table| (table.n, table.x));
        assert_eq!(
            names("rate,note,n\n10.5,a,1\n"),
            Ok(("n".to_owned(), "rate".to_owned()))
        );
        assert_eq!(
            names("10.5,a,1\n"),
            Ok(("column 3".to_owned(), "column 1".to_owned()))
        );
    }

    #[test]
    fn reasons_leave_runs_out() {
        let columns = Columns {
            n: "n",
            x: "x",
            exclude: Some("void"),
            decimal: None,
        };
        let Table { rows, .. } =
            read("n,x,void\n1,10,\n2,20,driver bound\n4,30,No\n", &columns).expect("readable");
        let reasons: Vec<Option<&str>> = rows.iter().map(|row| row.excluded.as_deref()).collect();
        assert_eq!(reasons, [None, Some("driver bound"), None]);
    }

    #[test]
    fn errors_name_line_and_help() {
        let columns = Columns {
            n: "n",
            x: "x",
            ..COLUMNS
        };
        let cases = [
            ("", "1: the file is empty"),
            (
                "n,y\n1,2\n",
                "1: there is no column `x`: the columns are n, y",
            ),
            ("n,x\n", "1: there are no rows"),
            ("n,x\n1,2\n3,many\n", "3: `many` in column `x` is no number"),
            ("n,x\n1,2\n3,NA\n", "3: `NA` in column `x` is no number"),
            ("n,x\n\n1\n", "3: there is no cell in column `x`"),
            ("n,x\r\n\r\n1,\r\n", "3: there is no cell in column `x`"),
            (
                "n,note,x\n1,\"a\nb\",2\n2,,z\n",
                "4: `z` in column `x` is no number",
            ),
            ("n,x\n0,2\n", "2: 0 in column `n` is not above 0"),
            ("n,x\n1,inf\n", "2: inf in column `x` is not above 0"),
            (
                "n,x\n1,2\n\"2,3\n4,5\n",
                "3: a quote is opened and never closed",
            ),
            ("n;x\n1;1,012\n2;1,934\n", "2: `1,012` may be 1012 or 1.012"),
        ];
        for (text, expected) in cases {
            let error = read(text, &columns).expect_err(text);
            let said = format!("{}: {}: {}", error.line, error.what, error.help);
            assert!(
                said.starts_with(expected) && !error.help.is_empty(),
                "{said}"
            );
        }
    }

    /// 20 000 texts, made of the marks that decide something.
    #[test]
    fn no_text_makes_a_panic() {
        const MARKS: [&str; 16] = [
            "users",
            "rate",
            "why",
            ",",
            ";",
            "\t",
            "|",
            " ",
            "\"",
            "\n",
            "\r\n",
            "#",
            "1",
            ".5",
            "1e400",
            "\u{feff}\u{e4}",
        ];
        let mut random = SplitMix64::new(7);
        for _ in 0..20_000 {
            let length = random.index(40);
            let text: String = (0..length)
                .map(|_| MARKS[random.index(MARKS.len())])
                .collect();
            let columns = Columns {
                n: MARKS[random.index(2)],
                x: "rate",
                exclude: (random.below(2) == 0).then_some("why"),
                decimal: None,
            };
            if let Ok(table) = read(&format!("users,rate\n{text}"), &columns) {
                assert!(table.rows.iter().all(|row| row.line >= 1));
            }
        }
    }
}
