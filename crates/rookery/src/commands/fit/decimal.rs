//! Numbers as people write them: decimal comma or point, thousands in groups.

use crate::line_error::LineError;

/// What parts whole numbers from fractions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// 1234.5
    Point,
    /// 1234,5
    Comma,
}

impl Mark {
    fn decimal(self) -> char {
        match self {
            Self::Point => '.',
            Self::Comma => ',',
        }
    }

    /// What may group thousands then.
    fn group(self) -> char {
        match self {
            Self::Point => ',',
            Self::Comma => '.',
        }
    }
}

/// The number in a cell; `None` where it is none.
pub(super) fn number(cell: &str, mark: Mark) -> Option<f64> {
    // Blanks of any kind, apostrophes and underscores group thousands and nothing else.
    let blank = |c: char| c.is_whitespace() || c == '\'' || c == '\u{2019}' || c == '_';
    let (mantissa, rest) = cell.split_at(cell.find(['e', 'E']).unwrap_or(cell.len()));
    let (whole, fraction) = mantissa
        .split_once(mark.decimal())
        .map_or((mantissa, None), |(w, f)| (w, Some(f)));
    let groups: Vec<&str> = whole.split(|c| blank(c) || c == mark.group()).collect();
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    if groups.len() > 1 {
        let first = groups[0].trim_start_matches(['-', '+']);
        let grouped = (1..=3).contains(&first.len())
            && digits(first)
            && groups[1..]
                .iter()
                .all(|group| group.len() == 3 && digits(group));
        if !grouped {
            return None;
        }
    }
    let fraction = fraction.map_or_else(String::new, |fraction| format!(".{fraction}"));
    format!("{}{fraction}{rest}", groups.concat()).parse().ok()
}

/// The decimal mark that all cells agree with. `quoted` = commas part the columns, so that those in
/// a cell are likelier groups of thousands.
///
/// Cells come with their lines.
pub(super) fn tell<'a>(
    cells: impl Iterator<Item = (usize, &'a str)>,
    quoted: bool,
) -> Result<Mark, LineError> {
    let mut told: Option<(Mark, usize, &str)> = None;
    let mut unclear = None;
    for (line, cell) in cells {
        let Some(mark) = evidence(cell) else {
            if cell.contains(',') && unclear.is_none() {
                unclear = Some((line, cell));
            }
            continue;
        };
        match told {
            Some((known, before, other)) if known != mark => {
                let what = format!(
                    "`{}` has another decimal mark than `{}` in line {before}",
                    short(cell),
                    short(other)
                );
                let help = "write all numbers like 1234.5";
                return Err(LineError::new(line, what, help));
            }
            _ => told = Some((mark, line, cell)),
        }
    }
    match (told, unclear) {
        (Some((mark, ..)), _) => Ok(mark),
        (None, Some((line, cell))) if !quoted => Err(LineError::new(
            line,
            format!(
                "`{}` may be {} or {}",
                short(cell),
                short(cell).replace(',', ""),
                short(cell).replace(',', ".")
            ),
            "add --decimal comma or --decimal point, or write numbers like 1234.5",
        )),
        _ => Ok(Mark::Point),
    }
}

fn short(cell: &str) -> String {
    cell.chars().filter(|c| !c.is_control()).take(40).collect()
}

/// Which mark a cell can only have.
fn evidence(cell: &str) -> Option<Mark> {
    let (points, commas) = (cell.matches('.').count(), cell.matches(',').count());
    match (points, commas) {
        (0, 0) => None,
        (0, 1) => no_group(cell, ',').then_some(Mark::Comma),
        (1, 0) => no_group(cell, '.').then_some(Mark::Point),
        (0, _) => Some(Mark::Point),
        (_, 0) => Some(Mark::Comma),
        _ if cell.rfind('.') > cell.rfind(',') => Some(Mark::Point),
        _ => Some(Mark::Comma),
    }
}

/// Whether a mark cannot part a group of thousands: other than three digits follow, or other than
/// one to three, the first not 0, come before.
fn no_group(cell: &str, mark: char) -> bool {
    let (before, after) = cell.split_once(mark).unwrap_or((cell, ""));
    let before = before.trim_start_matches(['-', '+']);
    after.len() != 3 || !(1..=3).contains(&before.len()) || before.starts_with('0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_many_hands() {
        let cases = [
            ("1234.5", Mark::Point, Some(1234.5)),
            ("1,234.5", Mark::Point, Some(1234.5)),
            ("1 234 567", Mark::Point, Some(1_234_567.0)),
            ("1'234.5", Mark::Point, Some(1234.5)),
            ("1\u{a0}234,5", Mark::Comma, Some(1234.5)),
            ("1.234.567,5", Mark::Comma, Some(1_234_567.5)),
            ("-12,5", Mark::Comma, Some(-12.5)),
            ("1.5e3", Mark::Point, Some(1500.0)),
            ("inf", Mark::Point, Some(f64::INFINITY)),
            ("12,34", Mark::Point, None),
            ("1,2,3", Mark::Point, None),
            ("1.2", Mark::Comma, None),
            ("12 req/s", Mark::Point, None),
            ("", Mark::Point, None),
        ];
        for (cell, mark, expected) in cases {
            assert_eq!(number(cell, mark), expected, "{cell} {mark:?}");
        }
    }

    #[test]
    fn one_clear_cell_decides_for_all() {
        let tell = |cells: &[&str], quoted| tell(cells.iter().map(|cell| (2, *cell)), quoted);
        assert_eq!(tell(&["1", "1,012", "19,8"], false), Ok(Mark::Comma));
        assert_eq!(tell(&["1,012", "1,012.5"], false), Ok(Mark::Point));
        assert_eq!(tell(&["0,125"], false), Ok(Mark::Comma));
        assert_eq!(tell(&["1,012,000"], false), Ok(Mark::Point));
        assert_eq!(
            tell(&["1.012"], false),
            Ok(Mark::Point),
            "a point alone is a point"
        );
        assert_eq!(tell(&["1,012", "5"], true), Ok(Mark::Point));
        assert!(
            tell(&["1,012", "5"], false).is_err_and(|error| error.help.contains("--decimal comma"))
        );
        assert!(
            tell(&["1,5", "2.5"], false)
                .is_err_and(|error| error.what.contains("another decimal mark"))
        );
    }
}
