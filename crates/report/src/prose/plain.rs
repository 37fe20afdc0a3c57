//! Text from outside as a page may hold it.

/// Text that stands in HTML, without characters that turn the direction of what follows or steer a
/// terminal.
pub(crate) fn plain(text: &str) -> String {
    harmless(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Such characters replaced by U+FFFD, which every reader sees.
pub(crate) fn harmless(text: &str) -> String {
    let shown = |c: char| if steers(c) { '\u{fffd}' } else { c };
    text.chars().map(shown).collect()
}

fn steers(c: char) -> bool {
    let layout = matches!(c, '\n' | '\t' | '\r');
    let direction = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}');
    (c.is_control() && !layout) || direction || c == '\u{feff}'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_turns_or_steers_is_replaced() {
        assert_eq!(
            plain("a\u{202e}b\u{1b}[31m<\u{2066}\n"),
            "a\u{fffd}b\u{fffd}[31m&lt;\u{fffd}\n"
        );
        assert_eq!(plain("µs — 5 ≤ 6"), "µs — 5 ≤ 6");
    }
}
