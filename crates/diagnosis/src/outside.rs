//! Text that somebody else wrote, such as a database server: made fit for a terminal, once, where
//! it comes in.

/// Longest text from outside that is kept, in characters.
pub const LONGEST_OUTSIDE_TEXT: usize = 1_000;

/// `text` in one line of at most [`LONGEST_OUTSIDE_TEXT`] characters, without anything that
/// commands a terminal: line breaks and tabs become blanks, other control characters and those that
/// turn the direction of writing become U+FFFD.
///
/// ```
/// use rookery_diagnosis::outside_text;
///
/// assert_eq!(outside_text("no\r\nroom \x1b[2J"), "no  room \u{fffd}[2J");
/// ```
#[must_use]
pub fn outside_text(text: &str) -> String {
    let mut characters = text.trim_end().chars();
    let mut kept: String = characters
        .by_ref()
        .take(LONGEST_OUTSIDE_TEXT)
        .map(|character| match character {
            '\n' | '\r' | '\t' => ' ',
            other if commands(other) => '\u{fffd}',
            other => other,
        })
        .collect();
    if characters.next().is_some() {
        kept.push_str("...");
    }
    kept
}

/// Whether a terminal takes `character` for a command: a control character, or one that turns the
/// direction of writing or ends a line.
#[must_use]
pub fn commands(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_commands_a_terminal() {
        let title = outside_text("\x1b]0;owned\x07 \u{9b}2J \u{202e}txt.exe\u{2069}\n");
        assert!(!title.chars().any(commands), "{title:?}");
        assert!(title.contains("owned") && title.contains("txt.exe"));
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let cut = outside_text(&"\u{e4}".repeat(60_000));
        assert_eq!(cut.chars().count(), LONGEST_OUTSIDE_TEXT + 3);
        let whole = "x".repeat(LONGEST_OUTSIDE_TEXT);
        assert_eq!(outside_text(&whole), whole);
    }
}
