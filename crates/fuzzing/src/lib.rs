//! Targets for fuzzing: every parser of bytes that come from outside, as a function that panics
//! where a rule is broken.
//!
//! [`Target`] is the principal type, [`TARGETS`] are all of them. `cargo xtask fuzz` replays the
//! kept inputs of `fuzz/corpus` and tries new ones on the stable toolchain; the programs in `fuzz/`
//! hand the same functions to cargo-fuzz, which follows coverage.

mod counted;
mod databases;
mod guests;
mod host_text;
mod http;
mod image;
mod netstream;
mod sqlite;
mod study;

/// A parser and what must hold of it.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Name of its folder of inputs.
    pub name: &'static str,
    /// Takes any bytes.
    ///
    /// # Panics
    /// Where a rule is broken.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: &[Target] = &[
    target("agent_messages", guests::agent_messages),
    target("host_text", host_text::host_text),
    target("http_answer", http::answer),
    target("image_documents", image::documents),
    target("image_layer", image::layer),
    target("mysql_server", databases::mysql),
    target("netstream_requests", netstream::requests),
    target("postgres_server", databases::postgresql),
    target("sqlite_server", databases::sqlite),
    target("sqlite_wire", sqlite::wire),
    target("stored_blobs", counted::stored),
    target("study_file", study::file),
];

const fn target(name: &'static str, run: fn(&[u8])) -> Target {
    Target { name, run }
}

/// Runs the target of this name.
///
/// # Panics
/// When there is none, or where a rule is broken.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    let target = target.unwrap_or_else(|| panic!("there is no target `{name}`"));
    (target.run)(bytes);
}
