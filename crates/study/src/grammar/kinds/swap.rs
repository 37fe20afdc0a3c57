//! Where memory goes that does not fit: `none`, `zram`, `file 256MiB`.

use std::borrow::Cow;

use serde_json::{Value as Json, json};
use toml::{Spanned, de::DeValue};

use super::{Choice, WholeMemory};
use crate::{
    grammar::{At, Context, Kind},
    names::Named,
    values::{Swap, SwapKind},
};

/// `none`, or a device with or without the most that a guest has on it.
pub(crate) struct SwapUse;

/// The word alone, without its size.
#[derive(Clone, Copy, PartialEq)]
struct Word(Option<SwapKind>);

impl Named for Word {
    const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("none", Self(None), "nowhere"),
        (
            "file",
            Self(Some(SwapKind::File)),
            "to a file on the disk of the run's directory",
        ),
        (
            "zram",
            Self(Some(SwapKind::Zram)),
            "to memory of the host, compressed",
        ),
    ];
    const MEANT: &'static [(&'static str, &'static str)] = &[
        ("off", "none"),
        ("disk", "file"),
        ("swapfile", "file"),
        ("memory", "zram"),
        ("zswap", "zram"),
    ];
}

const WORD: Choice<Word> = Choice::NEW;

impl Kind for SwapUse {
    type Value = Swap;

    fn read(&self, value: &Spanned<DeValue<'_>>, at: &At, context: &mut Context) -> Option<Swap> {
        let DeValue::String(text) = value.get_ref() else {
            return context.wrong_type(value, at, self);
        };
        let (word, size) = match text.trim().split_once(char::is_whitespace) {
            Some((word, size)) => (word, Some(size.trim())),
            None => (text.trim(), None),
        };
        let part = |text: &str| {
            let text = DeValue::String(Cow::Owned(text.to_owned()));
            Spanned::new(value.span(), text)
        };
        let Word(kind) = WORD.read(&part(word), at, context)?;
        let size_mib = match size {
            None => None,
            Some(size) => match WholeMemory.read(&part(size), at, context)? {
                0 => return context.out_of_range(value, at, "has no room", self),
                mib => Some(mib),
            },
        };
        match (kind, size_mib) {
            (Some(kind), size_mib) => Some(Swap::Device { kind, size_mib }),
            (None, None) => Some(Swap::None),
            (None, Some(_)) => context.out_of_range(value, at, "has a size and no device", self),
        }
    }

    fn write(&self, value: &Swap) -> String {
        format!("\"{value}\"")
    }

    fn describe(&self) -> String {
        format!(
            "{}; a device may be followed by its size for each guest (else as much as `memory`)",
            WORD.describe()
        )
    }

    fn example(&self) -> String {
        "\"zram 256MiB\"".to_owned()
    }

    fn schema(&self) -> Json {
        json!({"type": "string", "pattern": "^\\s*(none|(file|zram)(\\s+[0-9.]+\\s*[KMGT]i?B)?)\\s*$"})
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::*, *};
    use crate::problem::Code;

    #[test]
    fn a_device_may_have_a_size() {
        let device = |kind, size_mib| Ok(Swap::Device { kind, size_mib });
        assert_eq!(read(&SwapUse, "'none'"), Ok(Swap::None));
        assert_eq!(read(&SwapUse, "'zram'"), device(SwapKind::Zram, None));
        for text in ["'file 64MiB'", "' file  64 MiB '"] {
            assert_eq!(read(&SwapUse, text), device(SwapKind::File, Some(64)));
        }
        for swap in [
            Swap::None,
            Swap::Device {
                kind: SwapKind::Zram,
                size_mib: Some(1),
            },
        ] {
            assert_eq!(read(&SwapUse, &SwapUse.write(&swap)), Ok(swap));
        }
    }

    #[test]
    fn refusals() {
        for (text, expected) in [
            ("'disk'", Code::UnknownChoice),
            ("''", Code::UnknownChoice),
            ("'none 64MiB'", Code::OutOfRange),
            ("'zram 0MiB'", Code::OutOfRange),
            ("'zram 64'", Code::WrongUnit),
            ("'zram 64MiB per guest'", Code::WrongUnit),
            ("'zram lots'", Code::Malformed),
            ("true", Code::WrongType),
        ] {
            assert_eq!(code(&SwapUse, text), expected, "{text}");
        }
    }
}
