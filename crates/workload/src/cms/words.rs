//! The words of generated text: made up of syllables, the same for ever.

use crate::random::RandomSource;

const ONSETS: [&str; 12] = ["b", "d", "f", "g", "k", "l", "m", "n", "r", "s", "t", "v"];
const VOWELS: [&str; 5] = ["a", "e", "i", "o", "u"];
const CODAS: [&str; 6] = ["", "", "n", "r", "s", "l"];
/// Words of a sentence.
const SENTENCE: (u64, u64) = (3, 10);

/// Appends a word of one to four syllables.
fn word(out: &mut String, source: &mut impl RandomSource) {
    let syllables = 1 + source.below(4);
    for _ in 0..syllables {
        out.push_str(ONSETS[source.index(ONSETS.len())]);
        out.push_str(VOWELS[source.index(VOWELS.len())]);
    }
    out.push_str(CODAS[source.index(CODAS.len())]);
}

/// So many words, the first with a capital letter.
pub(super) fn words(count: u64, source: &mut impl RandomSource) -> String {
    let mut out = String::new();
    append_words(&mut out, count, source);
    out
}

fn append_words(out: &mut String, count: u64, source: &mut impl RandomSource) {
    let begin = out.len();
    for place in 0..count {
        if place > 0 {
            out.push(' ');
        }
        word(out, source);
    }
    if let Some(first) = out.get_mut(begin..=begin) {
        first.make_ascii_uppercase();
    }
}

/// A number from `least` to `most`.
fn between((least, most): (u64, u64), source: &mut impl RandomSource) -> u64 {
    least + source.below(most - least + 1)
}

/// Paragraphs of sentences: each paragraph has `words` of them or a few more, as its last sentence
/// is whole.
pub(super) fn paragraphs(
    count: (u64, u64),
    words: (u64, u64),
    source: &mut impl RandomSource,
) -> String {
    let mut out = String::new();
    for place in 0..between(count, source) {
        if place > 0 {
            out.push('\n');
        }
        out.push_str("<p>");
        let mut left = between(words, source);
        loop {
            let length = between(SENTENCE, source);
            append_words(&mut out, length, source);
            out.push('.');
            left = left.saturating_sub(length);
            if left == 0 {
                break;
            }
            out.push(' ');
        }
        out.push_str("</p>");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    #[test]
    fn paragraphs_have_their_length() {
        let mut source = SplitMix64::new(1);
        for _ in 0..200 {
            let text = paragraphs((1, 12), (10, 60), &mut source);
            let all: Vec<&str> = text.lines().collect();
            assert!((1..=12).contains(&all.len()));
            for paragraph in all {
                assert!(paragraph.starts_with("<p>") && paragraph.ends_with(".</p>"));
                let words = paragraph.split(' ').count();
                assert!((10..=70).contains(&words), "{words}");
            }
        }
    }

    #[test]
    fn words_are_letters_and_begin_with_a_capital() {
        let text = words(6, &mut SplitMix64::new(7));
        assert_eq!(text.split(' ').count(), 6);
        assert!(text.starts_with(|first: char| first.is_ascii_uppercase()));
        assert!(
            text.bytes()
                .all(|byte| byte.is_ascii_alphabetic() || byte == b' ')
        );
        assert_eq!(words(0, &mut SplitMix64::new(7)), "");
    }
}
