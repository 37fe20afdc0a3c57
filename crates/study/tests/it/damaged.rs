//! Randomly damaged study files: never a panic, always a report with line and help.

use crate::common::{assert_plan, assert_useful, host};
use proptest::{collection::vec, prelude::*, sample::select};
use rookery_study::{Document, Plan, Study, render_plan};

const QUICK: &str = include_str!("../../../../studies/quick.toml");
const CONTAINERS: &str = include_str!("../../../../studies/quick-containers.toml");
const PUREFLEX: &str = include_str!("../../../../studies/pureflex-dvdstore.toml");
const TUNINGS: &str = include_str!("../../../../studies/tunings-lamp.toml");

/// Pieces that break things when they land in a file.
fn junk() -> impl Strategy<Value = Vec<u8>> {
    let pieces = [
        "[",
        "]",
        "[[layout]]\n",
        "=",
        "\"",
        "\"\"\"",
        "'",
        "\n",
        "\r\n",
        "\t",
        "{",
        "}",
        ".",
        ",",
        "#",
        "-",
        "-1",
        "0",
        "1e999",
        "nan",
        "inf",
        "true",
        "\"250\"",
        "\"1h\"",
        "\"per vcpu\"",
        " per ",
        "per",
        "[]",
        "[1, 1]",
        "1979-05-27",
        "\u{0}",
        "\u{1b}[2J",
        "\u{202e}",
        "é",
        "😀",
        "\u{feff}",
        "9999999999999999999999",
        "0x",
        "users = 5\n",
        "[load]\n",
        "\"p99.9\"",
        "steady = \"0s\"\n",
        "MiB",
        "kind = \"bare\"\n",
        "[1, 2]",
        "[\"stock\", \"modern\"]",
        "[scale.x]\n",
        "[scale.x.load]\n",
        "[[scale.x.layout]]\n",
        "[stack.settings]\n",
        "\"php.x\" = [1, 2]\n",
        "design = \"screening\"\n",
        "\"50 * vcpus\"",
        "\"max(\"",
    ];
    let pieces: Vec<Vec<u8>> = pieces
        .iter()
        .map(|piece| piece.as_bytes().to_vec())
        .collect();
    prop_oneof![4 => select(pieces), 1 => vec(any::<u8>(), 1..4)]
}

/// One damage: what happens at a place, given as a share of the file.
#[derive(Clone, Debug)]
enum Damage {
    Insert(f64, Vec<u8>),
    Overwrite(f64, Vec<u8>),
    Delete(f64, usize),
    DoubleLine(f64),
    DropLine(f64),
    SwapLines(f64, f64),
    ReplaceValue(f64, Vec<u8>),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = || 0.0..1.0;
    prop_oneof![
        (at(), junk()).prop_map(|(at, junk)| Damage::Insert(at, junk)),
        (at(), junk()).prop_map(|(at, junk)| Damage::Overwrite(at, junk)),
        (at(), 1_usize..30).prop_map(|(at, count)| Damage::Delete(at, count)),
        at().prop_map(Damage::DoubleLine),
        at().prop_map(Damage::DropLine),
        (at(), at()).prop_map(|(a, b)| Damage::SwapLines(a, b)),
        (at(), junk()).prop_map(|(at, junk)| Damage::ReplaceValue(at, junk)),
    ]
}

fn place(at: f64, len: usize) -> usize {
    (at * len as f64) as usize
}

fn apply(text: &mut Vec<u8>, damage: &Damage) {
    let mut lines: Vec<Vec<u8>> = text
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    let line = |at: f64| place(at, lines.len());
    match damage {
        Damage::Insert(at, junk) => {
            let at = place(*at, text.len());
            text.splice(at..at, junk.iter().copied());
            return;
        }
        Damage::Overwrite(at, junk) => {
            let at = place(*at, text.len());
            let end = (at + junk.len()).min(text.len());
            text.splice(at..end, junk.iter().copied());
            return;
        }
        Damage::Delete(at, count) => {
            let at = place(*at, text.len());
            let end = (at + count).min(text.len());
            text.drain(at..end);
            return;
        }
        _ if lines.is_empty() => return,
        Damage::DoubleLine(at) => {
            let at = line(*at);
            lines.insert(at, lines[at].clone());
        }
        Damage::DropLine(at) => {
            lines.remove(line(*at));
        }
        Damage::SwapLines(a, b) => {
            let (a, b) = (line(*a), line(*b));
            lines.swap(a, b);
        }
        Damage::ReplaceValue(at, junk) => {
            let at = line(*at);
            if let Some(equals) = lines[at].iter().position(|byte| *byte == b'=') {
                lines[at].truncate(equals + 1);
                lines[at].extend(junk.iter().chain(b"\n"));
            }
        }
    }
    *text = lines.concat();
}

/// Reads any bytes: either a study that holds all laws, or problems that a reader can use.
fn assert_told(bytes: &[u8]) {
    match Document::parse_bytes("s.toml", bytes) {
        Ok(document) => {
            for variant in document.variants() {
                let again = Study::parse("again.toml", &variant.study.to_toml())
                    .unwrap_or_else(|problems| panic!("{problems}"));
                assert_eq!(again, variant.study);
            }
            let (plan, problems) = Plan::anyway(&document, &host());
            assert!(!render_plan(&plan, document.study(), 80).is_empty());
            match problems {
                None => assert_plan(document.study(), &plan),
                Some(problems) => assert_useful(&problems),
            }
        }
        Err(problems) => assert_useful(&problems),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_are_told_what_is_wrong(
        base in select(vec![QUICK, CONTAINERS, PUREFLEX, TUNINGS]), whole in any::<bool>(), damages in vec(damage(), 1..6)
    ) {
        let mut text = match whole {
            true => base.as_bytes().to_vec(),
            false => Study::parse("s.toml", base).expect("valid").to_toml().into_bytes(),
        };
        for damage in &damages {
            apply(&mut text, damage);
        }
        assert_told(&text);
    }

    #[test]
    fn any_bytes_are_answered(bytes in vec(any::<u8>(), 0..400)) {
        assert_told(&bytes);
    }
}
