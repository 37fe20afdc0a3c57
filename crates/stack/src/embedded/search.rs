//! From what a shopper typed to a full-text query.

/// Words of a search text that count; later ones are ignored, so that no text makes a query of
/// unbounded cost.
pub(crate) const MAX_WORDS: usize = 16;

/// Shortest word that can match, in bytes, as `ft_min_word_len=3` of the kit's configuration.
const MIN_WORD: usize = 3;

/// The FTS5 query that matches any word of `text`; `None` when no word can match.
///
/// Words are quoted, so that nothing in them is query syntax. They are split where the `ascii`
/// tokenizer splits: at every ASCII character that is neither letter nor digit.
pub(crate) fn any_word(text: &str) -> Option<String> {
    let words = text
        .split(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric())
        .filter(|word| word.len() >= MIN_WORD)
        .take(MAX_WORDS);
    let mut query = String::with_capacity(text.len().min(256) + 16);
    for word in words {
        query.push_str(if query.is_empty() { "\"" } else { " OR \"" });
        query.push_str(word);
        query.push('"');
    }
    (!query.is_empty()).then_some(query)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_word_of_three_letters_counts() {
        assert_eq!(
            any_word("ACADEMY ACE"),
            Some("\"ACADEMY\" OR \"ACE\"".to_owned())
        );
        assert_eq!(any_word("GO AL-SMITH"), Some("\"SMITH\"".to_owned()));
        assert_eq!(any_word(" UP a* "), None);
    }

    #[test]
    fn nothing_is_query_syntax() {
        assert_eq!(
            any_word("foo\" OR NEAR(bar) *"),
            Some("\"foo\" OR \"NEAR\" OR \"bar\"".to_owned())
        );
        let many = "word ".repeat(1_000);
        assert_eq!(
            any_word(&many).map(|query| query.matches("word").count()),
            Some(MAX_WORDS)
        );
    }
}
