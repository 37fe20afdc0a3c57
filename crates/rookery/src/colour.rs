//! Colours of the terminal, which can be off: `--color`, and the variable `NO_COLOR`.

use std::{
    env,
    sync::atomic::{AtomicU8, Ordering},
};

use clap::ValueEnum;

/// When colours are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColourChoice {
    /// On terminals, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Also where output is no terminal.
    Always,
    Never,
}

/// A colour of text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Colour {
    Red = 31,
    Green = 32,
    Yellow = 33,
}

/// What was chosen on the command line, once for the process.
static CHOICE: AtomicU8 = AtomicU8::new(ColourChoice::Auto as u8);

/// Use colours as `choice` says from now on.
pub(crate) fn choose(choice: ColourChoice) {
    CHOICE.store(choice as u8, Ordering::Relaxed);
}

/// `text` in `colour`, where the stream that it goes to shows colours.
pub(crate) fn painted(text: &str, colour: Colour, on_terminal: bool) -> String {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty());
    let plain =
        variable("NO_COLOR").is_some() || variable("TERM").is_some_and(|term| term == "dumb");
    let choice = CHOICE.load(Ordering::Relaxed);
    let shown = choice == ColourChoice::Always as u8
        || choice == ColourChoice::Auto as u8 && on_terminal && !plain;
    if shown {
        format!("\u{1b}[{}m{text}\u{1b}[0m", colour as u8)
    } else {
        text.to_owned()
    }
}
