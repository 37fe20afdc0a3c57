//! The text of a hosts file: what is wrong with it, and values of several sections.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use rookery_diagnosis::outside_text;
use toml::Spanned;

use super::HostsProblem;

/// The problems of one file.
pub(super) struct Problems<'a> {
    pub(super) file: &'a str,
    text: &'a str,
    pub(super) found: Vec<HostsProblem>,
}

impl<'a> Problems<'a> {
    /// None yet.
    pub(super) fn new(file: &'a str, text: &'a str) -> Self {
        Self {
            file,
            text,
            found: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, at: &Range<usize>, message: impl Into<String>, help: &str) {
        let before = self.text.as_bytes().get(..at.start).unwrap_or_default();
        self.found.push(HostsProblem {
            message: outside_text(&message.into()),
            file: self.file.to_owned(),
            line: 1 + before.iter().filter(|byte| **byte == b'\n').count(),
            help: help.to_owned(),
        });
    }

    /// Add a problem of a text unless it `holds`.
    pub(super) fn check(&mut self, text: &Spanned<String>, holds: bool, what: &str, help: &str) {
        if !holds {
            let message = format!("`{}` is no {what}", text.get_ref());
            self.add(&text.span(), message, help);
        }
    }
}

/// A path that lies beside the file where it is relative.
pub(super) fn beside(file_name: &str, path: &str) -> PathBuf {
    Path::new(file_name)
        .parent()
        .unwrap_or(Path::new(""))
        .join(path)
}

/// A port, or the usual one.
pub(super) fn read_port(
    port: Option<&Spanned<i64>>,
    usual: u16,
    problems: &mut Problems<'_>,
) -> u16 {
    let Some(port) = port else {
        return usual;
    };
    let read = u16::try_from(*port.get_ref()).ok().filter(|port| *port > 0);
    read.unwrap_or_else(|| {
        let message = format!("{} is no port", port.get_ref());
        problems.add(&port.span(), message, "write 1 to 65535");
        usual
    })
}
