//! Lines broken between words.

/// Every line of `text` that is longer than `width` broken between words. What follows is indented
/// as the line is, and below the text of an item (`- `, `* `).
#[must_use]
pub fn wrapped(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        if line.chars().count() <= width {
            lines.push(line.to_owned());
            continue;
        }
        let indent: String = line.chars().take_while(|c| *c == ' ').collect();
        let rest = &line[indent.len()..];
        let mark = ["- ", "* "]
            .into_iter()
            .find(|mark| rest.starts_with(mark))
            .unwrap_or_default();
        lines.extend(hanging(
            &format!("{indent}{mark}"),
            &rest[mark.len()..],
            width,
        ));
    }
    let end = if text.ends_with('\n') { "\n" } else { "" };
    lines.join("\n") + end
}

/// `text` behind `label`, in lines of `width`; all but the first are indented by the label's width.
#[must_use]
pub fn hanging(label: &str, text: &str, width: usize) -> Vec<String> {
    let indent = label.chars().count();
    let room = width.saturating_sub(indent).max(1);
    let mut lines = in_room(text, room);
    for (number, line) in lines.iter_mut().enumerate() {
        *line = match number {
            0 => format!("{label}{line}"),
            _ => format!("{:indent$}{line}", ""),
        };
    }
    lines
}

/// The words of `text` in lines of `room` characters; at least one line. Blanks within a line stay
/// as they are.
pub(crate) fn in_room(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut gap = 0;
    for piece in text.split(' ') {
        if piece.is_empty() {
            gap += 1;
            continue;
        }
        let line = lines.last_mut().expect("there is always one");
        let used = line.chars().count();
        if used == 0 {
            line.push_str(piece);
        } else if used + 1 + gap + piece.chars().count() > room {
            lines.push(piece.to_owned());
        } else {
            line.push_str(&" ".repeat(1 + gap));
            line.push_str(piece);
        }
        gap = 0;
    }
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn items_and_indented_lines_go_on_below_their_text() {
        let text = "- one two three\n  four five six\nseven\n";
        assert_eq!(
            wrapped(text, 10),
            "- one two\n  three\n  four\n  five six\nseven\n"
        );
    }

    #[test]
    fn a_path_stays_whole() {
        let path = "/a/rather/long/path/of/a/run";
        assert_eq!(
            wrapped(&format!("report: {path}"), 12),
            format!("report:\n{path}")
        );
    }

    proptest! {
        #[test]
        fn no_word_is_broken_or_lost(
            text in "[a-z±0-9 \n-]{0,300}",
            width in 10_usize..100,
        ) {
            let broken = wrapped(&text, width);
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(words(&text), words(&broken));
            for line in broken.lines() {
                let long = line.split_whitespace().count() > 1 && line.chars().count() > width;
                // An item's mark and an indent stay with a word that is too long.
                prop_assert!(!long || line.trim_start().starts_with("- "), "{line:?}");
            }
        }
    }
}
